//! RTS Fig. 3: bias and RMSE of RTS and AIS against Gibbs sweeps, on the paper's 784x500 MNIST model and one of 784x100.
//!
//!     cargo run --release --example rts_against_ais [-- --quick] [--out DIR]
//!
//! 100 chains, K = 100 temperatures with uniform prior for RTS, base distribution from the training marginals of binarized
//! MNIST, 10 initial rounds of 50 sweeps at most, all counted in the budget; AIS takes as many temperatures as RTS sweeps.
//! The rounds start from an annealing pass of the same chains (100 sweeps, counted), not from the paper's zeta_k = log Z_1.
//! Needs the shared models and MNIST (folder in ZTRACK_DATA); without them a small enumerable model takes their place.
//!
//! Exit code 1 if RTS misses the paper's RMSE by more than 1.6 or AIS does better at equal sweeps (full size only).

mod support;

use std::process::ExitCode;

use support::mnist::{shared_model, training_rows};
use support::{Errors, Options, progress};
use ztrack::estimators::raise;
use ztrack::model::exact::samples;
use ztrack::model::test_systems::gaussian;
use ztrack::ops::BitMatrix;
use ztrack::record::{Chart, Series};
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Occupancy, Prior,
    SimulatedTempering, TemperedChains, Tempering,
};
use ztrack::{Ais, Fused, Parameters, Result};

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

/// Methods compared, each from a budget of sweeps and a seed.
type Method = (&'static str, fn(&Model, usize, u64) -> Result<f64>);
const METHODS: [Method; 3] = [("RTS", rts), ("AIS", ais), ("RAISE", from_above)];

fn rts(model: &Model, budget: usize, seed: u64) -> Result<f64> {
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
    let ops = Fused::new(&model.parameters);
    let path = GeometricPath { ops: &ops, ladder: &ladder, base: &model.base };
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
    Ok(occupancy.measure(&ladder, &zeta).log_z[TEMPERATURES - 1])
}

fn ais(model: &Model, budget: usize, seed: u64) -> Result<f64> {
    let settings = Ais { chains: CHAINS, ladder: Ladder::linear(budget, &Prior::Uniform)?, seed };
    Ok(settings.run(&Fused::new(&model.parameters), &model.base)?.value)
}

/// RAISE from training rows, as the paper has it.
fn from_above(model: &Model, budget: usize, seed: u64) -> Result<f64> {
    let ladder = Ladder::linear(budget, &Prior::Uniform)?;
    let ops = Fused::new(&model.parameters);
    let path = GeometricPath { ops: &ops, ladder: &ladder, base: &model.base };
    let first = seed as usize * CHAINS % (model.rows.rows() - CHAINS + 1);
    Ok(raise(&path, &model.rows.select(first..first + CHAINS), seed)?.value)
}

/// The shared models, or `None` if one of them or MNIST is missing.
fn mnist_models(quick: bool) -> Option<Vec<Model>> {
    let rows = training_rows()?;
    let base = BaseDistribution::from_marginals(&rows, 1.0).ok()?;
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
        "{:<17}{:<7}{:>8}{:>12}{:>9}{:>18}{:>8}  against log Z",
        "model", "method", "sweeps", "mean", "bias", "RMSE", "paper"
    );
    let bar = progress(models.len() * budgets.len() * METHODS.len() * repeats as usize);
    let mut good = true;
    let mut rows = Vec::new();
    for model in &models {
        let mut means = Vec::new();
        let mut rmses = Vec::new();
        for (name, method) in METHODS {
            let mut mean_curve = Series { name: name.into(), ..Series::default() };
            let mut rmse_curve = Series { name: name.into(), ..Series::default() };
            for &budget in budgets {
                bar.set_message(format!("{} {name} {budget}", model.name));
                let mut values = Vec::new();
                for seed in 0..repeats {
                    values.push(method(model, budget, seed)?);
                    bar.inc(1);
                }
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                for (i, (source, truth)) in model.truths.iter().enumerate() {
                    let Errors { bias, rmse, rmse_error } = Errors::of(&values, *truth);
                    let paper = model.paper.iter().find(|paper| paper.0 == budget);
                    let paper = paper.and_then(|paper| match name {
                        "RTS" => Some(paper.1),
                        "AIS" => Some(paper.2),
                        _ => None,
                    });
                    let shown = paper.map_or("-".into(), |rmse| format!("{rmse:.2}"));
                    bar.suspend(|| {
                        println!(
                            "{:<17}{name:<7}{budget:>8}{mean:>12.3}{bias:>9.3}{rmse:>9.3} +- {rmse_error:.3}{shown:>8}  {source} {truth}",
                            model.name
                        );
                    });
                    let mut row = vec![model.name.to_string(), name.to_string()];
                    row.extend([budget.to_string(), source.to_string()]);
                    row.extend([*truth, mean, bias, rmse, rmse_error].map(|x| x.to_string()));
                    row.push(paper.map_or(String::new(), |x| x.to_string()));
                    rows.push(row);
                    if i == 0 {
                        let x = budget as f64;
                        mean_curve.points.push((x, mean));
                        mean_curve.errors.push((rmse.powi(2) - bias.powi(2)).sqrt());
                        rmse_curve.points.push((x, rmse));
                        rmse_curve.errors.push(rmse_error);
                        good &=
                            name != "RTS" || paper.is_none_or(|paper| rmse <= TOLERANCE * paper);
                    }
                }
            }
            means.push(mean_curve);
            rmses.push(rmse_curve);
        }
        let pairs = rmses[0].points.iter().zip(&rmses[1].points);
        good &= options.quick || pairs.into_iter().all(|(rts, ais)| rts.1 < ais.1);
        let (source, truth) = model.truths[0];
        means.push(Series::line(
            format!("{source} {truth}"),
            budgets.iter().map(|budget| (*budget as f64, truth)).collect(),
        ));
        let chart = |what: &str, log_y: bool, series: Vec<Series>| Chart {
            title: format!("{}: {what} against Gibbs sweeps (RTS Fig. 3)", model.name),
            x_label: "sweeps of each of 100 chains".into(),
            y_label: format!("{what} of log Z, nats"),
            log_x: true,
            log_y,
            series,
            ..Chart::default()
        };
        let name = model.name;
        bar.suspend(|| -> Result<()> {
            options.save_chart(&format!("fig3_{name}_mean.svg"), &chart("mean", false, means))?;
            options.save_chart(&format!("fig3_{name}_rmse.svg"), &chart("RMSE", true, rmses))
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
