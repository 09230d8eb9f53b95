//! The best model of a run, by audits of the candidates at its end.

use super::audit::higher;
use super::model::model;
use super::rows::RowSets;
use super::{Candidate, Trainer};
use crate::context::interrupt;
use crate::context::progress;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::Result;
use crate::estimators::{Automatic, Estimate, Known, Method};
use crate::model::Parameters;
use crate::numerics::{MOST_ERRORS, pooled};
use crate::tracking::{LogLikelihood, MeanLogF, mean_log_f};
use crate::trust::Doubt;

/// Training rows in which the automatic estimate looks for modes.
const KNOWN_ROWS: usize = 1000;
/// Errors by which two audits of one model differ by chance.
const BY_CHANCE: f64 = 2.0;

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

/// The final values by annealing alone, or exactly.
struct Annealed {
    likelihood: FinalLikelihood,
    /// A lower bound of log Z: the sum over distinct rows.
    bound: f64,
}

impl Annealed {
    /// The validation log-likelihood that the automatic estimate may confirm. A log Z that is too low makes it too high, so annealing in
    /// doubt excludes nothing.
    fn hope(&self) -> f64 {
        match self.likelihood.log_z.trust.is_sound() {
            true => self.likelihood.choice(),
            false => f64::INFINITY,
        }
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
        self.thorough(annealed, (parameters, None), Pass::Choice)
    }

    /// Annealing alone, or exact log Z where that is quick.
    fn annealed(
        &self,
        parameters: &Parameters,
        pass: Pass,
        temperatures: usize,
    ) -> Result<Annealed> {
        let model = model(parameters.clone(), &self.device);
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

    fn streams_of(&self, pass: Pass) -> u64 {
        self.updates + ((pass as u64) << 40)
    }
}

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

impl Trainer {
    /// The audits at the end of a run; if ranks divide the work, every rank has to call it.
    ///
    /// # Errors
    /// Invalid audit settings.
    pub fn last_audits(&self) -> Result<LastAudits> {
        Ok(match self.audited_best()? {
            Some(best) => LastAudits::Best(best),
            None => LastAudits::Last(self.final_likelihood(&self.parameters())?),
        })
    }

    /// Audits the candidates and returns the best; `None` if no evaluation was sound, and no audit of a model whose evaluation was in
    /// doubt.
    ///
    /// # Errors
    /// Invalid audit settings.
    pub fn audited_best(&self) -> Result<Option<Best>> {
        let candidates = self.candidates_to_audit();
        let audited = candidates.len();
        // One model alone was chosen by no audit.
        let again = audited > 1;
        let most = self.config.audit.temperatures;
        let temperatures = if again { self.temperatures_of_choice(audited) } else { most };
        let mut annealed = Vec::new();
        for (number, (candidate, in_doubt)) in candidates.into_iter().enumerate() {
            let _task = progress::task(format!("audit of model {} of {audited}", number + 1));
            let found = self.annealed(&candidate.parameters, Pass::Choice, temperatures)?;
            annealed.push((found.hope(), (found, candidate, in_doubt)));
        }
        let mut best = highest(annealed, |(found, candidate, in_doubt), so_far| {
            let of = (&*candidate.parameters, candidate.states.as_ref());
            let likelihood = self.thorough(found, of, Pass::Choice)?;
            let value = likelihood.choice();
            let better = so_far.is_none_or(|so_far| value > so_far)
                && (!in_doubt || self.confirmed(candidate, &likelihood.log_z)?);
            let best = || Best { candidate: candidate.clone(), likelihood, in_doubt, audited };
            Ok(better.then(|| (value, best())))
        })?;
        let sampled = |best: &mut Best| again && best.likelihood.log_z.method != Method::Exact;
        let Some(best) = best.take_if(sampled) else { return Ok(best) };
        let Candidate { parameters, states, .. } = &best.candidate;
        let _task = progress::task("audit of the best model");
        let report = |temperatures| {
            let found = self.annealed(parameters, Pass::Report, temperatures)?;
            self.thorough(found, (parameters, states.as_ref()), Pass::Report)
        };
        let likelihood = match report(self.temperatures_of_choice(1))? {
            // Longer annealing only where its value is the one that counts.
            short if short.log_z.method == Method::Ais => report(most)?,
            found => found,
        };
        Ok(Some(Best { likelihood: best.likelihood.or(likelihood), ..best }))
    }

    /// Models that an audit may still find to be the best, and whether their evaluation was in doubt: those win only by a confirmed audit.
    pub fn candidates_to_audit(&self) -> Vec<(&Candidate, bool)> {
        let (sound, doubtful) = (self.candidates(), self.judge.doubtful.candidates());
        let Some(best) = sound.first().or(doubtful.first()) else { return Vec::new() };
        // Of exact likelihoods the first is the highest.
        let most = if best.log_z_error == 0.0 { 1 } else { sound.len() };
        let sound = sound.iter().take(most).map(|candidate| (candidate, false));
        let near = |(other, _): &(&Candidate, bool)| {
            let bar = MOST_ERRORS * best.log_z_error.hypot(other.log_z_error);
            other.update == best.update || best.value - other.value <= bar
        };
        let all = sound.chain(doubtful.iter().map(|candidate| (candidate, true))).filter(near);
        all.take(self.config.audit.models).collect()
    }
}

impl FinalLikelihood {
    /// A second audit of the same model in place of this one, which is too favourable on average. If the two differ by more than chance
    /// explains, their mean with an error bar that reaches to both; in doubt if they contradict each other. Not below a lower bound of
    /// either.
    fn or(self, mut second: Self) -> Self {
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

    /// By this value the best model is chosen, nats a row.
    fn choice(&self) -> f64 {
        self.validation.map_or(f64::NEG_INFINITY, |validation| validation.value)
    }
}

impl Trainer {
    /// The automatic estimate with rows of the data, unless it is in doubt or annealing gives more; otherwise annealing. Annealing alone
    /// can miss narrow modes from any start, and a model with too low a log Z looks better than it is. Exact values stay.
    fn thorough(
        &self,
        Annealed { mut likelihood, bound }: Annealed,
        (parameters, states): (&Parameters, Option<&BitMatrix>),
        pass: Pass,
    ) -> Result<FinalLikelihood> {
        let annealed = likelihood.log_z.clone();
        if annealed.method == Method::Exact {
            return Ok(likelihood);
        }
        let mut found = self.automatic_audit(parameters, states, self.streams_of(pass))?;
        found.refuse_below(bound);
        let error = found.std_error.hypot(annealed.std_error);
        let below = found.value - annealed.value > MOST_ERRORS * error;
        let at_least = higher(annealed.at_least, found.at_least);
        let above = annealed.at_least > Some(found.value + MOST_ERRORS * found.std_error);
        let by_annealing = annealed.value;
        let taken = if below || (found.trust.is_sound() && !above) { found } else { annealed };
        let value = taken.value.max(at_least.unwrap_or(f64::NEG_INFINITY));
        likelihood.shift(by_annealing - value, taken.std_error);
        likelihood.log_z = Estimate { value, at_least, ..taken };
        Ok(likelihood)
    }

    /// The estimate with a mode search, from rows of the data and `states` of the model.
    fn automatic_audit(
        &self,
        parameters: &Parameters,
        states: Option<&BitMatrix>,
        pass: u64,
    ) -> Result<Estimate> {
        let (_task, _permit) =
            (progress::task("audit by the automatic estimate"), interrupt::permit());
        let seed = derived_seed(self.config.seed, Purpose::Audit, pass);
        let rows = &self.rows.train_evaluated;
        let rows = rows.spread(KNOWN_ROWS);
        let known =
            Known { marginals: Some(&self.base), rows: Some(&rows), states, ..Known::default() };
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
        let Candidate { parameters, states, .. } = candidate;
        let found = self.automatic_audit(parameters, states.as_ref(), self.updates)?;
        let bar = MOST_ERRORS * found.std_error.hypot(audited.std_error);
        Ok(found.trust.is_sound() && (found.value - audited.value).abs() <= bar)
    }
}

/// The item with the highest value, where values are dear and about as high as the number beside the item: from the highest number down,
/// until none is above the best value. `value`: of an item, given the best so far; `None`: not better.
fn highest<T, B>(
    mut items: Vec<(f64, T)>,
    mut value: impl FnMut(T, Option<f64>) -> Result<Option<(f64, B)>>,
) -> Result<Option<B>> {
    // Stable: of equal ones the first comes first.
    items.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut best: Option<(f64, B)> = None;
    for (hope, item) in items {
        let so_far = best.as_ref().map(|(value, _)| *value);
        if so_far.is_some_and(|value| value >= hope) {
            break;
        }
        best = value(item, so_far)?.or(best);
    }
    Ok(best.map(|(_, best)| best))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The automatic estimate is made only of models that can still be the best.
    #[test]
    fn dear_values_are_found_from_the_highest_hope_down() {
        let of = |items: &[(f64, f64)]| {
            let items = items.iter().map(|&(hope, value)| (hope, (hope, value))).collect();
            let mut asked = Vec::new();
            let best = highest(items, |(hope, value): (f64, f64), so_far| {
                asked.push(hope);
                Ok(so_far.is_none_or(|so_far| value > so_far).then_some((value, value)))
            });
            (best.unwrap(), asked)
        };
        assert_eq!(of(&[(-3.0, -3.0), (-1.0, -1.0), (-2.0, -2.0)]), (Some(-1.0), vec![-1.0]));
        // Annealing had missed half of the first model: the next two are asked.
        let items = [(-1.0, -1.7), (-2.0, -2.0), (-1.5, -1.6)];
        assert_eq!(of(&items), (Some(-1.6), vec![-1.0, -1.5]));
        // Annealing in doubt excludes nothing.
        let items = [(-1.0, -1.0), (f64::INFINITY, -5.0), (f64::INFINITY, -0.5)];
        assert_eq!(of(&items), (Some(-0.5), vec![f64::INFINITY; 2]));
        assert_eq!(of(&[]), (None, vec![]));
    }

    #[test]
    fn annealing_in_doubt_excludes_no_model() {
        let mut likelihood = audited(20.0, 0.1);
        likelihood.validation = likelihood.test;
        let mut annealed = Annealed { likelihood, bound: 0.0 };
        assert_eq!(annealed.hope(), -10.0);
        annealed.likelihood.log_z.trust.doubt(Doubt::StartsDiffer {});
        assert_eq!(annealed.hope(), f64::INFINITY);
    }

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
