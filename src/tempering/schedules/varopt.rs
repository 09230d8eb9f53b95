//! VAROPT: the schedule that minimises the variance of log w if chains forget at every sweep (SCHEDULES section 4).
//!
//! K Var[log w] -> integral of beta'(t)^2 g(beta) dt with g(beta) = Var_beta[d/dbeta log f_beta(v)]; its minimum has
//! sqrt(g) beta' = const (eq. 9 integrated once, so that no differential equation is left to solve):
//! Lambda(beta) = integral_0^beta sqrt(g), beta_k = Lambda^-1((k - 1)/(K - 1) Lambda(1)).
//!
//! g comes from a short annealing pass, from the increments of log w (along any path).

use super::fixed::{at_equal_lengths, at_least_two};
use crate::error::{Error, Result};
use crate::tempering::{Annealed, Keep, Ladder, TemperedPath, anneal};

/// g is at least this fraction of its maximum, so that steps are bounded.
const FLOOR: f64 = 1e-3;
/// Standard deviation, in beta, of the Gaussian that smooths g.
const SMOOTHING: f64 = 0.01;

/// g at some inverse temperatures.
#[derive(Clone, Debug, PartialEq)]
pub struct SlopeVariance {
    /// Ascending, from 0 to 1.
    pub betas: Vec<f64>,
    /// Var of d/dbeta log f_beta(v) there, estimated, not smoothed.
    pub variance: Vec<f64>,
}

impl SlopeVariance {
    /// From an annealing pass of `chains` chains along a path: at every step, the weighted variance of
    /// (log f_{k+1} - log f_k)/(beta_{k+1} - beta_k). SCHEDULES uses 100 chains and 1000 equal steps.
    pub fn from_annealing(path: &dyn TemperedPath, chains: usize, seed: u64) -> Self {
        Self::from_annealed(&anneal(path, chains, seed, 0, Keep::All), path.ladder())
    }

    /// As [`SlopeVariance::from_annealing`], of a pass that kept all weights.
    pub fn from_annealed(annealed: &Annealed, ladder: &Ladder) -> Self {
        let betas = ladder.betas().to_vec();
        let k = betas.len();
        let variance_at = |j: usize| {
            let width = betas[j] - betas[j - 1];
            weighted_variance(annealed.increments(j).map(|(weight, step)| (weight, step / width)))
        };
        let mut variance: Vec<f64> = (1..k).map(variance_at).collect();
        variance.push(variance.last().copied().unwrap_or(0.0));
        Self { betas, variance }
    }

    /// g smoothed and bounded below, as [`SlopeVariance::schedule`] uses it.
    pub fn smoothed(&self) -> Vec<f64> {
        let smooth = |at: f64| {
            let (mut sum, mut total) = (0.0, 0.0);
            for (beta, g) in self.betas.iter().zip(&self.variance) {
                let weight = (-0.5 * ((beta - at) / SMOOTHING).powi(2)).exp();
                (sum, total) = (sum + weight * g, total + weight);
            }
            sum / total
        };
        let mut g: Vec<f64> = self.betas.iter().map(|&beta| smooth(beta)).collect();
        let floor = FLOOR * g.iter().copied().fold(0.0, f64::max);
        g.iter_mut().for_each(|g| *g = g.max(floor));
        g
    }

    /// beta_k = Lambda^-1((k - 1)/(K - 1) Lambda(1)) for K temperatures.
    ///
    /// # Errors
    /// Fewer than two temperatures, or g that is not finite. A g of zero everywhere gives the linear schedule.
    pub fn schedule(&self, temperatures: usize) -> Result<Vec<f64>> {
        at_least_two(temperatures)?;
        if let Some(k) = self.variance.iter().position(|g| !g.is_finite()) {
            return Err(Error::Invalid(format!(
                "the variance at beta = {} is {}: use more chains for it",
                self.betas[k], self.variance[k]
            )));
        }
        let g = self.smoothed();
        let flat = g.iter().all(|g| *g == 0.0);
        let speed: Vec<f64> = g.iter().map(|g| if flat { 1.0 } else { g.sqrt() }).collect();
        let mut length = vec![0.0];
        for i in 1..self.betas.len() {
            let width = self.betas[i] - self.betas[i - 1];
            length.push(length[i - 1] + 0.5 * width * (speed[i] + speed[i - 1]));
        }
        let leg = |i: usize| length[i + 1] - length[i];
        Ok(at_equal_lengths(&self.betas, &length, leg, temperatures))
    }
}

/// sum w (x - mean)^2/sum w/(1 - sum w^2/(sum w)^2), unbiased for fixed weights: with few effective samples the variance would otherwise be
/// too small if weights are uneven. Two passes, because slopes are large and differ little.
fn weighted_variance(samples: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let total: f64 = samples.clone().map(|(w, _)| w).sum();
    let mean = samples.clone().map(|(w, x)| w * x).sum::<f64>() / total;
    let concentration = samples.clone().map(|(w, _)| (w / total).powi(2)).sum::<f64>();
    let square = samples.map(|(w, x)| w * (x - mean).powi(2)).sum::<f64>() / total;
    // One sample has no variance.
    if concentration < 1.0 { square / (1.0 - concentration) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::exact::log_probabilities_of_visible_at;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::{BaseDistribution, GeometricPath, Prior};

    /// With g = (1 + 3 beta)^2, Lambda = beta + 3/2 beta^2, Lambda(1) = 5/2.
    #[test]
    fn the_schedule_inverts_the_length() {
        let betas: Vec<f64> = (0..=1000).map(|k| f64::from(k) / 1000.0).collect();
        let variance = betas.iter().map(|b| (1.0 + 3.0 * b).powi(2)).collect();
        let schedule = SlopeVariance { betas, variance }.schedule(101).unwrap();
        for (k, beta) in schedule.iter().enumerate() {
            let length = (beta + 1.5 * beta * beta) / 2.5;
            // Smoothing flattens g within .01 of the ends.
            assert!((length - k as f64 / 100.0).abs() < 2e-3, "{k}: {length}");
        }
        Ladder::new(&schedule, &Prior::Uniform).unwrap();
        let flat = SlopeVariance { betas: vec![0.0, 0.3, 1.0], variance: vec![0.0; 3] };
        assert!((flat.schedule(11).unwrap()[5] - 0.5).abs() < 1e-12);
        assert!(flat.schedule(1).is_err());
        let wrong = SlopeVariance { betas: vec![0.0, 1.0], variance: vec![f64::NAN; 2] };
        assert!(wrong.schedule(5).is_err());
    }

    /// The estimate of g against enumeration. Var[d log f(v, h)/dbeta] = d^2 log Z/dbeta^2 exceeds g by the mean
    /// variance of what was summed out; g itself is enumerated over v.
    #[test]
    fn the_estimate_of_g_agrees_with_enumeration() {
        let parameters = gaussian_parameters(8, 5, 0.8, 4);
        let engine = Host::new(&parameters);
        let base = BaseDistribution::uniform(8);
        let exact = |beta: f64| {
            // d/dbeta log f_beta(v) = log p_beta(v) differentiated, plus a constant.
            let table =
                |beta: f64| log_probabilities_of_visible_at(&parameters, &[0.0; 8], beta).unwrap();
            let (low, middle, high) = (table(beta - 1e-4), table(beta), table(beta + 1e-4));
            let slopes = || {
                let pairs = low.iter().zip(&high);
                middle.iter().zip(pairs).map(|(p, (low, high))| (p.exp(), (high - low) / 2e-4))
            };
            let mean: f64 = slopes().map(|(p, x)| p * x).sum();
            slopes().map(|(p, x)| p * (x - mean).powi(2)).sum::<f64>()
        };
        let ladder = Ladder::linear(200, &Prior::Uniform).unwrap();
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let annealed = SlopeVariance::from_annealing(&path, 4000, 1);
        // A variance of n effective samples has a relative error of about sqrt(2/n), more for long tails: some 3 % for 4000 chains.
        for k in [40, 100, 160] {
            let expected = exact(annealed.betas[k]);
            let ratio = annealed.variance[k] / expected;
            assert!((ratio - 1.0).abs() < 0.12, "beta {}: {ratio}", annealed.betas[k]);
        }
    }
}
