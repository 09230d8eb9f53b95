//! Thermodynamic integration: log Z = log Z_1 + integral over beta of E_beta[Delta].
//!
//! With h_k = beta_{k+1} - beta_k and moments E_k, V_k of [`super::SlopeSums`] (algorithms.md, section 5):
//! right Riemann sum h_k E_{k+1}, always high since log Z is convex; trapezoid sum h_k (E_k + E_{k+1})/2; corrected (Friel, Hurn,
//! Wyse 2014) trapezoid - sum h_k^2/12 (V_{k+1} - V_k), V the TOTAL variance; Rao-Blackwellized: the corrected rule with weights q(k|x).
//! The correction is the error of the trapezoid rule to leading order, so the plain rule is in doubt if it exceeds the error bar.

use std::time::Instant;

use super::super::{Bias, Estimate, Method};
use super::errors::between_chains;
use super::{KeptRun, NodeMoments, SlopeSums};
use crate::trust::{Doubt, Trust};

/// Largest correction, in nats and in standard errors, that counts as small.
const LARGEST_CORRECTION: f64 = 1.0;
const MOST_ERRORS: f64 = 20.0;
/// A difference from the corrected rule, in nats, that is ignored however small the error bar.
pub(super) const ROUNDING: f64 = 1e-3;

/// How E_k and V_k are summed.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Riemann,
    Trapezoid,
    Corrected,
}

/// Right Riemann sum, biased high.
pub fn ti_riemann(run: &KeptRun) -> Estimate {
    integrate(run, Method::TiRiemann, &run.slopes_at, Rule::Riemann)
}

/// Trapezoid rule.
pub fn ti(run: &KeptRun) -> Estimate {
    integrate(run, Method::Ti, &run.slopes_at, Rule::Trapezoid)
}

/// Corrected trapezoid rule.
pub fn ti_corrected(run: &KeptRun) -> Estimate {
    integrate(run, Method::TiCorrected, &run.slopes_at, Rule::Corrected)
}

/// Corrected trapezoid rule of Rao-Blackwellized moments.
pub fn ti_rb(run: &KeptRun) -> Estimate {
    integrate(run, Method::TiRb, &run.slopes, Rule::Corrected)
}

fn integrate(run: &KeptRun, method: Method, sums: &SlopeSums, rule: Rule) -> Estimate {
    let start = Instant::now();
    let betas = run.ladder.betas();
    // Temperatures without states are no nodes; the ends must be.
    let nodes: Vec<(f64, NodeMoments)> = (0..betas.len())
        .filter(|&k| sums.is_visited(k))
        .map(|k| (betas[k], sums.node(k)))
        .collect();
    let bias = match rule {
        Rule::Riemann => Bias::High,
        Rule::Trapezoid => Bias::Biased,
        Rule::Corrected => Bias::Consistent,
    };
    let ends = [0, betas.len() - 1];
    if let Some(&end) = ends.iter().find(|&&k| !sums.is_visited(k)) {
        let trust = Trust::unless(Some(Doubt::EndNotVisited { beta: betas[end] }));
        let missing = run.estimate(method, start, (f64::NAN, f64::NAN), trust);
        return Estimate { bias, ..missing };
    }
    let mut value = run.counted.zeta[0];
    let mut correction = 0.0;
    let mut influence = vec![0.0; run.chains];
    // Every rule is linear in the moments: value = sum_k a_k E_k + b_k V_k.
    let mut add = |(_, node): &(f64, NodeMoments), a: f64, b: f64| {
        value += a * node.mean;
        correction += b * node.variance;
        let b = if rule == Rule::Corrected { b } else { 0.0 };
        let parts = node.mean_influence.iter().zip(&node.variance_influence);
        influence.iter_mut().zip(parts).for_each(|(sum, (mean, variance))| {
            *sum += a * mean + b * variance;
        });
    };
    for pair in nodes.windows(2) {
        let h = pair[1].0 - pair[0].0;
        let left = if rule == Rule::Riemann { 0.0 } else { 0.5 };
        add(&pair[0], left * h, h * h / 12.0);
        add(&pair[1], (1.0 - left) * h, -h * h / 12.0);
    }
    if rule == Rule::Corrected {
        value += correction;
    }
    let std_error = between_chains(&influence);
    let coarse = match rule {
        Rule::Riemann => None,
        Rule::Trapezoid => {
            (correction.abs() > std_error).then_some(Doubt::CoarseForTrapezoid { correction })
        }
        // The error of the correction is a part of it that no formula here gives.
        Rule::Corrected => {
            is_large(correction, std_error).then_some(Doubt::CoarseForCorrected { correction })
        }
    };
    let trust = Trust::unless(coarse);
    Estimate { bias, ..run.estimate(method, start, (value, std_error), trust) }
}

/// Whether such a difference from the trapezoid rule, in nats, is more than a small correction.
pub(super) fn is_large(correction: f64, std_error: f64) -> bool {
    let size = correction.abs();
    size > LARGEST_CORRECTION || size > MOST_ERRORS * std_error + ROUNDING
}
