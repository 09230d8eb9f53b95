//! The final values of a model: log Z by annealing and by the automatic estimate, and the log-likelihoods with it.

use super::Trainer;
use super::audit::higher;
use super::rows::RowSets;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::Result;
use crate::estimators::{Automatic, Estimate, Known, Method};
use crate::model::Parameters;
use crate::numerics::{MOST_ERRORS, pooled};
use crate::tracking::{LogLikelihood, MeanLogF, Model, mean_log_f};
use crate::trust::Doubt;

/// Training rows that stand for all: the automatic estimate looks for modes in them, and the reconstruction error is theirs.
pub(super) const SOME_ROWS: usize = 1000;
/// Errors by which two audits of one model differ by chance, and half the width of the bands that are recorded.
pub(super) const BY_CHANCE: f64 = 2.0;

/// The purpose of an audit at the end of a run; each purpose has its own random streams.
#[derive(Clone, Copy)]
pub(super) enum Pass {
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

impl FinalLikelihood {
    /// A second audit of the same model in place of this one, which is too favourable on average. If the two differ by more than chance
    /// explains, their mean with an error bar that reaches to both; in doubt if they contradict each other. Not below a lower bound of
    /// either.
    pub(super) fn or(self, mut second: Self) -> Self {
        let (a, b) = (&self.log_z, &mut second.log_z);
        let (apart, error) = (b.value - a.value, b.std_error.hypot(a.std_error));
        if apart.abs() > MOST_ERRORS * error {
            b.trust.doubt(Doubt::AuditsDiffer { value: a.value, std_error: a.std_error });
        }
        let own = b.value;
        if apart.abs() > BY_CHANCE * error {
            let both = [(a.value, a.std_error), (b.value, b.std_error)];
            (b.value, b.std_error) = pooled(&both.map(|it| (it, 1.0)));
        }
        b.at_least = higher(a.at_least, b.at_least);
        b.value = b.value.max(b.at_least.unwrap_or(f64::NEG_INFINITY));
        let (shift, std_error) = (own - b.value, b.std_error);
        second.shift(shift, std_error);
        second
    }

    /// The log-likelihoods by a log Z that is lower by `shift` and has another standard error.
    fn shift(&mut self, shift: f64, std_error: f64) {
        let parts = [Some(&mut self.train), self.validation.as_mut(), self.test.as_mut()];
        for part in parts.into_iter().flatten() {
            *part = part.with_log_z(shift, std_error);
        }
    }

    /// Whether it confirms a model whose evaluation was in doubt: annealing alone may miss what the tracker could not follow either.
    pub(super) fn confirms(&self) -> bool {
        self.log_z.trust.is_sound() && self.log_z.method != Method::Ais
    }

    /// By this value the best model is chosen, nats a row.
    pub(super) fn choice(&self) -> f64 {
        self.validation.map_or(f64::NEG_INFINITY, |validation| validation.value)
    }
}

/// The final values by annealing alone, or exactly.
#[derive(Clone)]
pub(super) struct Annealed {
    likelihood: FinalLikelihood,
    /// A lower bound of log Z: the sum over distinct rows.
    bound: f64,
}

impl Annealed {
    /// The validation log-likelihood that the automatic estimate may confirm. A log Z that is too low makes it too high, so annealing in
    /// doubt excludes nothing.
    pub(super) fn optimistic(&self) -> f64 {
        match self.likelihood.log_z.trust.is_sound() {
            true => self.likelihood.choice(),
            false => f64::INFINITY,
        }
    }

    /// The values with the automatic estimate of the same model, unless that is in doubt or annealing gives more. Annealing alone can miss
    /// narrow modes from any start, and a model with too low a log Z looks better than it is. Where annealing gives more, the
    /// automatic estimate has missed a part of the model, and annealing may have missed others: in doubt.
    pub(super) fn with(self, mut found: Estimate) -> FinalLikelihood {
        let Self { mut likelihood, bound } = self;
        let mut annealed = likelihood.log_z.clone();
        found.refuse_below(bound);
        let (by_annealing, error) = (annealed.value, found.std_error.hypot(annealed.std_error));
        let apart = found.value - annealed.value;
        let at_least = higher(annealed.at_least, found.at_least);
        let above = annealed.trust.is_sound() && apart < -MOST_ERRORS * error
            || annealed.at_least > Some(found.value + MOST_ERRORS * found.std_error);
        if above && found.trust.is_sound() {
            let (value, std_error) = (found.value, found.std_error);
            annealed.trust.doubt(Doubt::AuditsDiffer { value, std_error });
        }
        let below = apart > MOST_ERRORS * error;
        let taken = if below || (found.trust.is_sound() && !above) { found } else { annealed };
        let value = taken.value.max(at_least.unwrap_or(f64::NEG_INFINITY));
        likelihood.shift(by_annealing - value, taken.std_error);
        likelihood.log_z = Estimate { value, at_least, ..taken };
        likelihood
    }
}

impl Trainer {
    /// Audits a model of this run, usually the best one, and evaluates it on all rows, test rows included.
    ///
    /// # Errors
    /// Invalid audit settings.
    pub fn final_likelihood(&self, parameters: &Parameters) -> Result<FinalLikelihood> {
        let temperatures = self.config.audit.temperatures;
        let annealed = self.annealed(parameters, Pass::Choice, temperatures)?;
        self.thorough(annealed, (parameters, None))
    }

    /// Annealing alone, or exact log Z where that is quick.
    pub(super) fn annealed(
        &self,
        parameters: &Parameters,
        pass: Pass,
        temperatures: usize,
    ) -> Result<Annealed> {
        let model = Model::within(parameters.clone(), &self.context);
        let RowSets { validation, test, .. } = &self.rows;
        let mean = |rows: &BitMatrix| mean_log_f(model.engine.as_ref(), rows);
        let train = self.rows.train_log_f(model.engine.as_ref());
        let (validation, test) = (validation.as_ref().map(mean), test.as_ref().map(mean));
        let all = [Some(&train), validation.as_ref(), test.as_ref()].into_iter().flatten();
        let bound = all.fold(f64::NEG_INFINITY, |most, rows| most.max(rows.log_z_bound));
        let log_z = if self.plan.exact || self.audits_are_exact() {
            self.exact_audit(parameters)?
        } else {
            let mut found = self.sampled_audit(&model, temperatures, self.streams_of(pass))?;
            found.refuse_below(bound);
            found
        };
        let likelihood = |mean: MeanLogF| mean.log_likelihood(log_z.value, log_z.std_error);
        let likelihood = FinalLikelihood {
            train: likelihood(train),
            validation: validation.map(likelihood),
            test: test.map(likelihood),
            log_z,
        };
        Ok(Annealed { likelihood, bound })
    }

    /// The automatic estimate beside annealing, with the streams of [`Pass::Choice`]; `states` of the model help to find its modes. Exact
    /// values stay.
    pub(super) fn thorough(
        &self,
        annealed: Annealed,
        (parameters, states): (&Parameters, Option<&BitMatrix>),
    ) -> Result<FinalLikelihood> {
        if annealed.likelihood.log_z.method == Method::Exact {
            return Ok(annealed.likelihood);
        }
        Ok(annealed.with(self.automatic_audit(parameters, states, Pass::Choice)?))
    }

    /// The audit to report, with streams of its own. Longer annealing only where its value is the one that counts.
    pub(super) fn audit_to_report(
        &self,
        parameters: &Parameters,
        states: Option<&BitMatrix>,
    ) -> Result<FinalLikelihood> {
        let most = self.config.audit.temperatures;
        let short = self.temperatures_of_choice(1);
        let found = self.automatic_audit(parameters, states, Pass::Report)?;
        let likelihood = self.annealed(parameters, Pass::Report, short)?.with(found.clone());
        if likelihood.log_z.method != Method::Ais || short == most {
            return Ok(likelihood);
        }
        Ok(self.annealed(parameters, Pass::Report, most)?.with(found))
    }

    /// The estimate with a mode search, from rows of the data and `states` of the model.
    fn automatic_audit(
        &self,
        parameters: &Parameters,
        states: Option<&BitMatrix>,
        pass: Pass,
    ) -> Result<Estimate> {
        let _task = self.context.task("audit by the automatic estimate");
        let seed = derived_seed(self.config.seed, Purpose::Audit, self.streams_of(pass));
        let rows = &self.rows.train_evaluated;
        let rows = rows.spread(SOME_ROWS);
        let known =
            Known { marginals: Some(&self.base), rows: Some(&rows), states, ..Known::default() };
        let automatic = Automatic { context: self.context.clone(), ..Automatic::new(seed)? };
        Ok(automatic.run(parameters, known, &mut |_| ())?.estimate)
    }

    fn streams_of(&self, pass: Pass) -> u64 {
        self.updates + ((pass as u64) << 40)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::context::Device;

    /// Of a model with a mean log f of 10.
    fn audited(value: f64, std_error: f64) -> FinalLikelihood {
        let train = LogLikelihood {
            value: 10.0 - value,
            std_error: 0.3_f64.hypot(std_error),
            data_std_error: 0.3,
            log_z_std_error: std_error,
        };
        let log_z = Estimate::new(Method::Auto, value, std_error);
        FinalLikelihood { log_z, train, validation: None, test: Some(train) }
    }

    #[test]
    fn annealing_in_doubt_excludes_no_model() {
        let mut likelihood = audited(20.0, 0.1);
        likelihood.validation = likelihood.test;
        let mut annealed = Annealed { likelihood, bound: 0.0 };
        assert_eq!(annealed.optimistic(), -10.0);
        annealed.likelihood.log_z.trust.doubt(Doubt::StartsDiffer {});
        assert_eq!(annealed.optimistic(), f64::INFINITY);
    }

    #[test]
    fn a_model_in_doubt_is_confirmed_by_more_than_annealing() {
        let confirms = |method, sound: bool| {
            let mut likelihood = audited(20.0, 0.1);
            likelihood.log_z.method = method;
            if !sound {
                likelihood.log_z.trust.doubt(Doubt::StartsDiffer {});
            }
            likelihood.confirms()
        };
        assert!(confirms(Method::Auto, true) && confirms(Method::Exact, true));
        assert!(!confirms(Method::Ais, true) && !confirms(Method::Auto, false));
    }

    /// What is reported has other random numbers than what chose the model, in both of its estimates.
    #[test]
    fn an_audit_to_report_has_streams_of_its_own() {
        let text = "data = { source = { name = \"bars-and-stripes\", side = 5, rows = 300 } }
            model = { hidden = 24 }
            training = { updates = 10 }
            audit = { temperatures = 200 }";
        let config = Config::parse(text, &[]).unwrap();
        let splits = config.data.load(None).unwrap();
        let trainer = Trainer::new(&config, splits, Device::default()).unwrap();
        let model = trainer.parameters();
        let [choice, report] = [Pass::Choice, Pass::Report].map(|pass| {
            let annealed = trainer.annealed(&model, pass, 200).unwrap();
            (annealed, trainer.automatic_audit(&model, None, pass).unwrap())
        });
        let value = |(annealed, _): &(Annealed, Estimate)| annealed.likelihood.log_z.value;
        assert!(value(&choice) != value(&report) && choice.1.value != report.1.value);
        let reported = trainer.audit_to_report(&model, None).unwrap().log_z;
        let expected = report.0.with(report.1).log_z;
        assert_eq!((reported.value, reported.at_least), (expected.value, expected.at_least));
        let thorough = trainer.thorough(choice.0.clone(), (&model, None)).unwrap().log_z;
        assert_eq!(thorough.value, choice.0.with(choice.1).log_z.value);
    }

    /// Of two sound values that contradict each other the higher one is taken. If that is annealing's, it is in doubt.
    #[test]
    fn of_annealing_and_the_automatic_estimate_the_higher_one_counts() {
        let both = |annealed: (f64, f64), at_least: f64, found: (f64, f64), sound: bool| {
            let mut likelihood = audited(annealed.0, annealed.1);
            likelihood.log_z.method = Method::Ais;
            likelihood.log_z.at_least = Some(at_least);
            let mut estimate = Estimate::new(Method::Auto, found.0, found.1);
            if !sound {
                estimate.trust.doubt(Doubt::StartsDiffer {});
            }
            let FinalLikelihood { log_z, test, .. } =
                Annealed { likelihood, bound: 0.0 }.with(estimate);
            let test = test.unwrap();
            assert!((test.value - (10.0 - log_z.value)).abs() < 1e-9, "{test:?}");
            assert_eq!(test.log_z_std_error, log_z.std_error);
            (log_z.value, log_z.method, log_z.trust.names())
        };
        let (auto, ais, differ) = (Method::Auto, Method::Ais, "audits-differ".to_string());
        assert_eq!(both((20.0, 0.3), 19.5, (20.2, 0.1), true), (20.2, auto, String::new()));
        assert_eq!(both((20.0, 0.1), 19.5, (22.0, 0.1), true), (22.0, auto, String::new()));
        assert_eq!(both((22.0, 0.1), 19.5, (20.0, 0.1), true), (22.0, ais, differ.clone()));
        assert_eq!(both((22.0, 0.9), 21.0, (20.0, 0.1), true), (22.0, ais, differ));
        assert_eq!(both((22.0, 0.1), 19.5, (20.0, 0.1), false), (22.0, ais, String::new()));
        // Not below the bound of annealing, though by chance.
        assert_eq!(both((20.0, 0.3), 19.9, (19.8, 0.1), true), (19.9, auto, String::new()));
    }

    #[test]
    fn the_second_audit_is_reported_and_one_that_differs_widens_the_error_bar() {
        let of = |a: (f64, f64), b: (f64, f64)| {
            let found = audited(a.0, a.1).or(audited(b.0, b.1));
            let test = found.test.unwrap();
            assert!((test.value - (10.0 - found.log_z.value)).abs() < 1e-9, "{test:?}");
            assert!((test.std_error - 0.3_f64.hypot(found.log_z.std_error)).abs() < 1e-9);
            (found.log_z.value, found.log_z.std_error, found.log_z.trust.names())
        };
        assert_eq!(of((20.0, 0.1), (20.2, 0.1)), (20.2, 0.1, String::new()));
        // 2.8 errors apart: the mean, and an error bar that reaches to both.
        let (value, error, doubts) = of((20.0, 0.1), (20.4, 0.1));
        assert!((value - 20.2).abs() < 1e-9 && (error - 0.2).abs() < 1e-9, "{value} {error}");
        assert_eq!(doubts, "");
        assert_eq!(of((20.0, 0.1), (21.0, 0.1)).2, "audits-differ");
        // The first audit's lower bound holds for the second, and for the mean.
        for (second, expected) in [(20.1, 20.15), (19.6, 20.15), (20.2, 20.2)] {
            let mut first = audited(20.2, 0.1);
            first.log_z.at_least = Some(20.15);
            let found = first.or(audited(second, 0.1));
            assert_eq!((found.log_z.value, found.log_z.at_least), (expected, Some(20.15)));
            assert!((found.train.value - (10.0 - expected)).abs() < 1e-9, "{:?}", found.train);
        }
    }
}
