//! The end of a run: what it came to, as summary.json and for people.

use std::path::Path;

use serde::Serialize;

use super::run_folder::RunFolder;
use crate::checkpoint::ModelFile;
use crate::tracking::LogLikelihood;
use crate::training::{FinalLikelihood, StopReason, Trainer};

/// summary.json
#[derive(Serialize)]
pub struct Summary {
    stop_reason: StopReason,
    updates: u64,
    epochs: f64,
    seconds: f64,
    /// Tracked log Z of the last model.
    log_z: f64,
    log_z_std_error: f64,
    mixed: bool,
    train_log_likelihood: Option<LogLikelihood>,
    validation_log_likelihood: Option<LogLikelihood>,
    /// The model in best.safetensors (last.safetensors without validation rows), log Z audited.
    best: Best,
    /// What a resume would have refused and was told to take.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forced: Vec<String>,
}

#[derive(Serialize)]
struct Best {
    update: u64,
    audit_method: &'static str,
    log_z: f64,
    log_z_std_error: f64,
    /// Tracked log Z when the model was saved.
    tracked_log_z: Option<f64>,
    tracked_log_z_std_error: Option<f64>,
    train_log_likelihood: LogLikelihood,
    validation_log_likelihood: Option<LogLikelihood>,
    test_log_likelihood: Option<LogLikelihood>,
    /// Why the audited log Z should not be believed, if so.
    doubt: Option<String>,
}

impl Summary {
    pub fn new(trainer: &Trainer, folder: &RunFolder, reason: StopReason) -> crate::Result<Self> {
        let best_path = folder.best_model();
        let (parameters, metadata) = if best_path.is_file() {
            let file = ModelFile::load(&best_path)?;
            (file.parameters, file.metadata)
        } else {
            (trainer.parameters(), std::collections::BTreeMap::new())
        };
        let FinalLikelihood { log_z, train, validation, test } =
            trainer.final_likelihood(&parameters)?;
        let number = |key: &str| metadata.get(key).and_then(|value| value.parse::<f64>().ok());
        let update = metadata.get("update").and_then(|value| value.parse().ok());
        let tracker = trainer.tracker();
        let last = trainer.log_likelihoods();
        Ok(Self {
            stop_reason: reason,
            updates: trainer.updates(),
            epochs: trainer.epoch(),
            seconds: trainer.seconds(),
            log_z: tracker.map_or(f64::NAN, crate::tracking::LogZTracker::log_z),
            log_z_std_error: tracker.map_or(f64::NAN, crate::tracking::LogZTracker::std_error),
            mixed: tracker.is_some_and(crate::tracking::LogZTracker::mixed),
            train_log_likelihood: last.map(|(train, _)| train),
            validation_log_likelihood: last.and_then(|(_, validation)| validation),
            best: Best {
                update: update.unwrap_or(trainer.updates()),
                audit_method: log_z.method,
                log_z: log_z.value,
                log_z_std_error: log_z.std_error,
                tracked_log_z: number("log_z"),
                tracked_log_z_std_error: number("log_z_std_error"),
                train_log_likelihood: train,
                validation_log_likelihood: validation,
                test_log_likelihood: test,
                doubt: log_z.doubt,
            },
            forced: trainer.identity().forced().to_vec(),
        })
    }

    pub fn text(&self, out: &Path) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        let reason = match self.stop_reason {
            StopReason::EarlyStopping => "early stopping",
            StopReason::Finished => "all updates done",
            StopReason::Interrupted => "interrupted",
        };
        let best = &self.best;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "\n{reason} after update {} ({:.1} epochs, {:.1} s)",
            self.updates, self.epochs, self.seconds
        );
        let _ = writeln!(text, "best model: update {}", best.update);
        if let (Some(log_z), Some(error)) = (best.tracked_log_z, best.tracked_log_z_std_error) {
            let _ = writeln!(text, "  log Z tracked       {log_z:>10.3} +- {error:.3}");
        }
        let audit = format!("log Z {}", best.audit_method);
        let _ = writeln!(text, "  {audit:<19} {:>10.3} +- {:.3}", best.log_z, best.log_z_std_error);
        if let Some(doubt) = &best.doubt {
            let _ = writeln!(text, "  (doubtful: {doubt})");
        }
        let rows = [
            ("train", Some(best.train_log_likelihood)),
            ("validation", best.validation_log_likelihood),
            ("test", best.test_log_likelihood),
        ];
        for (name, value) in rows {
            if let Some(value) = value {
                let label = format!("{name} log-lik.");
                let _ = writeln!(
                    text,
                    "  {label:<19} {:>10.3} +- {:.3} nats per row",
                    value.value, value.std_error
                );
            }
        }
        for notice in &self.forced {
            let _ = writeln!(text, "forced: {notice}");
        }
        let _ = writeln!(text, "curves: tensorboard --logdir {}/tensorboard", out.display());
        text
    }
}
