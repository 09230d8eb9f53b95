//! How often is the default estimate of log Z wrong without a doubt?
//!
//!     cargo run --release --example silent_errors [-- --quick] [--held-out [N]] [--only FAMILY] [--seed S] [--out DIR]
//!
//! Enumerable models of many kinds (trained fast and slowly by CD-1, PCD and the tempered gradient on MNIST, dna, bars and stripes and
//! two-mode data; Gaussian; with modes by construction; with large weights; several beside each other), larger ones with a log Z known by construction, each estimated as `ztrack estimate` does for
//! models that cannot be enumerated: no data, no enumeration. z is the error in units of the reported standard error.
//! Models and results are kept in the folder. `--held-out`: other seeds, on which no constant of the estimator was chosen.

#[path = "../support/mod.rs"]
mod support;

mod models;
mod planted;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use ztrack::estimators::{Automatic, Known};

use models::{Data, Recipe, Subject};
use planted::Planted;

/// How often the default estimate of log Z is wrong without saying so
#[derive(Parser)]
struct Options {
    /// A few small models, for seconds instead of minutes
    #[arg(long)]
    quick: bool,
    /// Models of other seeds, larger by this number
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000")]
    held_out: Option<u64>,
    /// Models of these families, or of these names, alone
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Seed of the estimates
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Work that may be done in doubt, seconds
    #[arg(long)]
    budget: Option<f64>,
    /// Folder of models and results
    #[arg(long, default_value = "results/silent_errors")]
    out: PathBuf,
}

/// One model's outcome.
struct Outcome {
    family: &'static str,
    z: f64,
    sound: bool,
    seconds: f64,
}

fn main() -> ExitCode {
    support::exit_code(report(&Options::parse()))
}

/// Whether the bounds are kept: more than 4 errors off without a doubt at most 1 %, doubts on estimates within 3 errors at most 15 %,
/// right and sound at least 80 %.
fn report(options: &Options) -> Result<bool> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut rows = String::from("model,family,exact,log_z,std_error,z,seconds,doubts\n");
    for subject in subjects(options) {
        let folder = options.out.join("models");
        let Some(model) = subject.model(&folder)? else {
            println!("skipped: {} (its data or file is not in ../shared)", subject.name());
            continue;
        };
        let mut automatic = Automatic::new(options.seed + 100 * outcomes.len() as u64)?;
        automatic.budget = options.budget.unwrap_or(automatic.budget);
        let found = automatic.run(&model.parameters, Known::default(), &mut |_| ())?.estimate;
        let z = (found.value - model.log_z) / found.std_error;
        let (name, trust) = (subject.name(), &found.trust);
        println!(
            "{name:<44} {:>14.3} {:>14.3} +- {:<8.3} z {z:>7.1} {:>6.2} s  {}",
            model.log_z,
            found.value,
            found.std_error,
            found.seconds,
            trust.names()
        );
        writeln!(
            rows,
            "{name},{},{},{},{},{z},{},{}",
            subject.family(),
            model.log_z,
            found.value,
            found.std_error,
            found.seconds,
            trust.names()
        )?;
        let (family, sound, seconds) = (subject.family(), trust.is_sound(), found.seconds);
        outcomes.push(Outcome { family, z, sound, seconds });
    }
    std::fs::create_dir_all(&options.out)?;
    let set = if options.held_out.is_some() { "held-out" } else { "results" };
    std::fs::write(options.out.join(format!("{set}-{}.csv", options.seed)), rows)?;
    Ok(summarise(&outcomes))
}

fn summarise(outcomes: &[Outcome]) -> bool {
    let mut families: Vec<&str> = outcomes.iter().map(|outcome| outcome.family).collect();
    families.sort_unstable();
    families.dedup();
    println!(
        "\n{:<24}{:>7}{:>14}{:>12}{:>14}{:>10}{:>12}",
        "", "models", "silent |z|>4", "right+sound", "doubted right", "rms z", "median s"
    );
    families.push("all");
    let mut kept = true;
    for family in families {
        let of: Vec<&Outcome> =
            outcomes.iter().filter(|o| family == "all" || o.family == family).collect();
        let count = |keep: fn(&&&Outcome) -> bool| of.iter().filter(keep).count();
        let silent = count(|o| o.sound && (o.z.is_nan() || o.z.abs() > 4.0));
        let right = count(|o| o.sound && o.z.abs() <= 4.0);
        let doubted = count(|o| !o.sound && o.z.abs() <= 3.0);
        let sound: Vec<f64> = of.iter().filter(|o| o.sound).map(|o| o.z).collect();
        let rms = (sound.iter().map(|z| z * z).sum::<f64>() / sound.len().max(1) as f64).sqrt();
        let mut seconds: Vec<f64> = of.iter().map(|o| o.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let (n, median) = (of.len(), seconds.get(of.len() / 2).copied().unwrap_or(0.0));
        println!("{family:<24}{n:>7}{silent:>14}{right:>12}{doubted:>14}{rms:>10.2}{median:>12.2}");
        if family == "all" {
            let share = |count: usize| count as f64 / n.max(1) as f64;
            kept = share(silent) <= 0.01 && share(doubted) <= 0.15 && share(right) >= 0.8;
        }
    }
    kept
}

/// The models asked for.
fn subjects(options: &Options) -> Vec<Subject> {
    let mut list = if options.quick { quick() } else { all() };
    if let Some(other) = options.held_out {
        list.retain(|subject| !matches!(subject.recipe, Recipe::Shared(_)));
        list.iter_mut().for_each(|subject| subject.seed += other);
    }
    let only = &options.only;
    list.retain(|subject| {
        let named = |name: &String| subject.family() == name || subject.name() == *name;
        only.is_empty() || only.iter().any(named)
    });
    list
}

fn quick() -> Vec<Subject> {
    let recipes = [
        Recipe::Trained(Data::Bars(4), "pcd", 10, 0.1, 300),
        Recipe::Trained(Data::TwoModes(20, 0.05, 0.3), "cd", 10, 0.1, 200),
        Recipe::Gaussian(16, 10, 1.0),
        Recipe::TwoModes(20, 12, 1.0, 0.0),
        Recipe::Patterns(24, 12, 3, 1.0),
        Recipe::Gaussian(12, 10, 20.0),
        Recipe::Planted(Planted::Needle { switches: 60, decoys: 240, weight: 0.4 }),
        Recipe::Planted(Planted::Blocks(6, 1.0)),
        Recipe::Planted(Planted::Islands(2, false)),
        Recipe::Planted(Planted::States(1, 4, 1)),
        Recipe::Together(TOGETHER[0]),
        Recipe::Categorical("8*3+,6*4,10*1+", 10, 1.0),
    ];
    recipes.into_iter().map(|recipe| Subject { recipe, seed: 0 }).collect()
}

fn all() -> Vec<Subject> {
    let mut recipes = vec![Recipe::Shared("mnist-h10"), Recipe::Shared("mnist-h20")];
    for (data, sizes) in [
        (Data::Mnist, [10, 16]),
        (Data::Dna, [12, 16]),
        (Data::Bars(4), [10, 14]),
        (Data::Bars(6), [12, 18]),
    ] {
        for gradient in ["cd", "pcd", "tempered"] {
            for (hidden, rate, updates) in
                [(sizes[0], 0.01, 1000), (sizes[1], 0.05, 2000), (sizes[1], 0.3, 600)]
            {
                recipes.push(Recipe::Trained(data, gradient, hidden, rate, updates));
            }
        }
    }
    recipes.extend(further());
    recipes.extend(planted());
    recipes.extend(TOGETHER.map(Recipe::Together));
    recipes.extend(categorical());
    recipes.into_iter().map(|recipe| Subject { recipe, seed: 0 }).collect()
}

/// Two to five models beside each other: their modes combine.
const TOGETHER: [&[Recipe]; 6] = [
    &[BARS, BARS],
    &[BARS, BARS, BARS],
    &[TWO_MODES, TWO_MODES, TWO_MODES, TWO_MODES],
    &[BARS, PATTERNS, TWO_MODES],
    &[PATTERNS, PATTERNS, PATTERNS],
    &[BARS, TWO_MODES, RANDOM, PATTERNS, BARS],
];
const BARS: Recipe = Recipe::Trained(Data::Bars(4), "pcd", 12, 0.1, 2000);
const TWO_MODES: Recipe = Recipe::Trained(Data::TwoModes(30, 0.05, 0.3), "pcd", 10, 0.1, 600);
const PATTERNS: Recipe = Recipe::Patterns(40, 12, 4, 0.7);
const RANDOM: Recipe = Recipe::Gaussian(30, 12, 1.0);

/// Forty models with categorical variables: random ones, and trained ones of one-hot tables.
fn categorical() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for (kind, hidden) in
        [("30*3+", 10), ("20*4", 14), ("10*10", 12), ("5*20,10*1+", 16), ("8*3+,6*4,10*1+", 14)]
    {
        recipes.extend([0.5, 1.0, 2.0, 4.0].map(|scale| Recipe::Categorical(kind, hidden, scale)));
    }
    let tables = [
        Data::Table("connect4"),
        Data::Table("mushrooms"),
        Data::Potts(20, 5, 0.2),
        Data::Potts(12, 3, 0.05),
        Data::Potts(60, 8, 0.5),
    ];
    for data in tables {
        for (gradient, hidden, rate, updates) in [
            ("pcd", 12, 0.05, 2000),
            ("cd", 16, 0.1, 2000),
            ("tempered", 14, 0.05, 1000),
            ("pcd", 16, 0.3, 600),
        ] {
            recipes.push(Recipe::Trained(data, gradient, hidden, rate, updates));
        }
    }
    recipes
}

/// Models of up to 400 columns and hidden units that cannot be enumerated.
fn planted() -> impl Iterator<Item = Recipe> {
    let needle = |decoys, weight| Planted::Needle { switches: 60, decoys, weight };
    let list = [
        needle(240, 0.4),
        needle(236, 0.38),
        needle(240, 0.245),
        needle(0, 0.5),
        Planted::LowRank(200, 300, 1, 0.05),
        Planted::LowRank(240, 400, 1, 0.1),
        Planted::LowRank(100, 300, 2, 0.1),
        Planted::LowRank(60, 200, 2, 0.2),
        Planted::Blocks(6, 1.0),
        Planted::Blocks(12, 1.0),
        Planted::Blocks(20, 1.5),
        Planted::Blocks(30, 0.7),
        Planted::Islands(2, false),
        Planted::Islands(3, false),
        Planted::Islands(3, true),
        Planted::Islands(4, true),
        Planted::States(1, 4, 1),
        Planted::States(1, 4, 3),
        Planted::States(1, 20, 2),
        Planted::States(1, 20, 3),
        Planted::States(2, 4, 1),
        Planted::States(2, 15, 2),
        Planted::States(3, 8, 1),
        Planted::Tall(16, 300, 0.3),
        Planted::Tall(18, 300, 0.6),
        Planted::Tall(14, 300, 1.5),
    ];
    list.into_iter().map(Recipe::Planted)
}

/// Two-mode data, random and constructed models, and those trained longest.
fn further() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for (m, noise, share) in
        [(12, 0.05, 0.5), (40, 0.1, 0.5), (40, 0.05, 0.2), (100, 0.02, 0.1), (300, 0.1, 0.3)]
    {
        for (gradient, rate) in [("cd", 0.1), ("pcd", 0.05)] {
            recipes.push(Recipe::Trained(Data::TwoModes(m, noise, share), gradient, 14, rate, 600));
        }
    }
    for (m, j) in [(12, 10), (40, 14), (100, 16), (400, 12)] {
        for scale in [0.5, 1.0, 2.0] {
            recipes.push(Recipe::Gaussian(m, j, scale));
        }
    }
    recipes.extend([
        Recipe::TwoModes(20, 12, 1.0, 0.0),
        Recipe::TwoModes(30, 20, 0.6, 0.0),
        Recipe::TwoModes(10, 10, 3.0, 0.0),
        Recipe::TwoModes(40, 14, 0.5, 0.3),
        Recipe::TwoModes(100, 12, 0.3, 0.2),
        Recipe::TwoModes(20, 12, 2.0, 0.5),
        Recipe::Patterns(24, 12, 3, 1.0),
        Recipe::Patterns(40, 16, 4, 0.7),
        Recipe::Patterns(100, 20, 5, 0.5),
        Recipe::Patterns(200, 15, 5, 1.0),
    ]);
    // Trained longer, and as large as can be enumerated.
    for (data, gradient, hidden, rate, updates) in [
        (Data::Mnist, "cd", 20, 0.05, 6000),
        (Data::Mnist, "pcd", 20, 0.05, 6000),
        (Data::Mnist, "cd", 15, 0.2, 6000),
        (Data::Dna, "cd", 20, 0.1, 6000),
        (Data::Dna, "pcd", 20, 0.1, 6000),
        (Data::Bars(8), "cd", 20, 0.1, 4000),
        (Data::Bars(8), "pcd", 20, 0.1, 4000),
        (Data::TwoModes(784, 0.05, 0.4), "cd", 16, 0.05, 600),
    ] {
        recipes.push(Recipe::Trained(data, gradient, hidden, rate, updates));
    }
    recipes.extend([
        Recipe::Gaussian(200, 20, 3.0),
        Recipe::Patterns(784, 20, 8, 0.3),
        Recipe::TwoModes(12, 10, 10.0, 0.0),
        Recipe::TwoModes(30, 12, 10.0, 1.0),
        Recipe::Gaussian(12, 10, 10.0),
        Recipe::Gaussian(40, 14, 10.0),
        Recipe::Gaussian(20, 16, 30.0),
        Recipe::Gaussian(100, 12, 30.0),
        Recipe::Gaussian(12, 12, 100.0),
    ]);
    recipes
}
