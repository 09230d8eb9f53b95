//! RTS Fig. 8: does the stationary vector of the temperatures' transition matrix beat the occupancies of RTS?
//!
//!     cargo run --release --example stationary_distribution [-- --quick] [--out DIR]
//!
//! RMSE of RTS, TM (counted transitions, `sd`) and RTM (Rao-Blackwellized, `rsd`) against sweeps over 20 repeats; all three read
//! the same chains. 100 chains, K = 100, uniform prior, base distribution from the training marginals, as for Fig. 3. The
//! models are mnist-h10 (784x10, log Z by enumeration) and mnist-h100: the paper's second has 784x200, which is not available.
//! The sweeps given exclude initial rounds and a burn-in of a fifth as many.
//!
//! The ratio of two RMSEs from the same 20 repeats has its standard error from a paired bootstrap over repeats; runs of
//! different lengths are independent, so their ratios are averaged (geometric mean). The ratio of the spreads does not depend on the
//! reference, which for mnist-h100 has an error of .024. Without the shared models or MNIST small enumerable models are used.
//!
//! Exit code 1 (full size, shared models only) if a model's mean RTM/RTS ratio is beyond 3 standard errors and .1 from the
//! paper's.

mod support;

use std::process::ExitCode;

use indicatif::ProgressBar;
use rayon::prelude::*;
use support::mnist::{shared_model, training_rows};
use support::{Errors, Options, progress};
use ztrack::engine::random::{Purpose, Streams};
use ztrack::estimators::tempered::{KeptRun, rsd, sd};
use ztrack::model::exact::log_partition;
use ztrack::model::test_systems::gaussian;
use ztrack::record::{Chart, Series};
use ztrack::tempering::{BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior};
use ztrack::{Estimate, Host, Parameters, Result, Rts};

const CHAINS: usize = 100;
const TEMPERATURES: usize = 100;
const RESAMPLES: u64 = 2000;

type Method = (&'static str, fn(&KeptRun) -> Estimate);
const METHODS: [Method; 3] = [("RTS", |run| run.rts()), ("TM", sd), ("RTM", rsd)];

struct Model {
    name: &'static str,
    parameters: Parameters,
    base: BaseDistribution,
    log_z: f64,
    /// RTM/RTS ratio of RMSEs in the paper, and for which model.
    paper: Option<(f64, &'static str)>,
}

/// Estimates of every method in every repeat.
type Repeats = Vec<[f64; METHODS.len()]>;

fn run(model: &Model, sweeps: usize, seed: u64) -> Result<[f64; METHODS.len()]> {
    let settings = Rts {
        chains: CHAINS,
        sweeps,
        ladder: Ladder::linear(TEMPERATURES, &Prior::Uniform)?,
        beta_update: BetaUpdate::Collapsed,
        initial_rounds: InitialRounds::default(),
        seed,
    };
    let run = settings.sample_and_keep(&Host::new(&model.parameters), &model.base)?;
    Ok(METHODS.map(|(_, method)| method(&run).value))
}

/// A ratio above or below 1, and its standard error, from its logarithm.
#[derive(Clone, Copy)]
struct Ratio {
    log: f64,
    log_error: f64,
}

impl Ratio {
    /// Of a method to RTS in `loss`, which takes estimates; repeats are resampled together.
    fn of(repeats: &Repeats, method: usize, seed: u64, loss: impl Fn(&[f64]) -> f64) -> Self {
        let log_ratio = |rows: &[usize]| {
            let of = |m: usize| loss(&rows.iter().map(|&i| repeats[i][m]).collect::<Vec<_>>());
            (of(method) / of(0)).ln()
        };
        let n = repeats.len();
        let logs: Vec<f64> = (0..RESAMPLES)
            .map(|resample| {
                let mut stream = Streams::new(seed, Purpose::Choice, resample).row(0);
                let mut draw = || (stream.uniform() * n as f64) as usize;
                log_ratio(&(0..n).map(|_| draw()).collect::<Vec<_>>())
            })
            .collect();
        let mean = logs.iter().sum::<f64>() / RESAMPLES as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let log_error = (squares / (RESAMPLES - 1) as f64).sqrt();
        Self { log: log_ratio(&(0..n).collect::<Vec<_>>()), log_error }
    }

    /// Geometric mean of independent ratios.
    fn mean(ratios: &[Self]) -> Self {
        let n = ratios.len() as f64;
        let squares: f64 = ratios.iter().map(|ratio| ratio.log_error.powi(2)).sum();
        let log = ratios.iter().map(|ratio| ratio.log).sum::<f64>() / n;
        Self { log, log_error: squares.sqrt() / n }
    }

    fn value(self) -> f64 {
        self.log.exp()
    }

    fn error(self) -> f64 {
        self.value() * self.log_error
    }

    fn shown(self) -> String {
        format!("{:.3} +- {:.3}", self.value(), self.error())
    }
}

/// Standard deviation about the estimates' own mean.
fn spread(estimates: &[f64]) -> f64 {
    let mean = estimates.iter().sum::<f64>() / estimates.len() as f64;
    Errors::of(estimates, mean).rmse
}

/// The shared models, or `None` if one of them or MNIST is missing.
fn mnist_models(quick: bool) -> Option<Vec<Model>> {
    let base =
        BaseDistribution::from_marginals(&training_rows()?, 1.0, &ztrack::units::Variables::BITS)
            .ok()?;
    let parameters = shared_model("mnist-h10")?;
    let mut models = vec![Model {
        name: "mnist-h10",
        log_z: log_partition(&parameters).ok()?,
        parameters,
        base: base.clone(),
        paper: Some((0.9, "784x10")),
    }];
    if !quick {
        models.push(Model {
            name: "mnist-h100",
            parameters: shared_model("mnist-h100")?,
            base,
            log_z: 348.407,
            paper: Some((1.0, "784x200")),
        });
    }
    Some(models)
}

fn small_models() -> Result<Vec<Model>> {
    println!(
        "The shared models or MNIST are missing: random 64x4 and 64x12 models take their place.\n"
    );
    let model = |name, n_hidden| -> Result<Model> {
        let system = gaussian(64, n_hidden, 0.5, 1)?;
        let (parameters, log_z) = (system.parameters, system.log_partition);
        Ok(Model { name, parameters, base: BaseDistribution::uniform(64), log_z, paper: None })
    };
    Ok(vec![model("random-64x4", 4)?, model("random-64x12", 12)?])
}

/// One model at every number of sweeps, a printed line each: curves of the methods' RMSEs, and the mean RTM/RTS ratios of RMSEs
/// and of spreads.
fn compare(
    model: &Model,
    (budgets, repeats): (&[usize], u64),
    rows: &mut Vec<Vec<String>>,
    bar: &ProgressBar,
) -> Result<([Series; METHODS.len()], [Ratio; 2])> {
    let mut curves = METHODS.map(|(name, _)| Series { name: name.into(), ..Series::default() });
    let (mut ratios, mut spreads) = (Vec::new(), Vec::new());
    for (i, &sweeps) in budgets.iter().enumerate() {
        bar.set_message(format!("{} {sweeps} sweeps", model.name));
        // Seeds of their own, or runs of different lengths would begin alike.
        let first = i as u64 * repeats;
        let found: Repeats = (first..first + repeats)
            .into_par_iter()
            .map(|seed| {
                let estimates = run(model, sweeps, seed);
                bar.inc(1);
                estimates
            })
            .collect::<Result<_>>()?;
        let rmse = |estimates: &[f64]| Errors::of(estimates, model.log_z).rmse;
        let [tm, rtm] = [1, 2].map(|method| Ratio::of(&found, method, first, rmse));
        let spread = Ratio::of(&found, 2, first, spread);
        let mut cells = Vec::new();
        for (m, curve) in curves.iter_mut().enumerate() {
            let estimates: Vec<f64> = found.iter().map(|values| values[m]).collect();
            let errors = Errors::of(&estimates, model.log_z);
            curve.points.push((sweeps as f64, errors.rmse));
            curve.errors.push(errors.rmse_error);
            cells.push(format!("{:.4} +- {:.4}", errors.rmse, errors.rmse_error));
            rows.push(csv_row(model, sweeps, METHODS[m].0, errors, [None, Some(tm), Some(rtm)][m]));
        }
        cells.extend([tm, rtm, spread].map(Ratio::shown));
        let cells: String = cells.iter().map(|cell| format!("{cell:>17}")).collect();
        bar.suspend(|| println!("{:<13}{sweeps:>7}{cells}", model.name));
        ratios.push(rtm);
        spreads.push(spread);
    }
    Ok((curves, [Ratio::mean(&ratios), Ratio::mean(&spreads)]))
}

/// `ratio`: of the RMSE to that of RTS.
fn csv_row(
    model: &Model,
    sweeps: usize,
    method: &str,
    Errors { bias, rmse, rmse_error }: Errors,
    ratio: Option<Ratio>,
) -> Vec<String> {
    let mut row = vec![model.name.to_string(), sweeps.to_string(), method.to_string()];
    row.extend([model.log_z, bias, rmse, rmse_error].map(|x| x.to_string()));
    let numbers = ratio.map(|ratio| [ratio.value(), ratio.error()].map(|x| x.to_string()));
    row.extend(numbers.unwrap_or_default());
    row
}

fn main() -> Result<ExitCode> {
    let options = Options::read("stationary_distribution");
    let (budgets, repeats): (&[usize], u64) =
        if options.quick { (&[50, 150], 6) } else { (&[100, 300, 1000, 3000], 20) };
    let models = mnist_models(options.quick).map_or_else(small_models, Ok)?;
    println!("{CHAINS} chains, {TEMPERATURES} temperatures, {repeats} repeats\n");
    println!(
        "{:<13}{:>7}{:>17}{:>17}{:>17}{:>17}{:>17}{:>17}",
        "model", "sweeps", "RMSE of RTS", "TM", "RTM", "TM/RTS", "RTM/RTS", "spreads RTM/RTS"
    );
    let bar = progress(models.len() * budgets.len() * repeats as usize);
    let (mut good, mut rows, mut verdicts) = (true, Vec::new(), Vec::new());
    for model in &models {
        let (curves, [ratio, spread]) = compare(model, (budgets, repeats), &mut rows, &bar)?;
        let paper = model.paper.map_or("-".into(), |(paper, of)| format!("~{paper:.1} ({of})"));
        verdicts.push(format!(
            "{:<13}{:>17}{:>17}{paper:>18}",
            model.name,
            ratio.shown(),
            spread.shown()
        ));
        good &= model.paper.is_none_or(|(paper, _)| {
            (ratio.value() - paper).abs() <= (3.0 * ratio.error()).max(0.1)
        });
        let chart = Chart {
            title: format!("{}: RMSE against sweeps (RTS Fig. 8)", model.name),
            x_label: "sweeps of each of 100 chains".into(),
            y_label: "RMSE of log Z, nats".into(),
            log_x: true,
            log_y: true,
            series: curves.into(),
            ..Chart::default()
        };
        bar.suspend(|| options.save_chart(&format!("fig8_{}.svg", model.name), &chart))?;
    }
    bar.finish_and_clear();
    println!(
        "\nRTM/RTS, mean over sweeps\n{:<13}{:>17}{:>17}{:>18}",
        "model", "RMSEs", "spreads", "paper, RMSEs"
    );
    verdicts.iter().for_each(|line| println!("{line}"));
    let header = [
        "model",
        "sweeps",
        "method",
        "log_z",
        "bias",
        "rmse",
        "rmse_error",
        "rmse_over_rts",
        "rmse_over_rts_error",
    ];
    options.save_csv("fig8.csv", &header, &rows)?;
    Ok(if good || options.quick { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
