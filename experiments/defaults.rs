//! Are the defaults good? `ztrack train FILE` with data alone, compared with tuned settings: exact log-likelihood of test
//! rows and seconds, on seven sets (dna and MNIST if the data folder has them).
//!
//!     RAYON_NUM_THREADS=1 cargo run --release --example defaults [-- --quick | --sets dna --set training.learning_rate=0.2]
//!
//! `--set` tries other settings instead of those of the table.
//!
//! Exit code 1 if the defaults are worse than the best settings of the table by more than .3 nats per row on more than two sets or by
//! more than .55 on any set, or take more than a minute.

mod support;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use support::glyphs;
use support::training_sets::{self, TrainingSet};
use ztrack::Device;
use ztrack::config::{Config, Suggestion};
use ztrack::data::{SplitOptions, describe, generators, load};
use ztrack::model::exact::mean_log_likelihood;
use ztrack::record::{Record, Recorder};
use ztrack::training::{NoCheckpoints, Trainer, run};
use ztrack::{Error, Result};

/// Most nats a row that the defaults may lose, on all sets but `EXCEPTIONS` and on these, which Adam fits better; and most seconds of
/// one core they may take.
const LOSS: f64 = 0.3;
const EXCEPTIONS: usize = 2;
const EXCEPTIONAL_LOSS: f64 = 0.55;
const SECONDS: f64 = 60.0;
/// Small enough for exact likelihoods.
const HIDDEN: &str = "model.hidden=16";

/// What the recipes change of the defaults: the gradient stays centered, the rate falls to zero.
const TUNED: [(&str, &[&str]); 6] = [
    ("PCD-1, rate .2", &["training.learning_rate=0.2"]),
    ("PCD-5, rate .5", &[PCD_5, "training.learning_rate=0.5"]),
    ("PCD-10, Adam .005", &[PCD_10, "training.update=adam", "training.learning_rate=0.005"]),
    ("PCD-10, Adam .02", &[PCD_10, "training.update=adam", "training.learning_rate=0.02"]),
    (
        "tempered, rate .2",
        &[
            "training.gradient=tempered",
            "tempering.chains=200",
            "training.updates=10000",
            "training.early_stopping=true",
            "training.learning_rate=0.2",
        ],
    ),
    (
        "PCD-1, batch 50, 40000 updates",
        &["training.batch=50", "training.updates=40000", "training.early_stopping=true"],
    ),
];
const PCD_5: &str = "training.gradient={ kind = 'pcd', sweeps = 5, particles = 500 }";
const PCD_10: &str = "training.gradient={ kind = 'pcd', sweeps = 10, particles = 200 }";

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Only these sets [default: all]
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// A recipe of one's own, key by key
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

struct Outcome {
    validation: f64,
    test: f64,
    update: u64,
    updates: u64,
    seconds: f64,
}

fn main() -> ExitCode {
    support::exit_code(report(&Options::parse()))
}

fn report(options: &Options) -> Result<bool> {
    let quick: &[&str] = if options.common.quick { &["training.updates=300"] } else { &[] };
    let own: Vec<&str> = options.settings.iter().map(String::as_str).collect();
    let own_name = own.join(" ");
    let mut recipes = TUNED.to_vec();
    if !own.is_empty() {
        recipes = vec![(&own_name, &own)];
    }
    if options.common.quick {
        recipes.truncate(1);
    }
    let sets = training_sets::chosen(sets()?, &options.sets);
    println!(
        "16 hidden units; exact log-likelihood of validation and test rows, nats a row; update of the best model; CPU seconds, {} threads.\n",
        rayon::current_num_threads()
    );
    println!(
        "{:<12}{:<38}{:>11}{:>10}{:>8}{:>9}{:>9}",
        "data", "recipe", "validation", "test", "best", "updates", "seconds"
    );
    let (mut good, mut exceptions) = (true, 0);
    for set in sets {
        let name = set.name;
        let train = |recipe: &str, settings: &[&str]| -> Result<Outcome> {
            let outcome = train(&set, &[settings, quick].concat())?;
            println!(
                "{name:<12}{recipe:<38}{:>11.3}{:>10.3}{:>8}{:>9}{:>9.1}",
                outcome.validation, outcome.test, outcome.update, outcome.updates, outcome.seconds
            );
            Ok(outcome)
        };
        let default = train("default", &[])?;
        let mut best = f64::NEG_INFINITY;
        let mut test = f64::NAN;
        for (recipe, settings) in &recipes {
            let tuned = train(recipe, settings)?;
            if tuned.validation > best {
                (best, test) = (tuned.validation, tuned.test);
            }
        }
        let loss = test - default.test;
        println!("{name:<12}the defaults lose {loss:.3} nats a row to the best of validation\n");
        exceptions += usize::from(loss > LOSS);
        good &= loss <= EXCEPTIONAL_LOSS && default.seconds <= SECONDS;
    }
    Ok((good && exceptions <= EXCEPTIONS) || options.common.quick)
}

fn sets() -> Result<Vec<TrainingSet>> {
    let options =
        SplitOptions { validation_fraction: 0.1, test_fraction: 0.2, ..SplitOptions::default() };
    let generated = |source| load(&source, &options, Path::new(""));
    let bars = generators::BarsAndStripes { side: 5, rows: 2000, noise: 0.02, seed: 0 };
    let dna = generators::DnaLike { rows: 3000, seed: 0 };
    let set = |name, splits| TrainingSet { name, splits };
    let mut sets = vec![
        set("bars", generated(ztrack::data::Source::BarsAndStripes(bars))?),
        set("dna-like", generated(ztrack::data::Source::DnaLike(dna))?),
        set("8x8", glyphs::splits(2000)),
    ];
    sets.extend(training_sets::multimodal());
    sets.extend(training_sets::real()?);
    Ok(sets)
}

/// As `ztrack train FILE --set ...` trains, the records and models left out.
fn train(set: &TrainingSet, settings: &[&str]) -> Result<Outcome> {
    let splits = &set.splits;
    let data = &describe(&splits.train);
    let text = Suggestion { source: "my.csv", settings: &[], data, brings: [true, true] }.toml();
    let settings: Vec<String> = [HIDDEN].iter().chain(settings).map(ToString::to_string).collect();
    let config = Config::parse(&text, &settings)?;
    let (start, cpu) = (Instant::now(), support::cpu_seconds());
    let mut trainer = Trainer::new(&config, splits.clone(), Device::default())?;
    run(&mut trainer, &mut Nothing, &mut NoCheckpoints)?;
    let best = trainer.audited_best()?;
    let seconds = match (cpu, support::cpu_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed().as_secs_f64(),
    };
    let (update, parameters) = match &best {
        Some(best) => (best.candidate.update, best.candidate.parameters.as_ref().clone()),
        None => (trainer.updates(), trainer.parameters()),
    };
    let value = |part: &Option<ztrack::data::Dataset>| match part {
        Some(part) => mean_log_likelihood(&parameters, &training_sets::binary(set, part)?),
        None => Err(Error::Invalid(format!("{name}: no rows", name = set.name))),
    };
    Ok(Outcome {
        validation: value(&splits.validation)?,
        test: value(&splits.test)?,
        update,
        updates: trainer.updates(),
        seconds,
    })
}

/// Keeps nothing.
struct Nothing;

impl Recorder for Nothing {
    fn record(&mut self, _record: &Record) -> Result<()> {
        Ok(())
    }
}
