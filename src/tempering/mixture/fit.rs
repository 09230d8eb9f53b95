//! A mixture of product distributions fitted to samples: expectation maximisation from well spread seeds.
//!
//! p(v) = sum_m pi_m prod_i mu_mi^v_i (1 - mu_mi)^(1 - v_i). Seeds are rows, each drawn with probability proportional to its squared
//! distance from the seeds before it (Arthur and Vassilvitskii 2007). Means are drawn towards those of all rows by [`PRIOR_ROWS`]
//! rows and kept within [.01, .99], so that no state of the model is out of reach.
//! Cost: N C M an iteration.

use super::MixtureBase;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BitMatrix, Engine, Host, Layer};
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::{index_at, log_sum_exp};
use crate::tempering::BaseDistribution;
use crate::units::Variables;

const ITERATIONS: usize = 10;
/// Number of rows with the overall means that are added to every component.
const PRIOR_ROWS: f64 = 0.2;
/// Smallest weight of a component, relative to the mean weight.
const SMALLEST_SHARE: f64 = 0.2;
/// Smallest mean of a unit, and 1 - the largest.
const SMALLEST_MEAN: f64 = 0.002;
/// Power of their probabilities by which states count in a fit: the largest few weights of a small sample are mostly chance.
pub(crate) const TEMPER: f64 = 0.5;
/// Weights of the two broad components, the rows' marginals and the uniform distribution, where chains are annealed from the mixture: their
/// importance weights need a part of them wherever the model may have mass (a defensive mixture, Hesterberg 1995) ...
pub(crate) const DEFENSIVE: [f64; BROAD_COMPONENTS] = [0.1, 0.05];
/// ... and where tempered chains return to it: few are in a broad component at a time, and the fraction of all chains that is at beta = 0 is known
/// to no more than these weights.
pub(crate) const REVISITED: [f64; BROAD_COMPONENTS] = [0.01, 0.001];
/// Number of these.
pub(crate) const BROAD_COMPONENTS: usize = 2;

/// States of a model to fit a mixture to.
pub struct WeightedRows {
    /// v, shape [N, M].
    pub visible: BitMatrix,
    /// Their relative weights, positive, shape `[N]`.
    pub weights: Vec<f64>,
}

impl WeightedRows {
    /// Of one weight each.
    pub fn alike(visible: BitMatrix) -> Self {
        Self { weights: vec![1.0; visible.rows()], visible }
    }

    /// Rows of both; those of `other` have the fraction `share` of the weight.
    pub fn with(mut self, other: &BitMatrix, share: f64) -> Self {
        let own: f64 = self.weights.iter().sum();
        let each = own * share / (1.0 - share) / other.rows().max(1) as f64;
        let each = if own > 0.0 { each } else { 1.0 };
        let words = self.visible.words().iter().chain(other.words()).copied().collect();
        let rows = self.visible.rows() + other.rows();
        if let Some(visible) = BitMatrix::from_words(rows, other.columns(), words) {
            self.visible = visible;
            self.weights.extend(vec![each; other.rows()]);
        }
        self
    }
}

/// A mixture for a model from visible states of it, shape [N, M]: `components` fitted ones, at most as many as rows, and two broad ones.
///
/// # Errors
/// No rows.
pub fn fit(
    parameters: &Parameters,
    rows: &WeightedRows,
    components: usize,
    seed: u64,
) -> Result<MixtureBase> {
    let soft = soft_rows(parameters, &rows.visible, seed);
    fit_to(&soft, &rows.weights, components, seed, &parameters.variables)
}

/// Largest number of values of a fit (rows times columns), and most rows.
const MOST_NUMBERS: usize = 2_000_000;
const MOST_ROWS: usize = 1000;

/// A mixture for tempered chains from rows of data alone, [N, M], evenly spaced ones if there are many: `components` fitted ones and two broad
/// ones.
///
/// # Errors
/// No rows.
pub fn fit_rows(
    rows: &BitMatrix,
    variables: &Variables,
    components: usize,
    seed: u64,
) -> Result<MixtureBase> {
    let m = rows.columns();
    let rows = rows.spread((MOST_NUMBERS / m.max(1)).clamp(2, MOST_ROWS));
    let statistics = |row| {
        let mut all = vec![0.0; m];
        variables.statistics(rows.row(row), m, |i, x| all[i] = x);
        all
    };
    let dense: Vec<Vec<f64>> = (0..rows.rows()).map(statistics).collect();
    let fitted = fit_to(&dense, &vec![1.0; rows.rows()], components, seed, variables)?;
    with_broad(&fitted, REVISITED)
}

/// Expectation maximisation on rows of means with weights.
fn fit_to(
    soft: &[Vec<f64>],
    weights: &[f64],
    components: usize,
    seed: u64,
    variables: &Variables,
) -> Result<MixtureBase> {
    let clamped = |means: Vec<f64>| variables.clamped(means, SMALLEST_MEAN);
    let m = soft.first().map_or(0, Vec::len);
    let all: f64 = weights.iter().sum();
    let column =
        |i: usize| soft.iter().zip(weights).map(move |(row, w)| w * row[i]).sum::<f64>() / all;
    let overall: Vec<f64> = (0..m).map(|i| 0.99 * column(i) + 0.005).collect();
    let mut means: Vec<Vec<f64>> = seeds(soft, variables, components, seed)
        .into_iter()
        .map(|row| clamped(soft[row].clone()))
        .collect();
    let mut shares = vec![1.0 / means.len().max(1) as f64; means.len()];
    for _ in 0..ITERATIONS {
        let responsibilities = responsibilities(soft, &means, &shares, variables);
        for (c, (mean, share)) in means.iter_mut().zip(&mut shares).enumerate() {
            let r = || responsibilities.iter().zip(weights).map(|(r, w)| w * r[c]);
            let total: f64 = r().sum();
            let mut sums: Vec<f64> = overall.iter().map(|o| PRIOR_ROWS * o).collect();
            for (row, r) in soft.iter().zip(r()) {
                if r > 1e-9 {
                    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += r * x);
                }
            }
            *mean = clamped(sums.iter().map(|sum| sum / (total + PRIOR_ROWS)).collect());
            *share = total.max(SMALLEST_SHARE * all / components as f64);
        }
    }
    of_components(means, shares, overall, variables)
}

/// A mixture of components with these means and relative weights, and of the two broad ones, of which the first has the means `overall`.
///
/// # Errors
/// Means of different lengths.
pub(crate) fn of_components(
    means: Vec<Vec<f64>>,
    mut shares: Vec<f64>,
    overall: Vec<f64>,
    variables: &Variables,
) -> Result<MixtureBase> {
    let uniform = BaseDistribution::uniform(overall.len()).of(variables);
    let product = |means| BaseDistribution::from_means(means, SMALLEST_MEAN, variables);
    let mut bases: Vec<BaseDistribution> = means.into_iter().map(product).collect::<Result<_>>()?;
    let total: f64 = shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    shares.iter_mut().for_each(|share| *share *= (1.0 - DEFENSIVE[0] - DEFENSIVE[1]) / total);
    bases.extend([product(overall)?, uniform]);
    shares.extend(DEFENSIVE);
    MixtureBase::new(bases, &shares)
}

/// The same with other weights of the broad components, which are its last ones.
///
/// # Errors
/// None in practice.
pub(crate) fn with_broad(
    base: &MixtureBase,
    broad: [f64; BROAD_COMPONENTS],
) -> Result<MixtureBase> {
    let fitted = base.len().saturating_sub(BROAD_COMPONENTS);
    let mut shares: Vec<f64> = base.log_shares().iter().map(|share| share.exp()).collect();
    let total: f64 = shares[..fitted].iter().sum();
    let left = 1.0 - broad.iter().sum::<f64>();
    shares[..fitted].iter_mut().for_each(|share| *share *= left / total);
    shares[fitted..].iter_mut().zip(broad).for_each(|(share, new)| *share = new);
    MixtureBase::new(base.components().to_vec(), &shares)
}

/// For every visible state the means A'(c + W h) of the states that a sweep from it would draw, h ~ p(h | v): a fit to those has less
/// noise than one to the states themselves.
fn soft_rows(parameters: &Parameters, rows: &BitMatrix, seed: u64) -> Vec<Vec<f64>> {
    let engine = Host::new(parameters);
    let streams = Streams::new(seed, Purpose::MixtureFit, 1);
    let visible = engine.inputs(Layer::Visible, &engine.hidden_states(rows, streams, 0));
    let means = |row: usize| {
        let x = &visible.row(row)[..rows.columns()];
        parameters.variables.means(x.iter().map(|x| f64::from(*x)))
    };
    (0..rows.rows()).map(means).collect()
}

/// Rows far from each other, squares of real columns left out; fewer than requested if there are no more different ones.
fn seeds(dense: &[Vec<f64>], variables: &Variables, components: usize, seed: u64) -> Vec<usize> {
    let squares = variables.squares(dense.first().map_or(0, Vec::len));
    let mut stream = Streams::new(seed, Purpose::MixtureFit, 0).row(0);
    let mut chosen: Vec<usize> = Vec::new();
    let mut nearest = vec![1.0; dense.len()];
    for _ in 0..components {
        let total: f64 = nearest.iter().sum();
        if total <= 0.0 {
            break;
        }
        let next = index_at(nearest.iter().copied(), stream.uniform() * total);
        let next = next.unwrap_or(dense.len() - 1);
        for (weight, row) in nearest.iter_mut().zip(dense) {
            let columns =
                row.iter().zip(&dense[next]).zip(&squares).filter(|(_, square)| !**square);
            let distance: f64 = columns.map(|((a, b), _)| (a - b).abs()).sum();
            let square = distance * distance;
            *weight = if chosen.is_empty() { square } else { weight.min(square) };
        }
        chosen.push(next);
    }
    chosen
}

/// p(m | v) of every row, shape [N, C].
fn responsibilities(
    dense: &[Vec<f64>],
    means: &[Vec<f64>],
    shares: &[f64],
    variables: &Variables,
) -> Vec<Vec<f64>> {
    let tables: Vec<(f64, Vec<f64>)> = means
        .iter()
        .zip(shares)
        .map(|(mean, share)| {
            let (logits, constant) = variables.natural(mean.clone());
            (share.ln() + constant, logits)
        })
        .collect();
    let of_row = |row: &Vec<f64>| {
        let log_p: Vec<f64> = tables
            .iter()
            .map(|(constant, logits)| {
                constant + logits.iter().zip(row).map(|(a, x)| a * x).sum::<f64>()
            })
            .collect();
        let total = log_sum_exp(log_p.iter().copied());
        log_p.into_iter().map(|log_p| (log_p - total).exp()).collect()
    };
    dense.iter().map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Real;

    /// Numbers near -3 and 3: a mixture of them draws numbers near 3 in size, but for its broad components.
    #[test]
    fn numbers_are_fitted_by_their_values() {
        let variables: Variables = "2*real(0;1)".parse().unwrap();
        let mut rows = variables.states(400, 4);
        for row in 0..400 {
            let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(row as u32);
            let sign = if row % 2 == 0 { 3.0 } else { -3.0 };
            for (_, real) in variables.reals() {
                real.set(rows.row_mut(row), (sign + 0.3 * stream.normal()) as f32);
            }
        }
        let mixture = fit_rows(&rows, &variables, 4, 1).unwrap();
        let drawn = mixture.sample(4000, 1, 0);
        let near = |row: &usize| {
            let near =
                |real: Real| (f64::from(real.value(drawn.row(*row))).abs() - 3.0).abs() < 1.0;
            variables.reals().all(|(_, real)| near(real))
        };
        let share = (0..4000).filter(near).count() as f64 / 4000.0;
        // But for the prior of the components and the broad ones.
        assert!((0.9..0.99).contains(&share), "{share}");
    }

    /// The weights of the broad components are the given ones, those of the others stay in proportion, and so do all components.
    #[test]
    fn broad_components_are_weighed_by_their_use() {
        let rows = BitMatrix::from_fn(60, 12, |row, i| (row % 3 + i) % 4 == 0);
        let revisited = fit_rows(&rows, &Variables::BITS, 3, 1).unwrap();
        let defensive = with_broad(&revisited, DEFENSIVE).unwrap();
        let shares = |base: &MixtureBase| -> Vec<f64> {
            base.log_shares().iter().map(|share| share.exp()).collect()
        };
        let (small, large) = (shares(&revisited), shares(&defensive));
        let fitted = small.len() - BROAD_COMPONENTS;
        for (found, broad) in [(&small, REVISITED), (&large, DEFENSIVE)] {
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            found[fitted..].iter().zip(broad).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        }
        let left = |broad: [f64; BROAD_COMPONENTS]| 1.0 - broad.iter().sum::<f64>();
        for (a, b) in small[..fitted].iter().zip(&large) {
            assert!((a / left(REVISITED) - b / left(DEFENSIVE)).abs() < 1e-12);
        }
        let logits = |base: &MixtureBase| -> Vec<Vec<f32>> {
            base.components().iter().map(|it| it.logits().to_vec()).collect()
        };
        assert_eq!(logits(&revisited), logits(&defensive));
    }
}
