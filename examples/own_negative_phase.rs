//! A custom negative phase: the exact moments of the model, by enumeration, instead of samples. Training then follows
//! the true gradient of the log-likelihood up to the noise of the minibatches. The tracker works as with any other negative phase.
//!
//!     cargo run --release --example own_negative_phase [-- --quick]

use ztrack::Result;
use ztrack::config::{EvaluationConfig, GradientConfig};
use ztrack::data::{Source, generators::BarsAndStripes};
use ztrack::engine::Matrix;
use ztrack::model::exact;
use ztrack::record::Memory;
use ztrack::training::gradient::{Moments, NegativePhase, Now};
use ztrack::training::{LearningRate, NoCheckpoints, Trainer, TrainingData, run};

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
    let noise = BarsAndStripes { side: 4, rows: 1000, noise: 0.02, ..BarsAndStripes::default() };
    println!("gradient    validation rows, nats per row, with exact log Z");
    for own in [true, false] {
        let mut builder = Trainer::builder(TrainingData::Source(Source::BarsAndStripes(noise)))
            .hidden(10)
            .updates(if quick { 400 } else { 2000 })
            .gradient(GradientConfig::Pcd { sweeps: 1, particles: 0 })
            .learning_rate(LearningRate::constant(0.1))
            .evaluation(EvaluationConfig { every: 200, ..EvaluationConfig::default() })
            .set("data.validation_fraction", 0.2);
        if own {
            builder = builder.negative_phase(Box::new(Enumerated));
        }
        let mut trainer = builder.build()?;
        run(&mut trainer, &mut Memory::default(), &mut NoCheckpoints)?;
        let validation = trainer.standing().last.as_ref().and_then(|last| last.validation);
        let name = if own { "enumerated" } else { "PCD-1" };
        println!("{name:<12}{:.3}", validation.map_or(f64::NAN, |likelihood| likelihood.value));
    }
    Ok(())
}
