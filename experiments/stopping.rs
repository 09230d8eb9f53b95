//! Does early stopping stop at the right update, and save the right model? Overfitting runs of the trainer with
//! default stopping, compared by exact log Z with the same runs without it, which give the true best model.
//!
//!     cargo run --release --example stopping [-- --quick | --hidden 100 --truth-every 5 [--sets mnist --temperatures 30000]]
//!
//! Models whose smaller layer has more than 20 units are evaluated by annealed importance sampling instead.
//!
//! Exit code 1 if the mean regret or the update of a stop misses its target.

mod support;

use std::process::ExitCode;

use clap::Parser;
use rayon::prelude::*;
use support::training_sets::{TrainingSet, all, binary, chosen, few, ising, validation};
use ztrack::Device;
use ztrack::Result;
use ztrack::config::Config;
use ztrack::engine::{BitMatrix, Host};
use ztrack::estimators::Ais;
use ztrack::model::Parameters;
use ztrack::model::exact::mean_log_likelihood;
use ztrack::record::Notice;
use ztrack::tempering::{BaseDistribution, Ladder, Prior};
use ztrack::tracking::mean_log_f;
use ztrack::training::{Best, Trainer};

/// Most nats a row given away in the mean, with exact evaluations and with tracked ones; and how early a stop may come, as a
/// share of the update of the true best.
const REGRET: [f64; 2] = [0.05, 0.1];
const EARLIEST: f64 = 0.5;
/// The same where log Z is estimated.
const REGRET_ESTIMATED: f64 = 0.3;
/// Largest smaller layer that is enumerated; chains of the annealing that judges others.
const EXACT: usize = 20;
const CHAINS: usize = 100;
/// Updates between evaluations.
const EVERY: u64 = 100;

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Seed of the runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Updates of a run that nothing stops
    #[arg(long, default_value_t = 20_000)]
    updates: u64,
    /// Hidden units
    #[arg(long, default_value_t = 16)]
    hidden: usize,
    /// Gradients
    #[arg(long, value_delimiter = ',', default_values_t = ["pcd".to_string(), "tempered".to_string()])]
    gradients: Vec<String>,
    /// Data sets [default: all]
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// Temperatures of the annealing that judges models too large to enumerate
    #[arg(long, default_value_t = 3000)]
    temperatures: usize,
    /// Fraction of the updates up to the best model that the cooldown takes; 0 for none
    #[arg(long, default_value_t = 0.5)]
    cooldown: f64,
    /// Every so many evaluations are compared with the model that was kept
    #[arg(long, default_value_t = 1)]
    truth_every: u64,
}

/// One run.
struct Outcome {
    set: &'static str,
    gradient: String,
    exact: bool,
    stopped: Option<u64>,
    kept: u64,
    kept_value: f64,
    best: u64,
    best_value: f64,
    sound: (u64, u64),
}

impl Outcome {
    /// Nats a row that the kept model gives away.
    fn regret(&self) -> f64 {
        self.best_value - self.kept_value
    }
}

fn main() -> ExitCode {
    support::exit_code(report(Options::parse()))
}

fn report(options: Options) -> Result<bool> {
    let options = Options { common: options.common.named("stopping"), ..options };
    let quick = options.common.quick;
    let updates = if quick { 1000 } else { options.updates };
    // Few rows, so that every run overfits.
    let sets = all()?.into_iter().chain([ising()]).map(|set| few(set, 300)).collect();
    let mut sets = chosen(sets, &options.sets);
    if quick {
        sets.truncate(1);
    }
    println!(
        "Runs of {updates} updates on 300 rows, {} hidden units, rate .05, batch 50, seed {}, default early stopping, cooldown {}. stop: update\n\
         at which it decides; kept: the model it keeps; regret: exact validation log-likelihood of the best evaluation of a run of the same\n\
         seed without early stopping minus that of the kept model, nats a row. sound: evaluations of the run.\n",
        options.hidden, options.seed, options.cooldown
    );
    let runs = run(&sets, &options, updates)?;
    print(&runs);
    let mut good = true;
    for (exact, limit) in [true, false].into_iter().zip(REGRET) {
        let of: Vec<&Outcome> = runs.iter().filter(|run| run.exact == exact).collect();
        good &= of.is_empty() || as_asked(exact, limit, &of, options.hidden);
    }
    Ok(good || quick)
}

/// Every set with every gradient, and with exact evaluations where they can be had.
fn run(sets: &[TrainingSet], options: &Options, updates: u64) -> Result<Vec<Outcome>> {
    let mut jobs = Vec::new();
    for set in sets {
        for gradient in &options.gradients {
            let exact: &[bool] = if options.hidden <= EXACT { &[true, false] } else { &[false] };
            jobs.extend(exact.iter().map(|exact| (set, gradient, *exact)));
        }
    }
    let bar = support::progress(jobs.len());
    let runs = jobs
        .into_par_iter()
        .map(|(set, gradient, exact)| {
            let run = train(set, gradient, exact, options, updates);
            bar.inc(1);
            run
        })
        .collect::<Result<_>>()?;
    bar.finish_and_clear();
    Ok(runs)
}

fn print(runs: &[Outcome]) {
    println!(
        "{:<12}{:<10}{:<9}{:>8}{:>8}{:>10}{:>8}{:>10}{:>9}{:>10}",
        "data", "gradient", "log Z", "stop", "kept", "value", "best", "value", "regret", "sound"
    );
    for run in runs {
        println!(
            "{:<12}{:<10}{:<9}{:>8}{:>8}{:>10.3}{:>8}{:>10.3}{:>9.3}{:>6}/{}",
            run.set,
            run.gradient,
            evaluations(run.exact),
            run.stopped.map_or("never".into(), |update| update.to_string()),
            run.kept,
            run.kept_value,
            run.best,
            run.best_value,
            run.regret(),
            run.sound.0,
            run.sound.1,
        );
    }
}

fn evaluations(exact: bool) -> &'static str {
    if exact { "exact" } else { "tracked" }
}

/// Whether runs with exact or with tracked evaluations, at least one, keep what is asked.
fn as_asked(exact: bool, limit: f64, of: &[&Outcome], hidden: usize) -> bool {
    let regret = of.iter().map(|run| run.regret()).sum::<f64>() / of.len() as f64;
    let early = of
        .iter()
        .filter(|run| run.stopped.is_some_and(|stop| (stop as f64) < EARLIEST * run.best as f64));
    let early = early.count();
    println!(
        "\n{} evaluations: mean regret {regret:.3} nats a row (at most {limit}), {early} of {} stopped before half of the update of the true best (none)",
        evaluations(exact),
        of.len()
    );
    if hidden <= EXACT {
        return early == 0 && regret <= limit;
    }
    let within = of.iter().filter(|run| run.regret() <= REGRET_ESTIMATED).count();
    println!("{within} of {} kept models within {REGRET_ESTIMATED} nats of the best", of.len());
    early == 0 && within == of.len()
}

/// A run as the command makes it, and the same without early stopping, which has the true best model.
fn train(
    set: &TrainingSet,
    gradient: &str,
    exact: bool,
    options: &Options,
    updates: u64,
) -> Result<Outcome> {
    let begin = |stopping: bool| {
        let config = config(set, gradient, exact, options, updates, stopping)?;
        Trainer::new(&config, set.splits.clone(), Device::default())
    };
    let judge = Judge::new(set, options)?;
    let mut run = begin(true)?;
    let mut stopped = None;
    while run.over().is_none() {
        let Some(evaluation) = run.next_evaluation()? else { break };
        let stops = evaluation.notices.iter().any(|it| matches!(it, Notice::EarlyStopping { .. }));
        stopped = stopped.or(stops.then_some(run.updates()));
    }
    let sound = (run.standing().judged, run.standing().evaluations);
    // The models that may be the best are audited at the end, as the command does.
    let kept = match run.audited_best()? {
        Some(Best { candidate, .. }) => (candidate.update, judge.value(&candidate.parameters)?),
        None => (run.updates(), judge.value(&run.parameters())?),
    };
    let mut whole = begin(false)?;
    let mut best = (0, f64::NEG_INFINITY);
    while whole.next_evaluation()?.is_some() {
        if (whole.updates() / EVERY).is_multiple_of(options.truth_every) {
            let now = judge.value(&whole.parameters())?;
            if now > best.1 {
                best = (whole.updates(), now);
            }
        }
    }
    Ok(Outcome {
        set: set.name,
        gradient: gradient.into(),
        exact,
        stopped,
        kept: kept.0,
        kept_value: kept.1,
        best: best.0,
        best_value: best.1,
        sound,
    })
}

fn config(
    set: &TrainingSet,
    gradient: &str,
    exact: bool,
    options: &Options,
    updates: u64,
    stopping: bool,
) -> Result<Config> {
    let Options { seed, hidden, .. } = options;
    // Of these variables 300 rows do not have all states.
    let bits = ["connect-4", "mushrooms", "adult"].contains(&set.name);
    let groups = bits.then(|| "data.groups=false".to_string());
    let settings = [
        format!("seed={seed}"),
        format!("model.hidden={hidden}"),
        format!("training.updates={updates}"),
        format!("training.gradient={{ kind = \"{gradient}\" }}"),
        "training.centering=true".into(),
        "training.learning_rate.initial=0.05".into(),
        format!("training.early_stopping={stopping}"),
        format!("training.cooldown={}", options.cooldown),
        format!("evaluation.every={EVERY}"),
        format!("evaluation.exact={exact}"),
    ];
    set.config(&settings.into_iter().chain(groups).collect::<Vec<_>>())
}

/// Tells the validation log-likelihood of a model: exact, or by annealing where that takes too long.
struct Judge {
    validation: BitMatrix,
    train: BitMatrix,
    temperatures: usize,
    seed: u64,
}

impl Judge {
    fn new(set: &TrainingSet, options: &Options) -> Result<Self> {
        let validation = validation(set)?;
        let train = binary(set, &set.splits.train)?;
        Ok(Self { validation, train, temperatures: options.temperatures, seed: options.seed })
    }

    fn value(&self, parameters: &Parameters) -> Result<f64> {
        if parameters.n_visible.min(parameters.n_hidden) <= EXACT {
            return mean_log_likelihood(parameters, &self.validation);
        }
        let engine = Host::new(parameters);
        let base = BaseDistribution::from_marginals(&self.train, 1.0, &parameters.variables)?;
        let ladder = Ladder::linear(self.temperatures, &Prior::Uniform)?;
        let log_z = Ais { chains: CHAINS, ladder, seed: self.seed }.run(&engine, &base)?.value;
        Ok(mean_log_f(&engine, &self.validation).mean - log_z)
    }
}
