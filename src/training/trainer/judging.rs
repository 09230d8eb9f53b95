//! Decisions after an evaluation: early stopping, candidates for the best model, counts of sound evaluations.

use serde::{Deserialize, Serialize};

use super::cooldown::Cooldown;
use super::shortlist::{Candidate, Shortlist};
use super::{EvaluationRecord, Source, StepRecord, Trainer};
use crate::checkpoint::StateWriter;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::record::{Notice, Run};
use crate::tracking::LogLikelihood;
use crate::training::health::PERSISTENT;
use crate::training::{
    Decision, EarlyStopping, Evaluation, Health, Likelihoods, StopReason, TrainingState,
};
use crate::trust::{Doubt, Interface};

/// From this share of the steps of a run on, an improvement is a late one: of a learning rate that falls linearly to zero the second half
/// of the updates is the last quarter.
const LATE: f64 = 0.75;

/// Doubts that say that the chains miss a part of the model. A check that finds this once may pass at the next evaluation, by chance, while
/// the part is still missing.
const MISSED: [&str; 3] = ["known-share", "populations-differ", "bound"];
/// How many such doubts in the last [`PERSISTENT`] evaluations put the next one in doubt.
const TOO_MANY: u32 = 2;

/// State of these decisions.
#[derive(Clone, Default)]
pub(super) struct Judge {
    pub stopping: EarlyStopping,
    /// Models of evaluations that can be used for decisions.
    pub candidates: Shortlist,
    /// Those of evaluations in doubt, whose likelihoods need an audit.
    pub doubtful: Shortlist,
    /// The state at the best evaluation, for a training that fails.
    pub best: Option<StateWriter>,
    /// The start with few hidden units that takes its place, until an evaluation is better.
    pub small: Option<Parameters>,
    pub standing: Standing,
}

/// Counts of the evaluations of a run, for its summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Evaluations after update 0.
    pub evaluations: u64,
    /// Those whose tracked log Z was sound.
    pub sound: u64,
    /// Those that can be used for decisions: sound, audited or exact.
    pub judged: u64,
    /// Number of latest evaluations that cannot.
    pub unsound_in_a_row: u64,
    /// The update of the last audit that found a higher log Z than the tracker, if no sound one has agreed since.
    #[serde(default)]
    pub contradicted_at: Option<u64>,
    /// Whether the chains missed a part of the model, by doubts of [`MISSED`], at each of the last [`PERSISTENT`] evaluations: the lowest bit
    /// is the last one.
    #[serde(default)]
    missed: u8,
    /// Whether the training works.
    #[serde(default)]
    pub training: Health,
    /// The latest cooldown.
    #[serde(default)]
    pub cooldown: Option<Cooldown>,
    /// The last evaluation.
    pub last: Option<LastEvaluation>,
}

/// Values of the last evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastEvaluation {
    /// Tracked log Z.
    #[serde(with = "crate::checkpoint::float")]
    pub log_z: f64,
    /// Its standard error.
    #[serde(with = "crate::checkpoint::float")]
    pub log_z_std_error: f64,
    /// Whether all diagnostics of it passed.
    pub trust: crate::trust::Trust,
    /// Mean log-likelihood of the training rows evaluated.
    pub train: LogLikelihood,
    /// Mean log-likelihood of the validation rows.
    pub validation: Option<LogLikelihood>,
}

impl Standing {
    /// Whether the chains missed a part of the model at the last evaluation.
    fn remember(&mut self, missed: bool) {
        self.missed = (self.missed << 1 | u8::from(missed)) & ((1 << PERSISTENT) - 1);
    }

    /// What earlier evaluations say of the next one, if no audit is made there.
    pub(super) fn lasting_doubts(&self) -> impl Iterator<Item = Doubt> {
        let contradicted = self.contradicted_at.map(|update| Doubt::AuditFoundMore { update });
        let times = self.missed.count_ones();
        let missed = Doubt::MissedBefore { times, of: PERSISTENT };
        contradicted.into_iter().chain((times >= TOO_MANY).then_some(missed))
    }
}

impl Trainer {
    /// Makes steps up to the next update after which an evaluation is due, evaluates and decides; `None` once all updates are done. For
    /// custom loops that only read evaluations; [`super::run`] records, audits and stops.
    ///
    /// # Errors
    /// As [`Trainer::step`] and [`Trainer::evaluate`].
    pub fn next_evaluation(&mut self) -> Result<Option<EvaluationRecord>> {
        while self.updates < self.total {
            if self.context.is_cancelled_anywhere() {
                return Err(Error::Interrupted);
            }
            let StepRecord::Updated(record) = self.step()? else { continue };
            if self.evaluation_due(self.updates)
                && let Some(mut evaluation) = self.evaluate(record.as_ref())?
            {
                self.judge(&mut evaluation)?;
                return Ok(Some(evaluation));
            }
        }
        Ok(None)
    }

    /// Processes an evaluation of the present update: the stopping decision and its notices are added to it, and a training that fails is
    /// mended before the next update. To be called once for each.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`] in the midst of a remedy.
    pub fn judge(&mut self, evaluation: &mut EvaluationRecord) -> Result<()> {
        let before = self.judge.standing.training.state;
        self.decide(evaluation);
        self.record_verdict(evaluation);
        self.examine_training(before, evaluation)?;
        self.report_steps(&mut evaluation.notices);
        Ok(())
    }

    fn decide(&mut self, evaluation: &mut EvaluationRecord) {
        self.count(evaluation);
        let decides = evaluation.is_sound();
        evaluation.record.scalar(Run::Tracker, "decides", f64::from(u8::from(decides)));
        self.examine(evaluation);
        let Some(validation) = evaluation.validation else { return };
        // An untrained model is no candidate: its log Z is easy, and its likelihood low.
        if self.updates == 0 {
            return;
        }
        self.propose(evaluation, validation);
        let settings = self.config.training.early_stopping;
        let observed = Evaluation {
            update: self.updates,
            value: validation.value,
            log_z_std_error: validation.log_z_std_error,
            sound: evaluation.is_sound(),
        };
        // Early stopping has decided already.
        if self.cooldown().is_some() {
            let best = self.candidates().first().is_some_and(|it| it.update == self.updates);
            let stop = self.updates == self.end();
            evaluation.decision = Some(Decision { improved: false, best, stop });
            return;
        }
        // A run whose training fails is not at its end.
        let mut stopping = self.judge.stopping.clone();
        let mut decision = stopping.observe(&settings.unwrap_or_default(), observed);
        // Without early stopping the best model is still kept, but nothing ends the run.
        decision.stop &= settings.is_some();
        if self.fails(decision.stop, evaluation) {
            self.judge.stopping.count_anew();
            return;
        }
        self.judge.stopping = stopping;
        if decision.stop {
            let cooldown = self.plan_cooldown();
            let stopping = &self.judge.stopping;
            evaluation.notices.push(Notice::EarlyStopping {
                evaluations: stopping.without_improvement,
                improved: stopping.improved_at(),
                cooldown: cooldown.map(|it| (it.best, it.until)),
            });
            decision.stop = cooldown.is_none();
            self.judge.standing.cooldown = cooldown;
        }
        evaluation.decision = Some(decision);
    }

    /// The update at which the validation rows improved last, if that was late in a run that only its length ended, and the model neither
    /// overfits nor fails since.
    pub fn improved_late(&self, reason: StopReason) -> Option<u64> {
        let healthy = self.judge.standing.training.state == TrainingState::Healthy;
        let improved = self.judge.stopping.improved_at();
        let share = self.config.training.learning_rate.share_until(improved, self.total);
        (reason == StopReason::Finished && healthy && share > LATE).then_some(improved)
    }

    /// The model may be the best of the run.
    fn propose(&mut self, evaluation: &EvaluationRecord, validation: LogLikelihood) {
        let candidate = Candidate {
            update: self.updates,
            value: validation.value,
            log_z_error: validation.log_z_std_error,
            log_z: (evaluation.log_z.value, evaluation.log_z.std_error),
            parameters: self.evaluated_parameters(),
            states: self.known_states(),
        };
        // A tracked value in doubt that an audit replaced needs a second audit at the end, as all values in doubt do.
        let exact = evaluation.judged.source == Source::Exact;
        match evaluation.log_z.trust.is_sound() || exact {
            true => self.judge.candidates.propose(candidate),
            false => self.judge.doubtful.propose(candidate),
        }
    }

    /// Whether the training fails. At a `stop` smaller falls count than before, where the negative phase can still do something about them.
    fn fails(&mut self, stop: bool, evaluation: &EvaluationRecord) -> bool {
        let health = &mut self.judge.standing.training;
        let mends = self.negative_phase.mends() && self.updates < self.total;
        if stop && mends && health.mended_at.is_none() {
            health.fail_if_fallen(evaluation.train.value, evaluation.judged.log_z.std_error);
        }
        health.state == TrainingState::Failing
    }

    fn record_verdict(&self, evaluation: &mut EvaluationRecord) {
        let state = self.judge.standing.training.state;
        let failing = f64::from(u8::from(state == TrainingState::Failing));
        evaluation.training = state;
        evaluation.record.text(Run::Train, "training", state.name().into());
        evaluation.record.scalar(Run::Train, "training_failing", failing);
    }

    /// The verdict on the training.
    fn examine(&mut self, evaluation: &EvaluationRecord) {
        let health = &mut self.judge.standing.training;
        let (train, validation) = (evaluation.train.value, evaluation.validation);
        let finite = train.is_finite() && validation.is_none_or(|it| it.value.is_finite());
        if self.updates > 0 && evaluation.is_sound() && finite {
            health.observe(Likelihoods {
                update: self.updates,
                train,
                validation: validation.map(|it| it.value),
                log_z_std_error: evaluation.judged.log_z.std_error,
            });
        }
    }

    /// Candidates of sound evaluations, highest tracked likelihood first.
    pub fn candidates(&self) -> &[Candidate] {
        self.judge.candidates.candidates()
    }

    /// Counts of the evaluations so far.
    pub fn standing(&self) -> &Standing {
        &self.judge.standing
    }

    fn count(&mut self, evaluation: &mut EvaluationRecord) {
        let standing = &mut self.judge.standing;
        let names = evaluation.log_z.trust.names();
        let missed = names.split(' ').any(|name| MISSED.contains(&name));
        standing.remember(missed);
        standing.last = Some(LastEvaluation {
            log_z: evaluation.log_z.value,
            log_z_std_error: evaluation.log_z.std_error,
            trust: evaluation.log_z.trust.clone(),
            train: evaluation.train,
            validation: evaluation.validation,
        });
        if let Some(audit) = &evaluation.audit {
            // An audit in doubt may find more, but its agreement says little.
            if audit.disagrees() && audit.difference < 0.0 {
                standing.contradicted_at = Some(self.updates);
            } else if audit.confirms() {
                standing.contradicted_at = None;
                // A less certain audit confirms its own evaluation alone.
                if audit.estimate.std_error < evaluation.log_z.std_error {
                    standing.missed = 0;
                }
            }
        }
        if self.updates == 0 {
            return;
        }
        let judged = evaluation.is_sound();
        standing.evaluations += 1;
        standing.sound += u64::from(evaluation.log_z.trust.is_sound());
        standing.judged += u64::from(judged);
        standing.unsound_in_a_row = if judged { 0 } else { standing.unsound_in_a_row + 1 };
        if standing.unsound_in_a_row == u64::from(PERSISTENT) {
            evaluation.notices.push(Notice::InDoubt {
                evaluations: PERSISTENT.into(),
                doubts: evaluation.log_z.trust.text(Interface::Command),
                audit_every: self.config.audit.every,
            });
        }
    }
}

impl EvaluationRecord {
    /// Whether it can be used for decisions.
    pub fn is_sound(&self) -> bool {
        self.judged.log_z.trust.is_sound()
    }

    /// What the live display warns of: the doubts, or that the training fails.
    pub fn warning(&self) -> Option<String> {
        if !self.is_sound() {
            return Some(format!("in doubt: {}", self.judged.log_z.trust.names()));
        }
        (self.training == TrainingState::Failing).then(|| "training is failing".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::config::Config;
    use crate::data::{SplitOptions, load};

    /// Else a longer run would be advised where the model overfits or the training fails.
    #[test]
    fn only_a_healthy_training_improved_late() {
        let text = "[data]\nsource = \"bars-and-stripes\"\nvalidation_fraction = 0.2\n[model]\nhidden = 16";
        let settings =
            ["training.updates=200", "training.learning_rate=0.05", "evaluation.every=50"];
        let config = Config::parse(text, &settings.map(String::from)).unwrap();
        let options = SplitOptions { validation_fraction: 0.2, ..SplitOptions::default() };
        let splits = load(&config.data.source, &options, "".as_ref()).unwrap();
        let mut trainer = Trainer::new(&config, splits, Device::default()).unwrap();
        while trainer.next_evaluation().unwrap().is_some() {}
        assert_eq!(trainer.improved_late(StopReason::Finished), Some(200));
        assert_eq!(trainer.improved_late(StopReason::EarlyStopping), None);
        for state in [TrainingState::Overfitting, TrainingState::Failing] {
            trainer.judge.standing.training.state = state;
            assert_eq!(trainer.improved_late(StopReason::Finished), None);
        }
    }

    /// One evaluation that missed a part puts no other in doubt; two do until five evaluations have followed the first of them.
    #[test]
    fn doubts_about_missing_parts_last() {
        let in_doubt = |standing: &Standing| standing.lasting_doubts().count() == 1;
        let mut standing = Standing::default();
        let missed = [true, false, true, false, false, false, false];
        let expected = [false, false, true, true, true, false, false];
        for (missed, expected) in missed.into_iter().zip(expected) {
            standing.remember(missed);
            assert_eq!(in_doubt(&standing), expected);
        }
        standing.contradicted_at = Some(7);
        assert!(in_doubt(&standing));
    }
}
