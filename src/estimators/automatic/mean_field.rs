//! Solutions of the mean-field equations: product distributions around states that belong together.
//!
//! For means h of the hidden units, visible variables with natural parameters eta = a + W h have the variational bound (Saul, Jaakkola and
//! Jordan 1996)
//!
//! ```text
//! F(h) = A(eta) + sum_j b_j h_j + H(h_j) <= log Z
//! ```
//!
//! and h_j = sigma(b_j + (W' A'(eta))_j) raises it until it is at a maximum. A single state of some units that is lighter than what is
//! around it is no mode of the hidden layer, but it is a solution; where the rest of a model has much entropy, a state has little mass,
//! and a solution has all of it. A mixture of the solutions, with weights by F, is close to the model (Jaakkola and Jordan 1998).

use faer::linalg::matmul::matmul;
use faer::{Accum, ColRef, Mat, MatRef, Par};

use super::Bound;
use crate::context::interrupt;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams};
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::{entropy, sigmoid};
use crate::tempering::mixture::{MixtureBase, TEMPER, of_components};
use crate::units::Variables;

/// Most solutions in a mixture, if there are fewer hidden units than that, and nats below the highest beyond which they are left out.
const MOST_COMPONENTS: usize = 64;
const NEAR: f64 = 10.0;
/// Most iterations from a start, the change of every mean at which they end, and the difference of a mean from which two
/// solutions are different ones.
const ITERATIONS: usize = 50;
const TOLERANCE: f64 = 1e-3;
const DIFFERENT: f64 = 0.25;
/// Most multiplications of one search.
const MOST_WORK: usize = 4_000_000_000;

/// A solution of the mean-field equations.
struct Solution {
    /// F, nats.
    log_z: f64,
    /// Means of both layers.
    visible: Vec<f64>,
    hidden: Vec<f64>,
}

/// All solutions found, the highest first.
pub(super) struct MeanField {
    /// W, [M, J].
    weights: Mat<f64>,
    visible_bias: Vec<f64>,
    hidden_bias: Vec<f64>,
    offset: f64,
    variables: Variables,
    found: Vec<Solution>,
}

impl MeanField {
    pub fn new(parameters: &Parameters) -> Self {
        let doubles = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect();
        Self {
            weights: parameters.weight_matrix(),
            visible_bias: doubles(&parameters.visible_bias),
            hidden_bias: doubles(&parameters.hidden_bias),
            offset: parameters.log_offset(),
            variables: parameters.variables.clone(),
            found: Vec::new(),
        }
    }

    /// Number of starts that one search affords.
    pub fn affordable(&self) -> usize {
        MOST_WORK / (2 * ITERATIONS * self.weights.nrows() * self.weights.ncols()).max(1)
    }

    /// Iterates from states of the hidden layer, [N, J].
    pub fn search(&mut self, starts: &BitMatrix) {
        let on = |j: usize, row: usize| f64::from(u8::from(starts.get(row, j)));
        let mut hidden = Mat::from_fn(starts.columns(), starts.rows(), on);
        for _ in 0..ITERATIONS {
            interrupt::point();
            let inputs = product(self.weights.transpose(), &self.visible_means(&hidden));
            let mut moved: f64 = 0.0;
            for row in 0..starts.rows() {
                for (j, bias) in self.hidden_bias.iter().enumerate() {
                    let mean = sigmoid(inputs[(j, row)] + bias);
                    moved = moved.max((mean - hidden[(j, row)]).abs());
                    hidden[(j, row)] = mean;
                }
            }
            if moved < TOLERANCE {
                break;
            }
        }
        let inputs = product(self.weights.as_ref(), &hidden);
        for (hidden, inputs) in hidden.col_iter().zip(inputs.col_iter()) {
            self.take(hidden.iter().copied().collect(), inputs);
        }
        self.found.sort_by(|a, b| b.log_z.total_cmp(&a.log_z));
    }

    /// A'(eta) given means of the hidden layer, [M, N].
    fn visible_means(&self, hidden: &Mat<f64>) -> Mat<f64> {
        let mut means = product(self.weights.as_ref(), hidden);
        for column in means.col_iter_mut() {
            let of_column = self.variables.means(self.natural(column.as_ref()));
            column.iter_mut().zip(of_column).for_each(|(to, mean)| *to = mean);
        }
        means
    }

    /// eta = a + W h from W h.
    fn natural(&self, inputs: ColRef<'_, f64>) -> Vec<f64> {
        inputs.iter().zip(&self.visible_bias).map(|(x, bias)| x + bias).collect()
    }

    /// Takes in a solution if it is a new one, or higher than the one it is near; `inputs` are W h.
    fn take(&mut self, hidden: Vec<f64>, inputs: ColRef<'_, f64>) {
        let natural = self.natural(inputs);
        let terms = hidden.iter().zip(&self.hidden_bias);
        let of_hidden: f64 = terms.map(|(&mean, bias)| bias * mean + entropy(mean)).sum();
        let log_z = self.offset + self.variables.log_partition(natural.iter().copied()) + of_hidden;
        let near = |found: &Solution| {
            found.hidden.iter().zip(&hidden).all(|(a, b)| (a - b).abs() < DIFFERENT)
        };
        let place = self.found.iter().position(near);
        let is_lower = place.is_some_and(|place| self.found[place].log_z >= log_z);
        if is_lower || !log_z.is_finite() {
            return;
        }
        let solution = Solution { log_z, visible: self.variables.means(natural), hidden };
        match place {
            Some(place) => self.found[place] = solution,
            None => self.found.push(solution),
        }
    }

    /// The highest F.
    pub fn bound(&self) -> Option<Bound> {
        self.found.first().map(|solution| Bound { value: solution.log_z, states: None })
    }

    /// The highest solutions as a mixture; `None` without one.
    ///
    /// # Errors
    /// None in practice.
    pub fn mixture(&self) -> Result<Option<MixtureBase>> {
        let Some(highest) = self.found.first() else { return Ok(None) };
        let near = |solution: &&Solution| solution.log_z > highest.log_z - NEAR;
        let most = MOST_COMPONENTS.max(self.hidden_bias.len());
        let components = || self.found.iter().take(most).take_while(near);
        let weight = |solution: &Solution| (TEMPER * (solution.log_z - highest.log_z)).exp();
        let shares: Vec<f64> = components().map(weight).collect();
        let all: f64 = shares.iter().sum();
        let mut overall = vec![0.0; highest.visible.len()];
        for (solution, share) in components().zip(&shares) {
            overall
                .iter_mut()
                .zip(&solution.visible)
                .for_each(|(sum, mean)| *sum += share / all * mean);
        }
        let means = components().map(|solution| solution.visible.clone()).collect();
        of_components(means, shares, overall, &self.variables).map(Some)
    }

    /// Visible states drawn from the highest solutions, `each` from one.
    pub fn drawn(&self, most: usize, each: usize, seed: u64) -> BitMatrix {
        let solutions = &self.found[..most.min(self.found.len())];
        let streams = Streams::new(seed, Purpose::ModeSearch, 1);
        let mut rows = self.variables.states(solutions.len() * each, self.weights.nrows());
        for (s, solution) in solutions.iter().enumerate() {
            for row in s * each..(s + 1) * each {
                let mut stream = streams.row(row as u32);
                self.variables.draw(&solution.visible, || stream.uniform(), rows.row_mut(row));
            }
        }
        rows
    }
}

fn product(w: MatRef<'_, f64>, means: &Mat<f64>) -> Mat<f64> {
    let mut out = Mat::zeros(w.nrows(), means.ncols());
    matmul(&mut out, Accum::Replace, w, means, 1.0, Par::Seq);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::automatic::search::Search;
    use crate::estimators::{Automatic, Known, lower_bound};
    use crate::model::exact;
    use crate::model::test_systems::{gaussian_parameters, independent, islands};
    use crate::numerics::log_sum_exp;
    use crate::tempering::mixture::BROAD_COMPONENTS;

    fn solutions(parameters: &Parameters) -> MeanField {
        let mut search = Search::new(parameters, Known::default(), 1);
        search.combine(Known::default(), 1);
        search.mean_field
    }

    /// F is below log Z for every kind of variable, by as much as weights of .3 correlate units.
    #[test]
    fn solutions_are_lower_bounds() {
        for (kinds, seed) in [("bits", 1), ("3+,4,2*1+", 2), ("plus-minus", 3), ("real,7*1+", 4)] {
            let mut parameters = gaussian_parameters(9, 6, 0.3, seed);
            if kinds.starts_with("real") {
                parameters.visible_bias[1] = -0.5;
                parameters.weights[6..12].fill(0.0);
            }
            let parameters = parameters.of(kinds.parse().unwrap()).unwrap();
            let exact = exact::log_partition(&parameters).unwrap();
            let bound = solutions(&parameters).bound().unwrap();
            println!("{kinds}: {} of {exact}", bound.value);
            assert!(bound.value < exact && bound.value > exact - 0.5 && bound.states.is_none());
        }
    }

    /// The mean-field equations are exact for the background and the single states, and F is the sum over independent parts.
    #[test]
    fn single_states_beside_a_part_with_entropy_are_solutions() {
        let states = islands(40, (6, 1), -2.0..0.0, 1);
        let soft = gaussian_parameters(40, 12, 0.15, 2);
        let system = independent(&[states.clone(), soft.clone()], 3).unwrap();
        let (all, of_soft) = (solutions(&system.parameters), solutions(&soft));
        assert_eq!((all.found.len(), of_soft.found.len()), (7, 1));
        let sum = log_sum_exp(all.found.iter().map(|solution| solution.log_z));
        let expected = exact::log_partition(&states).unwrap() + of_soft.found[0].log_z;
        assert!((sum - expected).abs() < 1e-3 && sum < system.log_partition, "{sum} {expected}");
        // Sums over states miss most of the entropy.
        let bound = lower_bound(&system.parameters, Known::default(), 1);
        assert!(bound.states.is_none() && bound.value == all.found[0].log_z);
    }

    /// More states than 64, all of them solutions: none is left out where there are as many hidden units, and each is a component once.
    #[test]
    fn a_mixture_has_as_many_components_as_hidden_units() {
        let found = solutions(&islands(50, (80, 1), -1.0..0.0, 1));
        let means: Vec<_> = found.found.iter().map(|solution| solution.visible.clone()).collect();
        let single = means.iter().filter(|means| means.iter().all(|p| (p - 0.5).abs() > 0.49));
        assert_eq!((single.count(), found.found.len()), (80, 81));
        let mixture = found.mixture().unwrap().unwrap();
        assert_eq!(mixture.len(), 80 + BROAD_COMPONENTS);
    }

    /// Lighter than what is around them, so that no chain from there reaches them, several times as heavy together, and more than a fitted
    /// mixture has components.
    #[test]
    fn estimates_count_single_states() {
        let soft = |seed| gaussian_parameters(40, 12, 0.4, seed);
        let parts = [islands(50, (20, 1), -2.0..0.0, 1), soft(2), soft(3)];
        let system = independent(&parts, 4).unwrap();
        let automatic = Automatic::new(5).unwrap();
        let found = automatic.run(&system.parameters, Known::default(), &mut |_| ()).unwrap();
        let (value, error) = (found.estimate.value, found.estimate.std_error);
        println!("{value} +- {error} for {}", system.log_partition);
        assert!(found.estimate.trust.is_sound() && error < 0.1);
        assert!((value - system.log_partition).abs() < 4.0 * error);
    }
}
