//! Audits: log Z computed independently of the tracker.

use super::model::model;
use super::{Candidate, Trainer};
use crate::config::Kernel;
use crate::error::Result;
use crate::estimators::automatic::annealed_above;
use crate::estimators::{Ais, Automatic, Estimate, Known, Method, exact};
use crate::interrupt;
use crate::model::Parameters;
use crate::ops::BitMatrix;
use crate::ops::random::{Purpose, derived_seed};
use crate::progress;
use crate::tempering::{BetaUpdate, Ladder, Prior};
use crate::tracking::{LogLikelihood, Model, mean_log_f};

/// Largest smaller layer that is enumerated in an audit.
const LARGEST_EXACT: usize = 20;
/// Combined standard errors beyond which tracker and audit disagree.
const DISAGREEMENT: f64 = 4.0;
/// Relative error that f32 pre-activations leave in any sampled estimate; matters only where errors are far below it.
const ROUNDING: f64 = 1e-5;
/// Training rows among which the automatic estimate looks for modes.
const KNOWN_ROWS: usize = 1000;
/// Fewest inverse temperatures an audit is cut down to.
const FEWEST_TEMPERATURES: usize = 200;

/// An audit beside what the tracker said at the same update.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The independent value.
    pub estimate: Estimate,
    /// Tracked minus audited log Z, nats.
    pub difference: f64,
    /// Standard error of the difference, nats: that of both, and what f32 leaves.
    pub difference_std_error: f64,
    /// The difference in these errors.
    pub in_errors: f64,
}

impl Audit {
    fn new(estimate: Estimate, log_z: f64, std_error: f64) -> Self {
        let difference = log_z - estimate.value;
        let rounding = ROUNDING * estimate.value.abs().max(1.0);
        let difference_std_error = std_error.hypot(estimate.std_error).hypot(rounding);
        let in_errors = difference / difference_std_error;
        Self { estimate, difference, difference_std_error, in_errors }
    }

    /// Whether the tracker's error bar does not explain the difference.
    pub fn disagrees(&self) -> bool {
        self.in_errors.is_nan() || self.in_errors.abs() > DISAGREEMENT
    }

    /// Whether it is by enumeration.
    pub fn is_exact(&self) -> bool {
        self.estimate.method == Method::Exact
    }
}

impl Trainer {
    /// Whether the evaluation at this update has an audit by annealed importance sampling, which takes its time. None at
    /// update 0: the model knows nothing yet.
    pub fn sampled_audit_due(&self) -> bool {
        self.sampled_audit_due_at(self.updates)
    }

    /// Whether the next step ends in such an evaluation.
    pub fn audit_comes_next(&self) -> bool {
        let next = self.updates + 1;
        self.tracker.is_some() && self.evaluation_due(next) && self.sampled_audit_due_at(next)
    }

    /// Audits by annealed importance sampling after an update up to another.
    pub(super) fn sampled_audits_between(&self, after: u64, until: u64) -> u64 {
        let period = self.config.evaluation.every * self.config.audit.every;
        if period == 0 || !self.sampled_audit_due_at(period) {
            return 0;
        }
        until / period - after / period
    }

    fn sampled_audit_due_at(&self, updates: u64) -> bool {
        let every = self.config.audit.every;
        let number = updates / self.config.evaluation.every;
        every > 0
            && updates > 0
            && number.is_multiple_of(every)
            && !self.plan.exact
            && self.smaller_layer() > LARGEST_EXACT
    }

    /// Inverse temperatures of audits during training: those of the configuration, or as many as `audit.share` of the time
    /// between two audits allows.
    pub fn audit_temperatures(&self) -> usize {
        let audit = self.config.audit;
        let (sizes, evaluation) = (&self.sizes, self.config.evaluation.every);
        let block = self.plan.update * (evaluation * audit.every.max(1)) as f64;
        // A sweep, and log f at two temperatures, less than a joint update of all of them.
        let one = sizes.tempered(audit.chains, 1, BetaUpdate::Joint { repeats: 1 });
        let affordable = (audit.share * block / one) as usize;
        audit.temperatures.min(affordable.max(FEWEST_TEMPERATURES))
    }

    /// Whether an audit enumerates.
    pub(super) fn audits_are_exact(&self) -> bool {
        self.smaller_layer() <= LARGEST_EXACT
    }

    fn smaller_layer(&self) -> usize {
        self.sizes.visible.min(self.sizes.hidden)
    }

    /// Exact log Z where evaluations are exact, or an audit is due and the smaller layer has at most 20 units; else annealed
    /// importance sampling where an audit is due.
    pub(super) fn audit_if_due(
        &self,
        model: &Model,
        log_z: f64,
        std_error: f64,
    ) -> Result<Option<Audit>> {
        let every = self.config.audit.every;
        let number = self.updates / self.config.evaluation.every;
        let due = every > 0 && number.is_multiple_of(every);
        let estimate = if self.plan.exact || (due && self.smaller_layer() <= LARGEST_EXACT) {
            self.exact_audit(&model.parameters)?
        } else if self.sampled_audit_due() {
            self.sampled_audit(model, self.audit_temperatures())?
        } else {
            return Ok(None);
        };
        Ok(Some(Audit::new(estimate, log_z, std_error)))
    }

    fn exact_audit(&self, parameters: &Parameters) -> Result<Estimate> {
        let (_task, _permit) = (progress::task("log Z by enumeration"), interrupt::permit());
        exact(parameters)
    }

    fn sampled_audit(&self, model: &Model, temperatures: usize) -> Result<Estimate> {
        let chains = self.config.audit.chains;
        let name = format!("audit by annealed importance sampling, {temperatures} temperatures");
        let (_task, _permit) = (progress::task(name), interrupt::permit());
        let seed = derived_seed(self.config.seed, Purpose::Audit, self.updates);
        let ladder = Ladder::linear(temperatures, &Prior::Uniform)?;
        Ais { chains, ladder, seed }.run(model.ops.as_ref(), &self.base)
    }
}

impl Trainer {
    /// Annealed importance sampling, and where that is in doubt the automatic estimate, if that is sound and not contradicted.
    fn thorough_audit(&self, model: &Model) -> Result<Estimate> {
        let annealed = self.sampled_audit(model, self.config.audit.temperatures)?;
        if annealed.trust.is_sound() || self.config.model.kernel == Kernel::Composed {
            return Ok(annealed);
        }
        let found = self.automatic_audit(&model.parameters)?;
        // Annealing is low in expectation: where it lies above, the other one misses a mode.
        let pass = ("audit", annealed.value, annealed.std_error);
        let above = annealed_above([pass].into_iter(), found.value, found.std_error).is_some();
        Ok(if found.trust.is_sound() && !above { found } else { annealed })
    }

    /// The estimate that searches for modes.
    fn automatic_audit(&self, parameters: &Parameters) -> Result<Estimate> {
        let (_task, _permit) =
            (progress::task("audit by the automatic estimate"), interrupt::permit());
        let seed = derived_seed(self.config.seed, Purpose::Audit, self.updates);
        let rows = &self.rows.train_evaluated;
        let rows = rows.select(0..rows.rows().min(KNOWN_ROWS));
        let known = Known { marginals: Some(&self.base), rows: Some(&rows), ..Known::default() };
        Ok(Automatic::new(seed)?.run(parameters, known, &mut |_| ())?.estimate)
    }

    /// Whether an audit speaks for a model whose evaluation was in doubt. Annealing alone may miss what the tracker could not follow
    /// either, and a model with too low a log Z looks better than it is: the automatic estimate has to say the same.
    fn confirmed(&self, candidate: &Candidate, audited: &Estimate) -> Result<bool> {
        if !audited.trust.is_sound() {
            return Ok(false);
        }
        if audited.method != Method::Ais {
            return Ok(true);
        }
        let found = self.automatic_audit(&candidate.parameters)?;
        let bar = DISAGREEMENT * found.std_error.hypot(audited.std_error);
        Ok(found.trust.is_sound() && (found.value - audited.value).abs() <= bar)
    }
}

/// The final word on a model: log Z by audit, and the log-likelihoods that follow.
#[derive(Clone, Debug)]
pub struct FinalLikelihood {
    /// Audited log Z.
    pub log_z: Estimate,
    /// Mean log-likelihood of the training rows evaluated.
    pub train: LogLikelihood,
    /// Mean log-likelihood of the validation rows.
    pub validation: Option<LogLikelihood>,
    /// Mean log-likelihood of the test rows.
    pub test: Option<LogLikelihood>,
}

impl Trainer {
    /// Audits a model of this run, say the best one, and evaluates it on all rows, test rows included.
    ///
    /// # Errors
    /// Audit settings that cannot be used.
    pub fn final_likelihood(&self, parameters: &Parameters) -> Result<FinalLikelihood> {
        let model = model(parameters.clone(), self.config.model.kernel, &self.device);
        let log_z = if self.plan.exact || self.smaller_layer() <= LARGEST_EXACT {
            self.exact_audit(parameters)?
        } else {
            self.thorough_audit(&model)?
        };
        let likelihood = |rows: &BitMatrix| {
            mean_log_f(model.ops.as_ref(), rows).log_likelihood(log_z.value, log_z.std_error)
        };
        Ok(FinalLikelihood {
            train: likelihood(&self.rows.train_evaluated),
            validation: self.rows.validation.as_ref().map(likelihood),
            test: self.rows.test.as_ref().map(likelihood),
            log_z,
        })
    }
}

/// Tracked log-likelihoods further below the best one than this many of their errors need no audit.
const HOPELESS: f64 = 4.0;

/// The best model of a run, found by audits of those that may be.
pub struct Best {
    /// The model.
    pub candidate: Candidate,
    /// What its audit said.
    pub likelihood: FinalLikelihood,
    /// Whether its evaluation was in doubt, so that only the audit speaks for it.
    pub in_doubt: bool,
    /// How many models were audited.
    pub audited: usize,
}

impl Best {
    /// log Z and its standard error to go with the model: tracked, or audited where the tracked one was in doubt.
    pub fn log_z(&self) -> (f64, f64) {
        match self.in_doubt {
            true => (self.likelihood.log_z.value, self.likelihood.log_z.std_error),
            false => self.candidate.log_z,
        }
    }
}

/// What the audits at the end of a run find.
pub enum LastAudits {
    /// The best model.
    Best(Best),
    /// No evaluation was sound, nor an audit of a model in doubt: the last model.
    Last(FinalLikelihood),
}

/// Which models an audit may still find the best.
pub struct Hopeful<'a> {
    /// Those of evaluations that decisions could go by; where their likelihoods are exact the first alone.
    pub sound: Vec<&'a Candidate>,
    /// Those of evaluations in doubt, which an audit that is confirmed may clear.
    pub doubtful: Vec<&'a Candidate>,
}

impl Hopeful<'_> {
    /// Number of models.
    pub fn len(&self) -> usize {
        self.sound.len() + self.doubtful.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Trainer {
    /// The audits that end a run; where ranks share the work every one of them has to call it.
    ///
    /// # Errors
    /// Audit settings that cannot be used.
    pub fn last_audits(&self) -> Result<LastAudits> {
        match self.audited_best()? {
            Some(best) => Ok(LastAudits::Best(best)),
            None => Ok(LastAudits::Last(self.final_likelihood(&self.parameters())?)),
        }
    }

    /// The candidates that [`Trainer::audited_best`] audits.
    pub fn hopeful_candidates(&self) -> Hopeful<'_> {
        let (sound, doubtful) = (self.candidates(), self.judge.doubtful.candidates());
        let Some(best) = sound.first().or(doubtful.first()) else {
            return Hopeful { sound: Vec::new(), doubtful: Vec::new() };
        };
        let near = |other: &&Candidate| {
            let bar = HOPELESS * best.log_z_error.hypot(other.log_z_error);
            other.update == best.update || best.value - other.value <= bar
        };
        // Of exact likelihoods the first is the highest.
        let exact = best.log_z_error == 0.0;
        let most = if exact { 1 } else { sound.len() };
        Hopeful {
            sound: sound.iter().take(most).filter(near).collect(),
            doubtful: doubtful.iter().filter(near).collect(),
        }
    }

    /// Audits the hopeful candidates and tells the best; `None` if neither an evaluation was sound nor the audit of a model
    /// whose evaluation was not.
    ///
    /// # Errors
    /// Audit settings that cannot be used.
    pub fn audited_best(&self) -> Result<Option<Best>> {
        let hopeful = self.hopeful_candidates();
        let value = |found: &FinalLikelihood| {
            found.validation.map_or(f64::NEG_INFINITY, |validation| validation.value)
        };
        let sound = hopeful.sound.iter().map(|candidate| (candidate, false));
        let doubtful = hopeful.doubtful.iter().map(|candidate| (candidate, true));
        let mut best: Option<Best> = None;
        for (candidate, in_doubt) in sound.chain(doubtful) {
            let likelihood = self.final_likelihood(&candidate.parameters)?;
            let better =
                best.as_ref().is_none_or(|best| value(&likelihood) > value(&best.likelihood));
            if better && (!in_doubt || self.confirmed(candidate, &likelihood.log_z)?) {
                let candidate = (*candidate).clone();
                best = Some(Best { candidate, likelihood, in_doubt, audited: hopeful.len() });
            }
        }
        Ok(best)
    }
}
