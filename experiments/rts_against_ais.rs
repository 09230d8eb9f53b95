//! RTS Fig. 3: bias and RMSE of RTS and AIS against Gibbs sweeps, on the paper's 784x500 MNIST model and one of 784x100.
//!
//!     cargo run --release --example rts_against_ais [-- --quick] [--out DIR]
//!
//! 100 chains, K = 100 temperatures with uniform prior for RTS, base distribution from the training marginals of binarized
//! MNIST, 10 initial rounds of 50 sweeps at most, all counted in the budget; AIS takes as many temperatures as RTS sweeps.
//! The rounds start from an annealing pass of the same chains (100 sweeps, counted), not from the paper's zeta_k = log Z_1.
//! "RTS-bias" is the same with the first-order bias of eq. 15 subtracted, which gives no improvement in the paper (section 5).
//! Needs the shared models and MNIST (folder in ZTRACK_DATA); without them a small enumerable model is used.
//!
//! Exit code 1 if RTS misses the paper's RMSE by more than 1.6 or AIS is better at equal sweeps (full size only).

mod support;

use std::process::ExitCode;

use indicatif::ProgressBar;
use support::mnist::{shared_model, training_rows};
use support::{Errors, Options, progress};
use ztrack::engine::BitMatrix;
use ztrack::estimators::raise;
use ztrack::model::exact::samples;
use ztrack::model::test_systems::gaussian;
use ztrack::record::{Chart, Series};
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Occupancy, Prior,
    SimulatedTempering, TemperedChains, Tempering,
};
use ztrack::{Ais, Host, Parameters, Result};

const CHAINS: usize = 100;
const TEMPERATURES: usize = 100;
/// The paper's error may be exceeded by this much.
const TOLERANCE: f64 = 1.6;

/// A model with what is known of its log Z.
struct Model {
    name: &'static str,
    parameters: Parameters,
    base: BaseDistribution,
    /// Training rows, for RAISE.
    rows: BitMatrix,
    /// log Z and where it is from; errors are against the first.
    truths: Vec<(&'static str, f64)>,
    /// Sweeps, RMSE of RTS and of AIS as the paper's figure shows them.
    paper: &'static [(usize, f64, f64)],
}

/// Methods compared, each from a budget of sweeps and a seed; one that gives several values has a name for each.
type Method = (&'static [&'static str], fn(&Model, usize, u64) -> Result<Vec<f64>>);
const METHODS: [Method; 3] =
    [(&["RTS", "RTS-bias"], rts), (&["AIS"], ais), (&["RAISE"], from_above)];

fn rts(model: &Model, budget: usize, seed: u64) -> Result<Vec<f64>> {
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
    let engine = Host::new(&model.parameters);
    let path = GeometricPath { engine: &engine, ladder: &ladder, base: &model.base };
    let mut chains = TemperedChains::new(model.base.sample(CHAINS, seed, 0), TEMPERATURES, seed);
    let mut chains = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
    let rounds = InitialRounds { sweeps: 50, most: 10, annealed_start: true };
    let zeta = rounds.run(&mut chains).measurement.log_z;
    let left = budget.saturating_sub(chains.sweeps_done() as usize).max(2);
    // A fifth of what is left settles the chains under the new zeta.
    chains.sweep(&zeta, (left / 5).max(1));
    let mut occupancy = Occupancy::new(CHAINS, TEMPERATURES);
    let counted = left - (left / 5).max(1);
    occupancy.add(&chains.sweep(&zeta, counted).occupancy, counted);
    let found = occupancy.measure(&ladder, &zeta);
    let (log_z, bias) = (found.log_z[TEMPERATURES - 1], found.bias[TEMPERATURES - 1]);
    Ok(vec![log_z, log_z - bias])
}

fn ais(model: &Model, budget: usize, seed: u64) -> Result<Vec<f64>> {
    let settings = Ais { chains: CHAINS, ladder: Ladder::linear(budget, &Prior::Uniform)?, seed };
    Ok(vec![settings.run(&Host::new(&model.parameters), &model.base)?.value])
}

/// RAISE from training rows, as the paper has it.
fn from_above(model: &Model, budget: usize, seed: u64) -> Result<Vec<f64>> {
    let ladder = Ladder::linear(budget, &Prior::Uniform)?;
    let engine = Host::new(&model.parameters);
    let path = GeometricPath { engine: &engine, ladder: &ladder, base: &model.base };
    let first = seed as usize * CHAINS % (model.rows.rows() - CHAINS + 1);
    Ok(vec![raise(&path, &model.rows.select(first..first + CHAINS), seed)?.value])
}

/// The shared models, or `None` if one of them or MNIST is missing.
fn mnist_models(quick: bool) -> Option<Vec<Model>> {
    let rows = training_rows()?;
    let base =
        BaseDistribution::from_marginals(&rows, 1.0, &ztrack::units::Variables::BITS).ok()?;
    let mut models = Vec::new();
    if !quick {
        models.push(Model {
            name: "mnist-cd25-h500",
            parameters: shared_model("mnist-cd25-h500")?,
            base: base.clone(),
            rows: rows.clone(),
            truths: vec![("the paper's", 451.255), ("our reference", 451.20)],
            paper: &[(1000, 0.43, 1.06), (10_000, 0.10, 0.43)],
        });
    }
    models.push(Model {
        name: "mnist-h100",
        parameters: shared_model("mnist-h100")?,
        base,
        rows,
        truths: vec![("our reference", 348.407)],
        paper: &[],
    });
    Some(models)
}

fn small_model() -> Result<Vec<Model>> {
    println!(
        "The shared models or MNIST are missing: a random 16x8 model with exact log Z takes their place.\n"
    );
    let system = gaussian(16, 8, 1.0, 1)?;
    let truths = vec![("exact", system.log_partition)];
    let base = BaseDistribution::uniform(16);
    let rows = samples(&system.parameters, 1000, 1)?;
    let parameters = system.parameters;
    Ok(vec![Model { name: "random-16x8", parameters, base, rows, truths, paper: &[] }])
}

/// Values of one method at one budget, one a seed.
struct Found {
    method: &'static str,
    budget: usize,
    values: Vec<f64>,
}

fn measure(
    model: &Model,
    (budgets, repeats): (&[usize], u64),
    bar: &ProgressBar,
) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    for (names, method) in METHODS {
        for &budget in budgets {
            bar.set_message(format!("{} {} {budget}", model.name, names[0]));
            let empty = |&method| Found { method, budget, values: Vec::new() };
            let mut found: Vec<Found> = names.iter().map(empty).collect();
            for seed in 0..repeats {
                let values = method(model, budget, seed)?;
                found.iter_mut().zip(values).for_each(|(found, value)| found.values.push(value));
                bar.inc(1);
            }
            all.extend(found);
        }
    }
    Ok(all)
}

impl Found {
    fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Against the first truth.
    fn errors(&self, model: &Model) -> Errors {
        Errors::of(&self.values, model.truths[0].1)
    }

    /// The RMSE of the paper's figure.
    fn paper(&self, model: &Model) -> Option<f64> {
        let &(_, rts, ais) = model.paper.iter().find(|paper| paper.0 == self.budget)?;
        match self.method {
            "RTS" => Some(rts),
            "AIS" => Some(ais),
            _ => None,
        }
    }

    /// A line and a row of the CSV for each truth.
    fn report(&self, model: &Model, rows: &mut Vec<Vec<String>>) {
        let Self { method, budget, values } = self;
        let (mean, paper) = (self.mean(), self.paper(model));
        let shown = paper.map_or("-".into(), |rmse| format!("{rmse:.2}"));
        for (source, truth) in &model.truths {
            let Errors { bias, rmse, rmse_error } = Errors::of(values, *truth);
            println!(
                "{:<17}{method:<9}{budget:>8}{mean:>12.3}{bias:>9.3}{rmse:>9.3} +- {rmse_error:.3}{shown:>8}  {source} {truth}",
                model.name
            );
            let mut row = vec![model.name.to_string(), method.to_string()];
            row.extend([budget.to_string(), source.to_string()]);
            row.extend([*truth, mean, bias, rmse, rmse_error].map(|x| x.to_string()));
            row.push(paper.map_or(String::new(), |x| x.to_string()));
            rows.push(row);
        }
    }
}

/// Whether RTS has the paper's error, and less than AIS (the latter at full size).
fn as_in_the_paper(model: &Model, found: &[Found], quick: bool) -> bool {
    let rmse = |found: &Found| found.errors(model).rmse;
    let of = |method: &'static str| found.iter().filter(move |found| found.method == method);
    let paper = |rts: &Found| rts.paper(model).is_none_or(|paper| rmse(rts) <= TOLERANCE * paper);
    of("RTS").all(paper)
        && (quick || of("RTS").zip(of("AIS")).all(|(rts, ais)| rmse(rts) < rmse(ais)))
}

/// Means and RMSE against sweeps.
fn charts(model: &Model, budgets: &[usize], found: &[Found]) -> [Chart; 2] {
    let (mut means, mut rmses) = (Vec::new(), Vec::new());
    for method in METHODS.iter().flat_map(|(names, _)| names.iter()) {
        let mut curves = [(), ()].map(|()| Series { name: (*method).into(), ..Series::default() });
        for found in found.iter().filter(|found| found.method == *method) {
            let (x, Errors { bias, rmse, rmse_error }) = (found.budget as f64, found.errors(model));
            let spread = (rmse.powi(2) - bias.powi(2)).sqrt();
            let values = [(found.mean(), spread), (rmse, rmse_error)];
            for (curve, (y, error)) in curves.iter_mut().zip(values) {
                curve.points.push((x, y));
                curve.errors.push(error);
            }
        }
        let [mean, rmse] = curves;
        means.push(mean);
        rmses.push(rmse);
    }
    let (source, truth) = model.truths[0];
    let line = budgets.iter().map(|budget| (*budget as f64, truth)).collect();
    means.push(Series::line(format!("{source} {truth}"), line));
    [("mean", false, means), ("RMSE", true, rmses)].map(|(what, log_y, series)| Chart {
        title: format!("{}: {what} against Gibbs sweeps (RTS Fig. 3)", model.name),
        x_label: "sweeps of each of 100 chains".into(),
        y_label: format!("{what} of log Z, nats"),
        log_x: true,
        log_y,
        series,
        ..Chart::default()
    })
}

fn main() -> Result<ExitCode> {
    let options = Options::read("rts_against_ais");
    let (budgets, repeats): (&[usize], u64) =
        if options.quick { (&[1000], 3) } else { (&[1000, 10_000], 10) };
    let models = match mnist_models(options.quick) {
        Some(models) => models,
        None => small_model()?,
    };
    println!("{CHAINS} chains, {TEMPERATURES} temperatures (RTS), {repeats} repeats\n");
    println!(
        "{:<17}{:<9}{:>8}{:>12}{:>9}{:>18}{:>8}  against log Z",
        "model", "method", "sweeps", "mean", "bias", "RMSE", "paper"
    );
    let bar = progress(models.len() * budgets.len() * METHODS.len() * repeats as usize);
    let (mut good, mut rows) = (true, Vec::new());
    for model in &models {
        let found = measure(model, (budgets, repeats), &bar)?;
        good &= as_in_the_paper(model, &found, options.quick);
        let [means, rmses] = charts(model, budgets, &found);
        bar.suspend(|| -> Result<()> {
            found.iter().for_each(|found| found.report(model, &mut rows));
            options.save_chart(&format!("fig3_{}_mean.svg", model.name), &means)?;
            options.save_chart(&format!("fig3_{}_rmse.svg", model.name), &rmses)
        })?;
    }
    bar.finish_and_clear();
    let header = [
        "model",
        "method",
        "sweeps",
        "truth_from",
        "truth",
        "mean",
        "bias",
        "rmse",
        "rmse_error",
        "paper_rmse",
    ];
    options.save_csv("fig3.csv", &header, &rows)?;
    if !options.quick {
        println!(
            "\nRTS RMSE at most {TOLERANCE} x the paper's and below AIS at equal sweeps: {}",
            if good { "yes" } else { "NO" }
        );
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
