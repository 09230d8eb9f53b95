//! Deceleration: no step of a schedule is longer than a given one (SCHEDULES Alg. 3, corrected).
//!
//! d_k <- min(lambda d_k, d_max) with lambda such that the steps sum to 1. The algorithm as printed stops too early, loops
//! forever when nothing is clipped, and leaves out the last step. The sum is a continuous, increasing function of lambda:
//! bisection finds which steps are clipped, and lambda then follows exactly. Cost: O(K log 1/eps).

use crate::error::{Error, Result};

/// The schedule with no step longer than `max_step`; unchanged if none is.
///
/// # Errors
/// `max_step` is not positive or so small that K - 1 steps cannot reach 1.
pub fn decelerate(betas: &[f64], max_step: f64) -> Result<Vec<f64>> {
    let steps: Vec<f64> = betas.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let count = steps.len() as f64;
    // The tolerance accepts a step of exactly 1/(K - 1) with rounding.
    if max_step.is_nan() || max_step <= 0.0 || count * max_step < 1.0 - 1e-12 {
        return Err(Error::Invalid(format!(
            "{} steps of at most {max_step} do not reach from 0 to 1: allow steps of {:.3e}, or use more temperatures",
            steps.len(),
            1.0 / count
        )));
    }
    if steps.iter().all(|step| *step <= max_step) {
        return Ok(betas.to_vec());
    }
    let sum = |lambda: f64| steps.iter().map(|step| (lambda * step).min(max_step)).sum::<f64>();
    let (mut low, mut high) = (1.0, 2.0);
    while sum(high) < 1.0 - 1e-12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if sum(middle) < 1.0 { low = middle } else { high = middle }
    }
    let clipped = |step: f64| high * step >= max_step;
    let free: f64 = steps.iter().copied().filter(|&step| !clipped(step)).sum();
    let n_clipped = steps.iter().filter(|&&step| clipped(step)).count();
    let lambda = if free > 0.0 { (1.0 - n_clipped as f64 * max_step) / free } else { 0.0 };
    let mut beta = 0.0;
    let mut out = vec![0.0];
    for &step in &steps {
        beta += if clipped(step) { max_step } else { lambda * step };
        out.push(beta);
    }
    // The rest of the sum, from rounding.
    out[steps.len()] = 1.0;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempering::schedules::{geometric, linear, salakhutdinov_murray};
    use crate::tempering::{Ladder, Prior};

    /// Clipping once and scaling, as printed, leaves a longest step of the limit over the clipped sum, above the limit.
    #[test]
    fn steps_sum_to_1_and_the_longest_is_the_limit() {
        for betas in [
            geometric(100, 1e-3).unwrap(),
            salakhutdinov_murray(300).unwrap(),
            vec![0.0, 0.7, 0.8, 0.9, 1.0],
            vec![0.0, 0.1, 0.2, 1.0],
        ] {
            let least = 1.0 / (betas.len() - 1) as f64;
            let longest = |betas: &[f64]| betas.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
            for limit in [1.0001 * least, 1.5 * least, 0.9 * longest(&betas)] {
                let slow = decelerate(&betas, limit).unwrap();
                Ladder::new(&slow, &Prior::Uniform).unwrap();
                let steps = slow.windows(2).map(|w| w[1] - w[0]);
                assert!((steps.sum::<f64>() - 1.0).abs() < 1e-12);
                assert!((longest(&slow) - limit).abs() < 1e-12, "{} {limit}", longest(&slow));
            }
            assert_eq!(decelerate(&betas, 1.0).unwrap(), betas);
            for wrong in [0.9 * least, 0.0, -1.0, f64::NAN] {
                assert!(decelerate(&betas, wrong).is_err());
            }
        }
        let even = decelerate(&geometric(11, 1e-3).unwrap(), 0.1).unwrap();
        for (one, other) in even.iter().zip(linear(11).unwrap()) {
            assert!((one - other).abs() < 1e-9);
        }
    }
}
