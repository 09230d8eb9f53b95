//! Shifts of log Z_k between two sets of parameters, estimated from the chains: the forward shift sets the next pseudo-prior, the backward
//! shift is used by the Kalman filter.
//!
//! The shift is smooth in beta, and only its value at beta = 1 matters, because any pseudo-prior is valid (RTS eq. 12). So it need not be
//! computed at every temperature. Under the joint update of beta, whose sweeps need no log f, a few temperatures cost a fraction of all.

use super::shift::{Shift, shift};
use crate::engine::BitMatrix;
use crate::numerics::Table;
use crate::tempering::{Evaluated, Ladder, TemperedPath};

/// The temperatures at which shifts are evaluated: every n-th, and the last.
pub(super) struct Nodes {
    /// beta_k of all temperatures.
    betas: Vec<f64>,
    indices: Vec<usize>,
}

impl Nodes {
    pub fn new(ladder: &Ladder, step: usize) -> Self {
        let last = ladder.len() - 1;
        let indices: Vec<usize> = (0..last).step_by(step).chain([last]).collect();
        Self { betas: ladder.betas().to_vec(), indices }
    }

    /// log f of the states under a path, at the nodes only.
    pub fn evaluate(&self, path: &dyn TemperedPath, visible: &BitMatrix) -> Evaluated {
        path.evaluate_at(visible, &self.indices)
    }

    /// The shift of log Z_k at all temperatures, linear in beta between nodes, from weights q(k|v) and log f_k under the path
    /// the states are from, both [S, K], and log f of the states under the other path at the nodes, [S, nodes].
    pub fn shift(&self, posterior: &Table, from: &Table, to: &Table) -> Shift {
        if self.indices.len() == self.betas.len() {
            return shift(posterior, from, to);
        }
        let found = shift(&posterior.select(&self.indices), &from.select(&self.indices), to);
        let nodes: Vec<f64> = self.indices.iter().map(|&k| self.betas[k]).collect();
        let between = |values: &[f64]| interpolate(&nodes, values, &self.betas);
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
    use crate::engine::Host;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::{BaseDistribution, GeometricPath, Prior};

    #[test]
    fn a_few_temperatures_say_what_all_do() {
        let (m, k) = (20, 100);
        let (old, step) = (gaussian_parameters(m, 12, 0.6, 1), gaussian_parameters(m, 12, 0.1, 2));
        let mut new = old.clone();
        new.weights.iter_mut().zip(&step.weights).for_each(|(w, d)| *w += d);
        let (old, new) = (Host::new(&old), Host::new(&new));
        let ladder = Ladder::linear(k, &Prior::Uniform).unwrap();
        let base = BaseDistribution::uniform(m);
        let path = |engine| GeometricPath { engine, ladder: &ladder, base: &base };
        let visible = base.sample(100, 1, 0);
        let log_f = path(&old).evaluate(&visible).log_f;
        let posterior = Table::from_numbers(k, vec![1.0 / k as f64; 100 * k]);
        let shifted = |step| {
            let nodes = Nodes::new(&ladder, step);
            let moved = nodes.evaluate(&path(&new), &visible).log_f;
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
            for (few, all) in few.influence.parts().iter().zip(all.influence.parts()) {
                assert!((few - all).abs() < 1e-3, "step {step}: {few} {all}");
            }
        }
        let ends = shifted(k);
        assert!((ends.log_ratio[k - 1] - all.log_ratio[k - 1]).abs() < 1e-4);
    }
}
