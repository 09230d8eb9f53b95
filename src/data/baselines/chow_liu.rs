//! The best tree of pairwise dependences (Chow and Liu 1968): the spanning tree of largest mutual information.

use rayon::prelude::*;

use super::{Density, PSEUDO_COUNT};
use crate::engine::BitMatrix;
use crate::numerics::Table;
use crate::units::{Variable, Variables};

/// p(v) = prod_i p(v_i | v_parent(i)), i over variables.
pub(super) struct ChowLiu {
    variables: Vec<Variable>,
    /// The parent of each variable; none for the root.
    parents: Vec<Option<usize>>,
    /// log p(v_i | v_parent) of every variable, shape [states of the parent, own states]; a variable's states are the implicit one, where it
    /// is one, and its columns.
    log_p: Vec<Table>,
}

impl ChowLiu {
    /// Cost: N M^2 / 64 for the counts of pairs, M^2 for the tree (Prim 1957).
    pub fn fit(train: &BitMatrix, variables: &Variables) -> Self {
        let pairs = Pairs::of(train, variables);
        let units = pairs.variables.len();
        let mut parents = vec![None; units];
        // The best edge from each variable outside to the tree, which begins with variable 0.
        let mut outside: Vec<usize> = (1..units).collect();
        let mut best: Vec<(f64, usize)> = pairs.ties(&outside, 0);
        while let Some(next) = (0..outside.len()).max_by(|&a, &b| best[a].0.total_cmp(&best[b].0)) {
            let unit = outside.swap_remove(next);
            parents[unit] = Some(best.swap_remove(next).1);
            let ties = pairs.ties(&outside, unit);
            for (best, tie) in best.iter_mut().zip(ties) {
                if tie.0 > best.0 {
                    *best = tie;
                }
            }
        }
        let log_p = (0..units).map(|unit| pairs.conditional(unit, parents[unit])).collect();
        Self { variables: pairs.variables, parents, log_p }
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.parents.iter().flatten().count()
    }
}

impl Density for ChowLiu {
    fn log_probability(&self, row: &[u64]) -> f64 {
        let state = |unit: usize| {
            let variable = &self.variables[unit];
            let set = variable.range().position(|i| row[i / 64] >> (i % 64) & 1 == 1);
            set.map_or(0, |column| column + usize::from(variable.implicit))
        };
        let of = |(unit, parent): (usize, &Option<usize>)| {
            self.log_p[unit].row(parent.map_or(0, state))[state(unit)]
        };
        self.parents.iter().enumerate().map(of).sum()
    }
}

/// Counts of columns and pairs.
struct Pairs {
    variables: Vec<Variable>,
    /// Rows of columns, shape [M, N].
    columns: BitMatrix,
    ones: Vec<u64>,
    rows: f64,
}

impl Pairs {
    fn of(train: &BitMatrix, variables: &Variables) -> Self {
        Self {
            variables: variables.of(train.columns()).collect(),
            columns: train.transposed(),
            ones: train.column_counts(),
            rows: train.rows() as f64,
        }
    }

    /// Rows in which the state of each variable is the given one; `None` stands for the implicit state.
    fn count(&self, i: &Variable, j: &Variable, a: Option<usize>, b: Option<usize>) -> f64 {
        let ones = |unit: usize| self.ones[unit] as f64;
        match (a, b) {
            (Some(a), Some(b)) => {
                let words = self.columns.row(a).iter().zip(self.columns.row(b));
                words.map(|(a, b)| u64::from((a & b).count_ones())).sum::<u64>() as f64
            }
            (Some(a), None) => {
                ones(a) - j.range().map(|b| self.count(i, j, Some(a), Some(b))).sum::<f64>()
            }
            (None, Some(b)) => {
                ones(b) - i.range().map(|a| self.count(i, j, Some(a), Some(b))).sum::<f64>()
            }
            (None, None) => {
                let of_j = self.rows - j.range().map(ones).sum::<f64>();
                of_j - i.range().map(|a| self.count(i, j, Some(a), None)).sum::<f64>()
            }
        }
    }

    /// Smoothed p(v_i, v_j); of bits its margins are the smoothed ones of the units.
    fn joint(&self, i: usize, j: usize) -> Table {
        let (i, j) = (self.variables[i], self.variables[j]);
        let cells = 0.25 * PSEUDO_COUNT * (i.states() * j.states()) as f64;
        let mut values = Vec::with_capacity(i.states() * j.states());
        for a in states(&i) {
            for b in states(&j) {
                let count = self.count(&i, &j, a, b);
                values.push((count + 0.25 * PSEUDO_COUNT) / (self.rows + cells));
            }
        }
        Table::from_numbers(j.states(), values)
    }

    /// Mutual information of variables with `unit`, in nats, and `unit`.
    fn ties(&self, others: &[usize], unit: usize) -> Vec<(f64, usize)> {
        let tie = |&other: &usize| (mutual_information(&self.joint(other, unit)), unit);
        others.par_iter().map(tie).collect()
    }

    fn conditional(&self, unit: usize, parent: Option<usize>) -> Table {
        let Some(parent) = parent else {
            let variable = self.variables[unit];
            let states = variable.states() as f64;
            let set: f64 = variable.range().map(|i| self.ones[i] as f64).sum();
            let count =
                |state: Option<usize>| state.map_or(self.rows - set, |i| self.ones[i] as f64);
            let p = |state| {
                (count(state) + 0.5 * PSEUDO_COUNT) / (self.rows + 0.5 * PSEUDO_COUNT * states)
            };
            let values = self::states(&variable).map(|state| p(state).ln()).collect();
            return Table::from_numbers(variable.states(), values);
        };
        let mut joint = self.joint(parent, unit);
        for row in joint.rows_mut() {
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p = (*p / total).ln());
        }
        joint
    }
}

/// The implicit state, where it is one, and the columns.
fn states(variable: &Variable) -> impl Iterator<Item = Option<usize>> + use<> {
    variable.implicit.then_some(None).into_iter().chain(variable.range().map(Some))
}

fn mutual_information(joint: &Table) -> f64 {
    let column = joint.column_sums();
    let of_row = |row: &[f64]| {
        let total: f64 = row.iter().sum();
        row.iter().zip(&column).map(|(p, column)| p * (p / (total * column)).ln()).sum::<f64>()
    };
    joint.rows().map(of_row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::baselines::log_likelihoods;
    use crate::engine::random::{Purpose, Streams};
    use crate::numerics::statistics::mean;

    /// All 125 trees of five units, by their Prufer sequences.
    fn all_trees() -> Vec<Vec<(usize, usize)>> {
        let mut trees = Vec::new();
        for code in 0..125usize {
            let mut sequence = vec![code / 25, code / 5 % 5, code % 5];
            let mut degree = [1; 5];
            sequence.iter().for_each(|&unit| degree[unit] += 1);
            let mut edges = Vec::new();
            while !sequence.is_empty() {
                let unit = sequence.remove(0);
                let leaf = (0..5).find(|&leaf| degree[leaf] == 1).unwrap();
                edges.push((leaf, unit));
                degree[leaf] -= 1;
                degree[unit] -= 1;
            }
            let last: Vec<usize> = (0..5).filter(|&unit| degree[unit] == 1).collect();
            edges.push((last[0], last[1]));
            trees.push(edges);
        }
        trees
    }

    #[test]
    fn the_tree_is_the_best_of_all_trees() {
        for seed in 0..20 {
            let streams = Streams::new(seed, Purpose::TestSystem, 1);
            // A chain of units, each a noisy copy of the one before, in an order that depends on the seed.
            let mut train = BitMatrix::zeros(60, 5);
            for row in 0..60 {
                let mut draw = streams.row(row as u32);
                let mut value = draw.uniform() < 0.5;
                for step in 0..5 {
                    value ^= draw.uniform() < 0.1 + 0.07 * step as f64;
                    train.set(row, (step * (1 + seed as usize % 4) + seed as usize) % 5, value);
                }
            }
            let tree = ChowLiu::fit(&train, &Variables::BITS);
            assert_eq!(tree.edges(), 4);
            let pairs = Pairs::of(&train, &Variables::BITS);
            let tie = |&(a, b): &(usize, usize)| mutual_information(&pairs.joint(a, b));
            let total = |edges: &Vec<(usize, usize)>| edges.iter().map(tie).sum::<f64>();
            let best = all_trees().iter().map(total).fold(f64::MIN, f64::max);
            let parents = tree.parents.iter().enumerate();
            let found = parents.filter_map(|(unit, parent)| Some((unit, (*parent)?))).collect();
            assert!((total(&found) - best).abs() < 1e-12, "{found:?}: {} of {best}", total(&found));
        }
    }

    /// The likelihood of a tree is that of independent units and its mutual informations together, but for the smoothing: a
    /// pseudo-count of 1 beside 20 000 rows moves probabilities by 5e-5, and means of logs of at most 2.5 by 1.3e-4.
    #[test]
    fn likelihoods_gain_the_mutual_information() {
        let train = crate::data::baselines::tests::two_patterns(20_000, 2, 7);
        let pairs = Pairs::of(&train, &Variables::BITS);
        let gain = mutual_information(&pairs.joint(0, 1));
        let tree = mean(&log_likelihoods(&ChowLiu::fit(&train, &Variables::BITS), &train));
        let alone = crate::data::baselines::Independent::fit(&train, &Variables::BITS);
        let alone = mean(&log_likelihoods(&alone, &train));
        assert!((tree - alone - gain).abs() < 1.3e-4, "{tree} - {alone} beside {gain}");
    }
}
