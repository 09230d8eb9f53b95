//! The parts of a tracker's step, each timed by itself on the chains as they are.

use std::fs::File;

use ztrack::tempering::{
    BetaUpdate, GeometricPath, Ladder, Prior, PseudoPrior, TemperedChains, TemperedPath,
};
use ztrack::tracking::shift;
use ztrack::training::gradient::Particles;

use super::Setting;
use super::clock::Clock;

/// Times the parts once. `chains` is moved on by some sweeps.
pub fn parts(
    path: GeometricPath<'_>,
    chains: &mut TemperedChains,
    zeta: &[f64],
    sweeps: usize,
    clock: &mut Clock,
) {
    // A ladder of both ends alone: log f costs next to nothing, the product the same.
    let ends = Ladder::linear(2, &Prior::Uniform).expect("a ladder");
    clock.time("product h|v", || GeometricPath { ladder: &ends, ..path }.evaluate(&chains.visible));
    let known = clock.time("product h|v and log f", || path.evaluate(&chains.visible));
    let mut particles = Particles { visible: chains.visible.clone(), seed: 9, sweeps: 0 };
    clock.time("sweeps at beta = 1", || particles.sweep(path.engine, sweeps));
    let start = Some(known.clone());
    let joint = BetaUpdate::Joint(1);
    let record = clock.time("sweeps, joint", || chains.sweep(&path, zeta, joint, sweeps, start));
    let start = Some(known);
    let collapsed = BetaUpdate::Collapsed;
    clock.time("sweeps, collapsed", || chains.sweep(&path, zeta, collapsed, sweeps, start));
    let log_f = &record.last.log_f;
    clock.time("shift", || shift(&record.posterior, log_f, log_f));
    clock.time("measurement", || PseudoPrior::new(path.ladder, zeta).measure(&record.occupancy));
}

/// From the timed parts: what a step of each kind is made of.
pub fn lines(clock: &Clock) -> Vec<(&'static str, f64)> {
    let log_f = clock.typical("product h|v and log f") - clock.typical("product h|v");
    let plain = clock.typical("sweeps at beta = 1");
    // n sweeps that start from known pre-activations end with those of the last states, and their log f.
    let beta = |part| clock.typical(part) - plain - log_f;
    vec![
        ("sweeps, without beta", plain),
        ("joint beta updates of these sweeps", beta("sweeps, joint")),
        ("collapsed beta updates of these sweeps", beta("sweeps, collapsed")),
        ("one product h|v", clock.typical("product h|v")),
        ("one log f at all temperatures", log_f),
        ("one shift", clock.typical("shift")),
        ("measurement", clock.typical("measurement")),
    ]
}

/// Prints and writes parts with their milliseconds.
pub fn report(
    gradient: &str,
    setting: &Setting,
    lines: impl IntoIterator<Item = (&'static str, f64)>,
    csv: &mut csv::Writer<File>,
) -> csv::Result<()> {
    for (part, milliseconds) in lines {
        println!("    {part:<42}{milliseconds:>9.2}");
        csv.write_record([gradient, &setting.name(), part, &milliseconds.to_string()])?;
    }
    Ok(())
}
