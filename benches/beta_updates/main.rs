//! Which update of beta to use: Var(log Z) x CPU-seconds of the collapsed update and of joint ones with repeats.
//!
//! One preliminary run finds states and a pseudo-prior; every update then runs chains from these states under this
//! pseudo-prior, in one thread, block after block in turn, so that a machine that slows down slows all of them. Groups of
//! chains are independent measurements of log Z: the figure's standard error is that of their variance (chi-square).
//!
//! `cargo bench --bench beta_updates` (two minutes), `-- --quick` for a smoke run, `-- --sweeps 1000`; ZTRACK_MODELS is
//! the folder of the models. Writes results/beta_updates/figures.csv.

use std::fs::File;
use std::path::{Path as FilePath, PathBuf};
use std::time::Instant;

use ztrack::checkpoint::ModelFile;
use ztrack::data::{Binarization, Binarizer, Source, SplitOptions, find_folder, load};
use ztrack::engine::Host;
use ztrack::model::{Parameters, test_systems::gaussian_parameters};
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Occupancy, Prior,
    PseudoPrior, TemperedChains, Tempering,
};

const UPDATES: [(&str, BetaUpdate); 5] = [
    ("collapsed", BetaUpdate::Collapsed),
    ("joint, 1 repeat", BetaUpdate::Joint(1)),
    ("joint, 2 repeats", BetaUpdate::Joint(2)),
    ("joint, 4 repeats", BetaUpdate::Joint(4)),
    ("joint, 8 repeats", BetaUpdate::Joint(8)),
];
const TEMPERATURES: usize = 100;
/// Chains of one measurement.
const GROUP: usize = 20;
/// Sweeps of one turn.
const BLOCK: usize = 25;

/// How much is run.
struct Size {
    groups: usize,
    sweeps: usize,
}

/// One update's turn-by-turn state.
struct Runner {
    update: BetaUpdate,
    chains: TemperedChains,
    occupancy: Occupancy,
    seconds: f64,
}

/// One line of the table.
struct Figure {
    name: &'static str,
    log_z: f64,
    log_z_std_error: f64,
    /// Var(log Z) of one group.
    variance: f64,
    /// CPU-seconds of one group.
    seconds: f64,
    milliseconds_per_sweep: f64,
}

impl Figure {
    /// Of a runner that was measured for so many turns under a pseudo-prior.
    fn of(
        name: &'static str,
        runner: &Runner,
        ladder: &Ladder,
        zeta: &[f64],
        turns: usize,
    ) -> Self {
        let last = TEMPERATURES - 1;
        let all = runner.occupancy.measure(ladder, zeta);
        let means = runner.occupancy.means();
        let prior = PseudoPrior::new(ladder, zeta);
        let groups: Vec<f64> = (0..means.len() / GROUP)
            .map(|i| prior.measure(&means.between(i * GROUP, (i + 1) * GROUP)).log_z[last])
            .collect();
        let n = groups.len() as f64;
        let mean = groups.iter().sum::<f64>() / n;
        let square: f64 = groups.iter().map(|y| (y - mean).powi(2)).sum();
        Self {
            name,
            log_z: all.log_z[last],
            log_z_std_error: all.variance[last].sqrt(),
            variance: square / (n - 1.0),
            seconds: runner.seconds / n,
            milliseconds_per_sweep: runner.seconds * 1e3 / (turns * BLOCK) as f64,
        }
    }

    fn merit(&self) -> f64 {
        self.variance * self.seconds
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let asked = arguments.iter().position(|argument| argument == "--sweeps");
    let asked = asked.and_then(|i| arguments.get(i + 1)).and_then(|value| value.parse().ok());
    let size = if quick {
        Size { groups: 20, sweeps: asked.unwrap_or(50) }
    } else {
        Size { groups: 100, sweeps: asked.unwrap_or(300) }
    };
    let folder = PathBuf::from("results/beta_updates");
    std::fs::create_dir_all(&folder)?;
    let mut csv = csv::Writer::from_path(folder.join("figures.csv"))?;
    csv.write_record([
        "model",
        "update",
        "groups",
        "chains_per_group",
        "sweeps",
        "log_z",
        "log_z_std_error",
        "variance",
        "cpu_seconds",
        "figure",
        "figure_std_error",
    ])?;
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, parameters) in models() {
        let figures = one_thread.install(|| measure(&parameters, &size));
        report(&name, &figures, &size, &mut csv)?;
    }
    csv.flush()?;
    Ok(())
}

/// The table of one model, a row of the CSV for each line, and which updates are best.
fn report(
    name: &str,
    figures: &[Figure],
    size: &Size,
    csv: &mut csv::Writer<File>,
) -> csv::Result<()> {
    // Relative standard error of a variance from G normal measurements.
    let relative = (2.0 / (size.groups as f64 - 1.0)).sqrt();
    println!(
        "\n{name}: {} groups of {GROUP} chains, {} sweeps, {TEMPERATURES} temperatures, one thread",
        size.groups, size.sweeps
    );
    println!(
        "{:<18}{:>10} {:>16}  {:>14}  {:>18}",
        "update", "ms/sweep", "log Z (all)", "Var(log Z)", "Var x CPU-s"
    );
    for figure in figures {
        println!(
            "{:<18}{:>10.2} {:>9.3} +- {:.3}  {:>14.4}  {:>10.5} +- {:.5}",
            figure.name,
            figure.milliseconds_per_sweep,
            figure.log_z,
            figure.log_z_std_error,
            figure.variance,
            figure.merit(),
            relative * figure.merit()
        );
        csv.write_record([
            name,
            figure.name,
            &size.groups.to_string(),
            &GROUP.to_string(),
            &size.sweeps.to_string(),
            &figure.log_z.to_string(),
            &figure.log_z_std_error.to_string(),
            &figure.variance.to_string(),
            &figure.seconds.to_string(),
            &figure.merit().to_string(),
            &(relative * figure.merit()).to_string(),
        ])?;
    }
    if let Some(best) = figures.iter().min_by(|a, b| a.merit().total_cmp(&b.merit())) {
        let near =
            |f: &&Figure| f.merit() - best.merit() < 2.0 * relative * f.merit().hypot(best.merit());
        let others = figures.iter().filter(|f| f.name != best.name);
        let rivals: Vec<&str> = others.filter(near).map(|f| f.name).collect();
        let rivals = if rivals.is_empty() { "none".into() } else { rivals.join("; ") };
        println!("least: {} (within two errors of it: {rivals})", best.name);
    }
    Ok(())
}

/// The published models where they are, else random ones.
fn models() -> Vec<(String, Parameters)> {
    let folder = std::env::var("ZTRACK_MODELS").map_or("../shared/models".into(), PathBuf::from);
    ["mnist-cd25-h500", "mnist-h100"]
        .into_iter()
        .map(|name| match model(&folder, name) {
            Some(parameters) => (name.to_string(), parameters),
            None => {
                let hidden = if name.ends_with("100") { 100 } else { 500 };
                println!("{name} is not in {}: random weights instead", folder.display());
                let parameters = gaussian_parameters(784, hidden, 0.1, 1);
                (format!("random 784x{hidden}"), parameters)
            }
        })
        .collect()
}

fn model(folder: &FilePath, name: &str) -> Option<Parameters> {
    Some(ModelFile::load(folder.join(format!("{name}.npz"))).ok()?.parameters)
}

/// Marginals of the MNIST training images at threshold 1/2.
fn marginals() -> Option<BaseDistribution> {
    let splits = load(&Source::Mnist {}, &SplitOptions::default(), &find_folder(None)).ok()?;
    let rows = Binarizer::new(Binarization::Threshold(0.5)).ok()?.binarize(&splits.train, 0, 0);
    BaseDistribution::from_marginals(&rows.ok()?, 1.0, &ztrack::units::Variables::BITS).ok()
}

fn measure(parameters: &Parameters, size: &Size) -> Vec<Figure> {
    let engine = Host::new(parameters);
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform).expect("a ladder");
    let base = marginals().unwrap_or_else(|| {
        println!("no MNIST in the data folder: the visible bias is the base distribution");
        BaseDistribution::from_logits(&parameters.visible_bias).expect("finite biases")
    });
    let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
    let total = size.groups * GROUP;
    let mut start = TemperedChains::new(base.sample(total, 1, 0), TEMPERATURES, 1);
    let rounds = InitialRounds { sweeps: 100, most: 4, annealed_start: true };
    let mut tempering = Tempering::new(path, &mut start, BetaUpdate::Collapsed);
    let zeta = rounds.run(&mut tempering).measurement.log_z;

    let mut runners: Vec<Runner> = UPDATES
        .iter()
        .enumerate()
        .map(|(i, &(_, update))| Runner {
            update,
            chains: TemperedChains { seed: 2 + i as u64, ..start.clone() },
            occupancy: Occupancy::new(total, TEMPERATURES),
            seconds: 0.0,
        })
        .collect();
    // Half as many sweeps before the measurement, so that what is measured is each update's own equilibrium.
    let (burn_in, measured) = (size.sweeps / (2 * BLOCK), size.sweeps / BLOCK);
    for block in 0..burn_in + measured {
        for Runner { update, chains, occupancy, seconds } in &mut runners {
            let (wall, cpu) = (Instant::now(), cpu_seconds());
            let record = chains.sweep(&path, &zeta, *update, BLOCK, None);
            let spent = match (cpu, cpu_seconds()) {
                (Some(before), Some(after)) => after - before,
                _ => wall.elapsed().as_secs_f64(),
            };
            if block >= burn_in {
                *seconds += spent;
                occupancy.add(&record.occupancy, BLOCK);
            }
        }
    }
    let figure = |(&(name, _), runner)| Figure::of(name, runner, &ladder, &zeta, measured);
    UPDATES.iter().zip(&runners).map(figure).collect()
}

/// User and system time of this process so far, where the system tells, in ticks of 10 ms.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the name in parentheses, may hold spaces.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}
