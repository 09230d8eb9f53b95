//! Maximum likelihood over sweeps with different pseudo-priors, including those of the initial rounds (RTS App. A).
//!
//! Under zeta^(g) the temperatures are distributed as p_gk, proportional to r_k e^{zeta_k - zeta^(g)_k} at the true zeta. Maximise
//!     sum_g [ sum_k C_gk zeta_k - n_g log sum_k r_k e^{zeta_k - zeta^(g)_k} ],   C_gk = sum of q(k|x) over the n_g states of group g,
//! concave, by Newton. One group gives RTS eq. 12. Errors: the estimating equation's scores, summed chain by chain.
//!
//! The chains of the first rounds start far from equilibrium (an annealing pass ends with all of them at beta = 1), which the likelihood
//! does not include; so the first half of the rounds is left out (with it, 60 z-scores on 16x8 models have mean .40, else .11).

use std::time::Instant;

use faer::Mat;

use super::super::{Estimate, Method};
use super::errors::between_chains;
use super::newton::{Local, Minimum, minimise};
use super::{Group, TemperedRun};
use crate::numerics::log_sum_exp;
use crate::tempering::Ladder;
use crate::trust::{Doubt, Trust};

/// Maximum likelihood over the counted sweeps and the later half of the initial rounds.
pub fn mixed(run: &TemperedRun) -> Estimate {
    let start = Instant::now();
    let late = &run.rounds[run.rounds.len().div_ceil(2)..];
    let groups: Vec<&Group> = late.iter().chain([&run.counted]).collect();
    let guess = run.measurement().log_z;
    let (minimum, influence) = solve(&groups, &run.ladder, run.chains, guess);
    let found = (minimum.at[run.ladder.len() - 1], between_chains(&influence));
    let doubt = (!minimum.converged).then_some(Doubt::NotSolved {});
    run.estimate(Method::Mixed, start, found, Trust::unless(doubt))
}

/// zeta with zeta_1 as in `guess`, and each chain's contribution to the error of zeta_K.
fn solve(
    groups: &[&Group],
    ladder: &Ladder,
    chains: usize,
    guess: Vec<f64>,
) -> (Minimum, Vec<f64>) {
    let k = ladder.len();
    let states: f64 = groups.iter().map(|group| (chains * group.sweeps) as f64).sum();
    // C_gk over the number of all states, and n_g likewise.
    let terms: Vec<(Vec<f64>, f64)> = groups
        .iter()
        .map(|group| {
            let mut sums = vec![0.0; k];
            for row in group.occupancy.rows() {
                let scale = group.sweeps as f64 / states;
                sums.iter_mut().zip(row).for_each(|(sum, c)| *sum += scale * c);
            }
            (sums, (chains * group.sweeps) as f64 / states)
        })
        .collect();
    let minimum = minimise(guess, |zeta| {
        let mut local = Local { value: 0.0, gradient: vec![0.0; k], hessian: Mat::zeros(k, k) };
        for (group, (sums, share)) in groups.iter().zip(&terms) {
            let (p, log_total) = expected(group, ladder, zeta);
            local.value += share * log_total;
            for j in 0..k {
                local.value -= sums[j] * zeta[j];
                local.gradient[j] += share * p[j] - sums[j];
                local.hessian[(j, j)] += share * p[j];
                (0..=j).for_each(|i| local.hessian[(j, i)] -= share * p[j] * p[i]);
            }
        }
        local
    });
    let mut direction = vec![0.0; k];
    (direction[0], direction[k - 1]) = (-1.0, 1.0);
    let y = minimum.solve(&direction);
    let mut influence = vec![0.0; chains];
    for group in groups {
        let (p, _) = expected(group, ladder, &minimum.at);
        let scale = group.sweeps as f64 / states;
        for (sum, row) in influence.iter_mut().zip(group.occupancy.rows()) {
            let score = row.iter().zip(&p).zip(&y).map(|((c, p), y)| (c - p) * y);
            *sum += scale * score.sum::<f64>();
        }
    }
    (minimum, influence)
}

/// p_gk at `zeta`, and log sum_k r_k e^{zeta_k - zeta^(g)_k}.
fn expected(group: &Group, ladder: &Ladder, zeta: &[f64]) -> (Vec<f64>, f64) {
    let log_p = || {
        let terms = ladder.log_prior().iter().zip(zeta).zip(&group.zeta);
        terms.map(|((log_r, zeta), used)| log_r + zeta - used)
    };
    let total = log_sum_exp(log_p());
    (log_p().map(|log_p| (log_p - total).exp()).collect(), total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};
    use crate::numerics::{Table, index_at};
    use crate::tempering::{Prior, PseudoPrior};

    const K: usize = 5;
    const CHAINS: usize = 40;

    /// Occupancies of independent draws of the temperature under `zeta` when log Z is `truth`.
    fn group(truth: &[f64], zeta: Vec<f64>, ladder: &Ladder, sweeps: usize, seed: u64) -> Group {
        let empty = Group { zeta, occupancy: Table::zeros(CHAINS, K), sweeps };
        let (p, _) = expected(&empty, ladder, truth);
        let mut group = empty;
        for (s, row) in group.occupancy.rows_mut().enumerate() {
            let mut stream = Streams::new(seed, Purpose::Choice, 0).row(s as u32);
            for _ in 0..sweeps {
                let k = index_at(p.iter().copied(), stream.uniform());
                row[k.unwrap_or(K - 1)] += 1.0 / sweeps as f64;
            }
        }
        group
    }

    #[test]
    fn one_group_is_rts() {
        let ladder = Ladder::linear(K, &Prior::Exponential(1.0)).unwrap();
        let truth = [3.0, 4.0, 6.0, 5.0, 9.0];
        let group = group(&truth, vec![3.0, 4.5, 5.5, 5.2, 8.5], &ladder, 50, 1);
        let rts = PseudoPrior::new(&ladder, &group.zeta).measure(&group.occupancy);
        let (found, influence) = solve(&[&group], &ladder, CHAINS, group.zeta.clone());
        assert!(found.converged);
        for (ours, rts) in found.at.iter().zip(&rts.log_z) {
            assert!((ours - rts).abs() < 1e-9, "{ours} {rts}");
        }
        let error = rts.variance[K - 1].sqrt();
        assert!((between_chains(&influence) - error).abs() < 1e-9 * error);
    }

    /// 200 z-scores: bounds are 4 standard deviations of their mean and spread. Tried: with zeta^(g) of the second group used
    /// for the first too, the mean is 14.
    #[test]
    fn groups_under_different_pseudo_priors_agree_with_the_truth() {
        let ladder = Ladder::linear(K, &Prior::Uniform).unwrap();
        let truth = [0.0, 1.0, 3.0, 2.0, 6.0];
        let scores: Vec<f64> = (0..200)
            .map(|seed| {
                let first = group(&truth, vec![0.0, 0.0, 2.0, 2.5, 4.5], &ladder, 30, 2 * seed);
                let second =
                    group(&truth, vec![0.0, 1.2, 3.0, 2.0, 6.5], &ladder, 60, 2 * seed + 1);
                let guess = second.zeta.clone();
                let (found, influence) = solve(&[&first, &second], &ladder, CHAINS, guess);
                (found.at[K - 1] - truth[K - 1]) / between_chains(&influence)
            })
            .collect();
        let n = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / n;
        let deviation = (scores.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        assert!(mean.abs() < 4.0 / n.sqrt(), "{mean}");
        assert!((deviation - 1.0).abs() < 4.0 / (2.0 * n).sqrt(), "{deviation}");
    }
}
