//! The tracker in a custom training loop: PCD-1 in plain parameters on thresholded MNIST, 784 x 256, batch 100, rate .05 falling. The
//! tracker is called at every tenth update, with the running average (the default of `LogZTracker`) and without. Every value is compared with an
//! `estimate` of the same model that uses rows of the data.
//!
//!     cargo run --release --example own_loop [-- --quick | --averaging 0.1 --seeds 2 --every 1]
//!
//! Exit code 1 if a sound value of the default is beyond four errors, in a table of at most 300 of them.

mod support;

use std::process::ExitCode;

use clap::Parser;
use support::mnist::training_rows;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BitMatrix, Engine, Host};
use ztrack::estimators::{EstimateSettings, Starting};
use ztrack::training::gradient::Particles;
use ztrack::{LogZTracker, Parameters, Result};

const BATCH: usize = 100;
const RATE: f64 = 0.05;
/// Rows that judge, spread over the data.
const JUDGING: usize = 5000;

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Windows of the running average; 0 for none
    #[arg(long, value_delimiter = ',', default_values_t = [0.1, 0.0])]
    averaging: Vec<f64>,
    /// Runs of each
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// The seed of the first
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Updates between calls of the tracker
    #[arg(long, default_value_t = 10)]
    every: u64,
    /// Hidden units; up to 20 are judged exactly
    #[arg(long, default_value_t = 256)]
    hidden: usize,
    /// Updates of a run
    #[arg(long, default_value_t = 3000)]
    updates: u64,
    /// Updates between values
    #[arg(long, default_value_t = 200)]
    values: u64,
}

/// A value beside its judge.
struct Value {
    window: f64,
    seed: u64,
    update: u64,
    tracked: (f64, f64),
    judge: (f64, f64),
    sound: bool,
    judged: bool,
}

impl Value {
    fn errors(&self) -> f64 {
        (self.tracked.0 - self.judge.0) / self.tracked.1.hypot(self.judge.1)
    }
}

fn main() -> ExitCode {
    let mut options = Options::parse();
    options.common = options.common.named("own_loop");
    if options.common.quick {
        (options.hidden, options.updates, options.values, options.seeds) = (16, 200, 50, 1);
    }
    let Some(rows) = training_rows() else {
        println!("skipped: MNIST is not there: ztrack data fetch mnist, or set ZTRACK_DATA");
        return ExitCode::SUCCESS;
    };
    support::exit_code(all(&options, &rows))
}

fn all(options: &Options, rows: &BitMatrix) -> Result<bool> {
    println!("averaging  seed  update      tracked log Z        judged log Z   errors");
    let mut values = Vec::new();
    for &window in &options.averaging {
        for seed in options.first_seed..options.first_seed + options.seeds {
            run(options, rows, window, seed, &mut values)?;
        }
    }
    println!(
        "\naveraging  values  sound  inside 2  beyond 4  low  rms errors (of the sound, judged soundly)"
    );
    let mut good = true;
    for &window in &options.averaging {
        let of = || values.iter().filter(|value| value.window == window);
        let errors: Vec<f64> =
            of().filter(|value| value.sound && value.judged).map(Value::errors).collect();
        let count = |test: &dyn Fn(f64) -> bool| errors.iter().filter(|x| test(**x)).count();
        let (inside, beyond) = (count(&|x| x.abs() <= 2.0), count(&|x| x.abs() > 4.0));
        let rms = (errors.iter().map(|x| x * x).sum::<f64>() / errors.len().max(1) as f64).sqrt();
        println!(
            "{window:9}  {:6}  {:5}  {inside:8}  {beyond:8}  {:3}  {rms:.2}",
            of().count(),
            errors.len(),
            count(&|x| x < 0.0)
        );
        good &= window != 0.1 || beyond <= errors.len() / 300;
    }
    let row = |v: &Value| {
        let numbers = [v.tracked.0, v.tracked.1, v.judge.0, v.judge.1].map(|x| format!("{x:.4}"));
        let start = [v.window.to_string(), v.seed.to_string(), v.update.to_string()];
        [&start[..], &numbers, &[v.sound.to_string(), v.judged.to_string()]].concat()
    };
    let header = [
        "averaging",
        "seed",
        "update",
        "tracked",
        "std_error",
        "judge",
        "judge_std_error",
        "sound",
        "judged",
    ];
    let rows: Vec<Vec<String>> = values.iter().map(row).collect();
    options.common.save_csv("values.csv", &header, &rows)?;
    Ok(good)
}

/// One training; every value that is read is printed and added.
fn run(
    options: &Options,
    rows: &BitMatrix,
    window: f64,
    seed: u64,
    values: &mut Vec<Value>,
) -> Result<()> {
    let mut stream = Streams::new(seed, Purpose::Choice, 1).row(0);
    let mut batch = || {
        let chosen: Vec<usize> =
            (0..BATCH).map(|_| (stream.uniform() * rows.rows() as f64) as usize).collect();
        rows.select(chosen)
    };
    let mut model = start(rows, options.hidden, seed);
    let mut particles = Particles { visible: batch(), seed, sweeps: 0 };
    let builder = LogZTracker::builder(rows).hidden(options.hidden).seed(seed);
    let mut tracker = builder.averaging(window).build()?;
    tracker.update(&model)?;
    let judging = rows.select((0..JUDGING).map(|i| i * rows.rows() / JUDGING));
    for update in 1..=options.updates {
        let engine = Host::new(&model);
        let rate = RATE * (1.0 - 0.9 * update as f64 / (options.updates + 1) as f64);
        let data = engine.moments(&batch(), None);
        particles.sweep(&engine, 1);
        let chains = engine.moments(&particles.visible, None);
        for i in 0..model.n_visible {
            let difference = data.products.row(i).iter().zip(chains.products.row(i));
            let weights = model.weights[i * options.hidden..(i + 1) * options.hidden].iter_mut();
            weights.zip(difference).for_each(|(w, (d, m))| *w += rate as f32 * (d - m));
        }
        follow(&mut model.visible_bias, &data.visible, &chains.visible, rate);
        follow(&mut model.hidden_bias, &data.hidden, &chains.hidden, rate);
        if update % options.every == 0 {
            tracker.update(&model)?;
        }
        if update % options.values == 0 {
            let found = tracker.evaluate()?;
            let settings = EstimateSettings { budget: 8.0, seed: update, ..Default::default() };
            let about = tracker.parameters().unwrap_or(&model);
            let start = Starting { rows: Some(&judging), ..Starting::default() };
            let judged = settings.run(about, start, &mut |_| ())?.estimates.swap_remove(0);
            let value = Value {
                window,
                seed,
                update,
                tracked: (found.value, found.std_error),
                judge: (judged.value, judged.std_error),
                sound: found.trust.is_sound(),
                judged: judged.trust.is_sound(),
            };
            println!(
                "{window:9}  {seed:4}  {update:6}  {:9.3} +- {:6.3}  {:9.3} +- {:6.3}  {:+7.1}  {}{}",
                found.value,
                found.std_error,
                judged.value,
                judged.std_error,
                value.errors(),
                if value.sound { "sound".into() } else { found.trust.names() },
                if value.judged { "" } else { "; the judge is in doubt" }
            );
            values.push(value);
        }
    }
    Ok(())
}

fn follow(bias: &mut [f32], data: &[f64], chains: &[f64], rate: f64) {
    let steps = data.iter().zip(chains).map(|(d, m)| (rate * (d - m)) as f32);
    bias.iter_mut().zip(steps).for_each(|(bias, step)| *bias += step);
}

/// Small weights, and the marginals of the rows.
fn start(rows: &BitMatrix, hidden: usize, seed: u64) -> Parameters {
    let shares = rows.column_counts();
    let logit = |count: u64| {
        let p = (count as f64 / rows.rows() as f64).clamp(0.001, 0.999);
        (p / (1.0 - p)).ln() as f32
    };
    let mut model = Parameters::random(rows.columns(), hidden, 0.01, seed);
    model.visible_bias = shares.into_iter().map(logit).collect();
    model
}
