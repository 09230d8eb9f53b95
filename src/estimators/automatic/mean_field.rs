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

use std::ops::RangeInclusive;

use faer::linalg::matmul::matmul;
use faer::{Accum, ColRef, Mat, MatRef, Par};

use super::Bound;
use super::modes::crossover::{ROUND, rounds};
use crate::context::Context;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams};
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::{entropy, log_sum_exp, sigmoid};
use crate::tempering::mixture::{MixtureBase, TEMPER, of_components};
use crate::units::Variables;

/// Most solutions in the base of chains, if there are fewer hidden units than that, and nats below the highest beyond which they are left out.
const MOST_COMPONENTS: usize = 64;
const NEAR: f64 = 10.0;
/// Fewest and most states of a large mixture that are weighed.
const WEIGHED: RangeInclusive<usize> = 2000..=20_000;
/// Most iterations from a start, the change of every mean at which they end, and the difference of a mean from which two
/// solutions are different ones.
const ITERATIONS: usize = 50;
const TOLERANCE: f64 = 1e-3;
const DIFFERENT: f64 = 0.25;
/// Multiplications that take as long as the mean of a variable, and most of them for a search from given starts, for that from crossovers,
/// and for densities under one mixture.
const OF_MEAN: usize = 130;
const MOST_WORK: usize = 4_000_000_000;

/// A solution of the mean-field equations.
#[derive(Clone)]
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
    context: Context,
    /// Iterations of single starts so far.
    iterations: usize,
}

impl MeanField {
    pub fn new(parameters: &Parameters, context: &Context) -> Self {
        let doubles = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect();
        Self {
            weights: parameters.weight_matrix(),
            visible_bias: doubles(&parameters.visible_bias),
            hidden_bias: doubles(&parameters.hidden_bias),
            offset: parameters.log_offset(),
            variables: parameters.variables.clone(),
            found: Vec::new(),
            context: context.clone(),
            iterations: 0,
        }
    }

    /// Iterations of single starts that one search affords.
    fn most_iterations(&self) -> usize {
        let (m, j) = (self.weights.nrows(), self.weights.ncols());
        MOST_WORK / (2 * m * j + OF_MEAN * (m + j)).max(1)
    }

    /// Number of starts that one search affords.
    pub fn affordable(&self) -> usize {
        self.most_iterations() / ITERATIONS
    }

    /// Iterates from states of the hidden layer, [N, J].
    pub fn search(&mut self, starts: &BitMatrix) {
        let on = |j: usize, row: usize| f64::from(u8::from(starts.get(row, j)));
        self.iterate(Mat::from_fn(starts.columns(), starts.rows(), on));
    }

    /// Iterates from crossovers of two solutions, which have every mean from one of them: where parts of a model are independent, all
    /// combinations of their solutions are solutions.
    fn cross(&mut self, seed: u64) {
        let most = self.iterations + self.most_iterations();
        let children = ROUND.min(self.affordable()).max(1);
        let mut stream = Streams::new(seed, Purpose::Crossover, 1).row(0);
        rounds(|| {
            if self.found.len() < 2 || self.iterations > most {
                return None;
            }
            let (before, count) = (self.log_sum(), self.near().len());
            let mut starts = Mat::zeros(self.hidden_bias.len(), children);
            for start in starts.col_iter_mut() {
                let parents: [usize; 2] =
                    std::array::from_fn(|_| (stream.uniform() * count as f64) as usize);
                for (j, mean) in start.iter_mut().enumerate() {
                    *mean = self.found[parents[usize::from(stream.uniform() < 0.5)]].hidden[j];
                }
            }
            self.iterate(starts);
            Some(self.log_sum() - before)
        });
    }

    /// log sum exp(F).
    fn log_sum(&self) -> f64 {
        log_sum_exp(self.found.iter().map(|solution| solution.log_z))
    }

    /// Iterates from means of the hidden layer, [J, N].
    fn iterate(&mut self, mut hidden: Mat<f64>) {
        for last in (0..ITERATIONS).rev() {
            if self.context.is_interrupted() {
                return;
            }
            self.iterations += hidden.ncols();
            let inputs = product(self.weights.transpose(), &self.visible_means(&hidden));
            let (mut settled, mut moving) = (Vec::new(), Vec::new());
            for row in 0..hidden.ncols() {
                let mut moved: f64 = 0.0;
                for (j, bias) in self.hidden_bias.iter().enumerate() {
                    let mean = sigmoid(inputs[(j, row)] + bias);
                    moved = moved.max((mean - hidden[(j, row)]).abs());
                    hidden[(j, row)] = mean;
                }
                if moved < TOLERANCE || last == 0 { &mut settled } else { &mut moving }.push(row);
            }
            let of = |rows: &[usize]| {
                Mat::from_fn(hidden.nrows(), rows.len(), |j, row| hidden[(j, rows[row])])
            };
            let (settled, moving) = (of(&settled), of(&moving));
            let inputs = product(self.weights.as_ref(), &settled);
            for (hidden, inputs) in settled.col_iter().zip(inputs.col_iter()) {
                self.take(hidden.iter().copied().collect(), inputs);
            }
            if moving.ncols() == 0 {
                break;
            }
            hidden = moving;
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

    /// The solutions that are near the highest.
    fn near(&self) -> &[Solution] {
        let highest = self.found.first().map_or(0.0, |highest| highest.log_z);
        let near = |solution: &&Solution| solution.log_z > highest - NEAR;
        &self.found[..self.found.iter().take_while(near).count()]
    }

    /// The highest solutions as the base of chains; `None` without one.
    ///
    /// # Errors
    /// None in practice.
    pub fn mixture(&self) -> Result<Option<MixtureBase>> {
        self.mixture_of(self.most_components())
    }

    fn most_components(&self) -> usize {
        MOST_COMPONENTS.max(self.hidden_bias.len())
    }

    /// A mixture of as many solutions as possible, those from crossovers too, and the number of its states that can be weighed. Solutions
    /// from crossovers are kept only if the base of chains has all solutions: they resemble each other, and chains from the highest of
    /// them see less of a model with many modes.
    ///
    /// # Errors
    /// None in practice.
    pub fn large_mixture(&mut self, seed: u64) -> Result<Option<(MixtureBase, usize)>> {
        let own = self.found.clone();
        self.cross(seed);
        let each = MOST_WORK / self.weights.nrows();
        let base = self.mixture_of((each / WEIGHED.start()).max(1))?;
        if self.near().len() > self.most_components() {
            self.found = own;
        }
        Ok(base.map(|base| {
            let states = (each / base.len()).clamp(*WEIGHED.start(), *WEIGHED.end());
            (base, states)
        }))
    }

    fn mixture_of(&self, most: usize) -> Result<Option<MixtureBase>> {
        let Some(highest) = self.found.first() else { return Ok(None) };
        let components = || self.near().iter().take(most);
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
    use crate::estimators::automatic::candidates::ALL_SOLUTIONS;
    use crate::estimators::automatic::search::Search;
    use crate::estimators::{Automatic, Known, lower_bound};
    use crate::model::exact;
    use crate::model::test_systems::{gaussian_parameters, independent, islands};
    use crate::numerics::log_sum_exp;
    use crate::tempering::mixture::BROAD_COMPONENTS;

    fn solutions(parameters: &Parameters) -> MeanField {
        let mut search = Search::new(parameters, Known::default(), 1, Context::none());
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

    /// Three independent parts of a background and four states have 125 solutions, which crossovers find from a few.
    #[test]
    fn crossovers_find_all_combinations() {
        let parts = [1, 2, 3].map(|seed| islands(50, (4, 1), -2.0..0.0, seed));
        let system = independent(&parts, 4).unwrap();
        let mut all = solutions(&system.parameters);
        let few = all.found.len();
        all.cross(1);
        assert!(few < 100 && all.found.len() == 125, "{few} {}", all.found.len());
        let missed = system.log_partition - all.log_sum();
        assert!(missed.abs() < 1e-3, "{missed}");
    }

    /// More combinations than components of a base: importance weights contradict chains from these, so chains from all are next.
    #[test]
    fn estimates_count_combinations_of_states() {
        let [first, second] = [1, 2].map(|seed| islands(50, (15, 1), -2.0..0.0, seed));
        let parts = [first, second, gaussian_parameters(40, 13, 0.4, 3)];
        let system = independent(&parts, 4).unwrap();
        let automatic = Automatic::new(5).unwrap();
        let found = automatic.run(&system.parameters, Known::default(), &mut |_| ()).unwrap();
        let (value, error) = (found.estimate.value, found.estimate.std_error);
        println!("{value} +- {error} for {}", system.log_partition);
        assert!(found.estimate.trust.is_sound() && error < 0.05);
        assert!((value - system.log_partition).abs() < 4.0 * error);
        assert!(found.done.last().unwrap().starts_with(ALL_SOLUTIONS));
    }
}
