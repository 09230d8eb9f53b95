//! Estimators that share one run of tempered chains, against enumeration, in units of their own error bars.
//!
//! For n independent z-scores of a right error bar, their mean has standard deviation 1/sqrt(n) and their standard
//! deviation about 1/sqrt(2n); with n = 60 the bounds below are 3.9 and more than 3.3 of those away. Estimators share chains, so
//! their scores are correlated with each other but not from run to run.
//!
//! Deliberately broken versions that were tried, each failing a test here: SD and RSD without r_k (mean z 12 and 31); mixed
//! without r_k (28); the influence of labels on MBAR with the wrong sign (deviation .55); Delta's variance without that of
//! the hidden units (heat capacity, and corrected integration).

use ztrack::engine::Host;
use ztrack::estimators::tempered::spline::ti_spline;
use ztrack::estimators::tempered::{KeptRun, free_curves, ti, ti_corrected, ti_rb};
use ztrack::estimators::{Bias, Estimate, Method, Rts};
use ztrack::model::exact::log_partition_at;
use ztrack::model::test_systems::{TestSystem, gaussian, independent_units, one_hidden_unit};
use ztrack::tempering::{BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior};

use crate::statistics::{data_like, mean_and_deviation};

const TEMPERATURES: usize = 20;

fn run(system: &TestSystem, base: &BaseDistribution, sweeps: usize, seed: u64) -> KeptRun {
    run_on(TEMPERATURES, system, base, sweeps, seed)
}

fn run_on(
    temperatures: usize,
    system: &TestSystem,
    base: &BaseDistribution,
    sweeps: usize,
    seed: u64,
) -> KeptRun {
    let settings = Rts {
        chains: 80,
        sweeps,
        // Not uniform, so that an estimator that forgets r_k shows.
        ladder: Ladder::linear(temperatures, &Prior::Exponential(1.0)).unwrap(),
        beta_update: BetaUpdate::Collapsed,
        initial_rounds: InitialRounds::default(),
        seed,
    };
    settings.sample_and_keep(&Host::new(&system.parameters), base).unwrap()
}

#[test]
fn every_consistent_estimator_is_right_within_its_own_error_bar() {
    const RUNS: u64 = 60;
    let mut found: Vec<Vec<(f64, Estimate)>> = vec![Vec::new(); Method::readers().count()];
    for seed in 0..RUNS {
        let system = gaussian(16, 8, 0.6, 100 + seed).unwrap();
        let run = run(&system, &data_like(16), 100, seed);
        for ((method, reader), found) in Method::readers().zip(&mut found) {
            let estimate = reader.read(&run);
            assert_eq!(estimate.method, method);
            found.push((estimate.value - system.log_partition, estimate));
        }
    }
    let mut wrong = Vec::new();
    for found in found {
        let scores: Vec<f64> = found.iter().map(|(error, e)| error / e.std_error).collect();
        let (mean, deviation) = mean_and_deviation(&scores);
        let (bias, spread) = mean_and_deviation(&found.iter().map(|e| e.0).collect::<Vec<_>>());
        let method = found[0].1.method.name();
        let what = format!(
            "{method}: mean z {mean:.2}, deviation {deviation:.2}; error {bias:.4} +- {spread:.4}"
        );
        println!("{what}");
        let right = match found[0].1.bias {
            Bias::Consistent => {
                let believed = found.iter().all(|e| e.1.trust.is_sound());
                mean.abs() < 0.5 && (0.7..1.4).contains(&deviation) && believed
            }
            // The right Riemann sum of a rising slope is too large, visibly so with 20 temperatures.
            Bias::High => bias > 4.0 * spread / (RUNS as f64).sqrt(),
            // The trapezoid rule is off to second order: a hundredth of a nat here.
            _ => bias.abs() < 0.02,
        };
        if !right {
            wrong.push(what);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn closed_forms_are_met() {
    let visible = vec![0.3, -1.0, 2.0, 0.5];
    for system in [
        independent_units(visible.clone(), vec![1.0, -0.5, 0.2]).unwrap(),
        one_hidden_unit(vec![1.5, -2.0, 0.7, 1.0], visible, -0.4).unwrap(),
    ] {
        let run = run(&system, &BaseDistribution::uniform(4), 200, 1);
        for (name, reader) in Method::readers().filter(|(name, _)| *name != Method::TiRiemann) {
            let found = reader.read(&run);
            let z = (found.value - system.log_partition) / found.std_error;
            assert!(z.abs() < 4.0, "{name} of {}: z = {z:.1}", system.name);
            assert!(found.std_error < 0.1 && found.trust.is_sound(), "{found:?}");
        }
    }
}

/// With a uniform base distribution Delta = log f(v, h), and log Z(beta), its slope and its curvature are known by enumeration.
/// 4 curves x 18 temperatures, strongly correlated: every z-score within 4.5.
#[test]
fn free_curves_are_derivatives_of_log_z() {
    let system = gaussian(12, 6, 0.8, 5).unwrap();
    let curves = free_curves(&run(&system, &BaseDistribution::uniform(12), 400, 2));
    let log_z = |beta| log_partition_at(&system.parameters, &[0.0; 12], beta).unwrap();
    let step = 1e-3;
    let mut largest: f64 = 0.0;
    for point in &curves[1..TEMPERATURES - 1] {
        let beta = point.beta;
        let [below, here, above] = [beta - step, beta, beta + step].map(log_z);
        let energy = -(above - below) / (2.0 * step);
        let heat_capacity = beta * beta * (above - 2.0 * here + below) / (step * step);
        for (name, found, error, exact) in [
            ("log Z", point.log_z, point.log_z_std_error, here),
            ("energy", point.energy, point.energy_std_error, energy),
            ("heat", point.heat_capacity, point.heat_capacity_std_error, heat_capacity),
            ("entropy", point.entropy, point.entropy_std_error, here + beta * energy),
        ] {
            let z = (found - exact) / error;
            assert!(z.abs() < 4.5, "{name} at {beta}: {found} +- {error}, exact {exact}");
            assert!(error < 0.1 * exact.abs(), "{name} at {beta}: {found} +- {error}");
            largest = largest.max(z.abs());
        }
    }
    println!("largest |z|: {largest:.2}");
    let last = &curves[TEMPERATURES - 1];
    assert!((curves[0].entropy - 18.0 * std::f64::consts::LN_2).abs() < 1e-9);
    assert!((last.log_z - system.log_partition).abs() < 4.5 * last.log_z_std_error);
}

/// On a coarse ladder the trapezoid rule is off by far more than its error bar, and says so; the corrected rule is not.
#[test]
fn the_correction_removes_what_the_trapezoid_rule_misses() {
    // Var[Delta] falls from 12 x 64/4 at beta = 0 to almost nothing: the rule errs by about 192/(12 x 9^2) = .2.
    let system = independent_units(vec![8.0; 12], vec![0.0; 3]).unwrap();
    let run = run_on(10, &system, &BaseDistribution::uniform(12), 2000, 3);
    let z = |found: &Estimate| (found.value - system.log_partition) / found.std_error;
    let plain = ti(&run);
    println!(
        "trapezoid {:.1}, corrected {:.1}, {:.1}",
        z(&plain),
        z(&ti_corrected(&run)),
        z(&ti_rb(&run))
    );
    assert!(z(&plain).abs() > 6.0 && !plain.trust.is_sound(), "{plain:?}");
    for corrected in [ti_corrected(&run), ti_rb(&run), ti_spline(&run)] {
        assert!(z(&corrected).abs() < 4.0 && corrected.trust.is_sound(), "{corrected:?}");
    }
}

/// Too few sweeps to connect the ends: no panic, no error bar taken for granted.
#[test]
fn runs_that_are_too_short_are_doubted() {
    let system = gaussian(16, 8, 2.0, 1).unwrap();
    let run = run(&system, &data_like(16), 1, 1);
    for (name, reader) in Method::readers() {
        assert!(!reader.read(&run).trust.is_sound(), "{name}");
    }
}
