//! COMPARISON section 3: Metropolis-Hastings on a bivariate normal, beside the paper's numbers; then its log Z by tempering.
//!
//!     cargo run --release --example bivariate_normal [-- --quick] [--out DIR]
//!
//! Mean (5, 10), covariance [[1, 1], [1, 4]], hence correlation .5. One chain, 10 000 samples, the second half kept, proposals
//! of standard deviation 3. (The paper's section 3.3.1 has the direction wrong: SMALL jumps are accepted often, large rarely.)

mod support;

use support::continuous::{
    ContinuousTempering, GaussianMixture, StepSizes, TransitionKernel, by_method, estimates,
};
use support::{Errors, Options, progress};
use ztrack::Result;
use ztrack::record::{Chart, Look, Series};
use ztrack::tempering::{Ladder, Prior};

const PAPER_SD: f64 = 3.0;
const PAPER_CORRELATION: f64 = 0.50009;
const PAPER_ACCEPTANCE: f64 = 0.234;
/// Wide enough to cover the mode from the origin.
const BASE_SD: f64 = 10.0;

/// What one chain's second half shows.
struct Sampled {
    correlation: f64,
    acceptance: f64,
    /// Mean squared jump: how far a step really moves.
    jump: f64,
    points: Vec<(f64, f64)>,
}

fn sample(
    target: &GaussianMixture,
    ladder: &Ladder,
    sd: f64,
    samples: usize,
    seed: u64,
) -> Result<Sampled> {
    let mut chain = ContinuousTempering::new(
        target,
        ladder,
        BASE_SD,
        TransitionKernel::RandomWalk,
        sd,
        1,
        seed,
    )?;
    let (mut points, mut acceptance, mut jump) = (Vec::new(), 0.0, 0.0);
    for step in 0..samples {
        let before = (chain.states()[0], chain.states()[1]);
        let accepted = chain.step_at(ladder.len() - 1);
        if step >= samples / 2 {
            let (x, y) = (chain.states()[0], chain.states()[1]);
            acceptance += accepted;
            jump += (x - before.0).powi(2) + (y - before.1).powi(2);
            points.push((x, y));
        }
    }
    let n = points.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let covariance = |f: &dyn Fn(f64, f64) -> f64| mean(&|p| f(p.0 - x, p.1 - y));
    let correlation =
        covariance(&|x, y| x * y) / (covariance(&|x, _| x * x) * covariance(&|_, y| y * y)).sqrt();
    Ok(Sampled { correlation, acceptance: acceptance / n, jump: jump / n, points })
}

fn main() -> Result<()> {
    let options = Options::read("bivariate_normal");
    let repeats: u64 = if options.quick { 4 } else { 20 };
    // Precision: the inverse of [[1, 1], [1, 4]].
    let precision = [4.0, -1.0, -1.0, 1.0].map(|x| x / 3.0).to_vec();
    let target = GaussianMixture::new(vec![vec![5.0, 10.0]], precision)?;
    let ladder = Ladder::linear(20, &Prior::Uniform)?;
    metropolis(&options, &target, &ladder, repeats)?;
    tempering(&options, &target, &ladder, repeats)
}

/// Correlation, acceptance and jumps by the size of proposals, and Figs. 1 and 2.
fn metropolis(
    options: &Options,
    target: &GaussianMixture,
    ladder: &Ladder,
    repeats: u64,
) -> Result<()> {
    println!(
        "Metropolis-Hastings, 10 000 samples, second half, {repeats} chains (mean +- standard deviation over chains)\n"
    );
    println!(
        "{:>12}{:>22}{:>14}{:>16}",
        "proposal sd", "correlation", "acceptance", "squared jump"
    );
    let mut rows = Vec::new();
    let mut curve = Vec::new();
    for sd in [0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0] {
        let runs: Vec<Sampled> = (0..repeats)
            .map(|seed| sample(target, ladder, sd, 10_000, seed))
            .collect::<Result<_>>()?;
        let n = repeats as f64;
        let mean = |f: &dyn Fn(&Sampled) -> f64| runs.iter().map(f).sum::<f64>() / n;
        let correlation = mean(&|run| run.correlation);
        let spread = (runs.iter().map(|run| (run.correlation - correlation).powi(2)).sum::<f64>()
            / (n - 1.0))
            .sqrt();
        let (acceptance, jump) = (mean(&|run| run.acceptance), mean(&|run| run.jump));
        println!("{sd:>12}{correlation:>12.4} +- {spread:.4}{acceptance:>14.3}{jump:>16.3}");
        rows.push([sd, correlation, spread, acceptance, jump].map(|x| x.to_string()).to_vec());
        curve.push((sd, acceptance));
        if sd == PAPER_SD {
            options.save_chart("fig1_points.svg", &cloud(&runs[0]))?;
        }
    }
    println!(
        "\npaper, sd {PAPER_SD}: correlation {PAPER_CORRELATION} (exact .5), acceptance 'close to' {PAPER_ACCEPTANCE}\n"
    );
    options.save_csv(
        "metropolis.csv",
        &["proposal_sd", "correlation", "deviation", "acceptance", "squared_jump"],
        &rows,
    )?;
    let chart = Chart {
        title: "Acceptance by proposal size (COMPARISON Fig. 2)".into(),
        x_label: "standard deviation of the proposal".into(),
        y_label: "acceptance".into(),
        series: vec![Series::line("", curve)],
        ..Chart::default()
    };
    options.save_chart("fig2_acceptance.svg", &chart)
}

/// Fig. 1: the points of one chain.
fn cloud(run: &Sampled) -> Chart {
    let points = Series { points: run.points.clone(), look: Look::Marks, ..Series::default() };
    Chart {
        title: "5000 points, proposal sd 3 (COMPARISON Fig. 1)".into(),
        x_label: "x".into(),
        y_label: "y".into(),
        series: vec![points],
        ..Chart::default()
    }
}

/// Errors of log Z, which the paper does not ask for.
fn tempering(
    options: &Options,
    target: &GaussianMixture,
    ladder: &Ladder,
    repeats: u64,
) -> Result<()> {
    let truth = target.log_partition();
    println!(
        "\nlog Z by tempering from N(0, {BASE_SD}^2 I), 40 chains, 1000 sweeps, adapted proposals; exact {truth:.6}\n"
    );
    println!("{:<14}{:>10}{:>18}{:>10}", "method", "bias", "RMSE", "mean se");
    let bar = progress(repeats as usize);
    let mut all = Vec::new();
    for seed in 0..repeats {
        let kernel = TransitionKernel::RandomWalk;
        let mut chains = ContinuousTempering::new(target, ladder, BASE_SD, kernel, 1.0, 40, seed)?;
        chains.adapt(StepSizes::Adaptive)?;
        all.push(estimates(&chains, 1000)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut rows = Vec::new();
    for found in by_method(&all) {
        let values: Vec<f64> = found.iter().map(|e| e.value).collect();
        let Errors { bias, rmse, rmse_error } = Errors::of(&values, truth);
        let se = found.iter().map(|e| e.std_error).sum::<f64>() / found.len() as f64;
        let name = found[0].method.name();
        println!("{name:<14}{bias:>10.4}{rmse:>10.4} +- {rmse_error:.4}{se:>10.4}");
        rows.push(vec![name.into(), bias.to_string(), rmse.to_string(), se.to_string()]);
    }
    println!();
    options.save_csv("log_z.csv", &["method", "bias", "rmse", "mean_std_error"], &rows)
}
