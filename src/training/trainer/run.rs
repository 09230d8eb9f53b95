//! The training loop: steps, evaluations, records, checkpoints, until the end, a stop or an interruption.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{EvaluationRecord, StepRecord, Trainer};
use crate::checkpoint::StateWriter;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::record::{AuditedLogZ, Notice, Progress, Recorder};
use crate::tempering::{RoundsEnd, RoundsRecord};
use crate::tracking::TrackRecord;

/// Where a run's models and states are kept.
pub trait Checkpoints {
    /// Keeps the model of an evaluation that is the best so far.
    ///
    /// # Errors
    /// Writing failed.
    fn best(&mut self, trainer: &Trainer, evaluation: &EvaluationRecord) -> Result<()>;

    /// Keeps the full state.
    ///
    /// # Errors
    /// Writing failed.
    fn state(&mut self, trainer: &Trainer) -> Result<()>;

    /// Keeps a state from just before a step that could not be finished; `name` is its [`Trainer::state_name`].
    ///
    /// # Errors
    /// Writing failed.
    fn state_before(&mut self, _name: &str, _state: &StateWriter) -> Result<()> {
        Ok(())
    }
}

/// Keeps nothing: for runs whose model is taken from the trainer at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCheckpoints;

impl Checkpoints for NoCheckpoints {
    fn best(&mut self, _trainer: &Trainer, _evaluation: &EvaluationRecord) -> Result<()> {
        Ok(())
    }

    fn state(&mut self, _trainer: &Trainer) -> Result<()> {
        Ok(())
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All updates were done.
    Finished,
    /// Early stopping.
    EarlyStopping,
    /// A signal asked for it; the run can be resumed.
    Interrupted,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why.
    pub reason: StopReason,
    /// The last evaluation of this process.
    pub last: Option<EvaluationRecord>,
}

/// Trains to the end. The state is checkpointed every `checkpoint.every` updates and at the end, whatever the reason.
///
/// # Errors
/// Divergence, or a recorder or checkpoint that cannot be written; the last checkpoint stays as it is.
pub fn run(
    trainer: &mut Trainer,
    recorder: &mut dyn Recorder,
    checkpoints: &mut dyn Checkpoints,
    interrupted: &AtomicBool,
) -> Result<Outcome> {
    let mut latest = Latest::default();
    let every = trainer.config.checkpoint.every;
    let (first_update, first_second) = (trainer.updates, trainer.seconds());
    for notice in trainer.notices() {
        recorder.notice(notice, trainer.updates)?;
    }
    let reason = loop {
        // Asked of the state, not of the last evaluation: a run that is resumed may have come to its end.
        let stopping = trainer.config.training.early_stopping;
        if stopping.is_some_and(|settings| trainer.judge.stopping.stopped(&settings)) {
            break StopReason::EarlyStopping;
        }
        if trainer.updates >= trainer.total {
            break StopReason::Finished;
        }
        if interrupted.load(Ordering::Relaxed) {
            break StopReason::Interrupted;
        }
        let before = Before::of(trainer);
        if trainer.audit_comes_next() {
            let progress = latest.progress(trainer, first_update, first_second);
            recorder.progress(&Progress { note: Some("auditing".into()), ..progress });
        }
        match interrupt::catch(|| step(trainer, recorder, checkpoints, &mut latest)) {
            Ok(()) => {}
            Err(Error::Interrupted) => {
                // What was interrupted is done again after a resume; what came before need not be.
                recorder.sync()?;
                before.keep(checkpoints)?;
                return Ok(Outcome { reason: StopReason::Interrupted, last: latest.evaluation });
            }
            Err(error) => {
                // The error says what happened; a disk that is full may have no room for the state either.
                let _ = before.keep(checkpoints);
                return Err(error);
            }
        }
        recorder.progress(&latest.progress(trainer, first_update, first_second));
        let pretraining = trainer.pretraining_left() || trainer.tracker.is_none();
        let done = if pretraining { trainer.pretrained } else { trainer.updates };
        if done > 0 && done.is_multiple_of(every) {
            recorder.sync()?;
            checkpoints.state(trainer)?;
        }
    };
    recorder.sync()?;
    checkpoints.state(trainer)?;
    recorder.finish()?;
    Ok(Outcome { reason, last: latest.evaluation })
}

/// The state before a step that ends in an evaluation: whatever ends that, a signal in a long audit or a full disk, costs
/// one update and not the way from the last checkpoint.
struct Before(Option<(String, StateWriter)>);

impl Before {
    fn of(trainer: &Trainer) -> Self {
        let next = trainer.updates + 1;
        let evaluated = trainer.tracker.is_none() || trainer.evaluation_due(next);
        Self((evaluated && !trainer.pretraining_left()).then(|| {
            let mut state = StateWriter::new();
            trainer.save(&mut state);
            (trainer.state_name(), state)
        }))
    }

    fn keep(&self, checkpoints: &mut dyn Checkpoints) -> Result<()> {
        match &self.0 {
            Some((name, state)) => checkpoints.state_before(name, state),
            None => Ok(()),
        }
    }
}

/// One step of the trainer, with the evaluation and the records that follow.
fn step(
    trainer: &mut Trainer,
    recorder: &mut dyn Recorder,
    checkpoints: &mut dyn Checkpoints,
    latest: &mut Latest,
) -> Result<()> {
    let mut evaluation = None;
    match trainer.step()? {
        StepRecord::Pretrained => {}
        StepRecord::TrackingStarted(rounds) => {
            recorder.notice(&rounds_notice("initial rounds", &rounds), trainer.updates)?;
            evaluation = trainer.evaluate(None)?;
        }
        StepRecord::Updated(record) => {
            if let Some(record) = &record {
                report(record, recorder, trainer.updates)?;
            }
            if trainer.evaluation_due(trainer.updates) {
                evaluation = trainer.evaluate(record.as_ref())?;
            }
        }
    }
    let Some(mut evaluation) = evaluation else { return Ok(()) };
    trainer.judge(&mut evaluation);
    recorder.record(&evaluation.record)?;
    trainer.recorded.add(trainer.updates);
    for notice in &evaluation.notices {
        recorder.notice(notice, trainer.updates)?;
    }
    if evaluation.decision.is_some_and(|decision| decision.best) {
        checkpoints.best(trainer, &evaluation)?;
    }
    if let Some(audit) = &evaluation.audit {
        latest.audit = Some(AuditedLogZ {
            method: audit.estimate.method,
            update: trainer.updates,
            value: audit.estimate.value,
            std_error: audit.estimate.std_error,
        });
    }
    latest.evaluation = Some(evaluation);
    Ok(())
}

#[derive(Default)]
struct Latest {
    evaluation: Option<EvaluationRecord>,
    audit: Option<AuditedLogZ>,
}

impl Latest {
    fn progress(&self, trainer: &Trainer, first_update: u64, first_second: f64) -> Progress {
        let seconds = trainer.seconds();
        let done = trainer.updates - first_update;
        let left = (trainer.total - trainer.updates) as f64;
        let mut progress = Progress {
            update: trainer.updates,
            updates: trainer.total,
            epoch: trainer.epoch(),
            seconds,
            audited_log_z: self.audit,
            seconds_left: (done > 0).then(|| (seconds - first_second) / done as f64 * left),
            ..Progress::default()
        };
        match trainer.tracker() {
            None => progress.note = Some(format!("pre-training, {} updates", trainer.pretrained)),
            Some(tracker) => progress.log_z = Some((tracker.log_z(), tracker.std_error())),
        }
        if let Some(evaluation) = &self.evaluation {
            progress.note = evaluation.doubt();
            progress.train_log_likelihood =
                Some((evaluation.train.value, evaluation.train.std_error));
            progress.validation_log_likelihood =
                evaluation.validation.map(|value| (value.value, value.std_error));
        }
        progress
    }
}

fn report(record: &TrackRecord, recorder: &mut dyn Recorder, update: u64) -> Result<()> {
    if let Some(rounds) = &record.rounds {
        let notice = rounds_notice("the chains lost the ladder; initial rounds again", rounds);
        recorder.notice(&Notice::Warning(notice.text().into()), update)?;
    }
    if let Some(jump) = record.jump {
        let text = format!(
            "log Z moved by {jump:.1} nats between two steps of the tracker, more than its chains can follow: its error bar was widened; a smaller learning rate or tempering.every would help"
        );
        recorder.notice(&Notice::Warning(text), update)?;
    }
    if record.distrust {
        let text = "tracked log Z jumps more than its error bar; the error bar was widened";
        recorder.notice(&Notice::Warning(text.into()), update)?;
    }
    Ok(())
}

fn rounds_notice(what: &str, rounds: &RoundsRecord) -> Notice {
    let count = rounds.rounds.len();
    match rounds.end {
        RoundsEnd::Converged => Notice::Info(format!("{what}: converged after {count} rounds")),
        RoundsEnd::Exhausted => Notice::Warning(format!(
            "{what}: not converged after {count} rounds; more tempering.initial_rounds.most or temperatures may help"
        )),
    }
}
