//! MEAN-FIELD Fig. 5 (and 2, 4): how often is AIS within 5 % of log Z, by the distribution it starts from?
//!
//!     cargo run --release --example mean_field_starts [-- --quick] [--models N] [--temperatures K] [--out DIR]
//!
//! Random models of the paper's recipes: Gaussian weights with Gaussian moments, 20 x 180, as they are and with layers
//! exchanged; Ising models and spin glasses on rings of 200 and 16 x 16 (glass: 6 x 6) tori at the paper's temperatures, all
//! with exact log Z. The paper: 100 models a set, 10 runs each, 1024 chains, 4096 temperatures, about a day on this machine.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use ztrack::estimators::{Ais, Start};
use ztrack::model::plus_minus::{Converted, Units, to_binary};
use ztrack::model::test_systems::{
    SpinModel, gaussian_moments, ring, ring_log_partition, square, square_ising_log_partition,
};
use ztrack::model::{Parameters, exact};
use ztrack::ops::Fused;
use ztrack::ops::random::{Purpose, Stream, Streams};
use ztrack::record::{Chart, Series};

/// What counts as right: |estimate - log Z| <= 5 % of |log Z|.
const RIGHT: f64 = 0.05;
const STARTS: [(&str, Start); 4] = [
    ("uniform", Start::Uniform),
    ("pinv", Start::Pinv),
    ("signs", Start::Signs),
    ("exact means", Start::MeanField),
];
/// Exact means cost six enumerations.
const LARGEST_FOR_MEANS: usize = 20;

/// How often AIS is within 5 % of log Z, by its start (MEAN-FIELD Fig. 5)
#[derive(Parser)]
struct Options {
    /// A few seconds instead of minutes
    #[arg(long)]
    quick: bool,
    /// Models of every set [default: 20, quick 4]
    #[arg(long)]
    models: Option<u64>,
    /// AIS chains [default: 200, quick 50]
    #[arg(long)]
    chains: Option<usize>,
    /// AIS temperatures [default: 1000, quick 100]
    #[arg(long)]
    temperatures: Option<usize>,
    /// Folder for CSV and picture
    #[arg(long, default_value = "results/mean_field_starts")]
    out: PathBuf,
}

/// One random model in its own units, with log Z in those units.
struct Model {
    own: Parameters,
    units: Units,
    log_partition: f64,
}

/// A recipe of models.
struct Set {
    name: &'static str,
    draw: fn(&mut Stream, seed: u64, quick: bool) -> ztrack::Result<Model>,
    transposed: bool,
}

const fn set(name: &'static str, draw: fn(&mut Stream, u64, bool) -> ztrack::Result<Model>) -> Set {
    Set { name, draw, transposed: false }
}

const SETS: [Set; 13] = [
    set("GWGM", |_, seed, quick| gwgm(seed, quick)),
    Set { transposed: true, ..set("GWGM transposed", |_, seed, quick| gwgm(seed, quick)) },
    set("1DIsing T=10", |s, _, _| chain(s, 10.0, true)),
    set("1DIsing T=1", |s, _, _| chain(s, 1.0, true)),
    set("1DIsing T=.1", |s, _, _| chain(s, 0.1, true)),
    set("1DSG T=10", |s, _, _| chain(s, 10.0, false)),
    set("1DSG T=1", |s, _, _| chain(s, 1.0, false)),
    set("1DSG T=.1", |s, _, _| chain(s, 0.1, false)),
    set("2DIsing T=10", |s, _, _| torus(s, 10.0)),
    set("2DIsing T=1", |s, _, _| torus(s, 1.0)),
    set("2DIsing T=.1", |s, _, _| torus(s, 0.1)),
    set("2DSG T=10", |s, _, quick| glass(s, 10.0, quick)),
    set("2DSG T=.1", |s, _, quick| glass(s, 0.1, quick)),
];

fn gwgm(seed: u64, quick: bool) -> ztrack::Result<Model> {
    let system =
        if quick { gaussian_moments(12, 108, seed) } else { gaussian_moments(20, 180, seed) }?;
    Ok(Model { own: system.parameters, units: Units::Binary, log_partition: system.log_partition })
}

/// Numbers from the paper's N(-100, 200), over the temperature.
fn interactions(stream: &mut Stream, count: usize, temperature: f64, equal: bool) -> Vec<f64> {
    let mut draw = || (-100.0 + 200.0 * stream.normal()) / temperature;
    if equal { vec![draw(); count] } else { (0..count).map(|_| draw()).collect() }
}

fn spins(model: &SpinModel, log_partition: f64) -> ztrack::Result<Model> {
    let own = model.to_rbm(Units::PlusMinus)?;
    Ok(Model { own: own.parameters, units: Units::PlusMinus, log_partition })
}

fn chain(stream: &mut Stream, temperature: f64, equal: bool) -> ztrack::Result<Model> {
    let mut draw = || interactions(stream, 200, temperature, equal);
    let (couplings, fields) = (draw(), draw());
    spins(&ring(&couplings, &fields)?, ring_log_partition(&couplings, &fields))
}

fn torus(stream: &mut Stream, temperature: f64) -> ztrack::Result<Model> {
    const SIDE: usize = 16;
    let bonds = interactions(stream, SIDE * SIDE, temperature, true);
    let model = square(SIDE, SIDE, &bonds, &bonds, &[0.0; SIDE * SIDE])?;
    spins(&model, square_ising_log_partition(SIDE, SIDE, bonds[0])?)
}

/// Couplings from N(10^4, 10^4); enumerated as an RBM of half the spins.
fn glass(stream: &mut Stream, temperature: f64, quick: bool) -> ztrack::Result<Model> {
    let side = if quick { 4 } else { 6 };
    let n = side * side;
    let mut draw =
        || (0..n).map(|_| 1e4 * (1.0 + stream.normal()) / temperature).collect::<Vec<f64>>();
    let model = square(side, side, &draw(), &draw(), &vec![0.0; n])?;
    let binary = model.to_rbm(Units::Binary)?;
    spins(&model, exact::log_partition(&binary.parameters)? + binary.log_constant)
}

/// Share of right estimates, with a standard error that is not zero where all or none are right.
#[derive(Clone, Copy)]
struct Share {
    right: u64,
    total: u64,
}

impl Share {
    fn percent(self) -> f64 {
        100.0 * self.right as f64 / self.total as f64
    }

    fn error(self) -> f64 {
        let p = (self.right as f64 + 1.0) / (self.total as f64 + 2.0);
        100.0 * (p * (1.0 - p) / self.total as f64).sqrt()
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    let quick = options.quick;
    let models = options.models.unwrap_or(if quick { 4 } else { 20 }).max(1);
    let chains = options.chains.unwrap_or(if quick { 50 } else { 200 });
    let temperatures = options.temperatures.unwrap_or(if quick { 100 } else { 1000 });
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot create {}", options.out.display()))?;
    let mut csv = csv::Writer::from_path(options.out.join("mean_field_starts.csv"))?;
    csv.write_record([
        "set",
        "model",
        "start",
        "log_z",
        "estimate",
        "std_error",
        "relative_error",
    ])?;
    println!(
        "Share of models (%) whose AIS estimate is within 5 % of log Z, +- its standard error.\n\
         {models} models a set, {chains} chains, {temperatures} temperatures; GWGM {}.\n",
        if quick {
            "12 x 108 instead of 20 x 180, 2DSG 4 x 4 instead of 6 x 6"
        } else {
            "20 x 180"
        }
    );
    print!("{:<17}", "set");
    STARTS.iter().for_each(|(name, _)| print!("{name:>14}"));
    println!();
    let mut shares = Vec::new();
    for set in &SETS {
        let mut row = [None; STARTS.len()];
        for seed in 0..models {
            eprint!("\r{:<17} model {} of {models} ", set.name, seed + 1);
            let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(100);
            let mut model = (set.draw)(&mut stream, seed, quick)?;
            if set.transposed {
                model.own = model.own.transposed();
            }
            let Converted { parameters, log_constant, .. } = to_binary(&model.own, model.units)?;
            let ops = Fused::new(&parameters);
            for ((name, start), share) in STARTS.iter().zip(&mut row) {
                let smaller = parameters.n_visible.min(parameters.n_hidden);
                if *start == Start::MeanField && smaller > LARGEST_FOR_MEANS {
                    continue;
                }
                let base = start.base(&model.own, model.units, seed)?;
                let found = Ais { chains, temperatures, seed }.run(&ops, &base)?;
                let error = (found.value + log_constant) / model.log_partition - 1.0;
                let share = share.get_or_insert(Share { right: 0, total: 0 });
                share.right += u64::from(error.abs() <= RIGHT);
                share.total += 1;
                csv.serialize((
                    set.name,
                    seed,
                    name,
                    model.log_partition,
                    found.value + log_constant,
                    found.std_error,
                    error,
                ))?;
            }
        }
        csv.flush()?;
        eprint!("\r{:40}\r", "");
        print!("{:<17}", set.name);
        for share in row {
            match share {
                Some(share) => print!("{:>9.0} +- {:<2.0}", share.percent(), share.error()),
                None => print!("{:>14}", "-"),
            }
        }
        println!();
        shares.push(row);
    }
    statements(&shares);
    picture(&shares)?.save(&options.out.join("mean_field_starts.svg"))?;
    println!("\nCSV and picture: {}", options.out.display());
    Ok(())
}

/// What the paper says of its figures (their bars are not given as numbers), and what was found.
fn statements(shares: &[[Option<Share>; STARTS.len()]]) {
    let percent = |set: usize, start: usize| shares[set][start].map_or(f64::NAN, Share::percent);
    let not_below = |start: usize| {
        let good = |set: &usize| percent(*set, start) >= percent(*set, 0) - 1e-9;
        (0..SETS.len()).filter(good).count()
    };
    let spread = (8..SETS.len())
        .map(|set| {
            (percent(set, 1) - percent(set, 0)).abs().max((percent(set, 2) - percent(set, 0)).abs())
        })
        .fold(0.0, f64::max);
    println!("\n{:<78}here", "the paper");
    for (said, found) in [
        (
            "Fig. 5: Pinv and Signs_h outperform B = 0 in most cases",
            format!("not below in {} and {} of {} sets", not_below(1), not_below(2), SETS.len()),
        ),
        (
            "Fig. 5: without fields (2D sets) all three are alike and very good",
            format!("at most {spread:.0} points apart"),
        ),
        (
            "Fig. 4: from exact means about 20 % of the GWGM models are far off as they are",
            format!("{:.0} %", 100.0 - percent(0, 3)),
        ),
        ("Fig. 4: ... and none with layers exchanged", format!("{:.0} %", 100.0 - percent(1, 3))),
    ] {
        println!("{said:<78}{found}");
    }
}

fn picture(shares: &[[Option<Share>; STARTS.len()]]) -> Result<Chart> {
    let series = STARTS.iter().enumerate().map(|(start, (name, _))| {
        let found =
            || shares.iter().enumerate().filter_map(|(set, row)| row[start].map(|s| (set, s)));
        // A little to the side of each other.
        let x = |set: usize| (set + 1) as f64 + 0.12 * (start as f64 - 1.5);
        Series {
            name: (*name).into(),
            points: found().map(|(set, share)| (x(set), share.percent())).collect(),
            errors: found().map(|(_, share)| share.error()).collect(),
            marks_only: true,
        }
    });
    let names: Vec<String> =
        SETS.iter().enumerate().map(|(i, set)| format!("{} {}", i + 1, set.name)).collect();
    Ok(Chart {
        title: "AIS within 5 % of log Z, by start".into(),
        x_label: names[..2].join(", ")
            + ", 3-5 1DIsing, 6-8 1DSG, 9-11 2DIsing, 12-13 2DSG (T falling)",
        y_label: "models, %".into(),
        series: series.collect(),
        ..Chart::default()
    })
}
