//! The ladder of inverse temperatures beta_k and their prior r_k.

use serde::{Deserialize, Serialize};

use crate::engine::BetaGrid;
use crate::error::{Error, Result};
use crate::keys::choice;
use crate::numerics::log_sum_exp;

/// Inverse temperatures 0 = beta_1 < ... < beta_K = 1 with prior probabilities r_k > 0 that sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    grid: BetaGrid,
    log_prior: Vec<f64>,
}

choice! {
    /// How the prior r_k depends on the inverse temperature.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Prior {
        /// r_k = 1/K.
        Uniform = "uniform",
        /// r_k is proportional to exp(this x beta_k); RTS section 4.4 uses 2 so that more chains contribute to the gradient.
        Exponential(f64, usual 2.0) = "exponential",
        /// r_k is proportional to these, one per temperature.
        Given(Vec<f64> => example("[1.0, 1.0, 2.0, 4.0]")) = "given",
    }
}

impl Ladder {
    /// Checks the inverse temperatures (at least 2, from 0 to 1, strictly ascending) and normalises the prior.
    pub fn new(betas: &[f64], prior: &Prior) -> Result<Self> {
        let ascending = betas.windows(2).all(|pair| pair[0] < pair[1]);
        if betas.len() < 2 || betas[0] != 0.0 || betas[betas.len() - 1] != 1.0 || !ascending {
            return Err(Error::Invalid(
                "inverse temperatures must be at least 2, start at 0, end at 1 and ascend strictly"
                    .into(),
            ));
        }
        let log_weights: Vec<f64> = match prior {
            Prior::Uniform => vec![0.0; betas.len()],
            Prior::Exponential(c) => betas.iter().map(|beta| c * beta).collect(),
            Prior::Given(weights) => {
                if weights.len() != betas.len() {
                    return Err(Error::Mismatch(format!(
                        "the prior has {} weights for {} inverse temperatures",
                        weights.len(),
                        betas.len()
                    )));
                }
                weights.iter().map(|weight| weight.ln()).collect()
            }
        };
        if log_weights.iter().any(|weight| !weight.is_finite()) {
            return Err(Error::Invalid("prior weights must be positive and finite".into()));
        }
        let total = log_sum_exp(log_weights.iter().copied());
        let log_prior = log_weights.iter().map(|weight| weight - total).collect();
        Ok(Self { grid: BetaGrid::new(betas), log_prior })
    }

    /// K equally spaced inverse temperatures.
    pub fn linear(temperatures: usize, prior: &Prior) -> Result<Self> {
        let last = temperatures.saturating_sub(1).max(1) as f64;
        let betas: Vec<f64> = (0..temperatures).map(|k| k as f64 / last).collect();
        Self::new(&betas, prior)
    }

    /// All indices k, from 0.
    pub(crate) fn indices(&self) -> Vec<usize> {
        (0..self.len()).collect()
    }

    /// Number of temperatures, K.
    pub fn len(&self) -> usize {
        self.log_prior.len()
    }

    /// Never true: a ladder has at least two temperatures.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// beta_k.
    pub fn betas(&self) -> &[f64] {
        self.grid.betas()
    }

    /// log r_k.
    pub fn log_prior(&self) -> &[f64] {
        &self.log_prior
    }

    /// The inverse temperatures as kernels need them.
    pub fn grid(&self) -> &BetaGrid {
        &self.grid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priors_are_normalised_and_ladders_checked() {
        for prior in
            [Prior::Uniform, Prior::Exponential(2.0), Prior::Given(vec![1.0, 2.0, 3.0, 4.0])]
        {
            let ladder = Ladder::linear(4, &prior).unwrap();
            let total: f64 = ladder.log_prior().iter().map(|r| r.exp()).sum();
            assert!((total - 1.0).abs() < 1e-12);
        }
        for betas in
            [&[0.0, 0.5][..], &[0.1, 1.0], &[0.0, 0.6, 0.5, 1.0], &[0.0], &[0.0, f64::NAN, 1.0]]
        {
            assert!(Ladder::new(betas, &Prior::Uniform).is_err(), "{betas:?}");
        }
        assert!(Ladder::linear(3, &Prior::Given(vec![1.0, 0.0, 1.0])).is_err());
    }
}
