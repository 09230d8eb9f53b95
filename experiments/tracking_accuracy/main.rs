//! Is tracked log Z right during training? Tracked against exact log Z at every evaluation of runs of the
//! trainer: data sets x gradients and rates x seeds, with several trackers side by side.
//!
//!     cargo run --release --example tracking_accuracy [-- --quick | --trackers default --seeds 3]
//!
//! Exit code 1 if a row of the default tracker misses its targets.

#[path = "../support/mod.rs"]
mod support;

mod settings;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use rayon::prelude::*;
use settings::{SETTINGS, Setting, TRACKERS};
use support::training_sets::{TrainingSet, all, chosen};
use ztrack::Device;
use ztrack::model::exact::log_partition;
use ztrack::record::{Content, Run};
use ztrack::training::Trainer;
use ztrack::{Result, Trust};

const HIDDEN: usize = 16;

/// What is asked of sound evaluations: share inside 2 errors, share beyond 4, |bias| over RMSE; and of how many are sound, in
/// runs at usual and at aggressive rates.
const COVERAGE: f64 = 0.92;
const BEYOND: f64 = 1.0 / 300.0;
const BIAS: f64 = 0.25;
const SOUND: [f64; 2] = [0.9, 0.6];

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Trackers to run, by name
    #[arg(long, value_delimiter = ',')]
    trackers: Vec<String>,
    /// Data sets to train on, by name
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// Seeds of each run
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Gradients and rates to run, by name
    #[arg(long, value_delimiter = ',')]
    settings: Vec<String>,
    /// Further overrides of the configuration, as in --set tempering.chains=200
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Updates of each run
    #[arg(long, default_value_t = 3000)]
    updates: u64,
}

/// One evaluation.
struct Point {
    exact: f64,
    error: f64,
    std_error: f64,
    trust: Trust,
    update: u64,
    scalars: Vec<(&'static str, f64)>,
}

/// One run.
struct Trained {
    setting: usize,
    set: &'static str,
    seed: u64,
    points: Vec<Point>,
    seconds: f64,
}

fn main() -> ExitCode {
    support::exit_code(report(Options::parse()))
}

fn report(mut options: Options) -> Result<bool> {
    options.common = options.common.named("tracking_accuracy");
    let quick = options.common.quick;
    let settings = if quick { &SETTINGS[..1] } else { &SETTINGS[..] };
    let mut sets = all()?;
    if quick {
        (options.updates, options.seeds) = (300, 1);
        sets.truncate(2);
    }
    let sets = chosen(sets, &options.sets);
    let names: Vec<&str> = sets.iter().map(|set| set.name).collect();
    println!(
        "Tracked minus exact log Z in nats at every 100th of {} updates, {HIDDEN} hidden units, batch 50, seeds {} to {},\n\
         data sets {}. Defaults of [averaging] and [tempering], or as named. sound: share of the evaluations the tracker vouches for;\n\
         of these: RMSE, bias, share inside 2 standard errors, number beyond 4. seconds: a run, tracking included, enumeration not.\n",
        options.updates,
        options.first_seed,
        options.first_seed + options.seeds - 1,
        names.join(", ")
    );
    let wanted = |name: &str| match options.trackers.as_slice() {
        [] => !quick || name == "default",
        given => given.iter().any(|given| given == name),
    };
    let mut good = true;
    let mut rows = Vec::new();
    for (tracker, overrides) in TRACKERS.iter().filter(|(name, _)| wanted(name)) {
        let runs = run(settings, &sets, &options, overrides)?;
        good &= table(tracker, settings, &runs) || quick;
        rows.extend(runs.iter().flat_map(|run| csv_rows(tracker, run)));
    }
    let header: Vec<&str> = COLUMNS.into_iter().chain(RECORDED).collect();
    options.common.save_csv("evaluations.csv", &header, &rows)?;
    Ok(good)
}

/// Every chosen setting on every set with every seed, followed by one tracker.
fn run(
    settings: &[Setting],
    sets: &[TrainingSet],
    options: &Options,
    overrides: &[&str],
) -> Result<Vec<Trained>> {
    let overrides: Vec<String> =
        overrides.iter().map(ToString::to_string).chain(options.overrides.clone()).collect();
    let mut jobs = Vec::new();
    for (setting, Setting { name, .. }) in settings.iter().enumerate() {
        if !options.settings.is_empty() && !options.settings.iter().any(|given| given == name) {
            continue;
        }
        for set in sets {
            for seed in options.first_seed..options.first_seed + options.seeds {
                jobs.push((setting, set, seed));
            }
        }
    }
    let bar = support::progress(jobs.len());
    let runs = jobs
        .into_par_iter()
        .map(|(setting, set, seed)| {
            let run = train(setting, set, seed, options.updates, &overrides);
            bar.inc(1);
            run
        })
        .collect::<Result<_>>()?;
    bar.finish_and_clear();
    Ok(runs)
}

/// Prints one line a setting; whether the default tracker keeps what is asked of it.
fn table(tracker: &str, settings: &[Setting], runs: &[Trained]) -> bool {
    println!(
        "{:<10}{:<18}{:>7}{:>9}{:>9}{:>9}{:>10}{:>9}{:>10}{:>9}",
        "tracker",
        "gradient, rate",
        "sound",
        "RMSE",
        "bias",
        "inside 2",
        "beyond 4",
        "n sound",
        "all RMSE",
        "seconds"
    );
    let mut good = true;
    for (i, setting) in settings.iter().enumerate() {
        let of: Vec<&Trained> = runs.iter().filter(|run| run.setting == i).collect();
        if of.is_empty() {
            continue;
        }
        let points: Vec<&Point> = of.iter().flat_map(|run| &run.points).collect();
        let sound: Vec<&&Point> = points.iter().filter(|point| point.trust.is_sound()).collect();
        let n = sound.len() as f64;
        let mean = |f: &dyn Fn(&Point) -> f64| sound.iter().map(|p| f(p)).sum::<f64>() / n;
        let rmse = mean(&|p| p.error * p.error).sqrt();
        let bias = mean(&|p| p.error);
        let inside = mean(&|p| f64::from(u8::from(p.error.abs() <= 2.0 * p.std_error)));
        let beyond = mean(&|p| f64::from(u8::from(p.error.abs() > 4.0 * p.std_error)));
        let all = points.iter().map(|p| p.error * p.error).sum::<f64>() / points.len() as f64;
        let share = n / points.len() as f64;
        let kept = share >= SOUND[usize::from(setting.aggressive)]
            && inside >= COVERAGE
            && beyond <= BEYOND
            && bias.abs() <= BIAS * rmse;
        let verdict = if kept { "" } else { "  MISSED" };
        println!(
            "{tracker:<10}{:<18}{:>6.1}%{rmse:>9.3}{bias:>9.3}{:>8.1}%{:>10}{:>9}{:>10.3}{:>9.2}{verdict}",
            setting.name,
            100.0 * share,
            100.0 * inside,
            (beyond * n).round(),
            n,
            all.sqrt(),
            of.iter().map(|run| run.seconds).sum::<f64>() / of.len() as f64,
        );
        good &= kept;
    }
    println!();
    good || tracker != "default"
}

/// What names an evaluation, and what it found.
const COLUMNS: [&str; 10] = [
    "tracker",
    "setting",
    "set",
    "seed",
    "update",
    "exact",
    "error",
    "std_error",
    "sound",
    "doubts",
];
/// Scalars kept of every evaluation.
const RECORDED: [&str; 14] = [
    "train_log_f",
    "log_z_bound",
    "samples_log_f",
    "samples_log_f_deviation",
    "settling_sweeps",
    "settling_drift_in_errors",
    "settling_correlation",
    "lag_in_errors",
    "effective_chains",
    "crossed_share",
    "movement_per_round_trip",
    "round_trips_per_1000_sweeps",
    "settled_log_z",
    "settled_log_z_std_error",
];

fn csv_rows(tracker: &str, run: &Trained) -> Vec<Vec<String>> {
    let row = |point: &Point| {
        let mut row = vec![
            tracker.to_string(),
            SETTINGS[run.setting].name.to_string(),
            run.set.to_string(),
            run.seed.to_string(),
            point.update.to_string(),
            point.exact.to_string(),
            point.error.to_string(),
            point.std_error.to_string(),
            u8::from(point.trust.is_sound()).to_string(),
            point.trust.names(),
        ];
        row.extend(RECORDED.iter().map(|name| {
            let value = point.scalars.iter().find(|(tag, _)| tag == name);
            value.map_or(String::new(), |(_, value)| value.to_string())
        }));
        row
    };
    run.points.iter().map(row).collect()
}

/// Trains one model; exact log Z at every evaluation, unknown to the trainer.
fn train(
    index: usize,
    set: &TrainingSet,
    seed: u64,
    updates: u64,
    overrides: &[String],
) -> Result<Trained> {
    let Setting { gradient, update, rate, .. } = SETTINGS[index];
    let settings = [
        format!("seed={seed}"),
        format!("model.hidden={HIDDEN}"),
        format!("training.updates={updates}"),
        format!("training.gradient={{ kind = \"{gradient}\" }}"),
        format!("training.update={{ rule = \"{update}\" }}"),
        format!("training.centering={}", update != "rmsspectral"),
        format!("training.learning_rate.initial={rate}"),
        "evaluation.every=100".into(),
        "evaluation.exact=false".into(),
    ];
    let config = set.config(&[&settings[..], overrides].concat())?;
    let mut trainer = Trainer::new(&config, set.splits.clone(), Device::default())?;
    let mut points = Vec::new();
    let mut seconds = 0.0;
    loop {
        let start = Instant::now();
        let evaluation = trainer.next_evaluation()?;
        seconds += start.elapsed().as_secs_f64();
        let Some(evaluation) = evaluation else { break };
        let exact = log_partition(&trainer.parameters())?;
        let scalar = |entry: &ztrack::record::Entry| match entry.content {
            Content::Scalar(value) if entry.run == Run::Tracker => Some((entry.tag, value)),
            _ => None,
        };
        points.push(Point {
            exact,
            error: evaluation.log_z.value - exact,
            std_error: evaluation.log_z.std_error,
            update: trainer.updates(),
            scalars: evaluation.record.entries.iter().filter_map(scalar).collect(),
            trust: evaluation.log_z.trust,
        });
    }
    Ok(Trained { setting: index, set: set.name, seed, points, seconds })
}
