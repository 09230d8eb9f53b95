//! A preconditioner for columns that are strongly correlated.
//!
//! While the weights are small, gradient ascent of step eps multiplies their part along a principal component of the data with variance
//! lambda by 1 + eps lambda/4 in one update (1/4 is the variance of a hidden unit). A rate that suits independent columns, whose variance is
//! at most 1/4, is far too large for the leading components of strongly correlated ones: neither particles nor tempered chains follow.
//! Along such components the gradient is multiplied by min(1, 4 g / (eps lambda)), g = [`LARGEST_GROWTH`]. This is a natural gradient
//! (Amari 1998) where it is needed: for independent hidden units the Fisher information of W is the covariance of the visible units.
//!
//! The square of a real column has a bias alone, and is a component by itself. Its variance is 2 for a normal column and hundreds for one
//! with heavy tails, where a row far out would move the variance of the column by a multiple in one update.

use rayon::prelude::*;

use super::Centering;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{AS_A_NUMBER, BitMatrix, PANEL, fewest_tasks};
use crate::numerics::statistics::variance;
use crate::training::update::Gradient;
use crate::units::{Real, Variables};

/// Largest relative growth of the weights along a component in one update.
const LARGEST_GROWTH: f64 = 0.1;
/// Most components; those that follow have a smaller variance and are left alone.
const COMPONENTS: usize = 32;
/// Most rows that the components are taken from.
const MOST_ROWS: usize = 4096;
/// Steps of the orthogonal iteration. Components of nearly equal variance may stay mixed, which changes nothing.
const ITERATIONS: usize = 20;

/// The damped components; the default leaves gradients as they are.
#[derive(Default)]
pub(crate) struct Preconditioner {
    components: Vec<Component>,
    /// Columns of squares, with the factor of their gradient.
    squares: Vec<(usize, f32)>,
}

struct Component {
    /// Unit vector, length M.
    direction: Vec<f64>,
    /// 1 minus the factor of the gradient along it.
    damping: f64,
}

impl Preconditioner {
    /// Of training rows with their weights (`None`: all the same, as of all real columns), for the initial learning rate.
    pub fn new(
        rows: &BitMatrix,
        variables: &Variables,
        weights: Option<&[f64]>,
        learning_rate: f64,
        seed: u64,
    ) -> Self {
        let components = principal_components(rows, variables, weights, seed);
        let largest = 4.0 * LARGEST_GROWTH / learning_rate;
        // Of constant columns variances are rounding errors of either sign.
        let damped = components.into_iter().filter(|(variance, _)| *variance > largest);
        let damped = damped.map(|(variance, direction)| Component {
            direction,
            damping: 1.0 - largest / variance,
        });
        let of_square = |(first, real): (usize, Real)| {
            let square = |row| f64::from(real.value(rows.row(row))).powi(2);
            let variance = variance(&(0..rows.rows()).map(square).collect::<Vec<f64>>());
            (variance > largest).then(|| (first + 1, (largest / variance) as f32))
        };
        let squares = variables.reals().filter_map(of_square).collect();
        Self { components: damped.collect(), squares }
    }

    /// Damps a gradient. The bias of a hidden unit moves with the centre of its weights, so that the step of a centered model is damped.
    pub fn apply(&self, gradient: &mut Gradient, centering: Option<&Centering>) {
        let Gradient { n_hidden, weights, visible_bias, hidden_bias, .. } = gradient;
        self.squares.iter().for_each(|(column, factor)| visible_bias[*column] *= factor);
        for Component { direction, damping } in &self.components {
            let fewest = fewest_tasks(weights.len() * AS_A_NUMBER);
            let mut along = vec![0.0f32; *n_hidden];
            // Some columns a task: every sum runs over the visible units in their order.
            let columns = along.par_chunks_mut(PANEL).enumerate().with_min_len(fewest);
            columns.for_each(|(panel, along)| {
                let rows = weights.chunks_exact(*n_hidden).map(|row| &row[panel * PANEL..]);
                for (row, u) in rows.zip(direction) {
                    let single = *u as f32;
                    along.iter_mut().zip(row).for_each(|(a, w)| *a += single * w);
                }
            });
            let products = visible_bias.iter().zip(direction).map(|(b, u)| u * f64::from(*b));
            let of_bias: f64 = products.sum();
            let rows = weights.par_chunks_exact_mut(*n_hidden).zip(&mut *visible_bias);
            rows.zip(direction).with_min_len(fewest).for_each(|((row, bias), u)| {
                let part = (damping * u) as f32;
                row.iter_mut().zip(&along).for_each(|(w, a)| *w -= part * a);
                *bias -= (damping * u * of_bias) as f32;
            });
            let centre = centering.map_or(0.0, |offsets| {
                direction.iter().zip(&offsets.visible).map(|(u, mean)| u * mean).sum()
            });
            let part = (damping * centre) as f32;
            hidden_bias.iter_mut().zip(along).for_each(|(b, a)| *b += part * a);
        }
    }
}

/// Leading principal components of rows, with their variances, by orthogonal iteration. Squares of real columns are left out.
fn principal_components(
    rows: &BitMatrix,
    variables: &Variables,
    weights: Option<&[f64]>,
    seed: u64,
) -> Vec<(f64, Vec<f64>)> {
    let count = COMPONENTS.min(rows.columns());
    let used = rows.rows().min(MOST_ROWS);
    let chosen: Vec<usize> = (0..used).map(|i| i * rows.rows() / used).collect();
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let total: f64 = chosen.iter().map(|row| weight(*row)).sum();
    let squares = variables.squares(rows.columns());
    let visit = |row: usize, take: &mut dyn FnMut(usize, f64)| {
        let take = |i: usize, x: f64| {
            if !squares[i] {
                take(i, x)
            }
        };
        variables.statistics(rows.row(row), rows.columns(), take);
    };
    let mut means = vec![0.0; rows.columns()];
    for row in &chosen {
        let share = weight(*row) / total;
        visit(*row, &mut |i, x| means[i] += x * share);
    }
    let streams = Streams::new(seed, Purpose::PrincipalComponents, 0);
    // [M, components]: those of a column lie together.
    let mut all: Vec<Vec<f64>> = (0..rows.columns())
        .map(|i| {
            let mut stream = streams.row(i as u32);
            (0..count).map(|_| stream.normal()).collect()
        })
        .collect();
    let mut variances = vec![0.0; count];
    for _ in 0..ITERATIONS {
        orthogonalise(&mut all, count);
        let mut next = vec![vec![0.0; count]; rows.columns()];
        let add = |to: &mut [f64], from: &[f64], factor: f64| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
        };
        let mut of_means = vec![0.0; count];
        means.iter().zip(&all).for_each(|(mean, own)| add(&mut of_means, own, *mean));
        for row in &chosen {
            let mut projections = vec![0.0; count];
            visit(*row, &mut |i, x| add(&mut projections, &all[i], x));
            let share = weight(*row) / total;
            visit(*row, &mut |i, x| add(&mut next[i], &projections, x * share));
        }
        next.iter_mut().zip(&means).for_each(|(own, mean)| add(own, &of_means, -mean));
        variances = (0..count)
            .map(|k| all.iter().zip(&next).map(|(old, new)| old[k] * new[k]).sum())
            .collect();
        all = next;
    }
    orthogonalise(&mut all, count);
    let directions = (0..count).map(|k| all.iter().map(|own| own[k]).collect());
    variances.into_iter().zip(directions).collect()
}

/// Makes columns orthonormal, in their order (Gram and Schmidt); those that depend on earlier ones become zero.
fn orthogonalise(matrix: &mut [Vec<f64>], columns: usize) {
    for k in 0..columns {
        let norm =
            |matrix: &[Vec<f64>]| matrix.iter().map(|row| row[k] * row[k]).sum::<f64>().sqrt();
        let before = norm(matrix);
        for earlier in 0..k {
            let along: f64 = matrix.iter().map(|row| row[k] * row[earlier]).sum();
            matrix.iter_mut().for_each(|row| row[k] -= along * row[earlier]);
        }
        let norm = norm(matrix);
        let scale = if norm > 1e-10 * before { 1.0 / norm } else { 0.0 };
        matrix.iter_mut().for_each(|row| row[k] *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: usize = 24;

    /// Three groups of eight equal columns, of which one is set in half of the rows, one in a quarter, one in an eighth, independently.
    fn rows() -> BitMatrix {
        let bits = |row: usize, group: usize| [row, row >> 1, row >> 3][group];
        let set = |row, group| bits(row, group).is_multiple_of(2 << group);
        BitMatrix::from_fn(640, COLUMNS, |row, column| set(row, column / 8))
    }

    fn gradient(hidden: usize) -> Gradient {
        let mut gradient = Gradient::zeros(COLUMNS, hidden);
        let mut number = Streams::new(3, Purpose::TestSystem, 0).row(0);
        for array in gradient.arrays_mut() {
            array.iter_mut().for_each(|x| *x = number.normal() as f32);
        }
        gradient
    }

    /// Covariances of all pairs of columns, times a vector.
    fn times_covariance(rows: &BitMatrix, vector: &[f64]) -> Vec<f64> {
        let n = rows.rows() as f64;
        let mean = |i| (0..rows.rows()).filter(|&r| rows.get(r, i)).count() as f64 / n;
        let both = |i, k| {
            (0..rows.rows()).filter(|&r| rows.get(r, i) && rows.get(r, k)).count() as f64 / n
        };
        let row =
            |i| vector.iter().enumerate().map(move |(k, x)| (both(i, k) - mean(i) * mean(k)) * x);
        (0..COLUMNS).map(|i| row(i).sum()).collect()
    }

    #[test]
    fn components_are_eigenvectors_of_the_covariance_in_order() {
        let rows = rows();
        let components = principal_components(&rows, &Variables::BITS, None, 7);
        assert!(components[0].0 > 1.9 && components[2].0 > 0.5 && components[3].0 < 1e-9);
        for pair in components.windows(2) {
            assert!(pair[0].0 >= pair[1].0 - 1e-9);
        }
        for (variance, direction) in &components[..3] {
            let norm: f64 = direction.iter().map(|x| x * x).sum();
            assert!((norm - 1.0).abs() < 1e-9);
            for (c, x) in times_covariance(&rows, direction).iter().zip(direction) {
                // 20 iterations, and neighbours whose variances have ratios of at most .75.
                assert!((c - variance * x).abs() < 0.75f64.powi(20), "{c} {variance} {x}");
            }
        }
    }

    /// Rows of weight two are rows that stand there twice.
    #[test]
    fn weights_count_as_repeated_rows() {
        let rows = rows();
        let twice = |row: usize| if row.is_multiple_of(3) { 2 } else { 1 };
        let weights: Vec<f64> = (0..rows.rows()).map(|row| f64::from(twice(row))).collect();
        let repeated =
            (0..rows.rows()).flat_map(|row| std::iter::repeat_n(row, twice(row) as usize));
        let repeated = principal_components(&rows.select(repeated), &Variables::BITS, None, 7);
        let weighted = principal_components(&rows, &Variables::BITS, Some(&weights), 7);
        for ((a, _), (b, _)) in repeated.iter().zip(&weighted).take(3) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    /// Along damped components the weights' gradient has the stated part, along others all of it; the bias of a hidden unit where the
    /// visible units are at the centre moves as without.
    #[test]
    fn only_damped_components_are_shortened() {
        let (rows, rate, hidden) = (rows(), 0.4, PANEL + 3);
        let components = principal_components(&rows, &Variables::BITS, None, 7);
        let preconditioner = Preconditioner::new(&rows, &Variables::BITS, None, rate, 7);
        let count =
            components.iter().filter(|(variance, _)| rate * variance / 4.0 > LARGEST_GROWTH);
        assert_eq!(count.count(), 2);
        let centre: Vec<f64> = (0..COLUMNS).map(|i| 0.02 * i as f64).collect();
        let centering = Centering::new(centre.clone(), hidden);
        let raw = gradient(hidden);
        let mut damped = raw.clone();
        preconditioner.apply(&mut damped, Some(&centering));
        let along = |of: &Gradient, direction: &[f64], k: usize| -> f64 {
            let weights = of.weights.chunks_exact(hidden).zip(direction);
            weights.map(|(row, x)| f64::from(row[k]) * x).sum()
        };
        let of_bias = |of: &Gradient, direction: &[f64]| -> f64 {
            of.visible_bias.iter().zip(direction).map(|(c, x)| f64::from(*c) * x).sum()
        };
        for (variance, direction) in &components[..3] {
            let factor = (4.0 * LARGEST_GROWTH / (rate * variance)).min(1.0);
            for k in 0..hidden {
                let [old, new] = [&raw, &damped].map(|of| along(of, direction, k));
                assert!((new - factor * old).abs() < 1e-5, "{new} {factor} {old}");
            }
            let [old, new] = [&raw, &damped].map(|of| of_bias(of, direction));
            assert!((new - factor * old).abs() < 1e-5, "{new} {factor} {old}");
        }
        for k in 0..hidden {
            let at_centre = |of: &Gradient| f64::from(of.hidden_bias[k]) + along(of, &centre, k);
            assert!((at_centre(&raw) - at_centre(&damped)).abs() < 1e-5);
        }
    }

    #[test]
    fn a_small_rate_and_constant_columns_change_nothing() {
        let raw = gradient(4);
        let constant = |rows| BitMatrix::from_fn(rows, COLUMNS, |_, column| column > 5);
        let of_constant = (2..40).map(|count| (constant(count), 100.0));
        for (rows, rate) in of_constant.chain([(rows(), 0.1)]) {
            let mut same = raw.clone();
            Preconditioner::new(&rows, &Variables::BITS, None, rate, 1).apply(&mut same, None);
            assert_eq!(same, raw);
        }
    }

    /// Two equal real columns of variance 1 and a bit: the component of both numbers has the variance 2, no square is in it, and each square is
    /// damped by its own variance.
    #[test]
    fn numbers_are_components_and_squares_are_damped_by_themselves() {
        let variables: Variables = "2*real(0;1),1+".parse().unwrap();
        let numbers = [2.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let mut rows = variables.states(numbers.len(), 5);
        for (i, number) in numbers.into_iter().enumerate() {
            let row = rows.row_mut(i);
            row[0] = (i as u64 % 2) << 4;
            variables.reals().for_each(|(_, real)| real.set(row, number));
        }
        let (variance, direction) = &principal_components(&rows, &variables, None, 7)[0];
        assert!((variance - 2.0).abs() < 0.1, "{variance}");
        assert!(direction[1].abs() + direction[3].abs() < 1e-12, "{direction:?}");
        assert!((direction[0].abs() - direction[2].abs()).abs() < 1e-6, "{direction:?}");

        let mut damped = Gradient::zeros(5, 1);
        damped.visible_bias.fill(1.0);
        Preconditioner::new(&rows, &variables, None, 0.4, 7).apply(&mut damped, None);
        // v^2 is 4 in two of eight rows: its variance is 24/7, and 1 is the largest that is not damped.
        assert!((damped.visible_bias[1] - 7.0 / 24.0).abs() < 1e-6, "{damped:?}");
        assert_eq!(damped.visible_bias[1], damped.visible_bias[3]);
    }
}
