//! RTS (Carlson et al. 2016) Figure 1: the first initial rounds from zeta_k = log Z_1, with and without Rao-Blackwellization.
//!
//!     cargo run --release --example initial_rounds [-- --quick] [--out DIR]
//!
//! The model is mnist-h10 of ../shared/models (784 x 10, K = 100, 100 chains, 50 sweeps per round), or without it a random 64 x 10 one;
//! log Z_k is known by enumeration. Without: c_k from counts + 0.1, as in the figure. Writes a CSV and charts to DIR
//! (results/initial_rounds).

mod support;

use std::path::Path as FilePath;
use std::process::ExitCode;

use support::Options;
use ztrack::Result;
use ztrack::checkpoint::{ModelFile, write_bytes};
use ztrack::data::{Binarization, Binarizer, Source, SplitOptions, find_folder, load};
use ztrack::engine::Host;
use ztrack::model::Parameters;
use ztrack::model::exact::log_partition_at;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::record::{Chart, Series};
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Prior, SimulatedTempering,
    TemperedChains, TemperedPath, Tempering,
};

const TEMPERATURES: usize = 100;
const CHAINS: usize = 100;
const SWEEPS: usize = 50;
const ROUNDS: usize = 8;
const SEED: u64 = 1;
/// Rounds drawn, counted from 1.
const DRAWN: [usize; 4] = [1, 2, 4, 8];

/// log Z_k as a round found it, and c_k.
type Round = (Vec<f64>, Vec<f64>);

fn main() -> ExitCode {
    support::exit_code(report().map(|()| true))
}

fn report() -> Result<()> {
    let options = Options::read("initial_rounds");
    let out = options.folder()?;
    let (parameters, base, what) = model(options.quick)?;
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
    let logits: Vec<f64> = base.logits().iter().map(|&a| f64::from(a)).collect();
    let exact: Vec<f64> = ladder
        .betas()
        .iter()
        .map(|&beta| log_partition_at(&parameters, &logits, beta))
        .collect::<Result<_>>()?;
    println!(
        "{what}, {TEMPERATURES} temperatures, {CHAINS} chains, rounds of {SWEEPS} sweeps from zeta_k = log Z_1; log Z = {:.3}.\n\
         worst: max_k |log Z_k - exact|; balance: max_k |c_k/r_k - 1|. The figure's message: with Rao-Blackwellization the last\n\
         rounds have c_k very close to r_k, without it c_k stays noisy.\n\n\
         round          with: log Z    worst  balance      without: log Z    worst  balance",
        exact[TEMPERATURES - 1]
    );
    let engine = Host::new(&parameters);
    let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
    let with = rounds(path, true);
    let without = rounds(path, false);
    for (i, (one, other)) in with.iter().zip(&without).enumerate() {
        let cells = |(log_z, c): &Round| {
            let off = log_z.iter().zip(&exact).map(|(y, z)| (y - z).abs()).fold(0.0, f64::max);
            let balance = c.iter().map(|c| (c * TEMPERATURES as f64 - 1.0).abs());
            let last = log_z[TEMPERATURES - 1];
            format!("{last:>20.3}{off:>9.3}{:>9.3}", balance.fold(0.0, f64::max))
        };
        println!("{:>5}{}{}", i + 1, cells(one), cells(other));
    }
    write(&out, &ladder, &exact, [&with, &without])?;
    println!("\nWritten: {}", out.display());
    Ok(())
}

/// The model, its base distribution, and what they are.
fn model(quick: bool) -> Result<(Parameters, BaseDistribution, String)> {
    let file = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models/mnist-h10.npz");
    if quick || !file.is_file() {
        let parameters = gaussian_parameters(64, 10, 0.7, SEED);
        let base = BaseDistribution::uniform(64);
        return Ok((parameters, base, "A random 64x10 RBM, uniform base".into()));
    }
    let parameters = ModelFile::load(file)?.parameters;
    let folder = find_folder(None);
    if !folder.join("mnist").is_dir() {
        let base = BaseDistribution::from_logits(&parameters.visible_bias)?;
        return Ok((parameters, base, "mnist-h10, visible bias as base (no MNIST found)".into()));
    }
    let splits = load(&Source::Mnist {}, &SplitOptions::default(), &folder)?;
    let rows = Binarizer::new(Binarization::Threshold(0.5))?.binarize(&splits.train, 0, 0)?;
    let base = BaseDistribution::from_marginals(&rows, 1.0, &ztrack::units::Variables::BITS)?;
    Ok((parameters, base, "mnist-h10, base of training marginals".into()))
}

fn rounds(path: GeometricPath<'_>, rao_blackwellized: bool) -> Vec<Round> {
    let k = path.ladder.len();
    let visible = path.base.sample(CHAINS, SEED, 0);
    let mut chains = TemperedChains::new(visible, k, SEED);
    let mut tempering = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
    let mut zeta = vec![path.log_z_base(); k];
    // One round at a time, so that all are shown, converged or not.
    let one = InitialRounds { sweeps: SWEEPS, most: 1, annealed_start: false };
    (0..ROUNDS)
        .map(|_| {
            let occupancy = if rao_blackwellized {
                one.run_from(&mut tempering, zeta.clone()).measurement.occupancy
            } else {
                counted(&mut tempering, &zeta)
            };
            // y_k = zeta_k + log(c_k/r_k) - log(c_1/r_1), r uniform.
            let first = occupancy[0].ln();
            zeta.iter_mut().zip(&occupancy).for_each(|(zeta, c)| *zeta += c.ln() - first);
            (zeta.clone(), occupancy)
        })
        .collect()
}

/// c_k proportional to 0.1 + how often a chain was at k.
fn counted(chains: &mut dyn SimulatedTempering, zeta: &[f64]) -> Vec<f64> {
    let mut counts = vec![0.1; zeta.len()];
    chains.redraw_temperatures();
    for _ in 0..SWEEPS {
        chains.sweep(zeta, 1);
        chains.temperatures().iter().for_each(|&k| counts[k as usize] += 1.0);
    }
    let total: f64 = counts.iter().sum();
    counts.iter().map(|count| count / total).collect()
}

fn write(out: &FilePath, ladder: &Ladder, exact: &[f64], both: [&[Round]; 2]) -> Result<()> {
    let mut csv = String::from("rao_blackwellized,round,k,beta,log_z,exact_log_z,c\n");
    for (rounds, (file, title)) in both.into_iter().zip([("with", "with"), ("without", "without")])
    {
        for (i, (log_z, c)) in rounds.iter().enumerate() {
            for (k, beta) in ladder.betas().iter().enumerate() {
                let (z, c) = (log_z[k], c[k]);
                csv += &format!(
                    "{},{},{},{beta},{z},{},{c}\n",
                    file == "with",
                    i + 1,
                    k + 1,
                    exact[k]
                );
            }
        }
        let lines = |values: &dyn Fn(&Round) -> Vec<f64>| -> Vec<Series> {
            let line = |name: String, values: Vec<f64>| {
                let points = values.into_iter().enumerate().map(|(k, y)| ((k + 1) as f64, y));
                Series::line(name, points.collect())
            };
            DRAWN.iter().map(|&i| line(format!("round {i}"), values(&rounds[i - 1]))).collect()
        };
        let mut log_z = lines(&|(log_z, _)| log_z.clone());
        let truth = exact.iter().enumerate().map(|(k, z)| ((k + 1) as f64, *z)).collect();
        log_z.push(Series::line("exact", truth));
        let occupancy = lines(&|(_, c)| c.clone());
        for (name, y_label, log_y, series) in
            [("log-z", "log Z_k", false, log_z), ("c", "c_k", true, occupancy)]
        {
            Chart {
                title: format!("{y_label} {title} Rao-Blackwellization"),
                x_label: "k".into(),
                y_label: y_label.into(),
                log_y,
                series,
                ..Chart::default()
            }
            .save(&out.join(format!("{name}-{file}.svg")))?;
        }
    }
    write_bytes(out.join("initial_rounds.csv"), csv.as_bytes())
}
