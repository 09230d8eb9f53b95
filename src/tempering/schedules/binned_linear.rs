//! GMS13: the binned linear schedule of Grosse, Maddison and Salakhutdinov (2013), as SCHEDULES compares it, on the geometric path.
//!
//! The path is cut into legs by equally spaced knots. The cost of a leg is the symmetrised Kullback-Leibler divergence of its ends,
//! (eta' - eta).(s' - s) with natural parameters eta and moments s; on the geometric path that is
//! (beta' - beta)(E_beta'[Delta] - E_beta[Delta]). Steps are allotted to legs in proportion to the square root of the cost, and are
//! equal within a leg. (The moment-averaging PATH of the same paper is a different method.)

use super::fixed::{at_equal_lengths, linear};
use crate::error::{Error, Result};
use crate::tempering::{Annealed, Ladder};

/// `E[Delta]` at knots of the geometric path.
#[derive(Clone, Debug, PartialEq)]
pub struct BinnedLinear {
    /// Ascending, from 0 to 1.
    pub knots: Vec<f64>,
    /// `E_beta[Delta]`, d log Z/d beta, there, nats.
    pub slopes: Vec<f64>,
}

impl BinnedLinear {
    /// From an annealing pass with all weights: the weighted mean of the increments of log w next to each of `knots` equally spaced inverse
    /// temperatures.
    ///
    /// # Errors
    /// Fewer than two knots.
    pub fn from_annealed(annealed: &Annealed, ladder: &Ladder, knots: usize) -> Result<Self> {
        let knots = linear(knots)?;
        let betas = ladder.betas();
        let k = betas.len();
        let slope_at = |knot: &f64| {
            let j = betas.partition_point(|beta| beta < knot).clamp(1, k - 1);
            let (mut sum, mut total) = (0.0, 0.0);
            for (weight, step) in annealed.increments(j) {
                sum += weight * step / (betas[j] - betas[j - 1]);
                total += weight;
            }
            sum / total
        };
        let slopes = knots.iter().map(slope_at).collect();
        Ok(Self { knots, slopes })
    }

    /// K inverse temperatures.
    ///
    /// # Errors
    /// Fewer than two temperatures, or moments that are not finite.
    pub fn schedule(&self, temperatures: usize) -> Result<Vec<f64>> {
        if temperatures < 2 || self.slopes.iter().any(|slope| !slope.is_finite()) {
            return Err(Error::Invalid(format!(
                "gms13: {temperatures} temperatures from moments {:?}: at least 2 and finite moments are needed",
                self.slopes
            )));
        }
        let pairs = self.knots.windows(2).zip(self.slopes.windows(2));
        // Moments rise with beta; a leg on which noise makes them fall has no cost.
        let costs: Vec<f64> = pairs
            .map(|(beta, slope)| ((beta[1] - beta[0]) * (slope[1] - slope[0])).max(0.0).sqrt())
            .collect();
        let total: f64 = costs.iter().sum();
        // On a path without length any steps will do; every leg gets some.
        let least = if total > 0.0 { 1e-3 * total / costs.len() as f64 } else { 1.0 };
        let costs: Vec<f64> = costs.into_iter().map(|cost| cost.max(least)).collect();
        let mut length = vec![0.0];
        costs.iter().for_each(|cost| length.push(length[length.len() - 1] + cost));
        Ok(at_equal_lengths(&self.knots, &length, |leg| costs[leg], temperatures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs 1/4 and 1: a leg of twice the length in nats gets twice the steps.
    #[test]
    fn steps_go_by_the_root_of_the_cost() {
        let gms13 = BinnedLinear { knots: vec![0.0, 0.5, 1.0], slopes: vec![0.0, 0.5, 2.5] };
        let betas = gms13.schedule(31).unwrap();
        assert!((betas[10] - 0.5).abs() < 1e-12, "{}", betas[10]);
        let step = |k: usize| betas[k + 1] - betas[k];
        assert!((step(0) - 0.05).abs() < 1e-12 && (step(20) - 0.025).abs() < 1e-12);
        assert!(Ladder::new(&betas, &crate::tempering::Prior::Uniform).is_ok());
        let flat = BinnedLinear { knots: vec![0.0, 0.5, 1.0], slopes: vec![1.0; 3] };
        assert!((flat.schedule(5).unwrap()[1] - 0.25).abs() < 1e-12);
        assert!(gms13.schedule(1).is_err());
    }
}
