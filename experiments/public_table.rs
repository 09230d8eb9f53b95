//! Are the numbers of a run right on a public table? Runs on pumsb_star (163 columns), or on another table of the folders starai and nade
//! of the data folder (ZTRACK_DATA, else ../shared/datasets). Some thirty evaluations of each run and its best model, as reported, are compared with a reference: the automatic estimate of
//! the same model with the training rows, and from the weights alone. If these two differ, there is no reference. That of a best model is the
//! mean of four. The best models are kept as results/public_table/HIDDEN-PRESET-SEED.safetensors.
//!
//!     cargo run --release --example public_table [-- --quick | --table bbc --hidden 300 --presets best --seeds 3 --without "preferred states"]
//!
//! Exit code 1 if a reported best model is beyond 3 errors of its reference, more than 1 in 300 sound evaluations beyond 4, or less than a third
//! sound.

mod support;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use ztrack::Device;
use ztrack::checkpoint::ModelFile;
use ztrack::config::Config;
use ztrack::data::{SplitOptions, load};
use ztrack::engine::BitMatrix;
use ztrack::estimators::{Automatic, Known};
use ztrack::tempering::BaseDistribution;
use ztrack::tracking::Part;
use ztrack::training::{LastAudits, Trainer};
use ztrack::{Error, Parameters, Result};

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// The table: files NAME.train.csv.gz and so on
    #[arg(long, default_value = "pumsb_star")]
    table: String,
    /// Hidden units
    #[arg(long, value_delimiter = ',', default_values_t = [100, 300])]
    hidden: Vec<usize>,
    /// Presets
    #[arg(long, value_delimiter = ',', default_values = ["good", "best"])]
    presets: Vec<String>,
    /// Seeds of each run
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Evaluations of a run that are judged
    #[arg(long, default_value_t = 30)]
    judged: usize,
    /// A part of the tracker that is left out, as in the example `ablation`
    #[arg(long, value_name = "PART")]
    without: Option<String>,
    /// Further overrides of the configuration
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Estimates of each kind that judge a best model.
const LONG: u64 = 4;

/// log Z and its standard error.
type Value = (f64, f64);

/// An evaluation, kept to be judged.
struct Kept {
    update: u64,
    value: Value,
    sound: bool,
    parameters: Arc<Parameters>,
}

fn errors(a: Value, b: Value) -> f64 {
    (a.0 - b.0) / a.1.hypot(b.1)
}

fn main() -> ExitCode {
    let mut options = Options::parse();
    options.common = options.common.named("public_table");
    support::exit_code(report(&options))
}

fn report(options: &Options) -> Result<bool> {
    let folder = support::training_sets::folder();
    let quick = options.common.quick;
    let source = if quick {
        Some("\"bars-and-stripes\"".to_string())
    } else {
        ["starai", "nade"].into_iter().find_map(|of| source(&folder, of, &options.table))
    };
    let Some(source) = source else {
        println!("skipped: {}.train.csv.gz is not in {}", options.table, folder.display());
        return Ok(true);
    };
    let known = |name: &String| Part::LIST.iter().find(|(part, _)| part == name);
    let without = options.without.as_ref().map(|name| {
        let unknown = || Error::Invalid(format!("--without {name}: there is no such part"));
        known(name).map(|(_, part)| *part).ok_or_else(unknown)
    });
    let without = without.transpose()?;
    let (hidden, seeds) =
        if quick { (vec![24], 1) } else { (options.hidden.clone(), options.seeds) };
    println!(
        "hidden preset seed   sound  judged  inside 2  beyond 4  rms z    best: reported        judge        errors   test"
    );
    let (mut sound_and_judged, mut beyond, mut good) = (0, 0, true);
    let mut rows = Vec::new();
    for hidden in hidden {
        for preset in &options.presets {
            for seed in options.first_seed..options.first_seed + seeds {
                let length = if quick { "updates = 400\nbatch = 50" } else { "" };
                let text = format!(
                    "seed = {seed}\n[data]\nsource = {source}\nvalidation_fraction = {}\n[model]\nhidden = {hidden}\n[training]\npreset = \"{preset}\"\n{length}",
                    // Where there are validation rows, the fraction is not used.
                    if quick { 0.2 } else { 0.1 }
                );
                let config = Config::parse(&text, &options.overrides)?;
                let run = run(&config, &folder, options.judged, without)?;
                let judged: Vec<(f64, &Judged)> = run
                    .evaluations
                    .iter()
                    .filter(|e| e.sound && e.judge.is_some())
                    .filter_map(|e| Some((errors(e.value, e.judge?), e)))
                    .collect();
                let count = |limit: f64| judged.iter().filter(|(z, _)| z.abs() <= limit).count();
                let rms = (judged.iter().map(|(z, _)| z * z).sum::<f64>()
                    / judged.len().max(1) as f64)
                    .sqrt();
                let far = judged.len() - count(4.0);
                let best = run.best_judge.map(|judge| errors(run.best, judge));
                let file = format!("{hidden}-{preset}-{seed}.safetensors");
                ModelFile::from(Parameters::clone(&run.parameters))
                    .save(options.common.folder()?.join(file))?;
                println!(
                    "{hidden:>6} {preset:<6} {seed:>4} {:>6.0}% {:>7} {:>9} {:>9} {rms:>6.2}   {:>9.3} +- {:.3}  {}  {}  {}",
                    100.0 * run.sound,
                    judged.len(),
                    count(2.0),
                    far,
                    run.best.0,
                    run.best.1,
                    run.best_judge.map_or("-".into(), |(z, e)| format!("{z:.3} +- {e:.3}")),
                    best.map_or("-".into(), |z| format!("{z:+.1}")),
                    run.test.map_or("-".into(), |test| format!("{test:.3}"))
                );
                for e in &run.evaluations {
                    let judge = e.judge.map_or([f64::NAN; 2], |(z, error)| [z, error]);
                    println!(
                        "    update {:>6}  {:>9.3} +- {:.3}  judge {:>9.3} +- {:.3}  {:+.1} errors{}",
                        e.update,
                        e.value.0,
                        e.value.1,
                        judge[0],
                        judge[1],
                        errors(e.value, (judge[0], judge[1])),
                        if e.sound { "" } else { "  in doubt" }
                    );
                    let numbers = [e.value.0, e.value.1, judge[0], judge[1]];
                    let mut row = vec![hidden.to_string(), preset.clone(), seed.to_string()];
                    row.extend([e.update.to_string(), e.sound.to_string()]);
                    row.extend(numbers.map(|x| x.to_string()));
                    rows.push(row);
                }
                sound_and_judged += judged.len();
                beyond += far;
                good &= best.is_none_or(|z| z.abs() <= 3.0) && run.sound >= 1.0 / 3.0;
            }
        }
    }
    println!("{beyond} of {sound_and_judged} sound evaluations beyond 4 errors");
    let header = [
        "hidden",
        "preset",
        "seed",
        "update",
        "sound",
        "log_z",
        "std_error",
        "judge",
        "judge_error",
    ];
    options.common.save_csv("evaluations.csv", &header, &rows)?;
    Ok(quick || good && beyond as f64 <= (sound_and_judged as f64 / 300.0).max(1.0))
}

/// An evaluation beside its judge.
struct Judged {
    update: u64,
    value: Value,
    sound: bool,
    judge: Option<Value>,
}

struct Run {
    evaluations: Vec<Judged>,
    /// Share of all evaluations.
    sound: f64,
    best: Value,
    best_judge: Option<Value>,
    /// Of the best model.
    parameters: Arc<Parameters>,
    /// Mean log-likelihood of the test rows, if there are any.
    test: Option<f64>,
}

/// The files of a table, without those that are not there; `None` if there are no training rows.
fn source(folder: &Path, of: &str, table: &str) -> Option<String> {
    let file = |part: &str| format!("{of}/{table}.{part}.csv.gz");
    let is_there = |part: &str| folder.join(file(part)).is_file();
    let named = |(key, part): (&str, &str)| format!(", {key} = \"{}\"", file(part));
    let parts = [("train", "train"), ("validation", "valid"), ("test", "test")];
    let parts: String = parts.into_iter().filter(|(_, part)| is_there(part)).map(named).collect();
    is_there("train").then(|| format!("{{ name = \"files\"{parts} }}"))
}

fn run(config: &Config, folder: &Path, most: usize, without: Option<Part>) -> Result<Run> {
    let options = SplitOptions {
        validation_fraction: config.data.validation_fraction,
        ..SplitOptions::default()
    };
    let splits = load(&config.data.source, &options, folder)?;
    let mut trainer = Trainer::new(config, splits, &Device::Host)?;
    without.into_iter().for_each(|part| trainer.track_without(part));
    let mut kept: Vec<Kept> = Vec::new();
    // Every so many evaluations one is kept; twice as many wherever there are too many.
    let (mut count, mut sound, mut stride) = (0, 0, 1);
    while trainer.over().is_none()
        && let Some(evaluation) = trainer.next_evaluation()?
    {
        count += 1;
        sound += usize::from(evaluation.log_z.trust.is_sound());
        if count % stride == 0 {
            kept.push(Kept {
                update: trainer.updates(),
                value: (evaluation.log_z.value, evaluation.log_z.std_error),
                sound: evaluation.log_z.trust.is_sound(),
                parameters: trainer.evaluated_parameters(),
            });
        }
        if kept.len() > 2 * most {
            stride *= 2;
            let mut i = 0;
            kept.retain(|_| {
                i += 1;
                i % 2 == 0
            });
        }
    }
    let rows = trainer.train_rows();
    let (best, parameters, test) = match trainer.last_audits()? {
        LastAudits::Best(best) => {
            let test = best.likelihood.test.map(|test| test.value);
            let log_z = &best.likelihood.log_z;
            ((log_z.value, log_z.std_error), best.candidate.parameters, test)
        }
        LastAudits::Last(last) => {
            let test = last.test.map(|test| test.value);
            ((last.log_z.value, last.log_z.std_error), Arc::new(trainer.parameters()), test)
        }
    };
    let evaluations = kept.into_iter().map(|Kept { update, value, sound, parameters }| {
        Ok(Judged { update, value, sound, judge: judge(&parameters, rows, update)? })
    });
    Ok(Run {
        evaluations: evaluations.collect::<Result<_>>()?,
        sound: sound as f64 / f64::from(count.max(1) as u32),
        best,
        best_judge: long_judge(&parameters, rows)?,
        parameters,
        test,
    })
}

/// The mean of [`LONG`] references: the reported value of a best model has about the error of one of them.
fn long_judge(parameters: &Parameters, rows: &BitMatrix) -> Result<Option<Value>> {
    let all: Result<Vec<_>> = (1..=LONG).map(|seed| judge(parameters, rows, seed)).collect();
    let sound: Vec<Value> = all?.into_iter().flatten().collect();
    let n = sound.len() as f64;
    let mean = sound.iter().map(|(value, _)| value).sum::<f64>() / n;
    let error = sound.iter().map(|(_, error)| error * error).sum::<f64>().sqrt() / n;
    Ok((!sound.is_empty()).then_some((mean, error)))
}

/// The estimate with rows, where it is sound and that from the bare weights does not find more.
fn judge(parameters: &Parameters, rows: &BitMatrix, seed: u64) -> Result<Option<Value>> {
    let marginals = BaseDistribution::from_marginals(rows, 1.0, &parameters.variables)?;
    let rows = rows.spread(2000);
    let known = Known { marginals: Some(&marginals), rows: Some(&rows), ..Known::default() };
    let of = |known, seed| -> Result<_> {
        Ok(Automatic::new(seed)?.run(parameters, known, &mut |_| ())?.estimate)
    };
    let (with_rows, bare) = (of(known, 1000 + seed)?, of(Known::default(), 2000 + seed)?);
    let [a, b] = [&with_rows, &bare].map(|e| (e.value, e.std_error));
    let agree = !bare.trust.is_sound() || errors(b, a) <= 4.0;
    Ok((with_rows.trust.is_sound() && agree).then_some(a))
}
