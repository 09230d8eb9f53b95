//! The end of a run: audits of the candidates, the best of them saved, summary.json and the final output.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::provenance;
use super::run_folder::{REPORT, RunFolder};
use crate::error::Result;
use crate::record::NoticeLog;
use crate::report::summary::{Best, Evaluations, Summary};
use crate::report::{Metrics, quoted, shown_error};
use crate::training::{FinalLikelihood, LastAudits, StopReason, Times, Trainer};
use crate::trust::Interface;

impl Summary {
    /// Audits the candidates of the run and keeps the best of them as best.safetensors.
    pub fn conclude(trainer: &Trainer, folder: &RunFolder, reason: StopReason) -> Result<Self> {
        let trained = trainer.seconds();
        let (best, parameters) = match trainer.last_audits()? {
            LastAudits::Best(found) => {
                folder.write_best(trainer, &found)?;
                let candidate = found.candidate;
                let tracked = Some(candidate.log_z);
                let best = Best::new(candidate.update, found.audited, tracked, found.likelihood);
                (Best { evaluation_in_doubt: found.in_doubt, ..best }, candidate.parameters)
            }
            LastAudits::Last(last) => {
                let best = Best::new(trainer.updates(), 0, None, last);
                (best, Arc::new(trainer.parameters()))
            }
        };
        let comparison = trainer.comparison(&parameters, (best.log_z, best.log_z_std_error))?;
        let processor_seconds = provenance::processor_seconds();
        let seconds = trainer.seconds();
        let standing = trainer.standing();
        let last = standing.last.as_ref();
        Ok(Self {
            stop_reason: reason,
            updates: trainer.updates(),
            epochs: trainer.epoch(),
            seconds,
            processor_seconds,
            log_z: last.map_or(f64::NAN, |last| last.log_z),
            log_z_std_error: last.map_or(f64::NAN, |last| last.log_z_std_error),
            sound: last.is_some_and(|last| last.trust.is_sound()),
            doubts: last.map_or(Vec::new(), |last| {
                last.trust.doubts().iter().map(|doubt| doubt.text(Interface::Command)).collect()
            }),
            train_log_likelihood: last.map(|last| last.train),
            validation_log_likelihood: last.and_then(|last| last.validation),
            evaluations: Evaluations {
                all: standing.evaluations,
                sound: standing.sound,
                decided_on: standing.judged,
            },
            notices: NoticeLog::counts(folder.notices())?,
            best,
            training: standing.training,
            comparison,
            improved_late: match Metrics::read(&folder.metrics())?.rises_late() {
                true => trainer.improved_late(reason),
                false => None,
            },
            forced: trainer.identity().forced().to_vec(),
            version: env!("CARGO_PKG_VERSION").into(),
            command: provenance::command(),
            date: provenance::now(),
            threads: rayon::current_num_threads(),
            seed: trainer.config().seed,
            data: trainer.identity().rows().clone(),
            times: Times { final_audits: seconds - trained, ..*trainer.times() },
            configuration: serde_json::to_value(trainer.config()).unwrap_or_default(),
        })
    }

    /// The final output.
    pub fn text(&self, out: &Path) -> String {
        let mut text = String::new();
        let reason = match self.stop_reason {
            StopReason::EarlyStopping => "early stopping",
            StopReason::Finished => "all updates done",
            StopReason::Interrupted => "interrupted",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "\n{reason} after update {} ({:.1} epochs, {})",
            self.updates,
            self.epochs,
            self.time()
        );
        let _ = if self.is_tracked() {
            writeln!(text, "tracked log Z {}", self.evaluations.text())
        } else {
            writeln!(text, "log Z was not tracked (tempering.share = 0), only estimated at the end")
        };
        self.best.write(&mut text, self.is_tracked());
        for line in self.remarks(out) {
            let _ = writeln!(text, "{line}");
        }
        for notice in &self.forced {
            let _ = writeln!(text, "forced: {notice}");
        }
        // The folder of all runs: there a run has the same name and colours in any view.
        let folder = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(out);
        let folder = quoted(folder.as_os_str());
        let _ = writeln!(text, "curves: tensorboard --logdir {folder}");
        let _ = writeln!(text, "report: {}", out.join(REPORT).display());
        text
    }
}

impl Best {
    fn new(
        update: u64,
        candidates_audited: usize,
        tracked: Option<(f64, f64)>,
        audited: FinalLikelihood,
    ) -> Self {
        let FinalLikelihood { log_z, train, validation, test } = audited;
        Self {
            update,
            candidates_audited,
            evaluation_in_doubt: false,
            audit_method: log_z.method.name().into(),
            log_z: log_z.value,
            log_z_std_error: log_z.std_error,
            log_z_at_least: log_z.at_least,
            tracked_log_z: tracked.map(|(value, _)| value),
            tracked_log_z_std_error: tracked.map(|(_, error)| error),
            tracked_minus_audited_in_errors: tracked
                .map(|(value, error)| (value - log_z.value) / error.hypot(log_z.std_error)),
            train_log_likelihood: train,
            validation_log_likelihood: validation,
            test_log_likelihood: test,
            doubt: (!log_z.trust.is_sound()).then(|| log_z.trust.text(Interface::Command)),
        }
    }

    fn write(&self, text: &mut String, is_tracked: bool) {
        if self.candidates_audited == 0 && self.validation_log_likelihood.is_some() {
            let _ = writeln!(
                text,
                "no evaluation was sound, nor an audit of the most promising models, so none could be called the best; this is the last one:"
            );
        }
        let _ = match self.candidates_audited {
            0 => writeln!(text, "last model: update {}", self.update),
            1 => writeln!(text, "best model: update {}", self.update),
            n => writeln!(text, "best model: update {}, of {n} audited", self.update),
        };
        if let (Some(log_z), Some(error)) = (self.tracked_log_z, self.tracked_log_z_std_error) {
            let doubt =
                if self.evaluation_in_doubt { ", in doubt: the audit speaks for it" } else { "" };
            let label = if is_tracked { "log Z tracked" } else { "log Z by chains" };
            let _ = writeln!(text, "  {label:<19} {log_z:>10.3} ± {error:.3}{doubt}");
        }
        let audit = match self.audit_method.as_str() {
            "auto" => "log Z audited".into(),
            method => format!("log Z {method}"),
        };
        let what = if is_tracked { "tracked differs" } else { "the chains differ" };
        let differs = self
            .tracked_minus_audited_in_errors
            .map_or(String::new(), |z| format!(", {what} by {z:+.1} errors"));
        let error = match self.log_z_std_error {
            0.0 => String::new(),
            error => format!(" ± {error:.3}"),
        };
        let _ = writeln!(text, "  {audit:<19} {:>10.3}{error}{differs}", self.log_z);
        if let Some(advice) = self.advice() {
            let _ = writeln!(text, "  ({advice})");
        }
        if let Some(at_least) = self.log_z_at_least {
            let _ = writeln!(text, "  {:<19} {at_least:>10.3} with 99.9 %", "log Z at least");
        }
        if let Some(doubt) = &self.doubt {
            let _ = writeln!(text, "  (doubtful: {doubt})");
        }
        for (name, value) in self.likelihoods() {
            let label = format!("{name} log-lik.");
            let _ = writeln!(
                text,
                "  {label:<19} {:>10.3} ± {} nats per row",
                value.value,
                shown_error(value.std_error, 3)
            );
        }
    }
}
