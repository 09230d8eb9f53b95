//! The training loop: steps, evaluations, records and checkpoints until the end, early stopping or an interruption.

use std::time::Instant;

use super::live::Live;
use super::{EvaluationRecord, StepRecord, Trainer};
use crate::checkpoint::StateWriter;
use crate::error::{Error, Result};
use crate::record::{Notice, Recorder, row};
use crate::tempering::{RoundsEnd, RoundsRecord};
use crate::tracking::TrackRecord;

/// Most updates in which large changes before the first evaluation are normal: later ones are warnings, however rare evaluations are.
const FIRST_UPDATES: u64 = 100;

/// Storage of a run's models and states.
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

    /// Keeps a state from before a step that could not be completed; `name` is its [`Trainer::state_name`].
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All updates were done.
    Finished,
    /// Early stopping.
    EarlyStopping,
    /// It was cancelled, as by a signal; it can be resumed.
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

impl Trainer {
    /// Why the run is over, if it is. It depends on the state, not on the last evaluation, because a resumed run may already be at its end.
    pub fn over(&self) -> Option<StopReason> {
        let stopping = self.config.training.early_stopping;
        let stopped = stopping.is_some_and(|settings| self.judge.stopping.stopped(&settings));
        if stopped && self.cooldown().is_none_or(|cooldown| self.updates == cooldown.until) {
            return Some(StopReason::EarlyStopping);
        }
        let last = self.updates >= self.total && !self.tracking_comes_next();
        last.then_some(StopReason::Finished)
    }
}

/// Trains to the end, or until [`crate::Context::cancel`]. The state is checkpointed every `checkpoint.every` updates and at the end, whatever the reason.
///
/// # Errors
/// Divergence, or a recorder or checkpoint that cannot be written; the last checkpoint stays as it is.
pub fn run(
    trainer: &mut Trainer,
    recorder: &mut dyn Recorder,
    checkpoints: &mut dyn Checkpoints,
) -> Result<Outcome> {
    let mut live = Live::default();
    let context = trainer.context.clone();
    let every = trainer.config.checkpoint.every;
    // A resumed run has shown them already.
    let new = trainer.tracker.is_none();
    for notice in trainer.notices().iter().filter(|_| new) {
        recorder.notice(notice, trainer.updates)?;
    }
    let reason = loop {
        if let Some(reason) = trainer.over() {
            break reason;
        }
        if context.is_cancelled_anywhere() {
            break StopReason::Interrupted;
        }
        let before = Before::of(trainer);
        live.start(trainer);
        let rounds = trainer.tracking_comes_next();
        if rounds || trainer.audit_comes_next() {
            let doing = if rounds { "initial rounds" } else { "auditing" };
            recorder.progress(&live.progress(trainer, Some(doing)));
        }
        let done = step(trainer, recorder, checkpoints, &mut live)
            .and_then(|()| trainer.compare_ranks(context.ranks()));
        match done {
            Ok(()) => {}
            Err(Error::Interrupted) => {
                // An interrupted step is repeated after a resume; earlier ones need not be.
                recorder.sync()?;
                before.keep(checkpoints)?;
                return Ok(Outcome { reason: StopReason::Interrupted, last: live.evaluation });
            }
            Err(error) => {
                // The error says what happened; a full disk may have no room for the state either.
                let _ = before.keep(checkpoints);
                return Err(error);
            }
        }
        recorder.progress(&live.progress(trainer, None));
        let done = if trainer.begun() { trainer.updates } else { trainer.pretrained };
        if done > 0 && done.is_multiple_of(every) {
            recorder.sync()?;
            checkpoints.state(trainer)?;
        }
    };
    recorder.sync()?;
    checkpoints.state(trainer)?;
    recorder.finish()?;
    Ok(Outcome { reason, last: live.evaluation })
}

/// The state before a step that ends in an evaluation: if a signal in a long audit or a full disk ends it, one update is lost and not all
/// since the last checkpoint.
struct Before(Option<(String, StateWriter)>);

impl Before {
    fn of(trainer: &Trainer) -> Self {
        let next = trainer.updates + 1;
        let evaluated = trainer.tracking_comes_next()
            || !trainer.begun()
            || trainer.tracker.is_some() && trainer.evaluation_due(next);
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
    live: &mut Live,
) -> Result<()> {
    let mut evaluation = None;
    let mut start = 0.0;
    let done = trainer.step()?;
    let clock = Instant::now();
    match done {
        StepRecord::Pretrained => {}
        StepRecord::TrackingStarted(rounds) => {
            let (end, rounds) = (rounds.end, rounds.rounds.len());
            let notice = match end {
                RoundsEnd::Converged => Notice::InitialRounds { rounds },
                RoundsEnd::Exhausted => Notice::RoundsNotConverged { rounds },
            };
            recorder.notice(&notice, trainer.updates)?;
            evaluation = trainer.evaluate(None)?;
        }
        StepRecord::Updated(record) => {
            if let Some(record) = &record {
                let first = trainer.updates < trainer.config.evaluation.every.min(FIRST_UPDATES);
                report(record, recorder, trainer.updates, first)?;
            }
            if trainer.evaluation_due(trainer.updates) {
                start = trainer.seconds();
                evaluation = trainer.evaluate(record.as_ref())?;
            }
        }
    }
    let Some(mut evaluation) = evaluation else { return Ok(()) };
    trainer.times.evaluations += clock.elapsed().as_secs_f64() - audited(&evaluation);
    trainer.times.audits += audited(&evaluation);
    trainer.judge(&mut evaluation)?;
    recorder.record(&evaluation.record)?;
    let row = row(&evaluation.record);
    trainer.recorded.add(trainer.updates, Some(row.as_bytes()));
    for notice in &evaluation.notices {
        recorder.notice(notice, trainer.updates)?;
    }
    if evaluation.decision.is_some_and(|decision| decision.best) {
        checkpoints.best(trainer, &evaluation)?;
    }
    live.evaluated(trainer, evaluation, start);
    Ok(())
}

/// Seconds of an evaluation's audit.
fn audited(evaluation: &EvaluationRecord) -> f64 {
    evaluation.audit.as_ref().map_or(0.0, |audit| audit.estimate.seconds)
}

/// `first`: an early model, without any evaluation since the start, so that no reported number can be wrong.
fn report(
    record: &TrackRecord,
    recorder: &mut dyn Recorder,
    update: u64,
    first: bool,
) -> Result<()> {
    let converged = |rounds: &RoundsRecord| rounds.end == RoundsEnd::Converged;
    let leapt = record.rounds.is_some() || record.jump.is_some();
    if first && leapt && record.rounds.as_ref().is_none_or(converged) {
        return recorder.notice(&Notice::FirstCorrections, update);
    }
    if let Some(rounds) = &record.rounds {
        let converged = converged(rounds);
        let notice = Notice::LadderLost { rounds: rounds.rounds.len(), converged };
        recorder.notice(&notice, update)?;
    }
    if let Some(nats) = record.jump {
        recorder.notice(&Notice::ModelMoved { nats }, update)?;
    }
    Ok(())
}
