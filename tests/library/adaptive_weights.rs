//! SAMS and Wang-Landau against enumeration, in units of their own error bars.
//!
//! For n independent z-scores of a right error bar, their mean has standard deviation 1/sqrt(n) and their standard
//! deviation about 1/sqrt(2n); with n = 60 the bounds below are 3.9 and more than 3.3 of those away.
//!
//! Deliberately broken versions that were tried: the error bar without temperature 1's part (deviation 1.8 and 1.9); without
//! the decay of a chain's part (.03 and .05).

use ztrack::engine::Host;
use ztrack::estimators::{Estimate, Sams, WangLandau};
use ztrack::model::test_systems::gaussian;
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, Ladder, Prior, SimulatedTempering, TemperedChains,
    Tempering,
};

const RUNS: u64 = 60;

/// Mean and standard deviation of z-scores over random 16x8 models.
fn z_scores(
    prior: &Prior,
    estimate: impl Fn(&mut dyn SimulatedTempering) -> Estimate,
) -> (f64, f64) {
    let ladder = Ladder::linear(20, prior).unwrap();
    let logits: Vec<f32> = (0..16).map(|i| ((i * 5) % 7) as f32 * 0.4 - 1.2).collect();
    let base = BaseDistribution::from_logits(&logits).unwrap();
    let scores: Vec<f64> = (0..RUNS)
        .map(|seed| {
            let system = gaussian(16, 8, 0.6, 100 + seed).unwrap();
            let engine = Host::new(&system.parameters);
            let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
            let mut chains = TemperedChains::new(base.sample(100, seed, 0), ladder.len(), seed);
            let found = estimate(&mut Tempering::new(path, &mut chains, BetaUpdate::Collapsed));
            assert!(found.trust.is_sound(), "{}", found.trust);
            (found.value - system.log_partition) / found.std_error
        })
        .collect();
    let n = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let square = scores.iter().map(|z| (z - mean).powi(2)).sum::<f64>();
    (mean, (square / (n - 1.0)).sqrt())
}

#[test]
fn sams_is_right_within_its_own_error_bar() {
    for prior in [Prior::Uniform, Prior::Exponential(2.0)] {
        let (mean, deviation) = z_scores(&prior, |chains| Sams::new(200).run(chains).unwrap());
        println!("{prior:?}: mean z {mean:.2}, deviation {deviation:.2}");
        assert!(mean.abs() < 0.5 && (0.7..1.4).contains(&deviation), "{mean} {deviation}");
    }
}

#[test]
fn wang_landau_is_right_within_its_own_error_bar() {
    let (mean, deviation) =
        z_scores(&Prior::Uniform, |chains| WangLandau { sweeps: 240 }.run(chains).unwrap());
    println!("mean z {mean:.2}, deviation {deviation:.2}");
    assert!(mean.abs() < 0.5 && (0.7..1.4).contains(&deviation), "{mean} {deviation}");
}
