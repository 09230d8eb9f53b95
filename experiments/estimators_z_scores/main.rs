//! Is every estimator right within its own error bar? Errors against enumeration, in units of the reported standard error.
//!
//!     cargo run --release --example estimators_z_scores [-- --quick] [--out DIR]
//!
//! 20 random 16x8 models with 9 runs each, and 20 runs of `../shared/models/mnist-h10.npz` if present; then, for the
//! errors at equal budget only, 10 runs of `mnist-cd25-h500.npz` (784 x 500), whose log Z is known to .064 nats. Writes runs.csv,
//! summary.csv, cd25.csv and z_scores.svg. Exit code 1 if a consistent estimator's z-scores have a mean beyond .5 or a standard deviation
//! outside .7 to 1.4, or (AIS, RAISE, TI Riemann) a bias of the wrong sign.

#[path = "../support/mod.rs"]
mod support;

mod cases;
mod scores;

use std::path::{Path as FilePath, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use cases::Case;
use scores::{Score, csv_of, print, save, summarise};
use support::Options;
use ztrack::checkpoint::{ModelFile, write_bytes};
use ztrack::data::{Binarization, Binarizer, Source, SplitOptions, load};
use ztrack::engine::Host;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::BaseDistribution;

const MODELS: u64 = 20;
const CHAINS: usize = 100;
/// log Z of mnist-cd25-h500, +- .064, by long AIS, reverse AIS and Bennett runs.
const CD25: f64 = 451.20;

fn main() -> ExitCode {
    support::exit_code(report())
}

fn report() -> Result<bool> {
    let options = Options::read("estimators_z_scores");
    let (quick, out) = (options.quick, options.folder()?);
    let (small_runs, large_runs) = if quick { (2, 2) } else { (9, 20) };
    let mut scores = Vec::new();
    for model in 0..MODELS {
        let parameters = gaussian_parameters(16, 8, 0.6, 100 + model);
        let case = Case::new(format!("16x8 number {model}"), &parameters, 20, 200)?;
        // A seed of its own for every run: the same random numbers on two models err alike.
        scores.extend(case.runs(model * 1000, small_runs)?);
        eprint!("\r{} of {MODELS} small models", model + 1);
    }
    eprintln!();
    let path = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models/mnist-h10.npz");
    if path.exists() {
        let parameters = ModelFile::load(&path)?.parameters;
        eprintln!("{large_runs} runs of mnist-h10");
        scores.extend(Case::new("mnist-h10".into(), &parameters, 100, 1000)?.runs(0, large_runs)?);
    } else {
        eprintln!("{} is missing: small models only", path.display());
    }
    let small: Vec<Score> = scores.iter().filter(|s| s.model != "mnist-h10").cloned().collect();
    let large: Vec<Score> = scores.iter().filter(|s| s.model == "mnist-h10").cloned().collect();
    println!("{MODELS} random 16x8 models, 20 temperatures, {CHAINS} chains x 200 sweeps");
    print(&summarise(&small));
    if !large.is_empty() {
        println!(
            "\nmnist-h10, 100 temperatures, {CHAINS} chains x 1000 sweeps, base: visible bias"
        );
        print(&summarise(&large));
    }
    println!("\nall");
    let all = summarise(&scores);
    print(&all);
    save(&out, &scores, &all)?;
    if !quick {
        equal_budget_on_cd25(&out)?;
    }
    println!("\nwritten to {}", out.display());
    // Few runs decide nothing.
    Ok(quick || all.iter().all(|summary| summary.passes))
}

/// Errors on a model of working size. Its reference has an error bar of its own, so that z-scores would not be fair.
fn equal_budget_on_cd25(out: &FilePath) -> Result<()> {
    const RUNS: u64 = 10;
    let shared = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let path = shared.join("models/mnist-cd25-h500.npz");
    let data = std::env::var_os("ZTRACK_DATA").map_or(shared.join("datasets"), PathBuf::from);
    let Ok(splits) = load(&Source::Mnist {}, &SplitOptions::default(), &data) else {
        eprintln!("MNIST is missing from {}: mnist-cd25-h500 left out", data.display());
        return Ok(());
    };
    if !path.exists() {
        eprintln!("{} is missing: left out", path.display());
        return Ok(());
    }
    let rows = Binarizer::new(Binarization::Threshold(0.5))?.binarize(&splits.train, 0, 0)?;
    let parameters = ModelFile::load(&path)?.parameters;
    let case = Case {
        name: "mnist-cd25-h500".into(),
        engine: Host::new(&parameters),
        base: BaseDistribution::from_marginals(&rows, 1.0, &ztrack::units::Variables::BITS)?,
        temperatures: 100,
        sweeps: 1000,
        exact: CD25,
        parameters,
    };
    let mut scores = Vec::new();
    for seed in 0..RUNS {
        scores.extend(case.run(seed)?);
        eprint!("\r{} of {RUNS} runs of mnist-cd25-h500", seed + 1);
    }
    eprintln!();
    println!(
        "\nmnist-cd25-h500, 100 temperatures, {CHAINS} chains x 1000 sweeps, base: marginals of MNIST; against {CD25} +- .064"
    );
    print(&summarise(&scores));
    Ok(write_bytes(out.join("cd25.csv"), &csv_of(&scores)?)?)
}
