//! RTS Fig. 2 and Fig. 6 (App. E): log Z of two Gaussians in 10 dimensions, with adaptive Hamiltonian Monte Carlo.
//!
//!     cargo run --release --example gaussian_mixture [-- --quick] [--out DIR]
//!
//! The paper gives figures without numbers: all estimators nearly identical (Fig. 2), slower mixing in beta and a larger error
//! with one fixed step size (Fig. 6). It does not say how many temperatures, chains and leapfrog steps it used, so the second
//! table has Fig. 6 with few and many of them.

mod support;

use indicatif::ProgressBar;
use support::continuous::{
    ContinuousTempering, GaussianMixture, StepSizes, TransitionKernel, by_method, estimates,
};
use support::{Errors, Options, progress};
use ztrack::Result;
use ztrack::estimators::{Estimate, rts};
use ztrack::record::{Chart, Series};
use ztrack::tempering::{InitialRounds, Ladder, Prior, SimulatedTempering};

const CHAINS: usize = 10;
const TEMPERATURES: usize = 100;
const KERNEL: TransitionKernel = TransitionKernel::Hamiltonian { leapfrog_steps: 10 };
const RULES: [(&str, StepSizes); 2] =
    [("adaptive", StepSizes::Adaptive), ("fixed", StepSizes::Fixed)];

/// What the paper may have used in Fig. 6, and how many samples it took.
const KERNELS: [(&str, TransitionKernel); 3] = [
    ("10 leapfrog steps", KERNEL),
    ("1 leapfrog step", TransitionKernel::Hamiltonian { leapfrog_steps: 1 }),
    ("random walk", TransitionKernel::RandomWalk),
];
const SAMPLES: usize = 10_000;

/// Adapted chains, the same for every method.
fn chains<'a>(
    target: &'a GaussianMixture,
    ladder: &'a Ladder,
    (chains, kernel, rule): (usize, TransitionKernel, StepSizes),
    seed: u64,
) -> Result<ContinuousTempering<'a>> {
    let base_sd = 30.0f64.sqrt();
    let mut chains = ContinuousTempering::new(target, ladder, base_sd, kernel, 1.0, chains, seed)?;
    chains.adapt(rule)?;
    Ok(chains)
}

/// Fig. 6 in the settings it may have had: RTS with 10 000 samples, every kernel with few and many chains and temperatures.
/// Two chains, not one: an error bar needs two.
fn variants(target: &GaussianMixture, repeats: u64) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    println!(
        "\n{:<19}{:>7}{:>14}{:>18}{:>18}{:>22}",
        "kernel", "chains", "temperatures", "RMSE, adaptive", "fixed", "trips/1000, a. / f."
    );
    for (name, kernel) in KERNELS {
        for (n, k) in [(2, 10), (2, 100), (10, 10), (10, 100)] {
            let ladder = Ladder::linear(k, &Prior::Uniform)?;
            let mut found = Vec::new();
            for (_, rule) in RULES {
                let (mut values, mut trips) = (Vec::new(), 0.0);
                for seed in 0..repeats {
                    let mut chains = chains(target, &ladder, (n, kernel, rule), seed)?;
                    let estimate = rts(&mut chains, &InitialRounds::default(), SAMPLES / n)?;
                    values.push(estimate.value);
                    trips += estimate.effective_samples.unwrap_or(0.0);
                }
                let trips = trips / repeats as f64 * 1000.0 / SAMPLES as f64;
                found.push((Errors::of(&values, target.log_partition()), trips));
            }
            let [(adaptive, trips), (fixed, fixed_trips)] = &found[..] else { continue };
            let rmse = |e: &Errors| format!("{:.3} +- {:.3}", e.rmse, e.rmse_error);
            let both = format!("{trips:.1} / {fixed_trips:.1}");
            println!("{name:<19}{n:>7}{k:>14}{:>18}{:>18}{both:>22}", rmse(adaptive), rmse(fixed));
            let numbers = [adaptive.rmse, fixed.rmse, *trips, *fixed_trips];
            let mut row = vec![name.to_string(), n.to_string(), k.to_string()];
            row.extend(numbers.map(|x| x.to_string()));
            rows.push(row);
        }
    }
    println!();
    Ok(rows)
}

/// The first table.
#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
    /// RMSE against samples, by method and step sizes.
    curves: Vec<(String, Vec<(f64, f64)>)>,
}

impl Table {
    /// A line of the table: one method's estimates of all repeats.
    fn add(
        &mut self,
        rule_name: &str,
        samples: usize,
        found: &[&Estimate],
        truth: f64,
        bar: &ProgressBar,
    ) {
        let (name, repeats) = (found[0].method.name(), found.len());
        let mean =
            |f: &dyn Fn(&Estimate) -> f64| found.iter().map(|e| f(e)).sum::<f64>() / repeats as f64;
        let values: Vec<f64> = found.iter().map(|e| e.value).collect();
        let Errors { bias, rmse, rmse_error } = Errors::of(&values, truth);
        let trips = mean(&|e| e.effective_samples.unwrap_or(0.0)) * 1000.0 / samples as f64;
        let doubts = found.iter().filter(|e| !e.trust.is_sound()).count();
        let se = mean(&|e| e.std_error);
        bar.suspend(|| {
            println!(
                "{rule_name:<10}{name:<13}{samples:>9}{bias:>9.3}{rmse:>9.3} +- {rmse_error:.3}{se:>10.3}{trips:>14.1}{doubts:>8}/{repeats}"
            );
        });
        let mut row = vec![rule_name.to_string(), name.to_string(), samples.to_string()];
        row.extend([bias, rmse, rmse_error, se, trips].map(|x| x.to_string()));
        self.rows.push(row);
        let label = format!("{name}, {rule_name}");
        match self.curves.iter_mut().find(|(name, _)| *name == label) {
            Some((_, points)) => points.push((samples as f64, rmse)),
            None => self.curves.push((label, vec![(samples as f64, rmse)])),
        }
    }

    /// The curves whose name is asked for.
    fn chart(&self, title: &str, keep: impl Fn(&str) -> bool) -> Chart {
        let curves = self.curves.iter().filter(|(name, _)| keep(name));
        Chart {
            title: title.into(),
            x_label: "samples (chains x sweeps)".into(),
            y_label: "RMSE of log Z, nats".into(),
            log_x: true,
            log_y: true,
            series: curves.map(|(name, points)| Series::line(name, points.clone())).collect(),
            ..Chart::default()
        }
    }
}

/// Figs. 2 and 6: errors of every method by number of samples, with both rules of step sizes.
fn errors(
    target: &GaussianMixture,
    ladder: &Ladder,
    sizes: &[usize],
    repeats: u64,
) -> Result<Table> {
    let mut table = Table::default();
    let bar = progress(RULES.len() * sizes.len() * repeats as usize);
    println!(
        "{:<10}{:<13}{:>9}{:>9}{:>18}{:>10}{:>14}{:>11}",
        "steps", "method", "samples", "bias", "RMSE", "mean se", "trips/1000", "in doubt"
    );
    for (rule_name, rule) in RULES {
        for &sweeps in sizes {
            let mut all = Vec::new();
            for seed in 0..repeats {
                bar.set_message(format!("{rule_name} step sizes, {sweeps} sweeps"));
                let chains = chains(target, ladder, (CHAINS, KERNEL, rule), seed)?;
                all.push(estimates(&chains, sweeps)?);
                bar.inc(1);
            }
            for found in by_method(&all) {
                table.add(rule_name, CHAINS * sweeps, &found, target.log_partition(), &bar);
            }
        }
    }
    bar.finish_and_clear();
    Ok(table)
}

/// Fig. 6, left and middle: one chain's way along the ladder with both rules.
fn mixing(target: &GaussianMixture, ladder: &Ladder) -> Result<Chart> {
    let mut chart = Chart {
        title: "One chain's inverse temperature (RTS Fig. 6, left and middle)".into(),
        x_label: "sweep".into(),
        y_label: "beta".into(),
        ..Chart::default()
    };
    for (name, rule) in RULES {
        let mut chains = chains(target, ladder, (CHAINS, KERNEL, rule), 0)?;
        let zeta = InitialRounds::default().run(&mut chains).measurement.log_z;
        let mut points = Vec::new();
        for sweep in 0..1000 {
            chains.sweep(&zeta, 1);
            points.push((f64::from(sweep), ladder.betas()[chains.temperatures()[0] as usize]));
        }
        chart.series.push(Series::line(name, points));
    }
    Ok(chart)
}

fn main() -> Result<()> {
    let options = Options::read("gaussian_mixture");
    let (sizes, repeats): (&[usize], u64) =
        if options.quick { (&[100, 300], 2) } else { (&[100, 300, 1000, 3000, 10_000], 10) };
    let target = GaussianMixture::two_in_ten_dimensions();
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
    let truth = target.log_partition();
    println!(
        "Two Gaussians in 10 dimensions, exact log Z = {truth:.6}. {CHAINS} chains, {TEMPERATURES} temperatures, {repeats} repeats.\n"
    );
    let table = errors(&target, &ladder, sizes, repeats)?;
    options.save_csv(
        "fig6_variants.csv",
        &[
            "kernel",
            "chains",
            "temperatures",
            "rmse_adaptive",
            "rmse_fixed",
            "trips",
            "trips_fixed",
        ],
        &variants(&target, 4 * repeats)?,
    )?;
    options.save_csv(
        "rmse.csv",
        &[
            "steps",
            "method",
            "samples",
            "bias",
            "rmse",
            "rmse_error",
            "mean_std_error",
            "trips_per_1000",
        ],
        &table.rows,
    )?;
    let adaptive = table.chart("Estimators on the Gaussian mixture (RTS Fig. 2)", |name| {
        name.ends_with("adaptive")
    });
    options.save_chart("fig2_rmse.svg", &adaptive)?;
    let steps = table
        .chart("Fixed and adaptive step sizes (RTS Fig. 6, right)", |name| name.starts_with("rts"));
    options.save_chart("fig6_rmse.svg", &steps)?;
    options.save_chart("fig6_mixing.svg", &mixing(&target, &ladder)?)
}
