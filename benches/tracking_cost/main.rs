//! What tracking log Z costs in training, and where an update's time goes.
//!
//! PCD-1: one training run, followed by a tracker of each kind with as many chains as particles, one sweep an update; the
//! cost is the tracker's step over the update without it. Tempered gradient: its chains have to be swept anyway, so the
//! cost is what the tracker's step takes beyond the same sweeps under a pseudo-prior that stays as it is. Runs: the whole
//! trainer, with the tracker moved every n updates and not at all. All variants take turns; numbers are lower quartiles,
//! since neighbours on the machine only add time.
//!
//! `cargo bench --bench tracking_cost`, `-- --quick` for a smoke run, `-- pcd`, `-- runs` or `-- tempered` for a part. Writes
//! results/tracking_cost/{costs,profile}.csv.

mod clock;
mod pcd;
mod profile;
mod runs;
mod tempered;

use std::path::PathBuf;

use clock::Clock;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BitMatrix, Host};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::{BetaUpdate, GeometricPath, InitialRounds, TemperedChains};
use ztrack::tracking::{ChainTracker, Smoothing, TrackerOptions};
use ztrack::training::gradient::Particles;

const TEMPERATURES: usize = 100;
const JOINT: BetaUpdate = BetaUpdate::Joint(1);
const TRACKERS: [(&str, Smoothing, BetaUpdate); 4] = [
    ("alpha, joint", Smoothing::Alpha(0.2), JOINT),
    ("Kalman, joint", Smoothing::Kalman, JOINT),
    ("alpha, collapsed", Smoothing::Alpha(0.2), BetaUpdate::Collapsed),
    ("Kalman, collapsed", Smoothing::Kalman, BetaUpdate::Collapsed),
];

/// Sizes of one run.
#[derive(Clone, Copy)]
struct Setting {
    n_visible: usize,
    n_hidden: usize,
    chains: usize,
    batch: usize,
    sweeps: usize,
    updates: usize,
    threads: usize,
}

impl Setting {
    fn name(&self) -> String {
        let Self { n_visible, n_hidden, chains, threads, .. } = self;
        let threads = if *threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        format!("{n_visible}x{n_hidden}, {chains} chains, {threads}")
    }
}

/// What can go wrong in a part, some of it in a thread pool.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let parts = ["pcd", "runs", "tempered"];
    let named: Vec<String> =
        std::env::args().filter(|argument| parts.contains(&argument.as_str())).collect();
    let wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    let folder = PathBuf::from("results/tracking_cost");
    std::fs::create_dir_all(&folder)?;
    let mut costs = csv::Writer::from_path(folder.join("costs.csv"))?;
    costs.write_record(["gradient", "setting", "tracker", "update_ms", "tracking_ms", "ratio"])?;
    let mut profile = csv::Writer::from_path(folder.join("profile.csv"))?;
    profile.write_record(["gradient", "setting", "part", "ms"])?;
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, 2].into_iter().filter(|threads| *threads <= most) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        for (n_visible, chains) in [(784, 2000), (784, 500), (180, 2000), (180, 500)] {
            let chains = if quick { chains / 10 } else { chains };
            let updates = if quick { 3 } else { 21 };
            let (n_hidden, sweeps, batch) = (500, 1, chains);
            let setting = Setting { n_visible, n_hidden, chains, batch, sweeps, updates, threads };
            if wanted("pcd") {
                pool.install(|| pcd::run(&setting, &mut costs, &mut profile))?;
            }
            if wanted("runs") && chains <= 500 {
                pool.install(|| runs::run(&setting, &mut costs))?;
            }
        }
        let setting = Setting {
            n_visible: 180,
            n_hidden: 500,
            chains: if quick { 200 } else { 2000 },
            batch: 500,
            sweeps: 25,
            updates: if quick { 3 } else { 15 },
            threads,
        };
        if wanted("tempered") {
            pool.install(|| tempered::run(&setting, &mut costs, &mut profile))?;
        }
    }
    costs.flush()?;
    profile.flush()?;
    Ok(())
}

/// Data: states of another random model.
fn data(setting: &Setting) -> BitMatrix {
    let other = Host::new(&gaussian_parameters(setting.n_visible, setting.n_hidden, 0.1, 2));
    let mut particles = random_particles(setting.batch, setting.n_visible, 3);
    particles.sweep(&other, 10);
    particles.visible
}

fn random_particles(rows: usize, n_visible: usize, seed: u64) -> Particles {
    let mut stream = Streams::new(seed, Purpose::ChainStart, 0).row(0);
    let visible = BitMatrix::from_fn(rows, n_visible, |_, _| stream.uniform() < 0.5);
    Particles { visible, seed, sweeps: 0 }
}

/// A tracker of each kind, with its own chains.
fn trackers(setting: &Setting, path: GeometricPath<'_>) -> Vec<ChainTracker> {
    // The model starts so near to independent units that few rounds do.
    let initial_rounds = InitialRounds { sweeps: 10, most: 3, annealed_start: true };
    TRACKERS
        .iter()
        .map(|&(_, smoothing, beta_update)| {
            let visible = path.base.sample(setting.chains, 5, 0);
            let chains = TemperedChains::new(visible, TEMPERATURES, 5);
            let sweeps = setting.sweeps;
            let settling = ztrack::tracking::Settling { sweeps: 0, most: 0 };
            let weighted = false;
            let options = TrackerOptions {
                smoothing,
                sweeps,
                beta_update,
                initial_rounds,
                weighted,
                settling,
                without: Default::default(),
            };
            ChainTracker::start(&path, chains, options).0
        })
        .collect()
}

/// Times one tracker's step from one model to the next.
fn step(
    tracker: &mut ChainTracker,
    name: &str,
    old: &GeometricPath<'_>,
    new: &GeometricPath<'_>,
    clock: &mut Clock,
) -> Result<(), Failure> {
    let record = clock.time(name, || tracker.step(old, new));
    if record.rounds.is_some() {
        return Err("the tracker lost the ladder: times mean nothing".into());
    }
    Ok(())
}
