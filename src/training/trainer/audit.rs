//! Audits: log Z computed independently of the tracker.

use super::Trainer;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::Result;
use crate::estimators::{Ais, Estimate, F32_ROUNDING, Method, ais, exact_within};
use crate::model::Parameters;
use crate::model::exact::QUICK_UNITS;
use crate::numerics::{MOST_ERRORS, joined};
use crate::tempering::mixture::{DEFENSIVE, MixturePath, with_broad};
use crate::tempering::{BetaUpdate, Ladder, Prior};
use crate::tracking::Model;
use crate::trust::{Doubt, LogZ};

/// Smallest number of inverse temperatures of an audit, and of one that chooses among models.
const FEWEST_TEMPERATURES: usize = 200;
const FEWEST_OF_CHOICE: usize = 1000;

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
    pub(super) fn new(estimate: Estimate, log_z: f64, std_error: f64) -> Self {
        let difference = log_z - estimate.value;
        let rounding = F32_ROUNDING * estimate.value.abs().max(1.0);
        let difference_std_error = std_error.hypot(estimate.std_error).hypot(rounding);
        let in_errors = difference / difference_std_error;
        Self { estimate, difference, difference_std_error, in_errors }
    }

    /// Whether the errors do not explain the difference.
    pub(crate) fn disagrees(&self) -> bool {
        self.in_errors.is_nan() || self.in_errors.abs() > MOST_ERRORS
    }

    /// Whether it says that the tracked value is wrong. A sampled audit in doubt is still a lower bound in expectation, so it counts if it is
    /// above the tracked value.
    pub(crate) fn contradicts(&self) -> bool {
        self.disagrees() && (self.estimate.trust.is_sound() || self.difference < 0.0)
    }

    /// Whether it says that the tracked value is right.
    pub(crate) fn confirms(&self) -> bool {
        !self.disagrees() && self.estimate.trust.is_sound()
    }

    /// Whether it is exact, by enumeration.
    pub(crate) fn is_exact(&self) -> bool {
        self.estimate.method == Method::Exact
    }
}

impl Trainer {
    /// Whether the next step ends in such an evaluation.
    pub(crate) fn audit_comes_next(&self) -> bool {
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

    /// Whether the evaluation at an update has an audit by annealed importance sampling, which takes time. None at update 0, because the model
    /// is not trained yet.
    pub(super) fn sampled_audit_due_at(&self, updates: u64) -> bool {
        let exact = self.plan.exact || self.audits_are_exact();
        updates > 0 && !exact && self.falls_on(updates, self.config.audit.every)
    }

    /// Whether the evaluation at an update is one of every `every`; 0 for none.
    pub(super) fn falls_on(&self, updates: u64, every: u64) -> bool {
        every > 0 && (updates / self.config.evaluation.every).is_multiple_of(every)
    }

    /// Inverse temperatures of audits during training: those of the configuration, or as many as `audit.share` of the time between two
    /// audits allows.
    pub(crate) fn audit_temperatures(&self) -> usize {
        let block = self.config.evaluation.every * self.config.audit.every.max(1);
        self.temperatures_within(block as f64, FEWEST_TEMPERATURES)
    }

    /// The same of audits after training that choose among so many models.
    pub(super) fn temperatures_of_choice(&self, models: usize) -> usize {
        self.temperatures_within(self.updates as f64 / models as f64, FEWEST_OF_CHOICE)
    }

    fn temperatures_within(&self, updates: f64, fewest: usize) -> usize {
        let audit = self.config.audit;
        // A sweep and log f at two temperatures cost less than a joint update of all of them.
        let one = self.sizes.tempered(audit.chains, 1, BetaUpdate::Joint(1));
        let affordable = (audit.share * self.plan.update * updates / one) as usize;
        audit.temperatures.min(affordable.max(fewest))
    }

    /// Whether an audit enumerates.
    pub(super) fn audits_are_exact(&self) -> bool {
        self.sizes.enumerated().0 <= QUICK_UNITS
    }

    /// Exact log Z if evaluations are exact, or if an audit is due and the smaller layer has at most 20 units; otherwise annealed
    /// importance sampling if an audit is due.
    pub(super) fn audit_if_due(
        &self,
        model: &Model,
        tracked: &LogZ,
        bound: f64,
    ) -> Result<Option<Audit>> {
        let due = self.falls_on(self.updates, self.config.audit.every);
        let estimate = if self.plan.exact || (due && self.audits_are_exact()) {
            self.exact_audit(&model.parameters)?
        } else if self.sampled_audit_due_at(self.updates) {
            let mut found = self.sampled_audit(model, self.audit_temperatures(), self.updates)?;
            found.refuse_below(bound);
            found
        } else {
            return Ok(None);
        };
        Ok(Some(Audit::new(estimate, tracked.value, tracked.std_error)))
    }

    pub(super) fn exact_audit(&self, parameters: &Parameters) -> Result<Estimate> {
        let _task = self.context.task("log Z by enumeration");
        self.context.interruptible(|| exact_within(parameters, &self.context))
    }

    /// Annealed importance sampling, half of the temperatures from the marginals of the training rows and half from the mixture of the
    /// second population, if there is one: annealing from one start can miss a mode without any sign of it, and is then too low.
    pub(super) fn sampled_audit(
        &self,
        model: &Model,
        temperatures: usize,
        pass: u64,
    ) -> Result<Estimate> {
        let name = format!("audit by annealed importance sampling, {temperatures} temperatures");
        let _task = self.context.task(name);
        self.context.interruptible(|| self.annealed_audit(model, temperatures, pass))
    }

    fn annealed_audit(&self, model: &Model, temperatures: usize, pass: u64) -> Result<Estimate> {
        let chains = self.config.audit.chains;
        let seed = derived_seed(self.config.seed, Purpose::Audit, pass);
        let engine = model.engine.as_ref();
        // A mixture that was fitted anew reaches what the first one misses.
        let renewed = self.tracker.as_ref().and_then(|tracker| tracker.mixture());
        let Some(mixture) = renewed.or(self.mixture.as_ref()) else {
            let ladder = Ladder::linear(temperatures, &Prior::Uniform)?;
            return Ais { chains, ladder, seed }.run(engine, &self.base);
        };
        let ladder = Ladder::linear(temperatures.div_ceil(2).max(2), &Prior::Uniform)?;
        let path = MixturePath { engine, ladder: &ladder, base: &with_broad(mixture, DEFENSIVE)? };
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
    let differ = high.value - low.value > MOST_ERRORS * low.std_error.hypot(high.std_error);
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
        found.trust.doubt(Doubt::StartsDiffer {});
    }
    Estimate { gibbs_sweeps, seconds, at_least, ..found }
}

/// The higher one of two lower bounds.
pub(super) fn higher(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::context::Device;
    use crate::data::{Dataset, Splits, Values};
    use crate::estimators::Bias;
    use crate::model::{Parameters, exact};
    use crate::trust::Trust;

    fn of(value: f64, sound: bool) -> Estimate {
        let doubt = (!sound).then(|| Doubt::other("doubt", "reason"));
        Estimate {
            method: Method::Ais,
            value,
            std_error: 0.1,
            effective_samples: Some(50.0),
            bias: Bias::Low,
            at_least: None,
            raised: false,
            gibbs_sweeps: 10,
            seconds: 1.0,
            trust: Trust::unless(doubt),
        }
    }

    /// Audits that choose among models cost no more than a share of the training, however short it was.
    #[test]
    fn audits_that_choose_fit_the_training() {
        let text = "data = { source = { name = \"bars-and-stripes\", side = 6, rows = 300 } }
            model = { hidden = 21 }
            training = { updates = 1000000 }
            audit = { share = 0.5, temperatures = 10000 }";
        let config = Config::parse(text, &[]).unwrap();
        let splits = config.data.load(None).unwrap();
        let mut trainer = Trainer::new(&config, splits, Device::default()).unwrap();
        let mut found = |updates, models| {
            trainer.updates = updates;
            trainer.temperatures_of_choice(models)
        };
        assert_eq!(found(300, 4), FEWEST_OF_CHOICE);
        assert_eq!(found(1_000_000, 4), 10_000);
        let (four, eight) = (found(40_000, 4), found(40_000, 8));
        assert!(four < 10_000 && eight > FEWEST_OF_CHOICE, "{four} {eight}");
        assert!(four.abs_diff(2 * eight) <= 1, "{four} {eight}");
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

    /// Two modes, of which the four components of the mixture cover parts: with the weights of the broad components that tempered chains need, the
    /// rms of the scores is 3.
    #[test]
    fn audits_anneal_from_a_defensive_mixture() {
        let (visible, hidden) = (20, 12);
        let weights = vec![1.0; visible * hidden];
        let (of_visible, of_hidden) = (vec![-6.0; visible], vec![-10.0; hidden]);
        let parameters = Parameters::new(visible, hidden, weights, of_visible, of_hidden).unwrap();
        let exact = exact::log_partition(&parameters).unwrap();
        let rows = exact::samples(&parameters, 300, 1).unwrap();
        let text = "data = { source = \"rows.csv\" }
            model = { hidden = 12 }
            tempering = { mixture = 4 }
            training = { updates = 10 }";
        let config = Config::parse(text, &[]).unwrap();
        let train = Dataset::new("rows", Values::Binary(rows), None, None).unwrap();
        let splits = Splits { train, validation: None, test: None };
        let trainer = Trainer::new(&config, splits, Device::Host).unwrap();
        let model = Model::on_host(parameters);
        let score = |pass| {
            let found = trainer.annealed_audit(&model, 2000, pass).unwrap();
            (found.value - exact) / found.std_error
        };
        let square = (1..=20).map(|pass| score(pass).powi(2)).sum::<f64>() / 20.0;
        // The rms of 20 scores scatters by .16.
        assert!(square.sqrt() < 1.6, "{}", square.sqrt());
    }
}
