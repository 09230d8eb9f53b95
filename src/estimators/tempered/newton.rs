//! Newton's method for convex functions of zeta that do not change when a constant is added to all of zeta.
//!
//! zeta_1 is kept; steps are halved while they do not descend. Cholesky factor by faer, O(K^3) a step.

use faer::linalg::solvers::Llt;
use faer::prelude::Solve;
use faer::{Mat, Side};

/// A step below this many nats in every coordinate ends the search: the next one would be of the order of its square.
const SMALL_STEP: f64 = 1e-9;
/// Most evaluations, including halved steps: if log f differs by thousands of nats between states, the minimum may be at infinity, and the
/// search must still end. Typical searches need about ten, from far away some hundreds.
const MOST_EVALUATIONS: usize = 400;
const MOST_HALVINGS: usize = 60;

/// A convex function at one point.
pub(super) struct Local {
    pub value: f64,
    /// Shape `[K]`.
    pub gradient: Vec<f64>,
    /// Shape [K, K]; the lower triangle is read.
    pub hessian: Mat<f64>,
}

/// Result of the search.
pub(super) struct Minimum {
    /// zeta, shape `[K]`.
    pub at: Vec<f64>,
    /// Whether it is a minimum.
    pub converged: bool,
    /// Factor of the Hessian without its first row and column; `None` if that is not positive definite, or empty.
    factor: Option<Llt<f64>>,
}

impl Minimum {
    /// x with H x = `b` for a `b` [K] that sums to zero, and x_1 = 0; NaN where H is singular.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        step(self.factor.as_ref(), b)
    }
}

fn step(factor: Option<&Llt<f64>>, b: &[f64]) -> Vec<f64> {
    let rest = b.len() - 1;
    let mut x = vec![0.0];
    match factor {
        Some(factor) => {
            let solved = factor.solve(Mat::from_fn(rest, 1, |i, _| b[i + 1]));
            x.extend((0..rest).map(|i| solved[(i, 0)]));
        }
        None => x.resize(b.len(), f64::NAN),
    }
    x
}

fn factor(hessian: &Mat<f64>, ridge: f64) -> Option<Llt<f64>> {
    let rest = hessian.nrows() - 1;
    let reduced =
        Mat::from_fn(rest, rest, |i, j| hessian[(i + 1, j + 1)] + if i == j { ridge } else { 0.0 });
    if rest == 0 { None } else { reduced.llt(Side::Lower).ok() }
}

/// A direction of descent, and whether it is Newton's: far from the minimum the Hessian may be singular in f64.
fn direction(local: &Local) -> Option<(Vec<f64>, bool)> {
    let ridges = [0.0].into_iter().chain((-14..=0).map(|power| 10f64.powi(power)));
    ridges
        .filter_map(|ridge| {
            Some((step(Some(&factor(&local.hessian, ridge)?), &local.gradient), ridge == 0.0))
        })
        .find(|(step, _)| step.iter().all(|x| x.is_finite()))
}

/// Minimises from `at`.
pub(super) fn minimise(mut at: Vec<f64>, local: impl Fn(&[f64]) -> Local) -> Minimum {
    let mut here = local(&at);
    let mut converged = at.len() == 1;
    let mut evaluations = 0;
    while evaluations < MOST_EVALUATIONS {
        let Some((newton, whole)) = direction(&here) else { break };
        let largest = newton.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        let mut length = 1.0;
        let mut found = None;
        for _ in 0..MOST_HALVINGS {
            let next: Vec<f64> = at.iter().zip(&newton).map(|(x, d)| x - length * d).collect();
            let there = local(&next);
            evaluations += 1;
            // Near the minimum values cannot distinguish points, because their sums have rounding errors in proportion to their size.
            let rounding = 1e-12 * (1.0 + here.value.abs());
            if largest < 1e-6 || there.value <= here.value + rounding {
                found = Some((next, there));
                break;
            }
            length *= 0.5;
        }
        let Some(found) = found else { break };
        (at, here) = found;
        if whole && largest < SMALL_STEP {
            converged = true;
            break;
        }
    }
    Minimum { factor: factor(&here.hessian, 0.0), at, converged }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log sum_k w_k e^{x_k} - sum_k p_k x_k has its minimum at x = log(p/w) + constant; a far start needs the halving.
    #[test]
    fn the_minimum_is_found_from_afar() {
        let p = [0.1, 0.2, 0.3, 0.4];
        let w = [5.0f64, 1e-3, 1.0, 20.0];
        let minimum =
            minimise(vec![0.0, 60.0, -40.0, 5.0], |x| {
                let value = crate::numerics::log_sum_exp(x.iter().zip(&w).map(|(x, w)| x + w.ln()));
                let q: Vec<f64> =
                    x.iter().zip(&w).map(|(x, w)| (x + w.ln() - value).exp()).collect();
                Local {
                    value: value - p.iter().zip(x).map(|(p, x)| p * x).sum::<f64>(),
                    gradient: q.iter().zip(&p).map(|(q, p)| q - p).collect(),
                    hessian: Mat::from_fn(4, 4, |i, j| {
                        if i == j { q[i] - q[i] * q[i] } else { -q[i] * q[j] }
                    }),
                }
            });
        assert!(minimum.converged);
        for k in 1..4 {
            let expected = (p[k] / w[k]).ln() - (p[0] / w[0]).ln();
            assert!((minimum.at[k] - minimum.at[0] - expected).abs() < 1e-10, "{:?}", minimum.at);
        }
        // H x = b at the minimum, where q = p: x_k = b_k/p_k up to a constant.
        let x = minimum.solve(&[-1.0, 0.0, 0.0, 1.0]);
        assert!((x[3] - (1.0 / p[3] + 1.0 / p[0])).abs() < 1e-8, "{x:?}");
    }
}
