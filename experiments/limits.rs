//! How far does training end from the best that is possible? Two-dimensional Ising models below, at and above the critical coupling, rows
//! by cluster updates (Swendsen and Wang 1987), and the log-likelihood that the source itself gives the validation rows (Kaufman 1949).
//! With `--states 3` Potts models, whose rows are categorical variables and whose log Z is by transfer matrices.
//!
//!     RAYON_NUM_THREADS=1 cargo run --release --example limits [-- --quick | --sides 10 --couplings 0.5 --hidden 50 --seeds 3]
//!     RAYON_NUM_THREADS=1 cargo run --release --example limits -- --states 3 --sides 5,6 --couplings 0.8,1.005,1.1
//!
//! A row of the table: validation minus this limit at the end of the run, the lowest after update 500, the share of evaluations that
//! are sound, CPU seconds. Exit code 1 if sampled energies contradict the formula.

#[path = "mean_field_starts/kaufman.rs"]
mod kaufman;
mod support;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use kaufman::square_ising_log_partition;
use support::lattice;
use support::potts::Potts;
use ztrack::Device;
use ztrack::Result;
use ztrack::config::Config;
use ztrack::data::{Dataset, Splits, Values};
use ztrack::engine::BitMatrix;
use ztrack::record::{Record, Recorder, Run};
use ztrack::training::{NoCheckpoints, Trainer, run};

/// Rows for training, and as many for validation.
const ROWS: usize = 2000;
/// Standard errors by which the mean energy of the rows may differ from the exact one.
const AGREES: f64 = 5.0;
/// Most states of a row of a Potts model.
const MOST: usize = 1000;
/// Updates that the lowest likelihood leaves out.
const EARLY: u64 = 500;

const RECIPES: [(&str, &[&str]); 5] = [
    ("default", &[]),
    ("PCD-1", &["training.exchange=false", "training.rewind=false"]),
    ("exchange", &["training.exchange=true", "training.rewind=false"]),
    ("tempered", &["training.gradient=tempered"]),
    (
        "PCD-10",
        &[
            "training.exchange=false",
            "training.rewind=false",
            "training.gradient={ kind = 'pcd', sweeps = 10, particles = 500 }",
        ],
    ),
];

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Sides of the torus
    #[arg(long, value_delimiter = ',', default_value = "8,10,12")]
    sides: Vec<usize>,
    /// States of a site: 2 is the Ising model
    #[arg(long, default_value_t = 2)]
    states: usize,
    /// Couplings J/T; .4407 is critical, of Potts models log(1 + sqrt(states))
    #[arg(long, value_delimiter = ',', default_value = "0.3,0.44,0.5")]
    couplings: Vec<f64>,
    /// Hidden units
    #[arg(long, value_delimiter = ',', default_value = "50,200")]
    hidden: Vec<usize>,
    /// Seeds, from 1
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Parameter updates
    #[arg(long, default_value_t = 8000)]
    updates: u64,
    /// More settings of every run, KEY=VALUE
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Only these recipes [default: all]
    #[arg(long, value_delimiter = ',')]
    recipes: Vec<String>,
}

fn main() -> ExitCode {
    let mut options = Options::parse();
    if options.common.quick {
        (options.sides, options.couplings) = (vec![8], vec![0.5]);
        (options.hidden, options.seeds, options.updates) = (vec![20], 1, 600);
    }
    options.common = options.common.named("limits");
    support::exit_code(report(&options))
}

fn report(options: &Options) -> Result<bool> {
    println!(
        "{} updates; validation minus the limit, nats a row: at the end, lowest after update {EARLY}; CPU seconds.\n",
        options.updates
    );
    println!(
        "{:<6}{:>9}{:>8}{:>6}  {:<14}{:>9}{:>10}{:>8}{:>9}",
        "side", "coupling", "hidden", "seed", "recipe", "end", "lowest", "sound", "seconds"
    );
    let (mut agree, mut rows) = (true, Vec::new());
    for (&side, &coupling) in
        options.sides.iter().flat_map(|s| options.couplings.iter().map(move |c| (s, c)))
    {
        let source = Source::sampled(side, coupling, options.states)?;
        if source.difference_in_errors.abs() > AGREES {
            agree = false;
            println!(
                "the sampled energy is {:.1} errors from the exact one",
                source.difference_in_errors
            );
        }
        for (&hidden, seed) in
            options.hidden.iter().flat_map(|h| (1..=options.seeds).map(move |s| (h, s)))
        {
            for (name, settings) in RECIPES {
                if !options.recipes.is_empty() && !options.recipes.iter().any(|r| r == name) {
                    continue;
                }
                let config = config(hidden, seed, options, settings)?;
                let (found, seconds) = train(&config, &source)?;
                let cells = [found.last, found.lowest, found.sound_share(), seconds, found.train];
                println!(
                    "{side:<6}{coupling:>9}{hidden:>8}{seed:>6}  {name:<14}{:>9.2}{:>10.1}{:>8.2}{:>9.1}{:>9.2}",
                    cells[0], cells[1], cells[2], cells[3], cells[4]
                );
                let mut row = vec![
                    side.to_string(),
                    coupling.to_string(),
                    hidden.to_string(),
                    seed.to_string(),
                    name.into(),
                ];
                row.extend(cells.map(|cell| format!("{cell:.3}")));
                rows.push(row);
            }
        }
    }
    let header =
        ["side", "coupling", "hidden", "seed", "recipe", "end", "lowest", "sound", "seconds"];
    options.common.save_csv("limits.csv", &header, &rows)?;
    Ok(agree)
}

fn config(hidden: usize, seed: u64, options: &Options, settings: &[&str]) -> Result<Config> {
    // The source is not read: the trainer gets the rows.
    let text = "[data]\nsource = { name = 'bars-and-stripes', side = 3 }\n[evaluation]\nimages_every = 0\n[audit]\nevery = 0";
    let own = [
        format!("seed={seed}"),
        format!("model.hidden={hidden}"),
        format!("training.updates={}", options.updates),
    ];
    let settings = settings.iter().map(ToString::to_string);
    Config::parse(
        text,
        &own.into_iter().chain(settings).chain(options.set.iter().cloned()).collect::<Vec<_>>(),
    )
}

/// Validation likelihoods of a run, minus the limit.
struct Curve {
    limit: f64,
    last: f64,
    train: f64,
    lowest: f64,
    sound: usize,
    evaluations: usize,
}

impl Curve {
    fn sound_share(&self) -> f64 {
        self.sound as f64 / self.evaluations.max(1) as f64
    }
}

impl Recorder for Curve {
    fn record(&mut self, record: &Record) -> Result<()> {
        let Some(value) = record.get(Run::Validation, "log_likelihood") else { return Ok(()) };
        self.last = value - self.limit;
        self.train = record.get(Run::Train, "log_likelihood").unwrap_or(f64::NAN) - self.limit;
        self.evaluations += 1;
        self.sound += usize::from(record.get(Run::Tracker, "sound") == Some(1.0));
        if record.update > EARLY {
            self.lowest = self.lowest.min(self.last);
        }
        Ok(())
    }
}

fn train(config: &Config, source: &Source) -> Result<(Curve, f64)> {
    let (start, cpu) = (Instant::now(), support::cpu_seconds());
    let mut trainer = Trainer::new(config, source.splits.clone(), Device::default())?;
    let mut curve = Curve {
        limit: source.limit,
        last: f64::NAN,
        train: f64::NAN,
        lowest: f64::INFINITY,
        sound: 0,
        evaluations: 0,
    };
    run(&mut trainer, &mut curve, &mut NoCheckpoints)?;
    let seconds = match (cpu, support::cpu_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed().as_secs_f64(),
    };
    Ok((curve, seconds))
}

/// Rows of an Ising or Potts model on a torus.
struct Source {
    splits: Splits,
    /// Mean log-probability of the validation rows under the model they are from: no model of the source is better in expectation.
    limit: f64,
    /// Sampled minus exact mean of the sum over neighbours, in standard errors.
    difference_in_errors: f64,
}

impl Source {
    fn sampled(side: usize, coupling: f64, states: usize) -> Result<Self> {
        if states < 2 || states.pow(side as u32) > MOST && states > 2 {
            let problem = format!("--states {states}, side {side}: too many states of a row");
            return Err(ztrack::Error::Invalid(problem));
        }
        let log_z = |coupling| match states {
            2 => square_ising_log_partition(side, side, coupling),
            _ => Ok(Potts { width: side, length: side, states, coupling }.log_partition()),
        };
        let (rows, sums): (Vec<_>, Vec<_>) =
            lattice::sampled(side, states, coupling, 2 * ROWS).into_iter().unzip();
        let step = 1e-4;
        let exact = (log_z(coupling + step)? - log_z(coupling - step)?) / (2.0 * step);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (all, n) = (mean(&sums), sums.len() as f64);
        let variance = sums.iter().map(|x| (x - all).powi(2)).sum::<f64>() / n;
        // A bit for each spin, or a one-hot variable.
        let (columns, first) = if states == 2 { (1, 1) } else { (states, 0) };
        let part = |name: &str, rows: &[Vec<usize>]| {
            let bits = BitMatrix::from_fn(rows.len(), side * side * columns, |row, i| {
                rows[row][i / columns] == first + i % columns
            });
            Dataset::new(name, Values::Binary(bits), None, None)
        };
        let (train, validation) = rows.split_at(ROWS);
        Ok(Self {
            splits: Splits {
                train: part("train", train)?,
                validation: Some(part("validation", validation)?),
                test: None,
            },
            limit: coupling * mean(&sums[ROWS..]) - log_z(coupling)?,
            difference_in_errors: (all - exact) / (variance / n).sqrt(),
        })
    }
}
