//! Guesses of the base distribution p1(v) from the model alone (MEAN-FIELD, sections V and VI).
//!
//! The best product distribution has the model's own means, a_i = logit `E[v_i]` (eq. 26). Each start is a guess of those:
//!
//! | start | mean of v |
//! |---|---|
//! | uniform | 1/2 |
//! | visible bias | sigma(c), as if there were no hidden units |
//! | mean field | exact, by enumeration of the smaller layer |
//! | Pinv (eq. 29) | x = -(W^+)'b, at which the energy's gradient with respect to h is zero, cut to the range of the units |
//! | Signs_h | average over 1024 uniform h of 1[c + Wh > 0]; where c + Wh = 0 of 1/2 |
//!
//! Data marginals, where there are data: [`BaseDistribution::from_marginals`]. For units in {-1, +1} everything is computed in
//! those units and turned into logits of (1 + s)/2: B = atanh of the mean of s there (the paper's eq. 27 has the wrong sign), a = 2B.
//! Eq. 28 is componentwise; its product sign is an error. Means are kept within [.01, .99], so that no state of the model
//! is out of reach of p1. The larger layer should carry p1: [`Parameters::transposed`] where that is the hidden one.
//! Cost: O(MJ min(M,J)) for Pinv, 1024 MJ for Signs_h, 2^min(M,J) for mean field.

use rayon::prelude::*;

use crate::engine::random::{Purpose, Streams};
use crate::error::{Error, Result};
use crate::model::plus_minus::{Units, to_binary};
use crate::model::{Parameters, exact};
use crate::tempering::BaseDistribution;
use crate::units::Variables;

/// Smallest mean of a unit, and 1 - the largest.
pub const SMALLEST_MEAN: f64 = 0.01;
/// Hidden states drawn by Signs_h.
const SIGNS: u32 = 1024;

/// How the base distribution is guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// All states alike.
    Uniform,
    /// The visible bias, hidden units ignored.
    VisibleBias,
    /// The model's exact means; enumerable models only.
    MeanField,
    /// The stationary point of the energy, by the pseudo-inverse of W.
    Pinv,
    /// Mean sign of the input from random hidden states.
    Signs,
}

impl Start {
    /// The base distribution over {0, 1} for a model with the given units; `seed` matters for Signs_h only.
    ///
    /// For units in {-1, +1} it belongs to the converted model ([`to_binary`]).
    ///
    /// # Errors
    /// Mean field of a model that is too large to enumerate, or a W whose singular values cannot be found.
    pub fn base(
        self,
        parameters: &Parameters,
        units: Units,
        seed: u64,
    ) -> Result<BaseDistribution> {
        let variables = &parameters.variables;
        let from_means = |means| from_means(means, variables);
        match self {
            Self::Uniform => Ok(BaseDistribution::uniform(parameters.n_visible).of(variables)),
            Self::VisibleBias => {
                let scale = if units == Units::Binary { 1.0 } else { 2.0 };
                let logits: Vec<f32> = parameters.visible_bias.iter().map(|c| scale * c).collect();
                Ok(BaseDistribution::from_logits(&logits)?.of(variables))
            }
            Self::MeanField => {
                let converted = to_binary(parameters, units)?;
                from_means(exact::moments(&converted.parameters)?.visible)
            }
            Self::Pinv => from_means(stationary_means(parameters, units)?),
            Self::Signs => from_means(sign_means(parameters, units, seed)),
        }
    }
}

/// The product distribution with the given means of units in {0, 1}, shape `[M]`, no state less probable than .01.
///
/// # Errors
/// A mean is NaN.
pub fn from_means(means: Vec<f64>, variables: &Variables) -> Result<BaseDistribution> {
    BaseDistribution::from_means(means, SMALLEST_MEAN, variables)
}

/// x = -(W^+)'b as means of units in {0, 1}: the smallest x that comes closest to b + W'x = 0.
fn stationary_means(parameters: &Parameters, units: Units) -> Result<Vec<f64>> {
    let Parameters { n_visible, n_hidden, hidden_bias, .. } = parameters;
    let svd = parameters.weight_matrix().thin_svd().map_err(|_| {
        Error::Invalid("no singular values of W were found: use another start than pinv".into())
    })?;
    let (u, v) = (svd.U(), svd.V());
    let s: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    // Weights are f32: what is smaller is rounding, not a direction.
    let cutoff = s.iter().fold(0.0f64, |a, &b| a.max(b))
        * (*n_visible).max(*n_hidden) as f64
        * f64::from(f32::EPSILON);
    let mut x = vec![0.0; *n_visible];
    for (k, s) in s.iter().enumerate().filter(|(_, s)| **s > cutoff) {
        let projection: f64 = (0..*n_hidden).map(|j| v[(j, k)] * f64::from(hidden_bias[j])).sum();
        x.iter_mut().enumerate().for_each(|(i, x)| *x -= u[(i, k)] * projection / s);
    }
    if units == Units::PlusMinus {
        x.iter_mut().for_each(|s| *s = 0.5 * (1.0 + *s));
    }
    Ok(x)
}

/// Mean over random hidden states of the sign of the visible units' input.
fn sign_means(parameters: &Parameters, units: Units, seed: u64) -> Vec<f64> {
    let Parameters { n_hidden, weights, visible_bias, .. } = parameters;
    let off = if units == Units::Binary { 0.0 } else { -1.0 };
    let streams = Streams::new(seed, Purpose::StartHidden, 0);
    let states: Vec<Vec<f64>> = (0..SIGNS)
        .map(|row| {
            let mut stream = streams.row(row);
            (0..*n_hidden).map(|_| if stream.uniform() < 0.5 { off } else { 1.0 }).collect()
        })
        .collect();
    weights
        .par_chunks_exact(*n_hidden)
        .zip(visible_bias)
        .map(|(row, &c)| {
            let row: Vec<f64> = row.iter().map(|&w| f64::from(w)).collect();
            let on = |h: &Vec<f64>| {
                let x = f64::from(c) + row.iter().zip(h).map(|(w, h)| w * h).sum::<f64>();
                // Even numbers of equal couplings often cancel; a tie must not break the symmetry of the spins.
                if x == 0.0 { 0.5 } else { f64::from(u8::from(x > 0.0)) }
            };
            states.iter().map(on).sum::<f64>() / f64::from(SIGNS)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_systems::gaussian_parameters;
    use crate::numerics::sigmoid;

    const ALL: [Start; 5] =
        [Start::Uniform, Start::VisibleBias, Start::MeanField, Start::Pinv, Start::Signs];

    fn means(base: &BaseDistribution) -> Vec<f64> {
        base.logits().iter().map(|&a| sigmoid(f64::from(a))).collect()
    }

    fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// b = -W'x for a chosen x inside the range. +(W^+)'b fails here.
    #[test]
    fn pinv_finds_the_point_where_the_gradient_is_zero() {
        for (units, low, high) in [(Units::Binary, 0.05, 0.95), (Units::PlusMinus, -0.9, 0.9)] {
            let mut p = gaussian_parameters(6, 9, 1.0, 2);
            let x: Vec<f64> = (0..6).map(|i| low + (high - low) * f64::from(i) / 5.0).collect();
            for j in 0..9 {
                let input = (0..6).map(|i| x[i] * f64::from(p.weights[i * 9 + j])).sum::<f64>();
                p.hidden_bias[j] = -input as f32;
            }
            let expected: Vec<f64> = x
                .iter()
                .map(|x| if units == Units::Binary { *x } else { 0.5 * (1.0 + x) })
                .collect();
            let found = means(&Start::Pinv.base(&p, units, 0).unwrap());
            assert!(largest_difference(&found, &expected) < 1e-5, "{found:?}, {expected:?}");
        }
    }

    /// Signs_h against all 2^J hidden states: 1024 draws have a standard error of at most 1/64. Units that
    /// are on with probability .7 fail here.
    #[test]
    fn signs_average_over_uniform_hidden_states() {
        let p = gaussian_parameters(8, 6, 1.0, 4);
        for units in [Units::Binary, Units::PlusMinus] {
            let exact: Vec<f64> = (0..8)
                .map(|i| {
                    let on = (0..64usize).filter(|h| {
                        let x = |j: usize| match (h >> j & 1, units) {
                            (1, _) => f64::from(p.weights[i * 6 + j]),
                            (_, Units::Binary) => 0.0,
                            (_, Units::PlusMinus) => -f64::from(p.weights[i * 6 + j]),
                        };
                        f64::from(p.visible_bias[i]) + (0..6).map(x).sum::<f64>() > 0.0
                    });
                    (on.count() as f64 / 64.0).clamp(0.01, 0.99)
                })
                .collect();
            let found = means(&Start::Signs.base(&p, units, 3).unwrap());
            assert!(largest_difference(&found, &exact) < 4.0 / 64.0, "{found:?}, {exact:?}");
            assert_ne!(found, means(&Start::Signs.base(&p, units, 4).unwrap()));
        }
    }

    /// Without fields the up-down symmetry makes every mean 1/2; with units in {0, 1} the converted biases hide it.
    #[test]
    fn spins_without_field_start_uniformly() {
        let mut spins = gaussian_parameters(5, 5, 1.0, 1);
        spins.visible_bias.fill(0.0);
        spins.hidden_bias.fill(0.0);
        let rbm = to_binary(&spins, Units::PlusMinus).unwrap();
        let mean_field = means(&Start::MeanField.base(&rbm.parameters, Units::Binary, 0).unwrap());
        assert!(largest_difference(&mean_field, &[0.5; 5]) < 1e-4, "{mean_field:?}");
        spins.weights.iter_mut().for_each(|w| *w = w.signum());
        for start in ALL {
            let found = means(&start.base(&spins, Units::PlusMinus, 0).unwrap());
            // Signs_h: 4 standard errors.
            assert!(largest_difference(&found, &[0.5; 5]) < 4.0 / 64.0, "{start:?}: {found:?}");
        }
    }

    /// The start that MEAN-FIELD calls optimal is: no other product distribution is nearer to p(v).
    /// Means of the model before its conversion to {0, 1} fail here.
    #[test]
    fn exact_means_are_nearest_to_the_model() {
        let p = gaussian_parameters(6, 4, 0.8, 9);
        for units in [Units::Binary, Units::PlusMinus] {
            let binary = to_binary(&p, units).unwrap().parameters;
            let table = exact::log_probabilities_of_visible(&binary).unwrap();
            let divergence = |base: &BaseDistribution| -> f64 {
                let log_z = base.log_partition(0);
                let cost = |(v, log_p): (usize, &f64)| {
                    log_p.exp() * (log_p - base.dot(&[v as u64]) + log_z)
                };
                table.iter().enumerate().map(cost).sum()
            };
            let best = divergence(&Start::MeanField.base(&p, units, 0).unwrap());
            for start in ALL {
                let other = divergence(&start.base(&p, units, 0).unwrap());
                assert!(best <= other + 1e-9, "{units:?}, {start:?}: {other} < {best}");
            }
        }
    }

    #[test]
    fn means_of_zero_and_one_stay_within_reach() {
        let base = from_means(vec![0.0, 1.0, 0.5, -3.0], &Variables::BITS).unwrap();
        let expected = [-(99f32.ln()), 99f32.ln(), 0.0, -(99f32.ln())];
        assert!(base.logits().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5));
        assert!(from_means(vec![f64::NAN], &Variables::BITS).is_err());
    }
}
