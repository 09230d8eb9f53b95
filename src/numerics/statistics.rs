//! Statistics of traces of chains: ranks, effective sample size, R-hat (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021,
//! "Rank-normalization, folding, and localization").

/// Most combined standard errors by which two values of one number differ; beyond, they contradict each other.
pub const MOST_ERRORS: f64 = 4.0;

/// Mean of numbers; NaN for none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Variance around the mean with n - 1 in the denominator.
pub fn variance(values: &[f64]) -> f64 {
    let center = mean(values);
    let square: f64 = values.iter().map(|x| (x - center).powi(2)).sum();
    square / (values.len() as f64 - 1.0)
}

/// Mean of independent values and its standard error, NaN for a single one.
pub fn mean_with_error(values: &[f64]) -> (f64, f64) {
    (mean(values), (variance(values) / values.len() as f64).sqrt())
}

/// Root mean square.
pub fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64).sqrt()
}

/// Correlation of two columns; NaN where one does not vary.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let product: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    product / ((a.len() as f64 - 1.0) * (variance(a) * variance(b)).sqrt())
}

/// Ranks from 1, those of equal values averaged.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from + 1;
        while to < order.len() && values[order[to]] == values[order[from]] {
            to += 1;
        }
        let rank = (from + to + 1) as f64 / 2.0;
        order[from..to].iter().for_each(|&i| ranks[i] = rank);
        from = to;
    }
    ranks
}

/// Normal scores of the ranks of all values together; `chains` of equal length.
pub fn rank_normalised(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let all = chains.concat();
    let n = all.len() as f64;
    let scores: Vec<f64> =
        ranks(&all).iter().map(|rank| normal_quantile((rank - 0.375) / (n + 0.25))).collect();
    let length = chains.first().map_or(1, Vec::len).max(1);
    scores.chunks(length).map(<[f64]>::to_vec).collect()
}

/// R-hat of halves of chains; NaN below four draws a chain.
pub fn split_r_hat(chains: &[Vec<f64>]) -> f64 {
    let halves: Vec<&[f64]> = chains
        .iter()
        .flat_map(|chain| {
            let half = chain.len() / 2;
            [&chain[..half], &chain[chain.len() - half..]]
        })
        .collect();
    let length = halves.first().map_or(0, |half| half.len()) as f64;
    if length < 2.0 {
        return f64::NAN;
    }
    let within = mean(&halves.iter().map(|half| variance(half)).collect::<Vec<_>>());
    let between = variance(&halves.iter().map(|half| mean(half)).collect::<Vec<_>>());
    ((within * (length - 1.0) / length + between) / within).sqrt()
}

/// Effective number of independent draws in chains of equal length, by the initial monotone sequence of Geyer (1992) over
/// autocorrelations of all chains together.
pub fn effective_sample_size(chains: &[Vec<f64>]) -> f64 {
    let (m, n) = (chains.len() as f64, chains.first().map_or(0, Vec::len));
    if n < 4 {
        return f64::NAN;
    }
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let autocovariance = |lag: usize| {
        let of = |(chain, mean): (&Vec<f64>, &f64)| {
            chain.iter().zip(&chain[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
                / n as f64
        };
        chains.iter().zip(&means).map(of).sum::<f64>() / m
    };
    let within = autocovariance(0) * n as f64 / (n as f64 - 1.0);
    let between = if means.len() > 1 { variance(&means) } else { 0.0 };
    let total = within * (n as f64 - 1.0) / n as f64 + between;
    let correlation = |lag: usize| 1.0 - (within - autocovariance(lag)) / total;
    let (mut sum, mut smallest, mut lag) = (0.0, f64::INFINITY, 0);
    while lag + 1 < n {
        let first = if lag == 0 { 1.0 } else { correlation(lag) };
        let pair = (first + correlation(lag + 1)).min(smallest);
        if pair <= 0.0 {
            break;
        }
        smallest = pair;
        sum += pair;
        lag += 2;
    }
    let draws = m * n as f64;
    draws / (2.0 * sum - 1.0).max(1.0 / draws.log10())
}

/// The x below which a standard normal variable lies with this probability (Acklam's rational approximation, relative error
/// 1.2e-9).
pub fn normal_quantile(probability: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let horner = |x: f64, coefficients: &[f64]| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        horner(q, &C) / (horner(q, &D) * q + 1.0)
    };
    match probability {
        p if p < 0.02425 => tail(p),
        p if p > 1.0 - 0.02425 => -tail(1.0 - p),
        p => {
            let q = p - 0.5;
            let r = q * q;
            horner(r, &A) * q / (horner(r, &B) * r + 1.0)
        }
    }
}

/// Values of one number, each with its standard error, combined with precision weights ([`pooled`]). A value without an error is the number
/// itself; NaN if there are none.
pub fn joined(values: &[(f64, f64)]) -> (f64, f64) {
    let exact = values.iter().find(|(_, error)| *error == 0.0);
    let weighted: Vec<_> = values.iter().map(|value| (*value, value.1.powi(-2))).collect();
    exact.copied().unwrap_or_else(|| pooled(&weighted))
}

/// Values of one number, each with its standard error and a weight, combined with these weights. If values differ by more than their
/// errors, the error of the mean is multiplied by that ratio: the scale factor of the Particle Data Group's averages (Workman et al. 2022,
/// Review of Particle Physics, section 5.2.2).
pub fn pooled(values: &[((f64, f64), f64)]) -> (f64, f64) {
    let sum = |of: &dyn Fn((f64, f64), f64) -> f64| -> f64 {
        values.iter().map(|(value, weight)| of(*value, *weight)).sum()
    };
    let total = sum(&|_, weight| weight);
    let mean = sum(&|(x, _), weight| weight * x) / total;
    let error = sum(&|(_, error), weight| (weight * error).powi(2)).sqrt() / total;
    let apart = |x: f64, error: f64| if x == mean { 0.0 } else { ((x - mean) / error).powi(2) };
    let square = sum(&|(x, error), _| apart(x, error)) / (values.len() as f64 - 1.0).max(1.0);
    (mean, error * square.max(1.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    /// Chains of an autoregressive process with this correlation from draw to draw.
    fn chains(count: usize, length: usize, memory: f64, apart: f64) -> Vec<Vec<f64>> {
        let chain = |s: usize| {
            let mut normal = Streams::new(5, Purpose::Choice, s as u64).row(0);
            let mut x = normal.normal();
            let scale = (1.0 - memory * memory).sqrt();
            let mut step = || {
                x = memory * x + scale * normal.normal();
                x + apart * s as f64
            };
            (0..length).map(|_| step()).collect()
        };
        (0..count).map(chain).collect()
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, x) in [(0.5, 0.0), (0.975, 1.959_964), (0.01, -2.326_348), (0.841_344_7, 1.0)] {
            assert!((normal_quantile(p) - x).abs() < 1e-5, "{p}");
        }
    }

    #[test]
    fn ranks_of_equal_values_are_shared() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 0.0]), [3.5, 2.0, 3.5, 1.0]);
    }

    /// An autoregressive process with correlation a is worth (1 - a)/(1 + a) independent draws each; over 20 chains of 500 the
    /// estimate scatters by about a tenth.
    #[test]
    fn effective_samples_are_those_of_the_process() {
        for memory in [0.0, 0.6, 0.9] {
            let expected = 10_000.0 * (1.0 - memory) / (1.0 + memory);
            let found = effective_sample_size(&chains(20, 500, memory, 0.0));
            assert!((found / expected - 1.0).abs() < 0.3, "{memory}: {found} for {expected}");
        }
    }

    #[test]
    fn r_hat_is_one_for_chains_that_are_alike_alone() {
        let same = split_r_hat(&rank_normalised(&chains(10, 400, 0.3, 0.0)));
        assert!((same - 1.0).abs() < 0.01, "{same}");
        let apart = split_r_hat(&rank_normalised(&chains(10, 400, 0.3, 0.5)));
        assert!(apart > 1.2, "{apart}");
        assert!(split_r_hat(&[vec![1.0, 2.0]]).is_nan());
    }

    #[test]
    fn correlations_run_from_minus_one_to_one() {
        let a = [1.0, 2.0, 4.0];
        assert!((correlation(&a, &[2.0, 4.0, 8.0]) - 1.0).abs() < 1e-12);
        assert!((correlation(&a, &[-1.0, -2.0, -4.0]) + 1.0).abs() < 1e-12);
    }

    /// Two values: the precision-weighted mean, and an error that grows with their difference in units of their errors.
    #[test]
    fn values_of_one_number_are_joined() {
        let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).hypot(a.1 - b.1) < 1e-12;
        assert!(near(joined(&[(1.0, 0.3), (1.25, 0.4)]), (1.09, 0.24)));
        assert!(near(joined(&[(1.0, 0.3), (2.0, 0.4)]), (1.36, 0.48)));
        assert!(near(joined(&[(1.0, 1.0), (2.0, 1.0), (6.0, 1.0)]), (3.0, (7f64 / 3.0).sqrt())));
        assert_eq!(joined(&[(1.0, 0.3), (2.0, 0.0)]), (2.0, 0.0));
        assert_eq!(joined(&[(1.0, 0.3)]), (1.0, 0.3));
        assert!(joined(&[]).0.is_nan());
    }
}
