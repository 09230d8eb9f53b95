//! What the chains say of new parameters before they have moved: the shift of log Z_k that sets their next pseudo-prior.
//!
//! Any pseudo-prior is valid (RTS eq. 12), so the shift, which is smooth in beta, need not be known at every temperature:
//! under the joint update of beta, whose sweeps need no log f, a few temperatures are a fraction of the cost.

use super::shift::shift;
use crate::ops::BitMatrix;
use crate::tempering::{Evaluated, Path};

/// The predicted shift.
pub(super) struct Prediction {
    /// Shift of log Z_k, `[K]`.
    pub log_ratio: Vec<f64>,
    /// Variance of the shift at beta = 1.
    pub variance_at_one: f64,
}

/// The states under the new path, and the shift from weights q(k|v) and log f_k under the old one, both [S, K]; evaluated
/// at every `step`-th temperature and the last, linear in beta in between. log f of the states is given if `step` is 1.
pub(super) fn predict(
    new: Path<'_>,
    visible: &BitMatrix,
    posterior: &[f64],
    log_f: &[f64],
    step: usize,
) -> (Evaluated, Prediction) {
    let k = new.ladder.len();
    let nodes: Vec<usize> = (0..k - 1).step_by(step).chain([k - 1]).collect();
    let (n, ladder) = (nodes.len(), new.ladder.only(&nodes));
    let mut moved = Path { ladder: &ladder, ..new }.evaluate(visible);
    let shift = if n == k {
        shift(posterior, log_f, &moved.log_f, k)
    } else {
        let at_nodes = |rows: &[f64]| -> Vec<f64> {
            rows.chunks_exact(k).flat_map(|row| nodes.iter().map(|&node| row[node])).collect()
        };
        let shift = shift(&at_nodes(posterior), &at_nodes(log_f), &moved.log_f, n);
        moved.log_f = vec![0.0; log_f.len()];
        shift
    };
    let prediction = Prediction {
        log_ratio: interpolate(ladder.betas(), &shift.log_ratio, new.ladder.betas()),
        variance_at_one: shift.variance[n - 1],
    };
    (moved, prediction)
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
    use crate::tempering::{BaseDistribution, Ladder, Prior};

    #[test]
    fn a_few_temperatures_predict_what_all_do() {
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
        let predicted = |step| predict(path(&new), &visible, &posterior, &log_f, step);
        let (evaluated, all) = predicted(1);
        let largest = all.log_ratio.iter().fold(0.0f64, |max, d| max.max(d.abs()));
        assert!(largest > 0.01, "{largest}");
        for step in [6, 7] {
            let (states, few) = predicted(step);
            assert_eq!(states.inputs, evaluated.inputs);
            assert_eq!(states.log_f.len(), log_f.len());
            for (few, all) in few.log_ratio.iter().zip(&all.log_ratio) {
                assert!((few - all).abs() < 0.02 * largest, "step {step}: {few} {all}");
            }
            // Different sums of the same numbers in f32.
            assert!((few.variance_at_one / all.variance_at_one - 1.0).abs() < 1e-3);
        }
        let (_, ends) = predicted(k);
        assert!((ends.log_ratio[k - 1] - all.log_ratio[k - 1]).abs() < 1e-4);
    }
}
