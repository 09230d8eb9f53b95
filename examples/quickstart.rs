//! ztrack as a library: train on bars and stripes, and print log Z with its error bar beside the exact value.
//!
//!     cargo run --release --example quickstart

use ztrack::Result;
use ztrack::config::GradientConfig;
use ztrack::data::{Source, generators::BarsAndStripes};
use ztrack::model::Parameters;
use ztrack::record::{Notice, Record, Recorder, Run};
use ztrack::training::{Checkpoints, EvaluationRecord, LearningRate, Trainer, TrainingData, run};

/// A custom recorder: prints every tenth record.
#[derive(Default)]
struct Table {
    records: usize,
}

impl Recorder for Table {
    fn record(&mut self, record: &Record) -> Result<()> {
        if self.records.is_multiple_of(10) {
            let get = |run, tag| record.get(run, tag).unwrap_or(f64::NAN);
            println!(
                "{:>6}  {:>8.3} +- {:<6.3}{:>9.3}  {:>12.3}  {:>10.3}",
                record.update,
                get(Run::Tracker, "log_z"),
                get(Run::Tracker, "log_z_std_error"),
                get(Run::Tracker, "exact_log_z"),
                get(Run::Train, "log_likelihood"),
                get(Run::Validation, "log_likelihood"),
            );
        }
        self.records += 1;
        Ok(())
    }

    fn notice(&mut self, notice: &Notice, update: u64) -> Result<()> {
        println!("update {update}: {}", notice.text());
        Ok(())
    }
}

/// Keeps the best model in memory. A program with long runs would write the state from [`Trainer::save`].
#[derive(Default)]
struct Best {
    model: Option<(Parameters, EvaluationRecord)>,
}

impl Checkpoints for Best {
    fn best(&mut self, trainer: &Trainer, evaluation: &EvaluationRecord) -> Result<()> {
        self.model = Some((trainer.parameters(), evaluation.clone()));
        Ok(())
    }

    fn state(&mut self, _trainer: &Trainer) -> Result<()> {
        Ok(())
    }
}

fn main() -> Result<()> {
    let data = BarsAndStripes { side: 4, rows: 1000, noise: 0.02, ..BarsAndStripes::default() };
    // What is left out has its default; `set` takes any key of a configuration.
    let mut trainer = Trainer::builder(TrainingData::Source(Source::BarsAndStripes(data)))
        .seed(1)
        .hidden(12)
        .updates(3000)
        .batch(50)
        .gradient(GradientConfig::Pcd { sweeps: 1, particles: 0 })
        .learning_rate(LearningRate::constant(0.05))
        .centering(true)
        .set("data.validation_fraction", 0.2)
        .set("tempering.chains", 100)
        .set("tempering.temperatures", 20)
        .set("evaluation.every", 30)
        // log Z by enumeration at every tenth evaluation.
        .set("audit.every", 10)
        .build()?;

    println!("Nats; log-likelihoods are means per row, with the tracked log Z.\n");
    println!("update  tracked log Z +- error  exact  train log-lik  validation");
    let (mut table, mut best) = (Table::default(), Best::default());
    let outcome = run(&mut trainer, &mut table, &mut best)?;

    println!("\n{:?} after {} updates.", outcome.reason, trainer.updates());
    if let Some((model, evaluation)) = best.model
        && let Some(validation) = evaluation.validation
    {
        println!(
            "Best model ({}x{}) at update {}: validation log-likelihood {:.3} +- {:.3}.",
            model.n_visible,
            model.n_hidden,
            evaluation.record.update,
            validation.value,
            validation.std_error
        );
    }
    Ok(())
}
