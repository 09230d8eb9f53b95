//! The comparison that papers on density estimation make with RBMs (Larochelle and Murray 2011, Table 1): 23 hidden units, exact
//! log Z, early stopping on the exact validation log-likelihood; tracked log Z beside the exact one at every evaluation. Then
//! models too large to enumerate, with bounds. Both are compared with simple densities.
//!
//!     cargo run --release --example nade_table [-- --quick | --data-folder sets --hidden 23 --large 200,500 --seeds 3]
//!
//! dna-like is generated; dna, adult, connect-4, mushrooms and web are read if the data folder (ZTRACK_DATA, or ../shared/datasets)
//! has them (`ztrack data fetch NAME`). `--data-folder` names a
//! folder with a folder for each further set, such as sets/mushrooms/{train,valid,test}.libsvm, in any format that `ztrack train` reads.

#[path = "../support/mod.rs"]
mod support;

mod sets;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use sets::Set;
use ztrack::Device;
use ztrack::config::{Config, Suggestion};
use ztrack::data::{
    Baseline, Grouping, MOST_COMPONENTS, Splits, baselines, describe, find_variables,
};
use ztrack::estimators::{Automatic, Equilibrium, Known, Method, sandwich};
use ztrack::tempering::mixture::MixturePath;
use ztrack::tempering::{Ladder, Prior};
use ztrack::tracking::{LogLikelihood, mean_log_f};
use ztrack::training::Trainer;
use ztrack::{BitMatrix, Error, Host, Parameters, Result};

/// Test log-likelihoods of RBMs with 23 hidden units in Table 1 of Larochelle and Murray 2011, nats a row: from memory, not read off the
/// paper. Their dna is another split of the rows than LIBSVM's.
const PUBLISHED: [(&str, f64); 8] = [
    ("adult", -16.26),
    ("connect-4", -22.66),
    ("dna", -96.74),
    ("mushrooms", -15.15),
    ("nips-0-12", -277.37),
    ("ocr-letters", -43.05),
    ("rcv1", -48.88),
    ("web", -29.38),
];
/// Updates between evaluations; one that enumerates 2^23 states takes seconds.
const EVERY: u64 = 500;
/// Largest smaller layer that is enumerated.
const EXACT: usize = 25;
/// Chains and temperatures of the bounds.
const CHAINS: usize = 200;
const TEMPERATURES: usize = 10_000;

/// Options.
#[derive(Clone, Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Folder with a folder for each further data set
    #[arg(long, value_name = "DIR")]
    data_folder: Option<PathBuf>,
    /// Hidden units of the models that are enumerated, at most 25
    #[arg(long, default_value_t = 23)]
    hidden: usize,
    /// Hidden units of models with bounds
    #[arg(long, value_delimiter = ',', default_values_t = [200])]
    large: Vec<usize>,
    /// Number of seeds, from 1
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Train large models again on training and validation rows together, for as many updates as were best
    #[arg(long)]
    refit: bool,
    /// Only these sets [default: all]
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// Keys of the configuration to change, as in --set training.weight_decay=1e-4
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

fn main() -> ExitCode {
    support::exit_code(report(Options::parse()).map(|()| true))
}

fn report(mut options: Options) -> Result<()> {
    options.common = options.common.named("nade_table");
    if options.hidden > EXACT {
        let hidden = options.hidden;
        return Err(Error::Invalid(format!("--hidden {hidden}: at most {EXACT} are enumerated")));
    }
    if options.common.quick {
        options.hidden = options.hidden.min(12);
        options.large = vec![30];
        options.settings.push("training.updates=1000".into());
    }
    let mut sets = sets::all(options.data_folder.as_deref())?;
    if !options.sets.is_empty() {
        sets.retain(|set| options.sets.contains(&set.name));
    }
    if options.common.quick {
        sets.truncate(1);
    }
    println!(
        "Mean log-likelihood of test rows, nats a row, of the model that is best on the validation rows; +- is one standard error over the rows\n\
         (and of log Z, where it is estimated). Default training: see `ztrack config explain training`. Seconds of {} threads.\n",
        rayon::current_num_threads()
    );
    for set in &sets {
        print_set(set, &options)?;
    }
    Ok(())
}

fn print_set(set: &Set, options: &Options) -> Result<()> {
    let rows = |part: &Option<BitMatrix>| part.as_ref().map_or(0, BitMatrix::rows);
    println!(
        "{}: {} rows to train on, {} to validate, {} to test, {} columns",
        set.name,
        set.train.rows(),
        rows(&set.validation),
        rows(&set.test),
        set.train.columns()
    );
    let variables = find_variables(&set.train);
    if let Some(found) = Grouping::of(&variables, &set.train.column_counts(), set.train.rows()) {
        println!("  {found}");
    }
    for Baseline { name, detail, parts } in baselines(&set.parts(), &variables, MOST_COMPONENTS, 1)?
    {
        let Some(test) = parts.iter().find(|part| part.part == "test") else { continue };
        println!("  {:<38}{:>9.3} +- {:.3}  {detail}", name, test.mean, test.std_error);
    }
    if let Some((_, published)) = PUBLISHED.iter().find(|(name, _)| *name == set.name) {
        println!("  {:<38}{published:>9.2}           recalled", "RBM, 23 hidden units, published");
    }
    for seed in 1..=options.seeds {
        let trained = train(set, options.hidden, seed, options)?;
        let name = format!("RBM, {} hidden units, exact", options.hidden);
        println!("  {name:<38}{}  seed {seed}, {}", shown(trained.test), trained.how());
        println!(
            "  {:<38}{}  log Z {:+.1} errors from exact; over {} evaluations rms {:.2}, at most {:.1}, {} sound",
            "  tracked",
            shown(trained.tracked_test),
            trained.score(),
            trained.scores.len(),
            (trained.scores.iter().map(|z| z * z).sum::<f64>() / trained.scores.len() as f64)
                .sqrt(),
            trained.scores.iter().fold(0.0_f64, |most, z| most.max(z.abs())),
            trained.sound
        );
        for &hidden in &options.large {
            let mut trained = train(set, hidden, seed, options)?;
            if options.refit {
                println!("  {:<38}{}  {}", "  before refit", shown(trained.test), trained.how());
                trained = train(&set.merged(), hidden, seed, &options.updates(trained.update))?;
            }
            let [lower, between, upper] = bounds(set, &trained.parameters, seed)?;
            let name = format!("RBM, {hidden} hidden units, estimated");
            println!("  {name:<38}{}  seed {seed}, {}", shown(between), trained.how());
            println!("  {:<38}{}", "  tracked", shown(trained.tracked_test));
            println!("  {:<38}{}  reverse annealing", "  below", shown(lower));
            println!("  {:<38}{}  annealing", "  above", shown(upper));
        }
    }
    println!();
    Ok(())
}

fn shown(value: LogLikelihood) -> String {
    format!("{:>9.3} +- {:.3}", value.value, value.std_error)
}

impl Options {
    /// The same with another number of updates.
    fn updates(&self, updates: u64) -> Self {
        let mut options = self.clone();
        options.settings.push(format!("training.updates={updates}"));
        options
    }
}

/// A model trained by the defaults of the program.
struct Trained {
    parameters: Parameters,
    /// By the best log Z there is: exact, or that of the last audit.
    test: LogLikelihood,
    /// Of the validation rows, which decide.
    validation: Option<LogLikelihood>,
    tracked_test: LogLikelihood,
    /// Tracked and exact log Z of the best model.
    log_z: (f64, f64, f64),
    /// Tracked minus exact log Z of every evaluation, in errors of the former; none where log Z is not enumerated.
    scores: Vec<f64>,
    sound: usize,
    update: u64,
    updates: u64,
    seconds: f64,
}

impl Trained {
    /// Tracked minus exact log Z of the best model, in errors.
    fn score(&self) -> f64 {
        (self.log_z.0 - self.log_z.2) / self.log_z.1
    }

    fn how(&self) -> String {
        let validation = self.validation.map_or(String::new(), |validation| {
            format!(", validation {:.3} +- {:.3}", validation.value, validation.std_error)
        });
        format!(
            "best of {} updates: {}{validation}, {:.0} s",
            self.updates, self.update, self.seconds
        )
    }
}

/// Trains as `ztrack train` does with nothing but data and a number of hidden units.
fn train(set: &Set, hidden: usize, seed: u64, options: &Options) -> Result<Trained> {
    let exact = hidden <= EXACT;
    let data = describe(&set.dataset("train", &set.train)?);
    let text =
        Suggestion { source: "rows", data: &data, brings: [set.validation.is_some(), true] }.toml();
    let mut settings = vec![
        format!("seed={seed}"),
        format!("model.hidden={hidden}"),
        format!("evaluation.every={EVERY}"),
        format!("evaluation.exact={exact}"),
        "evaluation.images_every=0".into(),
        "audit.every=0".into(),
    ];
    settings.extend(options.settings.iter().cloned());
    let config = Config::parse(&text, &settings)?;
    let splits = Splits {
        train: set.dataset("train", &set.train)?,
        validation: set.optional("validation", &set.validation)?,
        test: set.optional("test", &set.test)?,
    };
    let clock = Instant::now();
    let mut trainer = Trainer::new(&config, splits, &Device::default())?;
    // Tracked values by update: the best model's are looked up at the end.
    let (mut tracked, mut scores, mut sound) = (Vec::new(), Vec::new(), 0);
    while let Some(evaluation) = trainer.next_evaluation()? {
        let (log_z, std_error) = evaluation.log_z;
        tracked.push((trainer.updates(), log_z, std_error));
        sound += usize::from(evaluation.trust.is_sound());
        if exact {
            scores.push((log_z - evaluation.judged.log_z) / std_error);
        }
        if evaluation.decision.is_some_and(|decision| decision.stop) {
            break;
        }
    }
    let best = trainer.audited_best()?;
    let (update, parameters, found) = match best {
        Some(best) => {
            let candidate = best.candidate;
            (candidate.update, candidate.parameters.as_ref().clone(), best.likelihood)
        }
        None => {
            let parameters = trainer.parameters();
            let found = trainer.final_likelihood(&parameters)?;
            (trainer.updates(), parameters, found)
        }
    };
    let seconds = clock.elapsed().as_secs_f64();
    let test = found.test.ok_or_else(|| Error::Invalid("no test rows".into()))?;
    let (_, log_z, std_error) = tracked
        .into_iter()
        .find(|(at, ..)| *at == update)
        .ok_or_else(|| Error::Invalid("the run has no evaluation".into()))?;
    let tracked_test = set.test_likelihood(&parameters, log_z, std_error)?;
    let log_z = (log_z, std_error, found.log_z.value);
    let updates = trainer.updates();
    Ok(Trained {
        parameters,
        test,
        validation: found.validation,
        tracked_test,
        log_z,
        scores,
        sound,
        update,
        updates,
        seconds,
    })
}

/// Test log-likelihoods by reverse annealing, by Bennett's ratio of both passes, and by annealing: in expectation below, between and above, on a path from
/// a mixture fitted to the modes that were found.
fn bounds(set: &Set, parameters: &Parameters, seed: u64) -> Result<[LogLikelihood; 3]> {
    let engine = Host::new(parameters);
    let base = ztrack::tempering::BaseDistribution::from_marginals(
        &set.train,
        1.0,
        &parameters.variables,
    )?;
    let known = Known { marginals: Some(&base), rows: Some(&set.train), ..Known::default() };
    let found = Automatic::new(seed)?.start(parameters, known, &mut |_| ())?;
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
    let path = MixturePath { engine: &engine, ladder: &ladder, base: &found.mixture };
    let seed = Method::Sandwich.seed(seed);
    let start = Equilibrium::draw_from(parameters, &engine, &found, CHAINS, seed)?;
    let [lower, between, upper] = &sandwich(&path, CHAINS, &start, seed)?.estimates();
    let of =
        |log_z: &ztrack::Estimate| set.test_likelihood(parameters, log_z.value, log_z.std_error);
    Ok([of(upper)?, of(between)?, of(lower)?])
}

impl Set {
    fn test_likelihood(
        &self,
        parameters: &Parameters,
        log_z: f64,
        error: f64,
    ) -> Result<LogLikelihood> {
        let test = self.test.as_ref().ok_or_else(|| Error::Invalid("no test rows".into()))?;
        Ok(mean_log_f(&Host::new(parameters), test).log_likelihood(log_z, error))
    }
}
