//! RTS Fig. 4: RMSE of log Z against the number of inverse temperatures K, on the paper's 784x500 MNIST model.
//!
//!     cargo run --release --example number_of_temperatures [-- --quick] [--samples N] [--out DIR]
//!
//! For each K one long run of 100 chains, uniform prior, base distribution from the training marginals: initial rounds, a
//! fifth of the sweeps as burn-in, then N samples (chains x sweeps; the paper: 3 million). Every estimator reads the same 10,000
//! states bootstrapped from it, 200 times (MBAR 20 times, and only to K = 200).
//!
//! Resampled are single states, with replacement, as in the paper, from the states of every n-th sweep of all
//! chains (at most 100,000 states and 2 x 10^7 numbers log f_k are kept). Drawing breaks the correlation along chains, so the
//! spread of the estimates is that of 10,000 independent states, not of 10,000 sweeps. This favours RTS and TS, because it removes the
//! slow walk of a chain along the ladder, more than TI, BAR and MBAR, which use the overlap of neighbouring temperatures.
//! The error of the long run (and the discretization of TI) is common to all estimates of one K, does not average out over
//! repeats, and is the offset. RMSE^2 = offset^2 + spread^2; the error of the RMSE includes the run's standard error (RTS, between
//! chains). The reference itself has an error of .064, so compare RMSEs of methods and of K instead of single values.
//!
//! TI-RB is the corrected rule with Rao-Blackwellized moments; temperatures without states are left out of TI, which
//! interpolates linearly across them as in the paper. Without the shared model or MNIST a small enumerable model is used.
//!
//! Exit code 1 (full size, paper's model only) if from K = 50 on the spread of RTS varies by more than a factor 1.5, or RTS
//! and TI-RB differ by more than a tenth of it.

mod support;

use std::process::ExitCode;

use clap::Parser;
use indicatif::ProgressBar;
use rayon::prelude::*;
use support::bootstrap::Pool;
use support::mnist::{shared_model, training_rows};
use support::{Errors, Options, progress};
use ztrack::estimators::tempered::{KeptRun, bar, mbar, ti, ti_corrected, ti_rb, ts};
use ztrack::model::test_systems::gaussian;
use ztrack::record::{Chart, Series};
use ztrack::tempering::{BaseDistribution, RoundsEnd};
use ztrack::{Error, Estimate, Host, Parameters, Result};

const CHAINS: usize = Pool::CHAINS;
/// MBAR, of cost K^2 a state, is left out above.
const MBAR_MOST: usize = 200;

type Method = (&'static str, fn(&KeptRun) -> Estimate);
const METHODS: [Method; 7] = [
    ("RTS", |run| run.rts()),
    ("TS", ts),
    ("TI trapezoid", ti),
    ("TI corrected", ti_corrected),
    ("TI RB", ti_rb),
    ("BAR", bar),
    ("MBAR", mbar),
];
const RTS: usize = 0;
const TI_RB: usize = 4;
const MBAR: usize = 6;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Samples of each long run, all chains together
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
}

/// How much is done.
struct Size {
    temperatures: &'static [usize],
    samples: usize,
    /// States of a bootstrap sample, a multiple of the number of chains.
    bootstrapped: usize,
    repeats: usize,
    mbar_repeats: usize,
}

const FULL: Size = Size {
    temperatures: &[10, 20, 50, 100, 200, 400],
    samples: 3_000_000,
    bootstrapped: 10_000,
    repeats: 200,
    mbar_repeats: 20,
};
const QUICK: Size = Size {
    temperatures: &[20, 50],
    samples: 20_000,
    bootstrapped: 2000,
    repeats: 20,
    mbar_repeats: 4,
};

struct Model {
    name: &'static str,
    parameters: Parameters,
    base: BaseDistribution,
    /// log Z and where it is from; errors are against the first.
    truths: Vec<(&'static str, f64)>,
}

/// Estimates of one method from bootstrapped samples.
struct Point {
    log_z: Vec<f64>,
    seconds: f64,
    errors: Vec<Errors>,
    spread: f64,
}

impl Point {
    /// `run_error`: the standard error of the long run.
    fn new(estimates: &[&Estimate], truths: &[(&str, f64)], run_error: f64) -> Self {
        let log_z: Vec<f64> = estimates.iter().map(|e| e.value).collect();
        let finite: Vec<f64> = log_z.iter().copied().filter(|value| value.is_finite()).collect();
        let n = finite.len() as f64;
        let mean = finite.iter().sum::<f64>() / n;
        let squares: f64 = finite.iter().map(|x| (x - mean).powi(2)).sum();
        let spread = (squares / n).sqrt();
        let errors = truths.iter().map(|&(_, truth)| {
            let all = Errors::of(&finite, truth);
            let parts = (all.bias * run_error).hypot(spread * spread / (2.0 * n).sqrt());
            Errors { rmse_error: parts / all.rmse, ..all }
        });
        let seconds = estimates.iter().map(|e| e.seconds).sum::<f64>() / estimates.len() as f64;
        Self { errors: errors.collect(), log_z, seconds, spread }
    }
}

/// RMS difference of estimates of the same bootstrapped samples.
fn distance(one: &Point, other: &Point) -> f64 {
    let pairs = one.log_z.iter().zip(&other.log_z).map(|(a, b)| a - b).filter(|d| d.is_finite());
    (pairs.clone().map(|d| d * d).sum::<f64>() / pairs.count() as f64).sqrt()
}

fn paper_model() -> Option<Model> {
    Some(Model {
        name: "mnist-cd25-h500",
        parameters: shared_model("mnist-cd25-h500")?,
        base: BaseDistribution::from_marginals(
            &training_rows()?,
            1.0,
            &ztrack::units::Variables::BITS,
        )
        .ok()?,
        truths: vec![("our reference", 451.20), ("the paper's", 451.255)],
    })
}

fn small_model() -> Result<Model> {
    println!(
        "The shared model or MNIST is missing: a random 16x8 model with exact log Z takes its place.\n"
    );
    let system = gaussian(16, 8, 1.0, 1)?;
    Ok(Model {
        name: "random-16x8",
        truths: vec![("exact", system.log_partition)],
        base: BaseDistribution::uniform(16),
        parameters: system.parameters,
    })
}

/// Every method's estimates from states drawn out of the run.
fn bootstrap(pool: &Pool, k: usize, size: &Size, model: &Model, bar: &ProgressBar) -> Vec<Point> {
    let estimates: Vec<Vec<Estimate>> = (0..size.repeats)
        .into_par_iter()
        .map(|repeat| {
            let run = pool.bootstrap(size.bootstrapped, repeat);
            let slow = k > MBAR_MOST || repeat >= size.mbar_repeats;
            let methods = &METHODS[..if slow { MBAR } else { METHODS.len() }];
            bar.inc(1);
            methods.iter().map(|(_, method)| method(&run)).collect()
        })
        .collect();
    (0..METHODS.len())
        .map(|m| {
            let of: Vec<&Estimate> = estimates.iter().filter_map(|all| all.get(m)).collect();
            Point::new(&of, &model.truths, pool.whole.1)
        })
        .filter(|point| !point.log_z.is_empty())
        .collect()
}

fn csv_rows(k: usize, pool: &Pool, model: &Model, points: &[Point]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (point, (name, _)) in points.iter().zip(&METHODS) {
        for (&(source, truth), errors) in model.truths.iter().zip(&point.errors) {
            let mut row = vec![k.to_string(), name.to_string(), point.log_z.len().to_string()];
            row.extend([source.to_string(), truth.to_string()]);
            let Errors { bias, rmse, rmse_error } = *errors;
            let (log_z, std_error) = pool.whole;
            let numbers = [rmse, rmse_error, bias, point.spread, point.seconds, log_z, std_error];
            row.extend(numbers.map(|x| x.to_string()));
            rows.push(row);
        }
    }
    rows
}

fn main() -> Result<ExitCode> {
    let Arguments { options, samples } = Arguments::parse();
    let options = options.named("number_of_temperatures");
    let size = if options.quick { QUICK } else { FULL };
    let samples = samples.unwrap_or(size.samples);
    if samples < CHAINS {
        let problem = format!("--samples {samples}: the {CHAINS} chains need at least one each");
        return Err(Error::Invalid(problem));
    }
    let model = paper_model().map_or_else(small_model, Ok)?;
    println!(
        "{}: {samples} samples of {CHAINS} chains for each K (the paper: 3 million), {} estimates (MBAR {}) from {} bootstrapped states",
        model.name, size.repeats, size.mbar_repeats, size.bootstrapped
    );
    let engine = Host::new(&model.parameters);
    let bar = progress(size.temperatures.len() * (Pool::STEPS + size.repeats));
    let (mut found, mut rows) = (Vec::new(), Vec::new());
    for &k in size.temperatures {
        bar.set_message(format!("K = {k}: long run"));
        let pool = Pool::run(&engine, &model.base, k, samples / CHAINS, &bar)?;
        bar.set_message(format!("K = {k}: bootstrap"));
        let points = bootstrap(&pool, k, &size, &model, &bar);
        bar.suspend(|| report(k, &pool, &model, &points));
        rows.extend(csv_rows(k, &pool, &model, &points));
        found.push((k, points));
    }
    bar.finish_and_clear();
    compare(&found);
    // Neither another model nor short runs decide anything.
    let good = options.quick || model.truths.len() < 2 || judge(&found);
    let header = [
        "temperatures",
        "method",
        "estimates",
        "truth_from",
        "truth",
        "rmse",
        "rmse_error",
        "offset",
        "spread",
        "seconds",
        "run_log_z",
        "run_std_error",
    ];
    options.save_csv("fig4.csv", &header, &rows)?;
    let rmse = |point: &Point| (point.errors[0].rmse, point.errors[0].rmse_error);
    options.save_chart("fig4.svg", &chart("RMSE of log Z", &model, &found, rmse))?;
    let spread = |p: &Point| (p.spread, p.spread / (2.0 * p.log_z.len() as f64).sqrt());
    options.save_chart("fig4_spread.svg", &chart("spread", &model, &found, spread))?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(k: usize, pool: &Pool, model: &Model, points: &[Point]) {
    println!(
        "\nK = {k}: {} sweeps, a state a chain kept every {}: {} states; {:.1} round trips a chain{}; RTS of all samples {:.3} +- {:.3}; {:.0} s",
        pool.sweeps,
        pool.stride,
        pool.generated_at.len(),
        pool.round_trips as f64 / CHAINS as f64,
        if pool.rounds_end == RoundsEnd::Exhausted { ", rounds did not converge" } else { "" },
        pool.whole.0,
        pool.whole.1,
        pool.seconds
    );
    let sources = model.truths.iter().map(|(source, truth)| format!("{source} {truth:.3}"));
    println!(
        "  {:<14}{:>9}{:>9}{:>9}{:>11}   RMSE against {}",
        "method",
        "offset",
        "spread",
        "missing",
        "ms each",
        sources.collect::<Vec<_>>().join(", ")
    );
    for (point, (name, _)) in points.iter().zip(METHODS) {
        let rmses = point.errors.iter().map(|e| format!("{:.4} +- {:.4}", e.rmse, e.rmse_error));
        println!(
            "  {name:<14}{:>9.4}{:>9.4}{:>9}{:>11.1}   {}",
            point.errors[0].bias,
            point.spread,
            point.log_z.iter().filter(|value| !value.is_finite()).count(),
            1e3 * point.seconds,
            rmses.collect::<Vec<_>>().join(", ")
        );
    }
}

/// The paper's statements (section 4.3) beside what was found.
fn compare(found: &[(usize, Vec<Point>)]) {
    let print = |what: &str, value: &dyn Fn(&[Point]) -> Option<f64>| {
        println!("\n  {what}");
        let cell = |(k, points): &(usize, Vec<Point>)| match value(points) {
            Some(value) => format!("K = {k}: {value:.4}"),
            None => format!("K = {k}: -"),
        };
        println!("    {}", found.iter().map(cell).collect::<Vec<_>>().join("   "));
    };
    println!("\nThe paper's statements (section 4.3; it gives no numbers):");
    print(
        "\"RTS's performance is not greatly affected by adding more temperatures once there are enough\": RMSE of RTS",
        &|points| Some(points[RTS].errors[0].rmse),
    );
    print("its spread alone", &|points| Some(points[RTS].spread));
    print(
        "\"as the number of temperatures increases RTS and TI-RB become increasingly similar\": RMS of RTS - TI-RB",
        &|points| Some(distance(&points[RTS], &points[TI_RB])),
    );
    print(
        "\"MBAR on a large number of temperatures is computationally prohibitive\": seconds of one estimate",
        &|points| points.get(MBAR).map(|point| point.seconds),
    );
    for m in [1, 2, 3] {
        print(
            &format!(
                "\"non-Rao-Blackwellized ... eventually become unstable\": spread of {} / RTS",
                METHODS[m].0
            ),
            &|points| Some(points[m].spread / points[RTS].spread),
        );
    }
    println!();
}

/// Whether the first two statements hold.
fn judge(found: &[(usize, Vec<Point>)]) -> bool {
    let enough = || found.iter().filter(|(k, _)| *k >= 50).map(|(_, points)| points);
    let spreads: Vec<f64> = enough().map(|points| points[RTS].spread).collect();
    let apart = enough().map(|points| distance(&points[RTS], &points[TI_RB]) / points[RTS].spread);
    let apart = apart.fold(0.0, f64::max);
    let largest = spreads.iter().copied().fold(0.0, f64::max);
    let smallest = spreads.iter().copied().fold(f64::INFINITY, f64::min);
    println!(
        "From K = 50 on: spread of RTS within a factor {:.2} (1.5 allowed), RTS - TI-RB at most {apart:.3} of it (.1 allowed)",
        largest / smallest
    );
    largest <= 1.5 * smallest && apart <= 0.1
}

fn chart(
    what: &str,
    model: &Model,
    found: &[(usize, Vec<Point>)],
    value: impl Fn(&Point) -> (f64, f64),
) -> Chart {
    let series = METHODS.iter().enumerate().map(|(m, (name, _))| {
        let values =
            found.iter().filter_map(|(k, points)| Some((*k as f64, value(points.get(m)?))));
        let (points, errors) = values.map(|(k, (y, error))| ((k, y), error)).unzip();
        Series { name: name.to_string(), points, errors, ..Series::default() }
    });
    Chart {
        title: format!("{}: {what} against K (RTS Fig. 4)", model.name),
        x_label: "number of inverse temperatures K".into(),
        y_label: format!("{what}, nats"),
        log_x: true,
        log_y: true,
        series: series.collect(),
        ..Chart::default()
    }
}
