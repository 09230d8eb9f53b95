//! What a trial of a search has reached, and whether it is better than another one.

use anyhow::Result;

use super::search_plan::Values;
use crate::checkpoint::ModelFile;
use crate::config::Config;
use crate::context::progress::Progress;
use crate::data::{Binarizer, Dataset, EVALUATION_EPOCH, affordable_components, baselines};
use crate::engine::Engine;
use crate::numerics::statistics::{mean, variance};
use crate::report::RunFiles;
use crate::units::Variables;
use crate::{BitMatrix, Host};

/// The rows that decide, and those that simple models are fitted to.
pub(super) struct HeldOut {
    train: BitMatrix,
    pub validation: BitMatrix,
    variables: Variables,
    seed: u64,
}

impl HeldOut {
    pub(super) fn new(config: &Config, train: &Dataset, validation: &Dataset) -> Result<Self> {
        let binarizer = Binarizer::new(config.data.binarization)?;
        let of = |rows| binarizer.binarize(rows, EVALUATION_EPOCH, config.seed);
        let (bits, validation) = (of(train)?, of(validation)?);
        let variables = config.data.variables(train, &bits)?;
        Ok(Self { train: bits, validation, variables, seed: config.seed })
    }

    /// Whether the best of the simple models is clearly above a trial.
    pub(super) fn better_than(&self, trial: Option<&Scores>) -> Result<bool> {
        let parts = [("train", &self.train), ("validation", &self.validation)];
        let components = affordable_components(self.train.count_ones());
        let simple =
            baselines(&parts, &self.variables, components, self.seed, &Progress::default())?;
        let scores = simple.into_iter().filter_map(|it| it.parts.into_iter().nth(1));
        let best = scores.max_by(|a, b| a.mean.total_cmp(&b.mean));
        let best = best.map(|it| Scores { of_rows: it.values, log_z_std_error: 0.0 });
        Ok(best.is_some_and(|best| best.above(trial, true)))
    }
}

/// Log-likelihoods of the validation rows by the audited model of a trial.
#[derive(Clone)]
pub(super) struct Scores {
    pub of_rows: Vec<f64>,
    pub log_z_std_error: f64,
}

impl Scores {
    /// None where log Z is in doubt, as the likelihood may be too high, or where there is no model.
    pub(super) fn of(run: &RunFiles, rows: &BitMatrix) -> Option<Self> {
        let best = &run.summary.as_ref()?.best;
        if best.doubt.is_some() {
            return None;
        }
        let model = ModelFile::load(run.model()?).ok()?;
        let log_f = Host::new(&model.parameters).log_f(rows);
        let of_rows = log_f.into_iter().map(|log_f| log_f - best.log_z).collect();
        Some(Self { of_rows, log_z_std_error: best.log_z_std_error })
    }

    /// Whether the mean is higher than another one by more than the error of the difference: that of both log Z, and for a trial that takes
    /// longer also from the scatter of the differences over the rows. On few rows a difference of two good settings is mostly the latter.
    pub(super) fn above(&self, other: Option<&Self>, takes_longer: bool) -> bool {
        let Some(other) = other else { return true };
        let pairs = self.of_rows.iter().zip(&other.of_rows);
        let differences: Vec<f64> = pairs.map(|(new, old)| new - old).collect();
        let of_log_z = self.log_z_std_error.hypot(other.log_z_std_error);
        let of_rows = (variance(&differences) / differences.len() as f64).sqrt();
        mean(&differences) > if takes_longer { of_log_z.hypot(of_rows) } else { of_log_z }
    }
}

/// A trial that has ended.
#[derive(Clone)]
pub(super) struct Trial {
    pub values: Values,
    /// None where log Z is in doubt.
    pub scores: Option<Scores>,
    pub seconds: f64,
    /// Those of them without audits, which are not longer after a longer training.
    pub trained: f64,
    /// Whether validation rows have fallen while training rows have not.
    pub overfits: bool,
    /// What it has reached, in words.
    pub outcome: String,
    /// Its folder among those of the search.
    pub name: String,
}

impl Trial {
    /// Whether it has a higher likelihood than another one. A trial that takes longer has to have it beyond the scatter of the rows too.
    pub(super) fn is_above(&self, other: &Self, takes_longer: bool) -> bool {
        let scores = self.scores.as_ref();
        scores.is_some_and(|it| it.above(other.scores.as_ref(), takes_longer))
    }
}

/// Seconds of a run on idle processors, audits included, and those of its training, so that other work on the machine does not shorten the
/// search; as the clock says where the system does not tell, and for a run that was stopped.
pub(super) fn seconds(run: &RunFiles) -> (f64, f64) {
    let trained = run.metrics.last("seconds").unwrap_or(0.0);
    let Some(summary) = &run.summary else { return (trained, trained) };
    let processor = summary.processor_seconds.map(|all| all / summary.threads.max(1) as f64);
    let all = processor.unwrap_or(summary.seconds);
    (all, all * (trained / summary.seconds).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_within_its_error_changes_nothing() {
        let of =
            |of_rows: &[f64], log_z_std_error| Scores { of_rows: of_rows.into(), log_z_std_error };
        let old = of(&[-9.0, -3.0, -12.0, -5.0], 0.1);
        let above = |rows: &[f64], error| {
            [true, false].map(|takes_longer| of(rows, error).above(Some(&old), takes_longer))
        };
        // The same for all rows: the error is that of both log Z.
        assert_eq!(above(&[-8.8, -2.8, -11.8, -4.8], 0.1), [true; 2]);
        assert_eq!(above(&[-8.9, -2.9, -11.9, -4.9], 0.1), [false; 2]);
        assert_eq!(above(&[-8.8, -2.8, -11.8, -4.8], 0.3), [false; 2]);
        // The same mean, from one row that gains 1.2 and three that lose .13 each.
        assert_eq!(above(&[-7.8, -3.13, -12.13, -5.13], 0.1), [false, true]);
        assert_eq!(above(&[f64::NAN, -2.8, -11.8, -4.8], 0.1), [false; 2]);
        assert!(old.above(None, true));
    }
}
