//! The best model of a run, by audits of the candidates at its end.

use super::final_likelihood::{FinalLikelihood, Pass};
use super::{Audit, Candidate, Trainer};
use crate::error::Result;
use crate::estimators::Method;
use crate::numerics::MOST_ERRORS;

/// The best model of a run, found by audits of the candidates.
pub struct Best {
    /// The model.
    pub candidate: Candidate,
    /// The result of its audit.
    pub likelihood: FinalLikelihood,
    /// Whether its evaluation was in doubt, or the audit contradicts it, so that only the audit supports the model.
    pub in_doubt: bool,
    /// How many models were audited.
    pub audited: usize,
}

impl Best {
    /// In doubt where its audit contradicts the evaluation.
    fn held_against_audit(self) -> Self {
        let (value, std_error) = self.candidate.log_z;
        let audit = Audit::new(self.likelihood.log_z.clone(), value, std_error);
        Self { in_doubt: self.in_doubt || audit.contradicts(), ..self }
    }

    /// log Z and its standard error to store with the model: tracked, or audited if the tracked one is in doubt.
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
            let _task = self.context.task(format!("audit of model {} of {audited}", number + 1));
            let found = self.annealed(&candidate.parameters, Pass::Choice, temperatures)?;
            annealed.push((found.optimistic(), (found, candidate, in_doubt)));
        }
        let mut best = highest(annealed, |(found, candidate, in_doubt), so_far| {
            let of = (&*candidate.parameters, candidate.states.as_ref());
            let likelihood = self.thorough(found, of)?;
            let value = likelihood.choice();
            let better =
                so_far.is_none_or(|so_far| value > so_far) && (!in_doubt || likelihood.confirms());
            let best = || Best { candidate: candidate.clone(), likelihood, in_doubt, audited };
            Ok(better.then(|| (value, best())))
        })?;
        let sampled = |best: &mut Best| again && best.likelihood.log_z.method != Method::Exact;
        let Some(best) = best.take_if(sampled) else {
            return Ok(best.map(Best::held_against_audit));
        };
        let Candidate { parameters, states, .. } = &best.candidate;
        let _task = self.context.task("audit of the best model");
        let likelihood = self.audit_to_report(parameters, states.as_ref())?;
        Ok(Some(Best { likelihood: best.likelihood.or(likelihood), ..best }.held_against_audit()))
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

/// The item with the highest value, where values are expensive and about as high as the optimistic number beside the item: from the
/// highest number down, until none is above the best value. `value`: of an item, given the best so far; `None`: not better.
fn highest<T, B>(
    mut items: Vec<(f64, T)>,
    mut value: impl FnMut(T, Option<f64>) -> Result<Option<(f64, B)>>,
) -> Result<Option<B>> {
    // Stable: of equal ones the first comes first.
    items.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut best: Option<(f64, B)> = None;
    for (optimistic, item) in items {
        let so_far = best.as_ref().map(|(value, _)| *value);
        if so_far.is_some_and(|value| value >= optimistic) {
            break;
        }
        best = value(item, so_far)?.or(best);
    }
    Ok(best.map(|(_, best)| best))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::estimators::Estimate;
    use crate::model::Parameters;
    use crate::tracking::LogLikelihood;
    use crate::trust::Doubt;

    /// Four errors away, if the audit is sound, or above and so a lower bound in expectation. Its value is then the one that is stored.
    #[test]
    fn an_audit_contradicts_a_sound_evaluation() {
        let cases = [(11.0, true, false), (12.0, true, true), (8.0, true, true)];
        for (value, sound, contradicts) in
            cases.into_iter().chain([(12.0, false, true), (8.0, false, false)])
        {
            let mut log_z = Estimate::new(Method::Ais, value, 0.3);
            if !sound {
                log_z.trust.doubt(Doubt::other("other", ""));
            }
            let std_error = 0.1;
            let train = LogLikelihood {
                value: -3.0,
                std_error,
                data_std_error: std_error,
                log_z_std_error: 0.0,
            };
            let candidate = Candidate {
                update: 1,
                value: -3.0,
                log_z_error: 0.1,
                log_z: (10.0, 0.1),
                parameters: Arc::new(Parameters::zeros(2, 2)),
                states: None,
            };
            let likelihood = FinalLikelihood { log_z, train, validation: None, test: None };
            let best = Best { candidate, likelihood, in_doubt: false, audited: 1 };
            let best = best.held_against_audit();
            assert_eq!(best.in_doubt, contradicts, "{value}, {sound}");
            assert_eq!(best.log_z(), if contradicts { (value, 0.3) } else { (10.0, 0.1) });
        }
    }

    /// The automatic estimate is made only of models that can still be the best.
    #[test]
    fn expensive_values_are_found_from_the_highest_optimistic_one_down() {
        let of = |items: &[(f64, f64)]| {
            let items = items
                .iter()
                .map(|&(optimistic, value)| (optimistic, (optimistic, value)))
                .collect();
            let mut asked = Vec::new();
            let best = highest(items, |(optimistic, value): (f64, f64), so_far| {
                asked.push(optimistic);
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
}
