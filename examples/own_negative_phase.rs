//! A custom negative phase: the exact moments of the model, by enumeration, instead of samples. Training then follows
//! the true gradient of the log-likelihood up to the noise of the minibatches. The tracker works as with any other negative phase.
//!
//!     cargo run --release --example own_negative_phase [-- --quick]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use ztrack::Device;
use ztrack::Result;
use ztrack::config::Config;
use ztrack::data::{SplitOptions, load};
use ztrack::engine::Matrix;
use ztrack::model::exact;
use ztrack::record::Memory;
use ztrack::training::gradient::{Moments, NegativePhase, Now};
use ztrack::training::{NoCheckpoints, Trainer, run};

/// The configuration of the run; the negative phase is given to the trainer directly.
const CONFIG: &str = r#"
    [data]
    source = { name = "bars-and-stripes", side = 4, rows = 1000, noise = 0.02 }
    validation_fraction = 0.2

    [model]
    hidden = 10

    [training]
    updates = 2000
    batch = 100
    gradient = { kind = "pcd" }
    learning_rate = { initial = 0.1 }

    [evaluation]
    every = 200
"#;

/// It has no state between updates, so nothing is saved.
struct Enumerated;

impl NegativePhase for Enumerated {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        let parameters = &now.model.parameters;
        let exact = exact::moments(parameters)?;
        let (rows, columns) = (parameters.n_visible, parameters.n_hidden);
        let mut products = Matrix::filled(rows, columns, 0.0);
        for (i, row) in exact.products.chunks_exact(columns).enumerate() {
            products.row_mut(i).iter_mut().zip(row).for_each(|(to, from)| *to = *from as f32);
        }
        Ok(Moments { visible: exact.visible, hidden: exact.hidden, products })
    }
}

fn main() -> Result<()> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let length = [("training.updates", if quick { "400" } else { "2000" })];
    let set: Vec<String> = length.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let config = Config::parse(CONFIG, &set)?;
    let options = SplitOptions { validation_fraction: 0.2, ..SplitOptions::default() };
    println!("gradient    validation rows, nats per row, with exact log Z");
    for own in [true, false] {
        let splits = load(&config.data.source, &options, Path::new(""))?;
        let device = Device::default();
        let mut trainer = if own {
            Trainer::with_negative_phase(&config, splits, &device, Box::new(Enumerated))?
        } else {
            Trainer::new(&config, splits, &device)?
        };
        run(&mut trainer, &mut Memory::default(), &mut NoCheckpoints, &AtomicBool::new(false))?;
        let validation = trainer.standing().last.as_ref().and_then(|last| last.validation);
        let name = if own { "enumerated" } else { "PCD-1" };
        println!("{name:<12}{:.3}", validation.map_or(f64::NAN, |likelihood| likelihood.value));
    }
    Ok(())
}
