//! Audits: log Z computed independently of the tracker.

use super::model::model;
use super::rows::RowSets;
use super::{Candidate, Trainer};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::Result;
use crate::estimators::{Ais, Automatic, Estimate, Known, Method, ais, exact};
use crate::interrupt;
use crate::model::Parameters;
use crate::numerics::joined;
use crate::progress;
use crate::tempering::mixture::MixturePath;
use crate::tempering::{BetaUpdate, Ladder, Prior};
use crate::tracking::{LogLikelihood, MeanLogF, Model, mean_log_f};

/// Largest smaller layer that is enumerated in an audit.
const LARGEST_EXACT: usize = 20;
/// Combined standard errors beyond which tracker and audit disagree.
const DISAGREEMENT: f64 = 4.0;
/// Relative error of f32 pre-activations in any sampled estimate; matters only if other errors are far smaller.
const ROUNDING: f64 = 1e-5;
/// Training rows in which the automatic estimate looks for modes.
const KNOWN_ROWS: usize = 1000;
/// Smallest number of inverse temperatures of an audit.
const FEWEST_TEMPERATURES: usize = 200;

/// An audit and the tracked value of the same update.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The independent value.
    pub estimate: Estimate,
    /// Tracked minus audited log Z, nats.
    pub difference: f64,
    /// Standard error of the difference, nats: both errors and that of f32.
    pub difference_std_error: f64,
    /// The difference in units of this error.
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

    /// Whether the errors do not explain the difference.
    pub fn disagrees(&self) -> bool {
        self.in_errors.is_nan() || self.in_errors.abs() > DISAGREEMENT
    }

    /// Whether it is exact, by enumeration.
    pub fn is_exact(&self) -> bool {
        self.estimate.method == Method::Exact
    }
}

impl Trainer {
    /// Whether the evaluation at this update has an audit by annealed importance sampling, which takes time. None at update 0, because the
    /// model is not trained yet.
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

    /// Inverse temperatures of audits during training: those of the configuration, or as many as `audit.share` of the time between two
    /// audits allows.
    pub fn audit_temperatures(&self) -> usize {
        let audit = self.config.audit;
        let (sizes, evaluation) = (&self.sizes, self.config.evaluation.every);
        let block = self.plan.update * (evaluation * audit.every.max(1)) as f64;
        // A sweep and log f at two temperatures cost less than a joint update of all of them.
        let one = sizes.tempered(audit.chains, 1, BetaUpdate::Joint(1));
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

    /// Exact log Z if evaluations are exact, or if an audit is due and the smaller layer has at most 20 units; otherwise annealed
    /// importance sampling if an audit is due.
    pub(super) fn audit_if_due(
        &self,
        model: &Model,
        (log_z, std_error): (f64, f64),
        bound: f64,
    ) -> Result<Option<Audit>> {
        let every = self.config.audit.every;
        let number = self.updates / self.config.evaluation.every;
        let due = every > 0 && number.is_multiple_of(every);
        let estimate = if self.plan.exact || (due && self.smaller_layer() <= LARGEST_EXACT) {
            self.exact_audit(&model.parameters)?
        } else if self.sampled_audit_due() {
            let mut found = self.sampled_audit(model, self.audit_temperatures(), self.updates)?;
            found.refuse_below(bound);
            found
        } else {
            return Ok(None);
        };
        Ok(Some(Audit::new(estimate, log_z, std_error)))
    }

    fn exact_audit(&self, parameters: &Parameters) -> Result<Estimate> {
        let (_task, _permit) = (progress::task("log Z by enumeration"), interrupt::permit());
        exact(parameters)
    }

    /// Annealed importance sampling, half of the temperatures from the marginals of the training rows and half from the mixture fitted to
    /// them, if there is one: annealing from one start can miss a mode without any sign of it, and is then too low.
    fn sampled_audit(&self, model: &Model, temperatures: usize, pass: u64) -> Result<Estimate> {
        let chains = self.config.audit.chains;
        let name = format!("audit by annealed importance sampling, {temperatures} temperatures");
        let (_task, _permit) = (progress::task(name), interrupt::permit());
        let seed = derived_seed(self.config.seed, Purpose::Audit, pass);
        let engine = model.engine.as_ref();
        let Some(mixture) = &self.mixture else {
            let ladder = Ladder::linear(temperatures, &Prior::Uniform)?;
            return Ais { chains, ladder, seed }.run(engine, &self.base);
        };
        let ladder = Ladder::linear(temperatures.div_ceil(2).max(2), &Prior::Uniform)?;
        let path = MixturePath { engine, ladder: &ladder, base: mixture };
        let from_mixture = ais(&path, chains, derived_seed(seed, Purpose::Audit, 1))?;
        let from_marginals =
            Ais { chains, ladder: ladder.clone(), seed }.run(engine, &self.base)?;
        Ok(agreed(from_marginals, from_mixture))
    }
}

/// The combined result of two annealing passes from different starts. Each is too low in expectation. If they differ, the higher one is
/// nearer, and a pass in doubt contradicts the other only if it is the higher one.
fn agreed(a: Estimate, b: Estimate) -> Estimate {
    let (low, high) = if a.value <= b.value { (a, b) } else { (b, a) };
    let differ = high.value - low.value > DISAGREEMENT * low.std_error.hypot(high.std_error);
    let low_is_sound = low.trust.is_sound();
    let (gibbs_sweeps, seconds) =
        (low.gibbs_sweeps + high.gibbs_sweeps, low.seconds + high.seconds);
    let at_least = higher(low.at_least, high.at_least);
    let mut found = match (low_is_sound, high.trust.is_sound()) {
        (true, true) if !differ => {
            let (value, std_error) =
                joined(&[(low.value, low.std_error), (high.value, high.std_error)]);
            let effective = low.effective_samples.zip(high.effective_samples);
            let effective_samples = effective.map(|(low, high)| low + high);
            Estimate { value, std_error, effective_samples, ..high }
        }
        (true, false) if !differ => low,
        _ => high,
    };
    if differ && low_is_sound {
        found.trust.doubt("starts-differ", "annealing from the marginals of the data and from a mixture fitted to the rows differ by more than their errors: one of them misses a part of the model; raise audit.temperatures");
    }
    Estimate { gibbs_sweeps, seconds, at_least, ..found }
}

/// The higher one of two lower bounds.
fn higher(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

impl Trainer {
    /// The automatic estimate with rows of the data, unless it is in doubt or annealing gives more; otherwise annealing. Annealing alone
    /// can miss narrow modes from any start, and a model with too low a log Z looks better than it is.
    fn thorough_audit(&self, model: &Model, pass: u64, bound: f64) -> Result<Estimate> {
        let mut annealed = self.sampled_audit(model, self.config.audit.temperatures, pass)?;
        annealed.refuse_below(bound);
        let mut found = self.automatic_audit(&model.parameters, pass)?;
        found.refuse_below(bound);
        let error = found.std_error.hypot(annealed.std_error);
        let below = found.value - annealed.value > DISAGREEMENT * error;
        let at_least = higher(annealed.at_least, found.at_least);
        let above = annealed.at_least > Some(found.value + DISAGREEMENT * found.std_error);
        let taken = if below || (found.trust.is_sound() && !above) { found } else { annealed };
        Ok(Estimate { at_least, ..taken })
    }

    /// The estimate with a mode search.
    fn automatic_audit(&self, parameters: &Parameters, pass: u64) -> Result<Estimate> {
        let (_task, _permit) =
            (progress::task("audit by the automatic estimate"), interrupt::permit());
        let seed = derived_seed(self.config.seed, Purpose::Audit, pass);
        let rows = &self.rows.train_evaluated;
        let rows = rows.spread(KNOWN_ROWS);
        let known = Known { marginals: Some(&self.base), rows: Some(&rows), ..Known::default() };
        Ok(Automatic::new(seed)?.run(parameters, known, &mut |_| ())?.estimate)
    }

    /// Whether an audit confirms a model whose evaluation was in doubt. Annealing alone may miss what the tracker could not follow either,
    /// and a model with too low a log Z looks better than it is. So the automatic estimate has to agree.
    fn confirmed(&self, candidate: &Candidate, audited: &Estimate) -> Result<bool> {
        if !audited.trust.is_sound() {
            return Ok(false);
        }
        if audited.method != Method::Ais {
            return Ok(true);
        }
        let found = self.automatic_audit(&candidate.parameters, self.updates)?;
        let bar = DISAGREEMENT * found.std_error.hypot(audited.std_error);
        Ok(found.trust.is_sound() && (found.value - audited.value).abs() <= bar)
    }
}

/// The purpose of an audit at the end of a run; each purpose has its own random streams.
#[derive(Clone, Copy)]
enum Pass {
    /// To choose among models: the same streams for all, so that their errors are alike.
    Choice,
    /// To report the chosen model: the audit by which it was chosen is too favourable on average.
    Report,
}

/// The final values of a model: log Z by audit, and the log-likelihoods with it.
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
    /// Audits a model of this run, usually the best one, and evaluates it on all rows, test rows included.
    ///
    /// # Errors
    /// Invalid audit settings.
    pub fn final_likelihood(&self, parameters: &Parameters) -> Result<FinalLikelihood> {
        self.audited_likelihood(parameters, Pass::Choice)
    }

    fn audited_likelihood(&self, parameters: &Parameters, pass: Pass) -> Result<FinalLikelihood> {
        let model = model(parameters.clone(), &self.device);
        let RowSets { validation, test, .. } = &self.rows;
        let mean = |rows: &BitMatrix| mean_log_f(model.engine.as_ref(), rows);
        let train = self.rows.train_log_f(model.engine.as_ref());
        let (validation, test) = (validation.as_ref().map(mean), test.as_ref().map(mean));
        let log_z = if self.plan.exact || self.smaller_layer() <= LARGEST_EXACT {
            self.exact_audit(parameters)?
        } else {
            let all = [Some(&train), validation.as_ref(), test.as_ref()].into_iter().flatten();
            let bound = all.fold(f64::NEG_INFINITY, |most, rows| most.max(rows.log_z_bound));
            self.thorough_audit(&model, self.updates + ((pass as u64) << 40), bound)?
        };
        let likelihood = |mean: MeanLogF| mean.log_likelihood(log_z.value, log_z.std_error);
        Ok(FinalLikelihood {
            train: likelihood(train),
            validation: validation.map(likelihood),
            test: test.map(likelihood),
            log_z,
        })
    }
}

/// Number of errors below the best tracked log-likelihood beyond which a model needs no audit.
const HOPELESS: f64 = 4.0;

/// The best model of a run, found by audits of the candidates.
pub struct Best {
    /// The model.
    pub candidate: Candidate,
    /// The result of its audit.
    pub likelihood: FinalLikelihood,
    /// Whether its evaluation was in doubt, so that only the audit supports it.
    pub in_doubt: bool,
    /// How many models were audited.
    pub audited: usize,
}

impl Best {
    /// log Z and its standard error to store with the model: tracked, or audited if the tracked one was in doubt.
    pub fn log_z(&self) -> (f64, f64) {
        match self.in_doubt {
            true => (self.likelihood.log_z.value, self.likelihood.log_z.std_error),
            false => self.candidate.log_z,
        }
    }
}

/// Result of the audits at the end of a run.
pub enum LastAudits {
    /// The best model.
    Best(Best),
    /// No evaluation was sound, nor an audit of a model in doubt: the last model is used.
    Last(FinalLikelihood),
}

/// Models that an audit may still find to be the best.
pub struct Hopeful<'a> {
    /// Those of sound, audited or exact evaluations; if their likelihoods are exact, only the first.
    pub sound: Vec<&'a Candidate>,
    /// Those of evaluations in doubt, which can win by a confirmed audit.
    pub doubtful: Vec<&'a Candidate>,
}

impl Hopeful<'_> {
    /// Number of models.
    pub fn len(&self) -> usize {
        self.sound.len() + self.doubtful.len()
    }
}

impl Trainer {
    /// The audits at the end of a run; if ranks divide the work, every rank has to call it.
    ///
    /// # Errors
    /// Invalid audit settings.
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

    /// Audits the candidates and returns the best; `None` if no evaluation was sound, and no audit of a model whose evaluation was in
    /// doubt.
    ///
    /// # Errors
    /// Invalid audit settings.
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
        let sampled = |best: &Best| best.likelihood.log_z.method != Method::Exact;
        let Some(best) = best.take_if(|best| sampled(best)) else { return Ok(best) };
        let likelihood = self.audited_likelihood(&best.candidate.parameters, Pass::Report)?;
        Ok(Some(Best { likelihood: best.likelihood.or(likelihood), ..best }))
    }
}

impl FinalLikelihood {
    /// A second audit of the same model in place of this one; in doubt if the two contradict each other.
    fn or(self, mut second: Self) -> Self {
        let (a, b) = (&self.log_z, &mut second.log_z);
        let (apart, error) = (b.value - a.value, b.std_error.hypot(a.std_error));
        if apart.abs() > DISAGREEMENT * error {
            let text = format!(
                "{:.3} ± {:.3} by an audit with other random numbers: one of them misses a part of the model; raise audit.temperatures",
                a.value, a.std_error
            );
            b.trust.doubt("audits-differ", text);
        }
        second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::Bias;
    use crate::trust::Trust;

    fn of(value: f64, sound: bool) -> Estimate {
        let reason = (!sound).then(|| "reason".to_string());
        Estimate {
            method: Method::Ais,
            value,
            std_error: 0.1,
            effective_samples: Some(50.0),
            bias: Bias::Low,
            at_least: None,
            gibbs_sweeps: 10,
            seconds: 1.0,
            trust: Trust::unless("doubt", reason),
        }
    }

    #[test]
    fn annealing_from_two_starts_agrees_or_the_higher_one_counts() {
        let found = |a: (f64, bool), b: (f64, bool)| {
            let one = agreed(of(a.0, a.1), of(b.0, b.1));
            let other = agreed(of(b.0, b.1), of(a.0, a.1));
            assert!((one.value - other.value).abs() < 1e-9 && one.trust == other.trust);
            (one.value, one.trust.names())
        };
        let differ = "starts-differ".to_string();
        assert_eq!(found((5.0, true), (5.25, true)), (5.125, String::new()));
        assert_eq!(found((5.0, true), (9.0, true)), (9.0, differ.clone()));
        // A pass in doubt contradicts the other if it is the higher one.
        assert_eq!(found((5.0, true), (5.25, false)), (5.0, String::new()));
        assert_eq!(found((5.0, true), (9.0, false)), (9.0, format!("doubt {differ}")));
        assert_eq!(found((5.0, false), (9.0, true)), (9.0, String::new()));
        assert_eq!(found((5.0, false), (9.0, false)), (9.0, "doubt".into()));
    }
}
