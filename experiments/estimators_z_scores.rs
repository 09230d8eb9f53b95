//! Is every estimator right within its own error bar? Errors against enumeration, in units of the claimed standard error.
//!
//!     cargo run --release --example estimators_z_scores [-- --quick] [--out DIR]
//!
//! 20 random 16x8 models with 9 runs each, and 20 runs of `../shared/models/mnist-h10.npz` where that is present; then, for the
//! errors at equal budget only, 10 runs of `mnist-cd25-h500.npz` (784 x 500), whose log Z is known to .064 nats. Writes runs.csv,
//! summary.csv, cd25.csv and z_scores.svg. Exit code 1 if a consistent estimator's z-scores have a mean beyond .5 or a standard deviation
//! outside .7 to 1.4, or (AIS, RAISE, TI Riemann) a bias of the wrong sign.

use std::path::{Path as FilePath, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::Serialize;
use ztrack::checkpoint::{ModelFile, write_bytes};
use ztrack::data::{Binarization, Binarizer, Source, SplitOptions, load};
use ztrack::estimators::{
    Bias, Equilibrium, Estimate, Method, Rts, Sams, WangLandau, exact, raise, sandwich,
};
use ztrack::model::Parameters;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::ops::Fused;
use ztrack::record::{Chart, Look, Series};
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Prior, SimulatedTempering,
    TemperedChains, Tempering,
};

const MODELS: u64 = 20;
const CHAINS: usize = 100;
/// log Z of mnist-cd25-h500, +- .064, by long AIS, reverse AIS and Bennett runs.
const CD25: f64 = 451.20;

/// Estimators that do not read the shared chains: one line each.
const OTHERS: [Other; 4] = [annealed, raise_from_samples, sams, wang_landau];

/// Estimates of a case from a seed.
type Other = fn(&Case, u64) -> Result<Vec<Estimate>>;

/// A model, how its chains are run, and the truth.
struct Case {
    name: String,
    parameters: Parameters,
    ops: Fused,
    base: BaseDistribution,
    temperatures: usize,
    sweeps: usize,
    exact: f64,
}

/// One estimate of one run.
#[derive(Clone, Serialize)]
struct Score {
    model: String,
    seed: u64,
    method: &'static str,
    bias: Bias,
    log_z: f64,
    std_error: f64,
    exact: f64,
    error: f64,
    z: f64,
    seconds: f64,
    sound: bool,
}

/// All runs of one estimator.
#[derive(Serialize)]
struct Summary {
    method: &'static str,
    bias: Bias,
    runs: usize,
    mean_z: f64,
    sd_z: f64,
    mean_error: f64,
    rmse: f64,
    mean_std_error: f64,
    doubted: usize,
    passes: bool,
}

fn main() -> ExitCode {
    match report() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> Result<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let out = match arguments.iter().position(|argument| argument == "--out") {
        Some(at) => PathBuf::from(arguments.get(at + 1).context("--out: which folder?")?),
        None => PathBuf::from("results/estimators_z_scores"),
    };
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
        ops: Fused::new(&parameters),
        base: BaseDistribution::from_marginals(&rows, 1.0)?,
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

impl Case {
    fn new(
        name: String,
        parameters: &Parameters,
        temperatures: usize,
        sweeps: usize,
    ) -> Result<Self> {
        Ok(Self {
            name,
            parameters: parameters.clone(),
            ops: Fused::new(parameters),
            base: BaseDistribution::from_logits(&parameters.visible_bias)?,
            temperatures,
            sweeps,
            exact: exact(parameters)?.value,
        })
    }

    fn runs(&self, first_seed: u64, runs: u64) -> Result<Vec<Score>> {
        let seeds = first_seed..first_seed + runs;
        let runs: Vec<Vec<Score>> =
            seeds.into_par_iter().map(|seed| self.run(seed)).collect::<Result<_>>()?;
        Ok(runs.concat())
    }

    fn run(&self, seed: u64) -> Result<Vec<Score>> {
        let chains = Rts {
            chains: CHAINS,
            sweeps: self.sweeps,
            ladder: Ladder::linear(self.temperatures, &Prior::Uniform)?,
            beta_update: BetaUpdate::Collapsed,
            initial_rounds: InitialRounds::default(),
            seed,
        };
        let shared = chains.sample_and_keep(&self.ops, &self.base)?;
        let mut found: Vec<Estimate> =
            Method::readers().map(|(_, reader)| reader.read(&shared)).collect();
        for other in OTHERS {
            found.extend(other(self, seed)?);
        }
        Ok(found.into_iter().map(|estimate| self.score(seed, estimate)).collect())
    }

    /// One estimate from chains of its own.
    fn tempered(
        &self,
        seed: u64,
        estimate: impl FnOnce(&mut dyn SimulatedTempering) -> ztrack::Result<Estimate>,
    ) -> Result<Vec<Estimate>> {
        let ladder = Ladder::linear(self.temperatures, &Prior::Uniform)?;
        let path = GeometricPath { ops: &self.ops, ladder: &ladder, base: &self.base };
        let visible = self.base.sample(CHAINS, seed, 0);
        let mut chains = TemperedChains::new(visible, self.temperatures, seed);
        let mut chains = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
        Ok(vec![estimate(&mut chains)?])
    }

    fn score(&self, seed: u64, estimate: Estimate) -> Score {
        let error = estimate.value - self.exact;
        Score {
            model: self.name.clone(),
            seed,
            method: estimate.method.name(),
            bias: estimate.bias,
            log_z: estimate.value,
            std_error: estimate.std_error,
            exact: self.exact,
            error,
            z: error / estimate.std_error,
            seconds: estimate.seconds,
            sound: estimate.trust.is_sound(),
        }
    }
}

/// AIS, reverse AIS from exact samples, and Bennett's acceptance ratio between them.
fn annealed(case: &Case, seed: u64) -> Result<Vec<Estimate>> {
    let ladder = Ladder::linear(case.sweeps, &Prior::Uniform)?;
    let path = GeometricPath { ops: &case.ops, ladder: &ladder, base: &case.base };
    let start = Equilibrium::draw(&case.parameters, &case.ops, &case.base, CHAINS, seed)?;
    Ok(sandwich(&path, CHAINS, &start, seed)?.estimates().into())
}

fn raise_from_samples(case: &Case, seed: u64) -> Result<Vec<Estimate>> {
    let ladder = Ladder::linear(case.sweeps, &Prior::Uniform)?;
    let path = GeometricPath { ops: &case.ops, ladder: &ladder, base: &case.base };
    let samples = Equilibrium::draw(&case.parameters, &case.ops, &case.base, CHAINS, seed)?;
    Ok(vec![raise(&path, &samples.visible, seed)?])
}

fn sams(case: &Case, seed: u64) -> Result<Vec<Estimate>> {
    case.tempered(seed, |chains| Sams::new(case.sweeps).run(chains))
}

fn wang_landau(case: &Case, seed: u64) -> Result<Vec<Estimate>> {
    case.tempered(seed, |chains| WangLandau { sweeps: case.sweeps }.run(chains))
}

fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (mean, (values.map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

/// One summary a method, in the order of the scores.
fn summarise(scores: &[Score]) -> Vec<Summary> {
    let mut methods: Vec<&'static str> = Vec::new();
    for score in scores {
        if !methods.contains(&score.method) {
            methods.push(score.method);
        }
    }
    methods
        .into_iter()
        .map(|method| {
            let of: Vec<&Score> = scores.iter().filter(|score| score.method == method).collect();
            let (mean_z, sd_z) = mean_and_deviation(of.iter().map(|score| score.z));
            let (mean_error, sd_error) = mean_and_deviation(of.iter().map(|score| score.error));
            let n = of.len() as f64;
            let bias = of[0].bias;
            let noise = 3.0 * sd_error / n.sqrt();
            let passes = match bias {
                Bias::Low => mean_error < noise,
                Bias::High => mean_error > -noise,
                Bias::Biased => true,
                Bias::None | Bias::Consistent => mean_z.abs() <= 0.5 && (0.7..=1.4).contains(&sd_z),
            };
            Summary {
                method,
                bias,
                runs: of.len(),
                mean_z,
                sd_z,
                mean_error,
                rmse: (of.iter().map(|score| score.error.powi(2)).sum::<f64>() / n).sqrt(),
                mean_std_error: of.iter().map(|score| score.std_error).sum::<f64>() / n,
                doubted: of.iter().filter(|score| !score.sound).count(),
                passes,
            }
        })
        .collect()
}

fn print(summaries: &[Summary]) {
    println!(
        "{:<14}{:>6}{:>9}{:>8}{:>11}{:>9}{:>10}{:>9}  bias",
        "method", "runs", "mean z", "sd z", "mean error", "RMSE", "claimed", "doubted"
    );
    for s in summaries {
        println!(
            "{:<14}{:>6}{:>9.2}{:>8.2}{:>11.4}{:>9.4}{:>10.4}{:>9}  {:?}{}",
            s.method,
            s.runs,
            s.mean_z,
            s.sd_z,
            s.mean_error,
            s.rmse,
            s.mean_std_error,
            s.doubted,
            s.bias,
            if s.passes { "" } else { "  <- outside" }
        );
    }
}

fn save(out: &FilePath, scores: &[Score], summaries: &[Summary]) -> Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("--out {}", out.display()))?;
    write_bytes(out.join("runs.csv"), &csv_of(scores)?)?;
    write_bytes(out.join("summary.csv"), &csv_of(summaries)?)?;
    let bar = |(i, s): (usize, &Summary)| Series {
        name: s.method.into(),
        points: vec![(i as f64 + 1.0, s.mean_z)],
        errors: vec![s.sd_z],
        look: Look::Marks,
        ..Series::default()
    };
    let chart = Chart {
        title: "z-scores against enumeration: mean, and one standard deviation".into(),
        x_label: "estimator, in the order of the legend".into(),
        y_label: "(estimate - exact)/claimed standard error".into(),
        series: summaries.iter().enumerate().map(bar).collect(),
        ..Chart::default()
    };
    Ok(chart.save(&out.join("z_scores.svg"))?)
}

fn csv_of(rows: &[impl Serialize]) -> Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for row in rows {
        csv.serialize(row)?;
    }
    Ok(csv.into_inner().map_err(|error| error.into_error())?)
}
