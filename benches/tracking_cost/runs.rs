//! Whole PCD-1 training runs, through the trainer as a user has it: what tracking adds when the tracker moves every n updates.

use std::fs::File;

use ztrack::config::Config;
use ztrack::data::{SplitOptions, load};
use ztrack::training::{StepRecord, Trainer};

use super::clock::Clock;
use super::{Failure, Setting, TEMPERATURES};

/// tempering.every; the last is beyond the run: chains are started, then nothing is tracked.
const EVERY: [u64; 5] = [1, 10, 20, 30, 1_000_000];
/// Updates of one turn, a multiple of all but the last.
const TURN: u64 = 60;

/// Runs, prints and writes one setting; a turn for every seven of its updates.
#[allow(deprecated)] // burn-ndarray is the default backend; see Cargo.toml
pub fn run(setting: &Setting, costs: &mut csv::Writer<File>) -> Result<(), Failure> {
    let turns = (setting.updates / 7).max(1);
    for filter in ["\"kalman\"", "{ alpha = 0.2 }"] {
        let mut trainers: Vec<Trainer> =
            EVERY.iter().map(|every| trainer(setting, filter, *every)).collect::<Result<_, _>>()?;
        let mut clock = Clock::new(setting.threads);
        for turn in 0..=turns {
            if turn == 1 {
                clock.restart();
            }
            for (trainer, every) in trainers.iter_mut().zip(EVERY) {
                clock.time(&every.to_string(), || -> ztrack::Result<()> {
                    for _ in 0..TURN {
                        trainer.step()?;
                    }
                    Ok(())
                })?;
            }
        }
        let untracked = clock.typical(&EVERY[EVERY.len() - 1].to_string()) / TURN as f64;
        println!(
            "\nPCD-1 runs, {}, {filter}: {untracked:.2} ms an update untracked",
            setting.name()
        );
        for every in &EVERY[..EVERY.len() - 1] {
            let tracked = clock.typical(&every.to_string()) / TURN as f64;
            let ratio = tracked / untracked - 1.0;
            println!(
                "  tempering.every = {every:<4}{tracked:>10.2} ms an update, {:>5.1}% more",
                100.0 * ratio
            );
            let name = format!("{filter}, every {every}");
            let numbers = [untracked, tracked - untracked, ratio].map(|number| number.to_string());
            let [untracked, tracking, ratio] = numbers;
            costs.write_record(["run", &setting.name(), &name, &untracked, &tracking, &ratio])?;
        }
    }
    Ok(())
}

/// A run of bars and stripes (784 units) or DNA-like rows (180), as many particles, chains and rows of a batch.
#[allow(deprecated)] // burn-ndarray is the default backend; see Cargo.toml
fn trainer(setting: &Setting, filter: &str, every: u64) -> ztrack::Result<Trainer> {
    let Setting { n_visible, n_hidden, chains, .. } = *setting;
    let source = if n_visible == 784 {
        "{ name = \"bars-and-stripes\", side = 28, rows = 4000, noise = 0.1 }"
    } else {
        "{ name = \"dna-like\", rows = 4000 }"
    };
    let text = format!(
        "data = {{ source = {source} }}
         model = {{ hidden = {n_hidden} }}
         training = {{ updates = 1000000, batch = {chains}, gradient = {{ kind = \"pcd\", sweeps = 1 }}, \
                       learning_rate = {{ initial = 1e-3 }} }}
         tempering = {{ chains = {chains}, temperatures = {TEMPERATURES}, sweeps = 1, every = {every}, \
                        beta_update = {{ joint = 1 }}, smoothing = {filter} }}
         evaluation = {{ every = 1000000 }}"
    );
    let config = Config::parse(&text, &[])?;
    let splits = load(&config.data.source, &SplitOptions::default(), ".".as_ref())?;
    let mut trainer = Trainer::new(&config, splits, &ztrack::Device::Host)?;
    while !matches!(trainer.step()?, StepRecord::TrackingStarted(_)) {}
    Ok(trainer)
}
