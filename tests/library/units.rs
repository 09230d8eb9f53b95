//! What every kind of unit must do: A' are the means, A'' the variances, draws have the means, a base distribution gives its means back.

use ztrack::engine::random::{Purpose, Streams};
use ztrack::tempering::BaseDistribution;
use ztrack::units::Variables;

const COLUMNS: usize = 12;
const KINDS: [&str; 6] = ["bits", "plus-minus", "4*3+", "6*2", "3,4,3+,2*1+", "12"];

fn kinds() -> impl Iterator<Item = (Variables, Vec<f64>)> {
    KINDS.iter().enumerate().map(|(seed, text)| {
        let mut stream = Streams::new(seed as u64, Purpose::TestSystem, 0).row(0);
        let eta = (0..COLUMNS).map(|_| f64::from(1.5 * stream.normal() as f32)).collect();
        (text.parse().unwrap(), eta)
    })
}

/// log of the sum over states of exp(eta.v), in the units' own values: of -1 and +1 exp((eta/2).s).
fn log_partition(variables: &Variables, eta: &[f64]) -> f64 {
    let single: Vec<f32> = eta.iter().map(|&x| x as f32).collect();
    variables.log_partition(eta.iter().copied()) + variables.offset(&single)
}

/// By differences of A in the parameter that goes with a unit's own value, eta/2 for -1 and +1. Steps are powers of two, exact in f32.
#[test]
fn slopes_of_the_log_partition_are_means_and_variances() {
    for (variables, eta) in kinds() {
        let (spin, step) = (variables.is_plus_minus(), 1.0 / 1024.0);
        let scale = if spin { 2.0 } else { 1.0 };
        // To this grid, so that a step is not rounded.
        let eta: Vec<f64> = eta.iter().map(|x| (x * 1024.0).round() / 1024.0).collect();
        let at = |moves: &[(usize, f64)]| {
            let mut eta = eta.clone();
            moves.iter().for_each(|(i, by)| eta[*i] += scale * by * step);
            log_partition(&variables, &eta)
        };
        let means = variables.means(eta.iter().copied());
        let own = |i: usize| if spin { 2.0 * means[i] - 1.0 } else { means[i] };
        for i in 0..COLUMNS {
            let slope = (at(&[(i, 1.0)]) - at(&[(i, -1.0)])) / (2.0 * step);
            assert!((slope - own(i)).abs() < 1e-5, "{variables} {i}: {slope} {}", own(i));
            let second = (at(&[(i, 1.0)]) - 2.0 * at(&[]) + at(&[(i, -1.0)])) / (step * step);
            let variance = if spin { 1.0 - own(i).powi(2) } else { own(i) * (1.0 - own(i)) };
            assert!((second - variance).abs() < 1e-4, "{variables} {i}: {second} {variance}");
            // Two columns of one variable are never set together; those of different ones are independent.
            let k = (i + 1) % COLUMNS;
            let mixed =
                at(&[(i, 1.0), (k, 1.0)]) - at(&[(i, 1.0), (k, -1.0)]) - at(&[(i, -1.0), (k, 1.0)])
                    + at(&[(i, -1.0), (k, -1.0)]);
            let one =
                variables.of(COLUMNS).any(|it| it.range().contains(&i) && it.range().contains(&k));
            let expected = if one { -means[i] * means[k] } else { 0.0 };
            let found = mixed / (4.0 * step * step);
            assert!((found - expected).abs() < 1e-4, "{variables} {i} {k}: {found} {expected}");
        }
    }
}

#[test]
fn draws_are_states_and_have_the_means() {
    let rows = 40_000;
    for (variables, eta) in kinds() {
        let logits: Vec<f32> = eta.iter().map(|&x| x as f32).collect();
        let base = BaseDistribution::from_logits(&logits).unwrap().of(&variables);
        let drawn = base.sample(rows, 3, 0);
        variables.check(&drawn, "draws").unwrap();
        let means = variables.means(eta.iter().copied());
        for (i, (count, p)) in drawn.column_counts().iter().zip(&means).enumerate() {
            let error = (p * (1.0 - p) / rows as f64).sqrt();
            let found = *count as f64 / rows as f64;
            assert!((found - p).abs() < 5.0 * error + 1e-9, "{variables} {i}: {found} {p}");
        }
    }
}

#[test]
fn a_base_gives_its_means_and_its_log_partition_back() {
    for (variables, eta) in kinds() {
        let means = variables.means(eta.iter().copied());
        let base = BaseDistribution::from_means(means.clone(), 1e-9, &variables).unwrap();
        for (found, mean) in base.means().iter().zip(&means) {
            assert!((found - mean).abs() < 1e-6, "{variables}: {found} {mean}");
        }
        let (natural, constant) = variables.natural(means);
        assert!((constant + variables.log_partition(natural.into_iter())).abs() < 1e-9);
        let eta: Vec<f64> = base.logits().iter().map(|&a| f64::from(a)).collect();
        assert!((base.log_partition(0) - log_partition(&variables, &eta)).abs() < 1e-9);
        // Rows in which every column counts as its mean: the same marginals.
        let counts: Vec<u64> = base.means().iter().map(|p| (p * 1e9).round() as u64).collect();
        let of_counts =
            BaseDistribution::from_column_counts(&counts, 1_000_000_000, 0.0, &variables).unwrap();
        for (found, mean) in of_counts.means().iter().zip(base.means()) {
            assert!((found - mean).abs() < 1e-6, "{variables}: {found} {mean}");
        }
    }
}
