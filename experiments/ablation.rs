//! How much does each part of the tracker contribute? Runs of the trainer with one part left out at a time. log Z of every evaluation is
//! compared with exact log Z, which the run does not use: at 16 hidden units, where hidden states are enumerated, and at 300 hidden units on
//! tables of at most 18 columns, where the bound over hidden states is loose and visible states are enumerated.
//!
//!     cargo run --release --example ablation [-- --quick | --without memory,lineages --seeds 3 --first-seed 21]

mod support;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use rayon::prelude::*;
use support::training_sets::{TrainingSet, all, chosen, narrow};
use ztrack::Device;
use ztrack::model::exact::log_partition;
use ztrack::tracking::Part;
use ztrack::training::Trainer;
use ztrack::{Error, Result};

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Parts to leave out one at a time, by name, or several at once joined by `+`; each of them by default
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    /// Seeds of each run
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 21)]
    first_seed: u64,
    /// Updates of each run
    #[arg(long, default_value_t = 3000)]
    updates: u64,
    /// Further overrides of the configuration, as in --set averaging.window=0
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Data sets, by name
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
}

/// What is left out: a part, or what overrides of the configuration switch off.
enum Without {
    Nothing,
    Parts(Vec<Part>),
    Settings(&'static [&'static str]),
}

/// Parts that have a key of the configuration.
const BY_KEY: [(&str, &[&str]); 4] = [
    ("filter (alpha .2)", &["tempering.smoothing={ alpha = 0.2 }"]),
    ("weights", &["tempering.weighted=false"]),
    ("second population", &["tempering.mixture=0"]),
    ("averaging", &["averaging.window=0"]),
];

/// Gradients and rates: usual and aggressive.
const RATES: [(&str, &str, f64); 4] =
    [("pcd", "sgd", 0.02), ("pcd", "sgd", 0.2), ("tempered", "sgd", 0.3), ("pcd", "adam", 0.02)];

/// An evaluation: error, standard error, sound.
type Point = (f64, f64, bool);

fn main() -> ExitCode {
    support::exit_code(report(Options::parse()))
}

fn report(mut options: Options) -> Result<bool> {
    options.common = options.common.named("ablation");
    let quick = options.common.quick;
    let mut groups = [("16 hidden units", 16, all()?), ("300 hidden units", 300, narrow()?)];
    for (_, _, sets) in &mut groups {
        *sets = chosen(std::mem::take(sets), &options.sets);
    }
    if quick {
        options.updates = 200;
        options.without = vec!["lineages".into(), "weights".into()];
        groups.iter_mut().for_each(|(_, _, sets)| sets.truncate(1));
    }
    let names = BY_KEY.iter().map(|(name, _)| *name);
    let names = names.chain(Part::LIST.iter().map(|(name, _)| *name)).map(String::from);
    let asked = if options.without.is_empty() { names.collect() } else { options.without.clone() };
    let mut variants = vec![("nothing".to_string(), Without::Nothing)];
    for name in asked {
        variants.push((name.clone(), without(&name)?));
    }
    let mut rows = Vec::new();
    for (name, hidden, sets) in &groups {
        let names: Vec<&str> = sets.iter().map(|set| set.name).collect();
        println!(
            "{name}; {}; {} updates, an evaluation every 100, seeds {} to {}\n{:<20}{:>7}{:>9}{:>10}{:>10}{:>8}{:>9}{:>9}{:>10}{:>9}",
            names.join(", "),
            options.updates,
            options.first_seed,
            options.first_seed + options.seeds - 1,
            "without",
            "sound",
            "n sound",
            "inside 2",
            "beyond 4",
            "rms z",
            "bias",
            "RMSE",
            "all RMSE",
            "seconds"
        );
        for (without, variant) in &variants {
            let (points, seconds) = runs(*hidden, sets, variant, &options)?;
            let row = summary(&points, seconds);
            println!("{without:<20}{row}");
            for (error, std_error, sound) in points {
                rows.push(vec![
                    (*name).to_string(),
                    without.clone(),
                    error.to_string(),
                    std_error.to_string(),
                    sound.to_string(),
                ]);
            }
        }
        println!();
    }
    let header = ["group", "without", "error", "std_error", "sound"];
    options.common.save_csv("evaluations.csv", &header, &rows)?;
    Ok(true)
}

/// What is named: a key's name, or parts joined by `+`.
fn without(name: &str) -> Result<Without> {
    if let Some((_, settings)) = BY_KEY.iter().find(|(key, _)| *key == name) {
        return Ok(Without::Settings(settings));
    }
    let part =
        |name: &str| Part::LIST.iter().find(|(known, _)| *known == name).map(|(_, part)| *part);
    let unknown = || Error::Invalid(format!("--without {name}: there is no such part"));
    name.split('+').map(part).collect::<Option<Vec<_>>>().map(Without::Parts).ok_or_else(unknown)
}

/// All runs of a group without one part: evaluations, and the mean seconds of a run without enumeration.
fn runs(
    hidden: usize,
    sets: &[TrainingSet],
    without: &Without,
    options: &Options,
) -> Result<(Vec<Point>, f64)> {
    let seeds = options.first_seed..options.first_seed + options.seeds;
    let jobs: Vec<_> = sets
        .iter()
        .flat_map(|set| RATES.iter().map(move |rate| (set, rate)))
        .flat_map(|(set, rate)| seeds.clone().map(move |seed| (set, rate, seed)))
        .collect();
    let found: Vec<(Vec<Point>, f64)> = jobs
        .into_par_iter()
        .map(|(set, rate, seed)| run(hidden, set, *rate, seed, options, without))
        .collect::<Result<_>>()?;
    let seconds = found.iter().map(|(_, seconds)| seconds).sum::<f64>() / found.len() as f64;
    Ok((found.into_iter().flat_map(|(points, _)| points).collect(), seconds))
}

fn run(
    hidden: usize,
    set: &TrainingSet,
    (gradient, rule, rate): (&str, &str, f64),
    seed: u64,
    options: &Options,
    without: &Without,
) -> Result<(Vec<Point>, f64)> {
    let mut settings = vec![
        format!("seed={seed}"),
        format!("model.hidden={hidden}"),
        format!("training.updates={}", options.updates),
        format!("training.gradient={{ kind = \"{gradient}\" }}"),
        format!("training.update={{ rule = \"{rule}\" }}"),
        format!("training.learning_rate.initial={rate}"),
        "evaluation.every=100".into(),
        "evaluation.exact=false".into(),
    ];
    settings.extend(options.overrides.iter().cloned());
    if let Without::Settings(keys) = without {
        settings.extend(keys.iter().map(ToString::to_string));
    }
    let mut trainer = Trainer::new(&set.config(&settings)?, set.splits.clone(), Device::default())?;
    if let Without::Parts(parts) = without {
        parts.iter().for_each(|part| trainer.track_without(*part));
    }
    let (mut points, mut seconds) = (Vec::new(), 0.0);
    loop {
        let start = Instant::now();
        let evaluation = trainer.next_evaluation()?;
        seconds += start.elapsed().as_secs_f64();
        let Some(evaluation) = evaluation else { break };
        let ztrack::LogZ { value, std_error, trust } = evaluation.log_z;
        let exact = log_partition(&trainer.evaluated_parameters())?;
        points.push((value - exact, std_error, trust.is_sound()));
    }
    Ok((points, seconds))
}

fn summary(points: &[Point], seconds: f64) -> String {
    let sound: Vec<(f64, f64)> =
        points.iter().filter(|(_, _, sound)| *sound).map(|(x, error, _)| (*x, *error)).collect();
    let n = sound.len() as f64;
    let mean =
        |of: &dyn Fn(f64, f64) -> f64| sound.iter().map(|(x, e)| of(*x, *e)).sum::<f64>() / n;
    let within = |limit: f64| mean(&|x, e| f64::from(u8::from(x.abs() <= limit * e)));
    let all = points.iter().map(|(x, _, _)| x * x).sum::<f64>() / points.len() as f64;
    format!(
        "{:>6.1}%{n:>9}{:>9.1}%{:>10.0}{:>8.2}{:>9.3}{:>9.3}{:>10.3}{seconds:>9.2}",
        100.0 * n / points.len() as f64,
        100.0 * within(2.0),
        n * (1.0 - within(4.0)),
        mean(&|x, e| (x / e).powi(2)).sqrt(),
        mean(&|x, _| x),
        mean(&|x, _| x * x).sqrt(),
        all.sqrt()
    )
}
