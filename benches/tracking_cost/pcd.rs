//! PCD-1 with and without a tracker of as many chains as particles.

use std::fs::File;

use ztrack::engine::{Engine, Host};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::{BaseDistribution, GeometricPath, Ladder, Prior};
use ztrack::training::gradient::gradient;
use ztrack::training::update::{Sgd, SgdConfig, UpdateRule};

use super::clock::Clock;
use super::{
    Failure, Setting, TEMPERATURES, TRACKERS, data, profile, random_particles, step, trackers,
};

/// Runs, prints and writes one setting.
pub fn run(
    setting: &Setting,
    costs: &mut csv::Writer<File>,
    profiles: &mut csv::Writer<File>,
) -> Result<(), Failure> {
    let clock = measure(setting)?;
    let alone = clock.typical("update");
    println!("\nPCD-1, {}: {alone:.2} ms an update without tracking", setting.name());
    println!("  {:<20}{:>12}{:>10}  10 % or less with", "tracker", "ms a step", "ratio");
    for (name, ..) in TRACKERS {
        let step = clock.typical(name);
        println!(
            "  {name:<20}{step:>12.2}{:>9.1}%  tempering.every = {}",
            100.0 * step / alone,
            (10.0 * step / alone).ceil()
        );
        let ratio = step / alone;
        let numbers = [alone, step, ratio].map(|number| number.to_string());
        let [alone, step, ratio] = numbers;
        costs.write_record(["pcd", &setting.name(), name, &alone, &step, &ratio])?;
    }
    println!("  where a step's time goes, ms:");
    profile::report("pcd", setting, profile::lines(&clock), profiles)?;
    Ok(())
}

/// Times updates, steps and their parts.
fn measure(setting: &Setting) -> Result<Clock, Failure> {
    let Setting { n_visible: m, n_hidden: j, chains, updates, .. } = *setting;
    let data = data(setting);
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
    // Nearly independent units, so that no tracker ever loses the ladder: then times would be of initial rounds.
    let mut parameters = gaussian_parameters(m, j, 0.02, 1);
    let base = BaseDistribution::from_logits(&parameters.visible_bias)?;
    let mut engine = Host::new(&parameters);
    let mut rule = Sgd::new(SgdConfig::default(), m, j);
    let mut particles = random_particles(chains, m, 4);
    let mut trackers =
        trackers(setting, GeometricPath { engine: &engine, ladder: &ladder, base: &base });
    let mut aside = trackers[0].chains.clone();
    let mut clock = Clock::new(setting.threads);
    for update in 0..updates + 2 {
        if update == 2 {
            clock.restart();
        }
        let new = clock.time("update", || {
            let positive = engine.moments(&data, None);
            particles.sweep(&engine, 1);
            let negative = engine.moments(&particles.visible, None);
            rule.step(&mut parameters, &gradient(&positive, &negative, None), 1e-4);
            Host::new(&parameters)
        });
        let before = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let after = GeometricPath { engine: &new, ladder: &ladder, base: &base };
        for turn in 0..trackers.len() {
            let turn = (turn + update) % trackers.len();
            step(&mut trackers[turn], TRACKERS[turn].0, &before, &after, &mut clock)?;
        }
        let zeta = trackers[0].pseudo_prior().to_vec();
        profile::parts(after, &mut aside, &zeta, setting.sweeps, &mut clock);
        engine = new;
    }
    Ok(clock)
}
