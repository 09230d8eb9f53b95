//! The best tree of pairwise dependences (Chow and Liu 1968): the spanning tree of largest mutual information.

use rayon::prelude::*;

use super::{Density, PSEUDO_COUNT};
use crate::ops::BitMatrix;

/// p(v) = prod_i p(v_i | v_parent(i)).
pub(super) struct ChowLiu {
    /// The parent of each unit; none for the root. Shape `[M]`.
    parents: Vec<Option<usize>>,
    /// log p(v_i | v_parent), shape [M, 2, 2]: by the parent's value, then the unit's own. The root has twice the same row.
    log_p: Vec<[[f64; 2]; 2]>,
}

impl ChowLiu {
    /// Cost: N M^2 / 64 for the counts of pairs, M^2 for the tree (Prim 1957).
    pub fn fit(train: &BitMatrix) -> Self {
        let units = train.columns();
        let (columns, ones) = (train.transposed(), train.column_counts());
        let pairs = Pairs { columns, ones, rows: train.rows() as f64 };
        let mut parents = vec![None; units];
        // The best edge from each unit outside to the tree, which begins with unit 0.
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
        Self { parents, log_p }
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.parents.iter().flatten().count()
    }
}

impl Density for ChowLiu {
    fn log_probability(&self, row: &[u64]) -> f64 {
        let bit = |unit: usize| (row[unit / 64] >> (unit % 64) & 1) as usize;
        let of = |(unit, parent): (usize, &Option<usize>)| {
            self.log_p[unit][parent.map_or(0, bit)][bit(unit)]
        };
        self.parents.iter().enumerate().map(of).sum()
    }
}

/// Counts of units and pairs.
struct Pairs {
    /// Rows of units, shape [M, N].
    columns: BitMatrix,
    ones: Vec<u64>,
    rows: f64,
}

impl Pairs {
    /// Smoothed p(v_i, v_j); its margins are the smoothed ones of the units.
    fn joint(&self, i: usize, j: usize) -> [[f64; 2]; 2] {
        let words = self.columns.row(i).iter().zip(self.columns.row(j));
        let both: u64 = words.map(|(a, b)| u64::from((a & b).count_ones())).sum();
        let (both, of_i, of_j) = (both as f64, self.ones[i] as f64, self.ones[j] as f64);
        let p = |count: f64| (count + 0.25 * PSEUDO_COUNT) / (self.rows + PSEUDO_COUNT);
        [[p(self.rows - of_i - of_j + both), p(of_j - both)], [p(of_i - both), p(both)]]
    }

    /// Mutual information of units with `unit`, in nats, and `unit`.
    fn ties(&self, others: &[usize], unit: usize) -> Vec<(f64, usize)> {
        let tie = |&other: &usize| (mutual_information(&self.joint(other, unit)), unit);
        others.par_iter().map(tie).collect()
    }

    fn conditional(&self, unit: usize, parent: Option<usize>) -> [[f64; 2]; 2] {
        match parent {
            Some(parent) => self.joint(parent, unit).map(|row| {
                let total = row[0] + row[1];
                row.map(|p| (p / total).ln())
            }),
            None => {
                let p = super::smoothed(self.ones[unit] as f64, self.rows);
                [[(-p).ln_1p(), p.ln()]; 2]
            }
        }
    }
}

fn mutual_information(joint: &[[f64; 2]; 2]) -> f64 {
    let row = joint.map(|row| row[0] + row[1]);
    let column = [joint[0][0] + joint[1][0], joint[0][1] + joint[1][1]];
    let term = |(a, b): (usize, usize)| joint[a][b] * (joint[a][b] / (row[a] * column[b])).ln();
    [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::baselines::mean_log_likelihood;
    use crate::ops::random::{Purpose, Streams};

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
            let tree = ChowLiu::fit(&train);
            assert_eq!(tree.edges(), 4);
            let pairs =
                Pairs { columns: train.transposed(), ones: train.column_counts(), rows: 60.0 };
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
        let pairs =
            Pairs { columns: train.transposed(), ones: train.column_counts(), rows: 20_000.0 };
        let gain = mutual_information(&pairs.joint(0, 1));
        let tree = mean_log_likelihood(&ChowLiu::fit(&train), &train).0;
        let alone =
            mean_log_likelihood(&crate::data::baselines::Independent::fit(&train), &train).0;
        assert!((tree - alone - gain).abs() < 1.3e-4, "{tree} - {alone} beside {gain}");
    }
}
