//! Thermodynamic integration by a cubic spline: log Z = log Z_1 + integral over beta of the curve through `E_beta[Delta]`.
//!
//! The spline goes through the means E_k of [`super::SlopeSums`]. Its slopes at the ends are the variances V_1 and V_K, which are the
//! derivatives of E (a complete spline, de Boor 1978, chapter IV), so its error falls with the fourth power of the spacing, on a ladder of
//! any spacing. The corrected trapezoid rule, of the same order, uses the variances at all temperatures. If the two differ by more than the
//! error bar, or both by much from the plain rule, the ladder is too coarse.

use std::time::Instant;

use super::super::{Estimate, Method};
use super::errors::between_chains;
use super::thermodynamic::{ROUNDING, is_large};
use super::{KeptRun, NodeMoments};
use crate::trust::{Doubt, Trust};

/// Thermodynamic integration by a cubic spline.
pub fn ti_spline(run: &KeptRun) -> Estimate {
    let start = Instant::now();
    let (betas, sums) = (run.ladder.betas(), &run.slopes_at);
    // Temperatures without states are no nodes; the ends must be.
    let visited: Vec<usize> = (0..betas.len()).filter(|&k| sums.is_visited(k)).collect();
    let ends = [0, betas.len() - 1];
    if let Some(&end) = ends.iter().find(|&&k| !sums.is_visited(k)) {
        let trust = Trust::unless(Some(Doubt::EndNotVisited { beta: betas[end] }));
        return run.estimate(Method::TiSpline, start, (f64::NAN, f64::NAN), trust);
    }
    let x: Vec<f64> = visited.iter().map(|&k| betas[k]).collect();
    let nodes: Vec<NodeMoments> = visited.iter().map(|&k| sums.node(k)).collect();
    let (first, last) = (&nodes[0], &nodes[nodes.len() - 1]);
    let means: Vec<f64> = nodes.iter().map(|node| node.mean).collect();
    let area = integral(&x, &means, [first.variance, last.variance]);
    // The integral is linear in means and variances, and so in each chain's contribution to their errors.
    let influence: Vec<f64> = (0..run.chains)
        .map(|s| {
            let parts: Vec<f64> = nodes.iter().map(|node| node.mean_influence[s]).collect();
            integral(&x, &parts, [first.variance_influence[s], last.variance_influence[s]])
        })
        .collect();
    let std_error = between_chains(&influence);
    let (mut trapezoid, mut corrected) = (0.0, 0.0);
    for (node, x) in nodes.windows(2).zip(x.windows(2)) {
        let h = x[1] - x[0];
        trapezoid += h * (node[0].mean + node[1].mean) / 2.0;
        corrected += h * h / 12.0 * (node[0].variance - node[1].variance);
    }
    corrected += trapezoid;
    // On an even ladder both rules correct the trapezoid rule by the variances at the ends, and have the same error if that is large.
    let differ = (area - corrected).abs() > std_error + ROUNDING;
    let doubt = (differ || is_large(area - trapezoid, std_error))
        .then_some(Doubt::CoarseLadder { plain: trapezoid - area, corrected: corrected - area });
    let found = (run.counted.zeta[0] + area, std_error);
    run.estimate(Method::TiSpline, start, found, Trust::unless(doubt))
}

/// The integral of the cubic spline through (x, y) with these slopes at its ends. `x` ascends and has at least two numbers.
fn integral(x: &[f64], y: &[f64], slopes: [f64; 2]) -> f64 {
    let n = x.len() - 1;
    let h: Vec<f64> = x.windows(2).map(|x| x[1] - x[0]).collect();
    // The slope of the chord right of node i; left of the first and right of the last node, those of the curve.
    let chord = |i: usize| (y[i + 1] - y[i]) / h[i];
    // Second derivatives m: h_{i-1} m_{i-1} + 2 (h_{i-1} + h_i) m_i + h_i m_{i+1} = 6 (right - left), solved from the left.
    let (mut upper, mut m) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for i in 0..=n {
        let (h_left, left) = if i == 0 { (0.0, slopes[0]) } else { (h[i - 1], chord(i - 1)) };
        let (h_right, right) = if i == n { (0.0, slopes[1]) } else { (h[i], chord(i)) };
        let (upper_before, m_before) = if i == 0 { (0.0, 0.0) } else { (upper[i - 1], m[i - 1]) };
        let pivot = 2.0 * (h_left + h_right) - h_left * upper_before;
        upper[i] = h_right / pivot;
        m[i] = (6.0 * (right - left) - h_left * m_before) / pivot;
    }
    for i in (0..n).rev() {
        m[i] -= upper[i] * m[i + 1];
    }
    (0..n).map(|i| h[i] * (y[i] + y[i + 1]) / 2.0 - h[i].powi(3) * (m[i] + m[i + 1]) / 24.0).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uneven nodes, as few as two; a cubic polynomial is its own spline.
    #[test]
    fn cubic_polynomials_are_integrated_exactly() {
        let y = |x: f64| 2.0 - x + 3.0 * x * x - 4.0 * x.powi(3);
        let slope = |x: f64| -1.0 + 6.0 * x - 12.0 * x * x;
        for x in [vec![0.0, 1.0], vec![0.0, 0.05, 0.3, 0.35, 0.9, 1.0]] {
            let found =
                integral(&x, &x.iter().map(|x| y(*x)).collect::<Vec<_>>(), [0.0, 1.0].map(slope));
            assert!((found - 1.5).abs() < 1e-12, "{found}");
        }
    }

    /// Half the spacing, a sixteenth of the error: the curve of independent units, whose slope falls like a sigmoid.
    #[test]
    fn errors_fall_with_the_fourth_power_of_the_spacing() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-8.0 * x).exp());
        let slope = |x: f64| 8.0 * sigmoid(x) * (1.0 - sigmoid(x));
        let exact = ((1.0 + 8f64.exp()) / 2.0).ln() / 8.0;
        let error = |n: usize| {
            let x: Vec<f64> = (0..=n).map(|i| i as f64 / n as f64).collect();
            let y: Vec<f64> = x.iter().map(|x| sigmoid(*x)).collect();
            integral(&x, &y, [0.0, 1.0].map(slope)) - exact
        };
        let ratio = error(20) / error(40);
        assert!((14.0..18.0).contains(&ratio), "{ratio}");
    }
}
