//! RTS (Carlson et al. 2016) Figure 7: a base distribution that fits badly, and the knot (a temperature that few chains cross) that it causes in the ladder.
//!
//!     cargo run --release --example knot [-- --quick] [--out DIR]
//!
//! RTS and AIS at equal sweeps from a uniform base on mnist-cd25-h500 of ../shared/models, whose log Z is 451.20 +- .06 by
//! long annealing both ways; the transition matrix of inverse temperatures, its conductance, and the knot (beta near .62 in the
//! figure). Without the model file: a small random RBM with a sparse visible layer, log Z by enumeration. Writes CSV and pictures to
//! DIR (results/knot).

mod support;

use std::path::Path as FilePath;
use std::process::ExitCode;

use support::Options;
use ztrack::Result;
use ztrack::checkpoint::{ModelFile, write_bytes};
use ztrack::engine::Host;
use ztrack::estimators::{Estimate, ais};
use ztrack::model::Parameters;
use ztrack::model::exact::log_partition;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::record::{Chart, Image, Series};
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, NEEDED_PER_CHAIN,
    Occupancy, Prior, SimulatedTempering, TemperedChains, Tempering, Transitions,
};

const TEMPERATURES: usize = 100;
const CHAINS: usize = 100;
const SEED: u64 = 1;
/// log Z of mnist-cd25-h500: AIS, reverse AIS and BAR, 200 chains x 20000 temperatures.
const LOG_Z: f64 = 451.20;

fn main() -> ExitCode {
    support::exit_code(report().map(|()| true))
}

/// RTS after some sweeps.
struct Look {
    sweeps: usize,
    log_z: f64,
    std_error: f64,
    round_trips: f64,
    ais: Estimate,
}

fn report() -> Result<()> {
    let options = Options::read("knot");
    let out = options.folder()?;
    let (parameters, truth, what) = model()?;
    println!(
        "{what}, uniform base, {CHAINS} chains, {TEMPERATURES} temperatures; log Z = {truth:.3}\n"
    );
    let (engine, base) = (Host::new(&parameters), BaseDistribution::uniform(parameters.n_visible));
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
    let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
    let (looks, transitions) = run(path, truth, options.quick)?;
    let conductance = conductance(transitions.sums());
    if let Some(knot) = transitions.knot() {
        let betas = ladder.betas();
        println!(
            "Narrowest cut at beta = {:.3}, conductance {:.3} of the median{}. Figure 7: a knot near .62.",
            0.5 * (betas[knot.index] + betas[knot.index + 1]),
            knot.conductance / knot.median,
            if knot.is_narrow() { ": a knot" } else { ": no knot by the rule of .3" }
        );
    }
    // Cuts near the ends have small sides whatever the flow; the dip that matters lies between.
    let (low, high) = (TEMPERATURES / 10, TEMPERATURES * 9 / 10);
    let dip = (low..high).min_by(|a, b| conductance[*a].total_cmp(&conductance[*b])).unwrap_or(low);
    println!("Dip between .1 and .9: beta = {:.3}.", beta_of_cut(dip));
    save(&out, &looks, truth, &transitions, &conductance)?;
    println!("Written: {}", out.display());
    Ok(())
}

/// RTS and AIS at growing numbers of sweeps, a printed line each, and the transitions of all sweeps of RTS.
fn run(path: GeometricPath<'_>, truth: f64, quick: bool) -> Result<(Vec<Look>, Transitions)> {
    let stretches: &[usize] = if quick { &[100, 200] } else { &[300, 1000, 3000] };
    let mut chains = TemperedChains::new(path.base.sample(CHAINS, SEED, 0), TEMPERATURES, SEED);
    let mut tempering = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
    let rounds = InitialRounds { most: if quick { 20 } else { 40 }, ..InitialRounds::default() };
    let rounds = rounds.run(&mut tempering);
    let zeta = rounds.measurement.log_z;
    eprintln!("{} initial rounds: {:?}", rounds.rounds.len(), rounds.end);
    let mut occupancy = Occupancy::new(CHAINS, TEMPERATURES);
    let mut transitions = Transitions::new(TEMPERATURES);
    let (mut trips, mut done) = (0, 0);
    println!(
        "{:>7}{:>22}{:>9}{:>13}{:>22}{:>9}",
        "sweeps", "RTS", "error", "round trips", "AIS", "error"
    );
    let mut looks = Vec::new();
    for &sweeps in stretches {
        let swept = tempering.sweep(&zeta, sweeps - done);
        occupancy.add(&swept.occupancy, sweeps - done);
        transitions.add(&swept.transitions, 1.0);
        (trips, done) = (trips + swept.round_trips, sweeps);
        let measurement = occupancy.measure(path.ladder, &zeta);
        let last = TEMPERATURES - 1;
        let long = Ladder::linear(sweeps + 1, &Prior::Uniform)?;
        let look = Look {
            sweeps,
            log_z: measurement.log_z[last],
            std_error: measurement.variance[last].sqrt(),
            round_trips: trips as f64 / CHAINS as f64,
            ais: ais(&GeometricPath { ladder: &long, ..path }, CHAINS, SEED)?,
        };
        println!("{}", row(&look, truth));
        looks.push(look);
    }
    let rate = trips as f64 / CHAINS as f64;
    println!(
        "\nRound trips per chain: {rate:.2} ({NEEDED_PER_CHAIN} needed for an error bar to be believed)."
    );
    Ok((looks, transitions))
}

fn row(look: &Look, truth: f64) -> String {
    let with_error = |value: f64, error: f64| format!("{value:.3} +- {error:.3}");
    format!(
        "{:>7}{:>22}{:>9.3}{:>13.2}{:>22}{:>9.3}",
        look.sweeps,
        with_error(look.log_z, look.std_error),
        look.log_z - truth,
        look.round_trips,
        with_error(look.ais.value, look.ais.std_error),
        look.ais.value - truth
    )
}

fn save(
    out: &FilePath,
    looks: &[Look],
    truth: f64,
    transitions: &Transitions,
    conductance: &[f64],
) -> Result<()> {
    let mut csv = String::from(
        "sweeps,rts_log_z,rts_std_error,round_trips_per_chain,ais_log_z,ais_std_error,log_z\n",
    );
    for Look { sweeps, log_z, std_error, round_trips, ais } in looks {
        let (value, error) = (ais.value, ais.std_error);
        csv += &format!("{sweeps},{log_z},{std_error},{round_trips},{value},{error},{truth}\n");
    }
    write_bytes(out.join("knot.csv"), csv.as_bytes())?;
    let picture = Image::heat(&transitions.matrix(), TEMPERATURES, true)?.scale(4);
    write_bytes(out.join("transitions.png"), &picture.to_png()?)?;
    let points = conductance.iter().enumerate().map(|(k, phi)| (beta_of_cut(k), *phi));
    Chart {
        title: "Conductance of the cuts of the ladder".into(),
        x_label: "beta".into(),
        y_label: "conductance".into(),
        log_y: true,
        series: vec![Series::line("", points.collect())],
        ..Chart::default()
    }
    .save(&out.join("conductance.svg"))
}

/// The beta between temperatures k and k + 1, of a linear ladder.
fn beta_of_cut(k: usize) -> f64 {
    (k as f64 + 0.5) / (TEMPERATURES - 1) as f64
}

fn model() -> Result<(Parameters, f64, &'static str)> {
    let file =
        FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models/mnist-cd25-h500.npz");
    if file.is_file() {
        return Ok((ModelFile::load(file)?.parameters, LOG_Z, "mnist-cd25-h500"));
    }
    let sparse = gaussian_parameters(60, 15, 1.0, SEED);
    let parameters = Parameters { visible_bias: vec![-4.0; 60], ..sparse };
    let truth = log_partition(&parameters)?;
    Ok((
        parameters,
        truth,
        "A random 60x15 RBM with sparse visible units (mnist-cd25-h500 not found)",
    ))
}

/// Phi_k = sum_{i<=k<j} T_ij / min(mass below, mass above), of transition sums T with rows of mass.
fn conductance(sums: &[f64]) -> Vec<f64> {
    let k = TEMPERATURES;
    let total: f64 = sums.iter().sum();
    (0..k - 1)
        .map(|cut| {
            let rows = || sums.chunks_exact(k).take(cut + 1);
            let below: f64 = rows().flatten().sum();
            let flow: f64 = rows().map(|row| row[cut + 1..].iter().sum::<f64>()).sum();
            flow / below.min(total - below)
        })
        .collect()
}
