//! Tracked against exact log Z on random data with separated modes: codes of 30 to 200 bits, of which 2 to 10 % are flipped. Columns, codes, flips, rows,
//! hidden units (8 to 16, so that log Z is exact), gradient and constant rate are drawn for every seed.
//!
//!     cargo run --release --example planted_codes [-- --quick | --seeds 120 --first-seed 180]

#[path = "support/mod.rs"]
mod support;

use clap::Parser;
use rayon::prelude::*;
use ztrack::config::Config;
use ztrack::data::{Dataset, Splits, Values};
use ztrack::engine::BitMatrix;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::model::exact::log_partition;
use ztrack::record::Run;
use ztrack::training::Trainer;
use ztrack::{Device, Result};

const SETTINGS: &str = "
    [data]
    source = { name = \"bars-and-stripes\", side = 4, rows = 600, noise = 0.02 }
    validation_fraction = 0
    [training]
    batch = 50
    early_stopping = false
    [evaluation]
    every = 50
    exact = false
    images_every = 0
    [audit]
    every = 0
";

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Number of runs
    #[arg(long, default_value_t = 60)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Updates of each run
    #[arg(long, default_value_t = 1500)]
    updates: u64,
}

/// Errors of one evaluation in standard errors.
struct Point {
    sound: bool,
    tracked: f64,
    /// Of the annealed value by its own error, whether it is used or not.
    annealed: Option<f64>,
    used: bool,
}

fn main() -> Result<()> {
    let mut options = Options::parse();
    if options.common.quick {
        (options.seeds, options.updates) = (2, 200);
    }
    let Options { seeds, first_seed, updates, .. } = options;
    let runs = (first_seed..first_seed + seeds).into_par_iter().map(|seed| train(seed, updates));
    let points: Vec<Point> = runs.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    println!(
        "{seeds} runs from seed {first_seed} on, {updates} updates, an evaluation every 50\n\n{:<34}{:>8}{:>10}{:>10}{:>8}{:>10}",
        "", "number", "inside 2", "beyond 4", "rms z", "largest"
    );
    let row = |name: &str, z: &mut dyn Iterator<Item = f64>| {
        let z: Vec<f64> = z.collect();
        let share = |inside: &dyn Fn(f64) -> bool| z.iter().filter(|z| inside(z.abs())).count();
        let n = z.len() as f64;
        println!(
            "{name:<34}{n:>8}{:>9.1}%{:>10}{:>8.2}{:>10.1}",
            100.0 * share(&|z| z <= 2.0) as f64 / n,
            share(&|z| z > 4.0),
            (z.iter().map(|z| z * z).sum::<f64>() / n).sqrt(),
            z.iter().copied().fold(0.0, |a: f64, z| if z.abs() > a.abs() { z } else { a }),
        );
    };
    let sound = || points.iter().filter(|point| point.sound);
    row("all evaluations", &mut points.iter().map(|point| point.tracked));
    row("sound", &mut sound().map(|point| point.tracked));
    row("of these by the chains", &mut sound().filter(|it| !it.used).map(|it| it.tracked));
    row("of these annealed", &mut sound().filter(|it| it.used).map(|it| it.tracked));
    row("annealed values, used or not", &mut points.iter().filter_map(|it| it.annealed));
    Ok(())
}

fn train(seed: u64, updates: u64) -> Result<Vec<Point>> {
    let mut stream = Streams::new(seed, Purpose::Generator, 0).row(0);
    let mut one_of = |values: &[f64]| values[(stream.uniform() * values.len() as f64) as usize];
    let columns = one_of(&[30.0, 60.0, 100.0, 200.0]) as u32;
    let (codes, flips) = (one_of(&[2.0, 4.0, 8.0, 20.0]), one_of(&[0.02, 0.05, 0.1]));
    let (rows, hidden) = (one_of(&[300.0, 1200.0, 3000.0]) as usize, one_of(&[8.0, 12.0, 16.0]));
    let rate = one_of(&[0.05, 0.1, 0.2, 0.4]);
    let gradient = if one_of(&[0.0, 1.0, 2.0]) < 2.0 { "pcd" } else { "cd" };
    let settings = [
        format!("seed={seed}"),
        format!("model.hidden={hidden}"),
        format!("training.updates={updates}"),
        format!("training.gradient={{ kind = \"{gradient}\" }}"),
        format!("training.learning_rate={{ initial = {rate}, schedule = \"constant\" }}"),
    ];
    let cells = |row: usize| {
        let mut stream = Streams::new(seed, Purpose::Generator, 1).row(row as u32);
        // The first codes have most rows.
        let code = (codes * stream.uniform().powi(2)) as u64;
        let of_code = Streams::new(seed, Purpose::Generator, 2 + code);
        let bit = |i| (of_code.row(i).uniform() < 0.5) != (stream.uniform() < flips);
        (0..columns).map(bit).collect::<Vec<bool>>()
    };
    let cells: Vec<Vec<bool>> = (0..rows).map(cells).collect();
    let bits = BitMatrix::from_fn(rows, columns as usize, |row, i| cells[row][i]);
    let train = Dataset::new("codes", Values::Binary(bits), None, None)?;
    let splits = Splits { train, validation: None, test: None };
    let mut trainer = Trainer::new(&Config::parse(SETTINGS, &settings)?, splits, Device::Host)?;
    let mut points = Vec::new();
    while let Some(evaluation) = trainer.next_evaluation()? {
        let log_z = &evaluation.log_z;
        let exact = log_partition(&trainer.parameters())?;
        let get = |tag| evaluation.record.get(Run::Tracker, tag);
        let annealed = get("annealed_log_z").zip(get("annealed_log_z_std_error"));
        points.push(Point {
            sound: log_z.trust.is_sound(),
            tracked: (log_z.value - exact) / log_z.std_error,
            annealed: annealed.map(|(value, std_error)| (value - exact) / std_error),
            used: annealed.is_some_and(|(value, _)| value == log_z.value),
        });
    }
    Ok(points)
}
