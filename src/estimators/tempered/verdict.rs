//! Whether the error bar of tempered chains can be trusted, checked chain by chain.
//!
//! The mean number of round trips is not sufficient. Chains with many round trips compensate for chains with none, and if a fraction of the
//! chains stays in one mode, zeta adapts to that fraction and the spread between chains does not show the error. Therefore
//!
//! - nearly every chain must have visited both ends of the ladder;
//! - the contributions G_s of single chains to the error (RTS eq. 16) in the first half of the sweeps must not predict those in the second:
//!   their correlation over chains is near 0 if chains mix, so that the error falls like 1/sqrt(sweeps), and near 1 if each chain stays
//!   where it is, so that no number of sweeps helps;
//! - the ranks of the free energies of a chain's states in the first half must not predict those in the second either. R-hat of the ranks
//!   (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021) and their effective number are reported as well. R-hat alone does not
//!   distinguish chains that stay where they are from short chains, whose spread is a right error bar.

use super::TemperedRun;
use crate::numerics::Table;
use crate::numerics::statistics::{effective_sample_size, mean, rank_normalised, split_r_hat};
use crate::tempering::{NEEDED_PER_CHAIN, RoundsEnd, parts};
use crate::trust::{Doubt, Trust};

/// Fraction of the mean occupancy of an end that counts as a visit of a chain.
const BEEN_THERE: f64 = 0.05;
/// Fraction of the chains that must have visited both ends.
const NEEDED_SHARE: f64 = 0.9;
/// Largest correlation of halves. With S mixed chains it scatters around 0 by 1/sqrt(S).
const MOST_CORRELATION: f64 = 0.5;

/// Movement of the chains of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixing {
    /// Round trips 1 -> K -> 1 per chain in the counted sweeps.
    pub round_trips: f64,
    /// Chains that have visited both ends of the ladder.
    pub crossed: usize,
    /// Correlation over chains of G_s in the first and in the second half of the counted sweeps.
    pub correlation: f64,
    /// Correlation over chains of their mean rank of log f(v) in the first and in the second half of the records.
    pub rank_correlation: f64,
    /// R-hat of the ranks of log f(v) over halves of chains; NaN if there are too few records, or all are equal.
    pub r_hat: f64,
    /// Effective number of independent values of log f(v) among all records of all chains; NaN as above.
    pub effective_log_f: f64,
}

impl Mixing {
    /// That of one run.
    pub fn of(run: &TemperedRun) -> Self {
        let k = run.ladder.len();
        let occupancy = &run.counted.occupancy;
        let n = run.chains as f64;
        let sums = occupancy.column_sums();
        let (first, last) = (BEEN_THERE * (sums[0] / n), BEEN_THERE * (sums[k - 1] / n));
        let crossed = occupancy.rows().filter(|row| row[0] >= first && row[k - 1] >= last).count();
        let scores = rank_normalised(&run.log_f);
        let [early, late] = [0, 1].map(|half| halves_parts(&run.halves[half]));
        Self {
            round_trips: run.round_trips as f64 / n,
            crossed,
            correlation: correlation(&early, &late),
            rank_correlation: halves_correlation(&scores),
            r_hat: split_r_hat(&scores),
            effective_log_f: effective_sample_size(&scores),
        }
    }
}

/// G_s = C_sK/c_K - C_s1/c_1 of every chain, from C_s1 and C_sK, shape [S, 2].
fn halves_parts(half: &Table) -> Vec<f64> {
    if half.is_empty() {
        return Vec::new();
    }
    let means: Vec<f64> = half.column_sums().iter().map(|sum| sum / half.len() as f64).collect();
    parts(half, &means, 1).collect()
}

/// Correlation over chains of the means of both halves of their scores; 0 where there are none.
fn halves_correlation(scores: &[Vec<f64>]) -> f64 {
    let half = scores.first().map_or(0, Vec::len) / 2;
    if half == 0 {
        return 0.0;
    }
    let means = |late: bool| {
        let of = |trace: &Vec<f64>| {
            mean(if late { &trace[trace.len() - half..] } else { &trace[..half] })
        };
        let means: Vec<f64> = scores.iter().map(of).collect();
        let center = mean(&means);
        means.into_iter().map(|x| x - center).collect::<Vec<f64>>()
    };
    correlation(&means(false), &means(true))
}

/// Correlation of contributions whose mean is zero; 0 if there are none.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let scale = (dot(a, a) * dot(b, b)).sqrt();
    if scale > 0.0 { dot(a, b) / scale } else { 0.0 }
}

/// Whether estimates from these chains can be trusted.
pub fn verdict(run: &TemperedRun) -> Trust {
    let Mixing { round_trips, crossed, correlation, rank_correlation, r_hat, .. } = Mixing::of(run);
    let mut trust = Trust::sound();
    if round_trips < NEEDED_PER_CHAIN {
        trust.doubt(Doubt::NotMixed { per_chain: round_trips, needed: NEEDED_PER_CHAIN });
    }
    if (crossed as f64) < NEEDED_SHARE * run.chains as f64 {
        trust.doubt(Doubt::FewTravelled { crossed, chains: run.chains });
    }
    // A correlation that is not a number comes from an end that no chain has visited.
    if !matches!(correlation.partial_cmp(&MOST_CORRELATION), Some(std::cmp::Ordering::Less)) {
        trust.doubt(Doubt::Frozen { correlation });
    }
    if rank_correlation > MOST_CORRELATION {
        trust.doubt(Doubt::ChainsDiffer { correlation: rank_correlation, r_hat });
    }
    if run.rounds_end == RoundsEnd::Exhausted {
        trust.doubt(Doubt::NotSettled {});
    }
    trust
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::test_systems::gaussian_parameters;
    use crate::numerics::statistics::variance;
    use crate::tempering::{
        BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Prior, TemperedChains,
        Tempering,
    };

    /// Chains that stay where they are correlate, others do not.
    #[test]
    fn halves_of_frozen_chains_correlate() {
        let half = |low: fn(i32) -> bool| {
            let rows = (0..100).flat_map(|s| [if low(s) { 0.0 } else { 1.0 }, 1.0]);
            halves_parts(&Table::from_numbers(2, rows.collect()))
        };
        let (frozen, other) = (half(|s| s < 15), half(|s| s >= 85));
        assert!(correlation(&frozen, &frozen) > 0.99);
        assert!(correlation(&frozen, &other) < 0.2);
        assert_eq!(correlation(&[0.0; 4], &[0.0; 4]), 0.0);
    }

    /// Free energies of chains that mix are alike; those of chains that each see a different part are not.
    #[test]
    fn chains_with_free_energies_of_their_own_are_told() {
        let engine = Host::new(&gaussian_parameters(12, 8, 0.3, 1));
        let (base, k) = (BaseDistribution::uniform(12), 10);
        let ladder = Ladder::linear(k, &Prior::Uniform).unwrap();
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let mut chains = TemperedChains::new(base.sample(40, 1, 0), k, 1);
        let mut chains = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
        let mut run = TemperedRun::new(&mut chains, &InitialRounds::default(), 1000).unwrap();
        assert!(verdict(&run).is_sound(), "{}", verdict(&run));
        let Mixing { r_hat, effective_log_f, .. } = Mixing::of(&run);
        let looks = run.log_f.concat().len() as f64;
        assert!(r_hat < 1.02 && effective_log_f > 0.3 * looks, "{r_hat}, {effective_log_f}");
        let spread = variance(&run.log_f.concat()).sqrt();
        for (s, trace) in run.log_f.iter_mut().enumerate() {
            trace.iter_mut().for_each(|x| *x += if s % 4 == 0 { 3.0 * spread } else { 0.0 });
        }
        assert_eq!(verdict(&run).names(), "chains-differ");
        assert!(Mixing::of(&run).r_hat > 1.2);
        run.log_f.iter_mut().for_each(|trace| trace.truncate(1));
        assert!(verdict(&run).is_sound(), "one look says nothing");
    }
}
