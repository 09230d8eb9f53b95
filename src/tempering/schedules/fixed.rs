//! Schedules that do not depend on the model: linear, geometric, and Salakhutdinov and Murray's.

use crate::error::{Error, Result};

/// Number of inverse temperatures of Salakhutdinov and Murray (2008): 500, 4000 and 10000 steps.
pub const SALAKHUTDINOV_MURRAY: usize = 14_501;

/// K equally spaced inverse temperatures.
pub fn linear(temperatures: usize) -> Result<Vec<f64>> {
    resample(&[0.0, 1.0], temperatures)
}

/// beta_1 = 0, then K - 1 inverse temperatures from `first` to 1 with a constant ratio.
///
/// # Errors
/// Fewer than three temperatures, or `first` outside (0, 1).
pub fn geometric(temperatures: usize, first: f64) -> Result<Vec<f64>> {
    if temperatures < 3 || !(first > 0.0 && first < 1.0) {
        return Err(Error::Invalid(format!(
            "a geometric schedule of {temperatures} temperatures from {first}: at least 3 and a first step between 0 and 1 are needed"
        )));
    }
    let last = (temperatures - 2) as f64;
    let powers = (0..=temperatures - 2).map(|k| first.powf(1.0 - k as f64 / last));
    Ok(std::iter::once(0.0).chain(powers).collect())
}

/// 0:1e-3:.5, .5:1e-4:.9, .9:1e-5:1, with the same fractions of the three parts for any number of temperatures ([`SALAKHUTDINOV_MURRAY`] of
/// them are the original).
pub fn salakhutdinov_murray(temperatures: usize) -> Result<Vec<f64>> {
    /// End of each part, and steps up to there.
    const PARTS: [(f64, f64); 3] = [(0.5, 500.0), (0.9, 4500.0), (1.0, 14_500.0)];
    at_least_two(temperatures)?;
    let last = (temperatures - 1) as f64;
    let beta = |k: usize| {
        let steps = k as f64 * PARTS[2].1 / last;
        let (mut from, mut before) = (0.0, 0.0);
        for (to, until) in PARTS {
            if steps <= until {
                return from + (to - from) * (steps - before) / (until - before);
            }
            (from, before) = (to, until);
        }
        1.0
    };
    let mut betas: Vec<f64> = (0..temperatures).map(beta).collect();
    betas[temperatures - 1] = 1.0;
    Ok(betas)
}

/// K points at equal distances, in index, on the piecewise linear curve through the points of another schedule.
pub fn resample(betas: &[f64], temperatures: usize) -> Result<Vec<f64>> {
    at_least_two(temperatures)?;
    at_least_two(betas.len())?;
    let steps = (betas.len() - 1) as f64;
    let mut out: Vec<f64> = (0..temperatures)
        .map(|k| {
            let at = k as f64 * steps / (temperatures - 1) as f64;
            let i = (at as usize).min(betas.len() - 2);
            betas[i] + (at - i as f64) * (betas[i + 1] - betas[i])
        })
        .collect();
    (out[0], out[temperatures - 1]) = (betas[0], betas[betas.len() - 1]);
    Ok(out)
}

/// K inverse temperatures from 0 to 1, at equal lengths along a piecewise linear schedule; `length`: up to each of its points, `leg`: from
/// one to the next.
pub(super) fn at_equal_lengths(
    betas: &[f64],
    length: &[f64],
    leg: impl Fn(usize) -> f64,
    temperatures: usize,
) -> Vec<f64> {
    let last = length.len() - 1;
    let mut i = 0;
    let point = |k: usize| {
        let at = length[last] * k as f64 / (temperatures - 1) as f64;
        while i + 1 < last && length[i + 1] < at {
            i += 1;
        }
        betas[i] + (at - length[i]) / leg(i) * (betas[i + 1] - betas[i])
    };
    let mut out: Vec<f64> = (0..temperatures).map(point).collect();
    (out[0], out[temperatures - 1]) = (0.0, 1.0);
    out
}

pub(super) fn at_least_two(temperatures: usize) -> Result<()> {
    if temperatures < 2 {
        return Err(Error::Invalid(format!(
            "a schedule of {temperatures} temperatures: at least 2 are needed"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempering::{Ladder, Prior};

    /// `Ladder::new` refuses temperatures that do not ascend strictly from exactly 0 to exactly 1.
    #[test]
    fn schedules_ascend_from_0_to_1() {
        for k in [2, 3, 10, 101, 10_000, SALAKHUTDINOV_MURRAY] {
            Ladder::new(&linear(k).unwrap(), &Prior::Uniform).unwrap();
            Ladder::new(&salakhutdinov_murray(k).unwrap(), &Prior::Uniform).unwrap();
            if k > 2 {
                Ladder::new(&geometric(k, 1e-3).unwrap(), &Prior::Uniform).unwrap();
            }
        }
        assert!(linear(1).is_err() && salakhutdinov_murray(0).is_err());
        assert!(geometric(2, 0.1).is_err() && geometric(5, 1.0).is_err());
    }

    #[test]
    fn salakhutdinov_and_murray_used_three_step_sizes() {
        let betas = salakhutdinov_murray(SALAKHUTDINOV_MURRAY).unwrap();
        for (k, step) in
            [(1, 1e-3), (500, 1e-3), (501, 1e-4), (4500, 1e-4), (4501, 1e-5), (14_500, 1e-5)]
        {
            assert!((betas[k] - betas[k - 1] - step).abs() < 1e-12, "step {k}");
        }
        assert!((betas[500] - 0.5).abs() < 1e-12 && (betas[4500] - 0.9).abs() < 1e-12);
    }
}
