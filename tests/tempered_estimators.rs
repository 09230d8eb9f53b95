//! Estimators that share one run of tempered chains, against enumeration, in units of their own error bars.
//!
//! For n independent z-scores of a right error bar, their mean has standard deviation 1/sqrt(n) and their standard
//! deviation about 1/sqrt(2n); with n = 60 the bounds below are 3.9 and 3.3 of those away. Estimators share chains, so their
//! scores are correlated with each other but not from run to run.

use ztrack::estimators::tempered::{KeptRun, READERS};
use ztrack::estimators::{Bias, Estimate, Rts};
use ztrack::model::test_systems::{TestSystem, gaussian};
use ztrack::ops::Fused;
use ztrack::tempering::{BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior};

fn run(system: &TestSystem, prior: &Prior, (chains, sweeps): (usize, usize), seed: u64) -> KeptRun {
    let settings = Rts {
        chains,
        sweeps,
        ladder: Ladder::linear(20, prior).unwrap(),
        beta_update: BetaUpdate::Collapsed,
        initial_rounds: InitialRounds::default(),
        seed,
    };
    let n_visible = system.parameters.n_visible;
    let logits: Vec<f32> = (0..n_visible).map(|i| ((i * 5) % 7) as f32 * 0.4 - 1.2).collect();
    let base = BaseDistribution::from_logits(&logits).unwrap();
    settings.sample_and_keep(&Fused::new(&system.parameters), &base).unwrap()
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

#[test]
fn every_consistent_estimator_is_right_within_its_own_error_bar() {
    const RUNS: u64 = 60;
    for prior in [Prior::Uniform, Prior::Exponential(1.0)] {
        let mut errors: Vec<Vec<(f64, Estimate)>> = vec![Vec::new(); READERS.len()];
        for seed in 0..RUNS {
            let system = gaussian(16, 8, 0.6, 100 + seed).unwrap();
            let run = run(&system, &prior, (100, 150), seed);
            for ((name, reader), errors) in READERS.iter().zip(&mut errors) {
                let found = reader.read(&run);
                assert_eq!(found.method, *name);
                errors.push((found.value - system.log_partition, found));
            }
        }
        for errors in errors {
            let scores: Vec<f64> = errors.iter().map(|(error, e)| error / e.std_error).collect();
            let (mean, deviation) = mean_and_deviation(&scores);
            let (shift, _) = mean_and_deviation(&errors.iter().map(|e| e.0).collect::<Vec<_>>());
            let rmse = (errors.iter().map(|e| e.0 * e.0).sum::<f64>() / RUNS as f64).sqrt();
            let Estimate { method, bias, .. } = errors[0].1;
            let what = format!(
                "{method}: mean z {mean:.2}, deviation {deviation:.2}, bias {shift:.4}, RMSE {rmse:.4}"
            );
            println!("{what}");
            match bias {
                Bias::Consistent => {
                    assert!(mean.abs() < 0.5 && (0.7..1.4).contains(&deviation), "{what}");
                    assert!(errors.iter().all(|e| e.1.doubt.is_none()), "{what}");
                }
                // The right Riemann sum of a rising slope is too large, visibly so on 20 temperatures.
                Bias::High => assert!(mean > 3.0, "{what}"),
                _ => assert!(shift.abs() < 0.05, "{what}"),
            }
        }
    }
}
