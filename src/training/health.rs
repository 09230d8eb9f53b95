//! A verdict on the training, beside that on log Z: does the model still improve, has it lost what it had learned, or does it overfit?
//!
//! The evaluation with the highest log-likelihood of the validation rows (of the training rows if there are none) is the reference. Where
//! the training rows have fallen clearly below it, the gradient works against the likelihood: the particles of the negative phase no longer
//! represent the model, whose mass is in modes that they have left (Fischer and Igel 2010), or the learning rate is too large. Where
//! training rows have kept their value and validation rows have fallen, the model overfits.

use serde::{Deserialize, Serialize};

use crate::numerics::MOST_ERRORS;
use crate::record::Remedy;

/// Smallest falls that count, in nats per row: of the training rows; and of the validation rows alone, or of the training rows where early
/// stopping would end the run. All also exceed [`MOST_ERRORS`] of the difference of the two log Z.
const FALLS: (f64, f64) = (1.0, 0.2);
/// Fall of the training rows, nats per row, that calls for a remedy at once; smaller ones often pass by themselves.
const COLLAPSE: f64 = 10.0;
/// Number of successive evaluations that show more than a passing state: of so many failing ones smaller falls call for a remedy, of so many
/// in doubt a notice is due, and so many are looked back on for parts that the chains missed.
pub(super) const PERSISTENT: u32 = 5;
/// Number of evaluations without failing after which a halved learning rate is doubled again; twice as many for every time the training went
/// back, because what has failed at a rate fails at it again.
const RECOVERED: u64 = 2 * PERSISTENT as u64;

/// What the log-likelihoods say about the training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainingState {
    /// Neither of the others.
    #[default]
    Healthy,
    /// Training rows are far below the best evaluation.
    Failing,
    /// Validation rows are below the best evaluation, training rows are not.
    Overfitting,
}

impl TrainingState {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Failing => "failing",
            Self::Overfitting => "overfitting",
        }
    }
}

/// Log-likelihoods of an evaluation, nats per row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likelihoods {
    /// The update it was made after.
    pub update: u64,
    /// Mean over the training rows.
    pub train: f64,
    /// Mean over the validation rows, if there are any.
    pub validation: Option<f64>,
    /// Standard error of log Z.
    pub log_z_std_error: f64,
}

/// The state of the training and the evaluation that it is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The verdict at the last evaluation.
    pub state: TrainingState,
    /// The best evaluation so far.
    pub best: Option<Likelihoods>,
    /// Number of evaluations in which the training was failing.
    pub failing: u64,
    /// Number of latest evaluations in a row in which it was, since it last went back to the best one.
    #[serde(default)]
    pub failing_in_a_row: u64,
    /// The update from which on the negative phase does something about it.
    #[serde(default)]
    pub mended_at: Option<u64>,
    /// How often the training went back to the state of the best evaluation.
    #[serde(default)]
    pub rewinds: u32,
    /// The learning rate is divided by two to this power.
    #[serde(default)]
    pub halvings: u32,
    /// The training fails, and what is to be done about it is done before the next update.
    #[serde(default)]
    pub remedy_due: bool,
    /// Evaluations without failing since it changed.
    #[serde(default)]
    pub recovering: u64,
}

impl Health {
    /// Whether training rows with this mean have lost so much, or for so long, that something must be done.
    pub fn needs_remedy(&self, train: f64) -> bool {
        let fall = self.best.map_or(0.0, |best| best.train - train);
        let persistent = self.failing_in_a_row >= u64::from(PERSISTENT);
        self.state == TrainingState::Failing && (fall > COLLAPSE || persistent)
    }

    /// Decides on a remedy: the way back if `rewinds`, to a `small` start or the state of the best evaluation; where the negative phase `mends`
    /// what it can do; and where that did not help half the learning rate. `None` if there is none.
    pub fn remedy(
        &mut self,
        update: u64,
        mends: bool,
        rewinds: bool,
        small: bool,
    ) -> Option<Remedy> {
        let exchange = mends && self.mended_at.is_none();
        let anew = small && self.rewinds == 0;
        let halved = rewinds && !exchange && !anew;
        if !rewinds && !exchange {
            return None;
        }
        self.remedy_due = true;
        self.rewinds += u32::from(rewinds);
        self.halvings += u32::from(halved);
        if exchange {
            self.mended_at = Some(update);
        }
        (self.failing_in_a_row, self.recovering) = (0, 0);
        Some(Remedy { exchange, rewound: rewinds, small, halved })
    }

    /// Adds an evaluation whose log Z can be trusted, finite values.
    pub fn observe(&mut self, new: Likelihoods) -> TrainingState {
        let state = self.state_of(new);
        self.recovering = if state == TrainingState::Failing { 0 } else { self.recovering + 1 };
        let wait = RECOVERED.saturating_mul(2u64.saturating_pow(self.rewinds.saturating_sub(1)));
        if self.halvings > 0 && self.recovering == wait {
            (self.halvings, self.recovering) = (self.halvings - 1, 0);
        }
        state
    }

    /// Early stopping is about to end the run, with this log-likelihood of the training rows: the training fails, for so long that something
    /// must be done, if they are below the best evaluation too, by less than usual.
    pub fn fail_if_fallen(&mut self, train: f64, log_z_std_error: f64) {
        let Some(best) = self.best else { return };
        let error = MOST_ERRORS * log_z_std_error.hypot(best.log_z_std_error);
        if best.train - train > FALLS.1.max(error) {
            self.failing += u64::from(self.state != TrainingState::Failing);
            (self.state, self.failing_in_a_row) = (TrainingState::Failing, PERSISTENT.into());
        }
    }

    fn state_of(&mut self, new: Likelihoods) -> TrainingState {
        let height = |it: &Likelihoods| it.validation.unwrap_or(it.train);
        let Some(best) = self.best.filter(|best| height(best) >= height(&new)) else {
            (self.best, self.state) = (Some(new), TrainingState::Healthy);
            self.failing_in_a_row = 0;
            return self.state;
        };
        let error = MOST_ERRORS * new.log_z_std_error.hypot(best.log_z_std_error);
        let fall = best.train - new.train;
        self.state = if fall > FALLS.0.max(error) {
            TrainingState::Failing
        } else if fall <= error && height(&best) - height(&new) > FALLS.1.max(error) {
            TrainingState::Overfitting
        } else {
            TrainingState::Healthy
        };
        let failing = self.state == TrainingState::Failing;
        self.failing += u64::from(failing);
        self.failing_in_a_row = if failing { self.failing_in_a_row + 1 } else { 0 };
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TrainingState::{Failing, Healthy, Overfitting};

    #[test]
    fn curves_have_their_verdicts() {
        let states = |curve: &[(f64, Option<f64>)], log_z_std_error: f64| -> Vec<TrainingState> {
            let mut health = Health::default();
            let observe = |(update, &(train, validation)): (usize, &(f64, Option<f64>))| {
                health.observe(Likelihoods {
                    update: update as u64,
                    train,
                    validation,
                    log_z_std_error,
                })
            };
            curve.iter().enumerate().map(observe).collect()
        };
        let rises = [(-9.0, Some(-9.5)), (-8.0, Some(-8.6)), (-7.9, Some(-8.7))];
        assert_eq!(states(&rises, 0.05), [Healthy; 3]);
        // Validation falls by half a nat while training rows gain.
        let overfits = [(-9.0, Some(-9.5)), (-8.0, Some(-9.0)), (-7.0, Some(-9.5))];
        assert_eq!(states(&overfits, 0.05), [Healthy, Healthy, Overfitting]);
        // The same fall is within four errors of .1 sqrt(2).
        assert_eq!(states(&overfits, 0.1), [Healthy; 3]);
        let fails =
            [(-9.0, Some(-9.1)), (-60.0, Some(-61.0)), (-9.5, Some(-9.6)), (-8.0, Some(-8.1))];
        assert_eq!(states(&fails, 0.05), [Healthy, Failing, Healthy, Healthy]);
        let alone = [(-9.0, None), (-12.0, None), (-9.4, None)];
        assert_eq!(states(&alone, 0.05), [Healthy, Failing, Healthy]);
    }

    /// A fall of ten nats calls for a remedy at once, a smaller one after five evaluations in a row.
    #[test]
    fn falls_that_need_a_remedy() {
        let mut health = Health::default();
        let mut needs = |update, train| {
            health.observe(Likelihoods { update, train, validation: None, log_z_std_error: 0.1 });
            health.needs_remedy(train)
        };
        assert!(!needs(1, -9.0) && !needs(2, -18.0) && needs(3, -20.0));
        assert!(!needs(4, -8.0) && !needs(5, -10.0) && !needs(6, -8.2));
        assert_eq!(
            [7, 8, 9, 10, 11].map(|update| needs(update, -10.0)),
            [false, false, false, false, true]
        );
    }

    #[test]
    fn a_halved_rate_recovers_more_slowly_after_each_time() {
        let observe = |health: &mut Health, train: f64, updates: u64| {
            let of = |update| Likelihoods { update, train, validation: None, log_z_std_error: 0.1 };
            (0..updates).for_each(|update| {
                health.observe(of(update));
            });
            health.halvings
        };
        let halved = |rewinds| Health { halvings: 2, rewinds, ..Health::default() };
        let mut health = halved(1);
        let mut after = |train, updates| observe(&mut health, train, updates);
        assert_eq!((after(-9.0, 9), after(-20.0, 1), after(-9.0, 9)), (2, 2, 2));
        assert_eq!((after(-9.0, 1), after(-9.0, 9), after(-9.0, 1), after(-9.0, 30)), (1, 1, 0, 0));
        for (rewinds, wait) in [(2, 20), (4, 80), (u32::MAX, 1 << 10)] {
            let mut health = halved(rewinds);
            let long = observe(&mut health, -9.0, wait - 1);
            let then = observe(&mut health, -9.0, 1);
            assert_eq!((long, then), (2, if rewinds == u32::MAX { 2 } else { 1 }), "{rewinds}");
        }
    }
}
