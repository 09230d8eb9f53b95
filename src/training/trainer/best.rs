//! The best model of a run, by audits of the candidates at its end.

use super::audit::higher;
use super::model::model;
use super::rows::RowSets;
use super::{Candidate, Trainer};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::Result;
use crate::estimators::{Automatic, Estimate, Known, Method};
use crate::interrupt;
use crate::model::Parameters;
use crate::numerics::MOST_ERRORS;
use crate::progress;
use crate::tracking::{LogLikelihood, MeanLogF, Model, mean_log_f};

/// Training rows in which the automatic estimate looks for modes.
const KNOWN_ROWS: usize = 1000;

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
        let log_z = if self.plan.exact || self.audits_are_exact() {
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
        let value = |found: &FinalLikelihood| {
            found.validation.map_or(f64::NEG_INFINITY, |validation| validation.value)
        };
        let mut best: Option<Best> = None;
        for (candidate, in_doubt) in candidates {
            let likelihood = self.final_likelihood(&candidate.parameters)?;
            let better =
                best.as_ref().is_none_or(|best| value(&likelihood) > value(&best.likelihood));
            if better && (!in_doubt || self.confirmed(candidate, &likelihood.log_z)?) {
                best = Some(Best { candidate: candidate.clone(), likelihood, in_doubt, audited });
            }
        }
        let sampled = |best: &mut Best| best.likelihood.log_z.method != Method::Exact;
        let Some(best) = best.take_if(sampled) else { return Ok(best) };
        let likelihood = self.audited_likelihood(&best.candidate.parameters, Pass::Report)?;
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
        sound.chain(doubtful.iter().map(|candidate| (candidate, true))).filter(near).collect()
    }
}

impl FinalLikelihood {
    /// A second audit of the same model in place of this one; in doubt if the two contradict each other.
    fn or(self, mut second: Self) -> Self {
        let (a, b) = (&self.log_z, &mut second.log_z);
        let (apart, error) = (b.value - a.value, b.std_error.hypot(a.std_error));
        if apart.abs() > MOST_ERRORS * error {
            let text = format!(
                "{:.3} +- {:.3} by an audit with other random numbers: one of them misses a part of the model; raise audit.temperatures",
                a.value, a.std_error
            );
            b.trust.doubt("audits-differ", text);
        }
        second
    }
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
        let below = found.value - annealed.value > MOST_ERRORS * error;
        let at_least = higher(annealed.at_least, found.at_least);
        let above = annealed.at_least > Some(found.value + MOST_ERRORS * found.std_error);
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
        let bar = MOST_ERRORS * found.std_error.hypot(audited.std_error);
        Ok(found.trust.is_sound() && (found.value - audited.value).abs() <= bar)
    }
}
