//! Acceptance probability of a proposal, as a function of inverse temperature and step size (RTS eq. 35 and 36).
//!
//! logit P(accept | beta_j, eps) = w0_j + w1_j eps. With its values u_j and l_j at the smallest and largest step size as
//! parameters the constraints are l_j <= u_j (w1_j <= 0), and u and l falling in j (monotone in beta at both ends, hence
//! between). The log-likelihood is concave, the constraints are a cone: projected gradient ascent, the projection by
//! Dykstra's alternating scheme (Boyle and Dykstra 1986) between isotonic regression and the half-spaces l_j <= u_j.

use ztrack::numerics::sigmoid;

/// One proposal: temperature, step size, and acceptance probability.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) temperature: usize,
    pub(super) step: f64,
    pub(super) acceptance: f64,
}

const ITERATIONS: usize = 500;
const PROJECTIONS: usize = 20;
/// Larger logits are treated as this one.
const LARGEST_LOGIT: f64 = 10.0;

/// The fitted model.
#[derive(Clone, Debug)]
pub(super) struct AcceptanceModel {
    /// Smallest and largest step size.
    range: (f64, f64),
    /// u_j and l_j.
    logits: [Vec<f64>; 2],
}

impl AcceptanceModel {
    /// Fits trials at `temperatures` inverse temperatures with step sizes in `range`.
    pub(super) fn fit(trials: &[Trial], temperatures: usize, range: (f64, f64)) -> Self {
        let mut model = Self { range, logits: [vec![0.0; temperatures], vec![0.0; temperatures]] };
        let mut counts = vec![0usize; temperatures];
        trials.iter().for_each(|trial| counts[trial.temperature] += 1);
        // A trial's curvature is at most 1/4 along a direction no longer than 1.
        let rate = 4.0 / counts.into_iter().max().unwrap_or(0).max(1) as f64;
        for _ in 0..ITERATIONS {
            let mut uphill = [vec![0.0; temperatures], vec![0.0; temperatures]];
            for trial in trials {
                let t = model.position(trial.step);
                let j = trial.temperature;
                let [u, l] = &model.logits;
                let expected = sigmoid((1.0 - t) * u[j] + t * l[j]);
                uphill[0][j] += (trial.acceptance - expected) * (1.0 - t);
                uphill[1][j] += (trial.acceptance - expected) * t;
            }
            for (logits, uphill) in model.logits.iter_mut().zip(uphill) {
                for (logit, uphill) in logits.iter_mut().zip(uphill) {
                    *logit = (*logit + rate * uphill).clamp(-LARGEST_LOGIT, LARGEST_LOGIT);
                }
            }
            project(&mut model.logits);
        }
        model
    }

    /// Step sizes at which the acceptance is `target`, projected into the range.
    pub(super) fn step_sizes(&self, target: f64) -> Vec<f64> {
        let logit = (target / (1.0 - target)).ln();
        let [u, l] = &self.logits;
        u.iter()
            .zip(l)
            .map(|(u, l)| {
                let t = if *u <= logit { 0.0 } else { ((u - logit) / (u - l)).min(1.0) };
                self.range.0 + t * (self.range.1 - self.range.0)
            })
            .collect()
    }

    /// 0 at the smallest step size, 1 at the largest.
    fn position(&self, step: f64) -> f64 {
        (step - self.range.0) / (self.range.1 - self.range.0).max(f64::MIN_POSITIVE)
    }
}

/// The nearest point with u and l falling and l <= u.
fn project(logits: &mut [Vec<f64>; 2]) {
    let n = logits[0].len();
    let mut isotonic = [vec![0.0; n], vec![0.0; n]];
    let mut ordered = isotonic.clone();
    for _ in 0..PROJECTIONS {
        for (values, correction) in logits.iter_mut().zip(&mut isotonic) {
            values.iter_mut().zip(&*correction).for_each(|(x, c)| *x += c);
            correction.copy_from_slice(values);
            make_falling(values);
            correction.iter_mut().zip(values).for_each(|(c, x)| *c -= *x);
        }
        for j in 0..n {
            let (u, l) = (logits[0][j] + ordered[0][j], logits[1][j] + ordered[1][j]);
            let middle = 0.5 * (u + l);
            (logits[0][j], logits[1][j]) = (u.max(middle), l.min(middle));
            (ordered[0][j], ordered[1][j]) = (u - logits[0][j], l - logits[1][j]);
        }
    }
    // Isotonic regression keeps the order of u and l, so the result satisfies all constraints, however few the rounds.
    logits.iter_mut().for_each(|values| make_falling(values));
}

/// Isotonic regression by pooling adjacent violators: the nearest falling sequence.
fn make_falling(values: &mut [f64]) {
    let mut blocks: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for &value in &*values {
        blocks.push((value, 1));
        while let [.., before, last] = blocks[..] {
            if before.0 >= last.0 {
                break;
            }
            let count = before.1 + last.1;
            let mean = (before.0 * before.1 as f64 + last.0 * last.1 as f64) / count as f64;
            blocks.truncate(blocks.len() - 2);
            blocks.push((mean, count));
        }
    }
    let filled = blocks.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count));
    values.iter_mut().zip(filled).for_each(|(value, new)| *value = new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ztrack::engine::random::{Purpose, Streams};

    /// Accepted-or-not trials of a known falling model; a few hundred each, so logits are known to about .25. Broken versions that failed:
    /// no projection (not monotone), the gradient of l_j reversed (acceptance .31 instead of .651).
    #[test]
    fn the_fit_is_monotone_and_near_the_truth() {
        let (k, range) = (20, (0.2, 1.2));
        let truth = |j: usize, step: f64| 4.0 - 0.1 * j as f64 - 4.0 * step;
        let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
        let trials: Vec<Trial> = (0..300 * k)
            .map(|i| {
                let (temperature, step) = (i % k, 0.2 + stream.uniform());
                let p = sigmoid(truth(temperature, step));
                Trial { temperature, step, acceptance: f64::from(stream.uniform() < p) }
            })
            .collect();
        let model = AcceptanceModel::fit(&trials, k, range);
        for values in &model.logits {
            assert!(values.windows(2).all(|pair| pair[0] >= pair[1]), "{values:?}");
        }
        assert!(model.logits[0].iter().zip(&model.logits[1]).all(|(u, l)| l <= u));
        let target = 0.651;
        let steps = model.step_sizes(target);
        assert!(steps.windows(2).all(|pair| pair[0] >= pair[1]), "{steps:?}");
        for (j, step) in steps.into_iter().enumerate() {
            let p = sigmoid(truth(j, step));
            assert!((p - target).abs() < 0.08, "acceptance {p:.3} at temperature {j}");
        }
    }

    #[test]
    fn the_projection_is_the_nearest_point() {
        let start = [vec![0.0, 1.0, -1.0, 0.5], vec![0.5, -2.0, 0.3, -1.0]];
        let mut found = start.clone();
        project(&mut found);
        // Nearest in a convex cone: the residual is orthogonal to the point and makes no acute angle with the cone.
        let dot = |a: &[Vec<f64>; 2], b: &[Vec<f64>; 2]| -> f64 {
            a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum()
        };
        let mut residual = start;
        for (row, found) in residual.iter_mut().zip(&found) {
            row.iter_mut().zip(found).for_each(|(r, f)| *r -= f);
        }
        assert!(dot(&residual, &found).abs() < 1e-3, "{found:?}");
        for j in 0..4 {
            let falling = |from: f64| (0..4).map(|i| if i <= j { from } else { 0.0 }).collect();
            for member in [[falling(1.0), falling(0.0)], [falling(1.0), falling(1.0)]] {
                assert!(dot(&residual, &member) < 1e-3, "{found:?} at {member:?}");
            }
        }
    }
}
