//! log Z from the stationary vector pi of the temperatures' transition matrix, in place of c_k (RTS section 4.5).
//!
//! y_k = zeta_k + log(pi_k/r_k) - log(pi_1/r_1), pi P = pi. SD counts moves; RSD sums q(k|x) over states generated at j, which
//! is Rao-Blackwellized. pi by the elimination of Grassmann, Taksar and Heyman (1985): no subtraction, so no cancellation.
//! Errors: jackknife over groups of chains. Cost O(K^3) for each of at most 21 matrices.

use std::time::Instant;

use super::super::{Estimate, Method};
use super::KeptRun;
use super::errors::jackknife;
use crate::tempering::Transitions;
use crate::trust::{Doubt, Trust};

/// Stationary distribution of counted transitions.
pub fn sd(run: &KeptRun) -> Estimate {
    estimate(run, Method::Sd, &run.counted_transitions)
}

/// Rao-Blackwellized stationary distribution.
pub fn rsd(run: &KeptRun) -> Estimate {
    estimate(run, Method::Rsd, &run.transitions)
}

fn estimate(run: &KeptRun, method: Method, groups: &[Transitions]) -> Estimate {
    let start = Instant::now();
    let k = run.ladder.len();
    let mut all = vec![0.0; k * k];
    for group in groups {
        all.iter_mut().zip(group.sums()).for_each(|(sum, t)| *sum += t);
    }
    let (zeta, log_r) = (&run.counted.zeta, run.ladder.log_prior());
    let tilt = zeta[k - 1] - log_r[k - 1] + log_r[0];
    let log_z = |sums: &[f64]| log_ratio(sums, k).map_or(f64::NAN, |ratio| tilt + ratio);
    let without: Vec<f64> = groups
        .iter()
        .map(|group| {
            let rest: Vec<f64> = all.iter().zip(group.sums()).map(|(sum, t)| sum - t).collect();
            log_z(&rest)
        })
        .collect();
    let (value, std_error) = (log_z(&all), jackknife(&without));
    let doubt = if !value.is_finite() {
        Some(Doubt::NotConnected {})
    } else if !std_error.is_finite() {
        Some(Doubt::HardlyConnected {})
    } else {
        None
    };
    run.estimate(method, start, (value, std_error), Trust::unless(doubt))
}

/// log(pi_K/pi_1) over the temperatures that were visited; `None` if their moves do not connect the two.
fn log_ratio(sums: &[f64], k: usize) -> Option<f64> {
    let row = |j: usize| &sums[j * k..][..k];
    // A difference of sums may be rounding noise around zero.
    let visited: Vec<usize> = (0..k).filter(|&j| row(j).iter().sum::<f64>() > 0.5).collect();
    let n = visited.len();
    if visited.first() != Some(&0) || visited.last() != Some(&(k - 1)) {
        return None;
    }
    let mut p = Vec::with_capacity(n * n);
    for &j in &visited {
        let total: f64 = visited.iter().map(|&i| row(j)[i].max(0.0)).sum();
        p.extend(visited.iter().map(|&i| row(j)[i].max(0.0) / total));
    }
    let pi = stationary(p, n)?;
    let ratio = pi[n - 1].ln() - pi[0].ln();
    ratio.is_finite().then_some(ratio)
}

/// The stationary vector of a stochastic matrix [n, n], up to a factor; `None` if it is not unique.
fn stationary(mut p: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    for last in (1..n).rev() {
        // State `last` is left out, its visits replaced by where they lead.
        let (above, from) = p.split_at_mut(last * n);
        let leaving: f64 = from[..last].iter().sum();
        if leaving.is_nan() || leaving <= 0.0 {
            return None;
        }
        for row in above.chunks_exact_mut(n) {
            row[last] /= leaving;
            let via = row[last];
            row[..last].iter_mut().zip(&from[..last]).for_each(|(p, next)| *p += via * next);
        }
    }
    let mut pi = vec![1.0; n];
    for k in 1..n {
        pi[k] = (0..k).map(|i| pi[i] * p[i * n + k]).sum();
    }
    Some(pi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pi_p_is_pi() {
        let n = 7;
        let mut p: Vec<f64> =
            (0..n * n).map(|i| ((i * i * 31 + 7 * i) % 17) as f64 + 0.1).collect();
        p.chunks_exact_mut(n).for_each(|row| {
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= total);
        });
        let pi = stationary(p.clone(), n).unwrap();
        let total: f64 = pi.iter().sum();
        for k in 0..n {
            let moved: f64 = (0..n).map(|i| pi[i] * p[i * n + k]).sum();
            assert!((moved - pi[k]).abs() < 1e-14 * total, "{moved} {}", pi[k]);
        }
    }

    #[test]
    fn moves_that_do_not_connect_the_ends_give_nothing() {
        assert_eq!(log_ratio(&[5.0, 0.0, 0.0, 5.0], 2), None);
        assert_eq!(log_ratio(&[0.0, 0.0, 3.0, 5.0], 2), None);
        // An unvisited temperature in between does no harm: pi_3/pi_1 = (1/2)/(1/4).
        let sums = [2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 3.0];
        assert!((log_ratio(&sums, 3).unwrap() - 2f64.ln()).abs() < 1e-14);
    }
}
