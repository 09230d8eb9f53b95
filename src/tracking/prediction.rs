//! What the chains say of other parameters than those they were drawn with: forward in time the shift of log Z_k that sets
//! their next pseudo-prior, backward the one the Kalman filter goes by.
//!
//! The shift is smooth in beta, and what counts is its value at beta = 1: any pseudo-prior is valid (RTS eq. 12). So it
//! need not be known at every temperature: under the joint update of beta, whose sweeps need no log f, a few temperatures
//! are a fraction of the cost.

use super::shift::{Shift, shift};
use crate::tempering::{Ladder, Path};

/// The temperatures at which shifts are evaluated: every so many, and the last.
pub(super) struct Nodes {
    /// All of them.
    betas: Vec<f64>,
    indices: Vec<usize>,
    /// Those that are evaluated.
    ladder: Ladder,
}

impl Nodes {
    pub fn new(ladder: &Ladder, step: usize) -> Self {
        let last = ladder.len() - 1;
        let indices: Vec<usize> = (0..last).step_by(step).chain([last]).collect();
        Self { betas: ladder.betas().to_vec(), ladder: ladder.only(&indices), indices }
    }

    /// `path` at the nodes alone.
    pub fn on<'a>(&'a self, path: Path<'a>) -> Path<'a> {
        Path { ladder: &self.ladder, ..path }
    }

    /// The shift of log Z_k at all temperatures, linear in beta between nodes, from weights q(k|v) and log f_k under the path
    /// the states are from, both [S, K], and log f of the states under the other path at the nodes, [S, nodes].
    pub fn shift(&self, posterior: &[f64], from: &[f64], to: &[f64]) -> Shift {
        let (k, n) = (self.betas.len(), self.indices.len());
        if n == k {
            return shift(posterior, from, to, k);
        }
        let at_nodes = |rows: &[f64]| -> Vec<f64> {
            let rows = rows.chunks_exact(k);
            rows.flat_map(|row| self.indices.iter().map(|&node| row[node])).collect()
        };
        let found = shift(&at_nodes(posterior), &at_nodes(from), to, n);
        let between = |values: &[f64]| interpolate(self.ladder.betas(), values, &self.betas);
        let (log_ratio, variance) = (between(&found.log_ratio), between(&found.variance));
        Shift { log_ratio, variance, ..found }
    }
}

/// Linear interpolation of `values` at `nodes`, which ascend from the first to the last of `at`.
fn interpolate(nodes: &[f64], values: &[f64], at: &[f64]) -> Vec<f64> {
    at.iter()
        .map(|x| {
            let right = nodes.partition_point(|node| node < x).clamp(1, nodes.len() - 1);
            let share = (x - nodes[right - 1]) / (nodes[right] - nodes[right - 1]);
            values[right - 1] + share * (values[right] - values[right - 1])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_systems::gaussian_parameters;
    use crate::ops::Fused;
    use crate::tempering::{BaseDistribution, Prior};

    #[test]
    fn a_few_temperatures_say_what_all_do() {
        let (m, k) = (20, 100);
        let (old, step) = (gaussian_parameters(m, 12, 0.6, 1), gaussian_parameters(m, 12, 0.1, 2));
        let mut new = old.clone();
        new.weights.iter_mut().zip(&step.weights).for_each(|(w, d)| *w += d);
        let (old, new) = (Fused::new(&old), Fused::new(&new));
        let ladder = Ladder::linear(k, &Prior::Uniform).unwrap();
        let base = BaseDistribution::uniform(m);
        let path = |ops| Path { ops, ladder: &ladder, base: &base };
        let visible = base.sample(100, 1, 0);
        let log_f = path(&old).evaluate(&visible).log_f;
        let posterior = vec![1.0 / k as f64; log_f.len()];
        let shifted = |step| {
            let nodes = Nodes::new(&ladder, step);
            let moved = nodes.on(path(&new)).evaluate(&visible).log_f;
            assert_eq!(moved, nodes.on(path(&new)).log_f_of(&visible));
            nodes.shift(&posterior, &log_f, &moved)
        };
        let all = shifted(1);
        let largest = |values: &[f64]| values.iter().fold(0.0f64, |max, d| max.max(d.abs()));
        let (shift, variance) = (largest(&all.log_ratio), largest(&all.variance));
        assert!(shift > 0.01, "{shift}");
        for step in [9, 7] {
            let few = shifted(step);
            for (few, all) in few.log_ratio.iter().zip(&all.log_ratio) {
                assert!((few - all).abs() < 0.02 * shift, "step {step}: {few} {all}");
            }
            for (few, all) in few.variance.iter().zip(&all.variance) {
                assert!((few - all).abs() < 0.05 * variance, "step {step}: {few} {all}");
            }
            // Different sums of the same numbers in f32.
            assert!((few.variance[k - 1] / all.variance[k - 1] - 1.0).abs() < 1e-3);
            for (few, all) in few.influence.iter().zip(&all.influence) {
                assert!((few - all).abs() < 1e-3, "step {step}: {few} {all}");
            }
        }
        let ends = shifted(k);
        assert!((ends.log_ratio[k - 1] - all.log_ratio[k - 1]).abs() < 1e-4);
    }
}
