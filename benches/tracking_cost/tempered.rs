//! The tempered gradient of RTS section 4.4: the share of an update that only the tracker needs.

use std::fs::File;

use ztrack::engine::{Engine, Host};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::{BaseDistribution, GeometricPath, Ladder, Prior, TemperedChains};
use ztrack::training::gradient::gradient;
use ztrack::training::update::{RmsSpectral, RmsSpectralConfig, UpdateRule};

use super::clock::Clock;
use super::{Failure, Setting, TEMPERATURES, TRACKERS, data, profile, step, trackers};

/// What an update does whether or not log Z is tracked, beside the sweeps.
const UPDATE: [&str; 3] = ["statistics of the gradient", "RMSspectral", "new kernel tables"];

/// Runs, prints and writes one setting.
pub fn run(
    setting: &Setting,
    costs: &mut csv::Writer<File>,
    profiles: &mut csv::Writer<File>,
) -> Result<(), Failure> {
    let clock = measure(setting)?;
    let rest: f64 = UPDATE.iter().map(|part| clock.typical(part)).sum();
    println!("\ntempered gradient, {}, {} sweeps, RMSspectral", setting.name(), setting.sweeps);
    println!("  {:<20}{:>12}{:>14}{:>10}", "tracker", "ms an update", "ms tracking", "share");
    for (name, ..) in TRACKERS {
        let step = clock.typical(name);
        let (whole, tracking) = (rest + step, step - clock.typical(&format!("bare {name}")));
        let share = tracking / whole;
        println!("  {name:<20}{whole:>12.1}{tracking:>14.2}{:>9.1}%", 100.0 * share);
        let [whole, tracking, share] = [whole, tracking, share].map(|x| x.to_string());
        costs.write_record(["tempered", &setting.name(), name, &whole, &tracking, &share])?;
    }
    println!("  where the time goes, ms:");
    let own = UPDATE.into_iter().map(|part| (part, clock.typical(part)));
    profile::report("tempered", setting, own.chain(profile::lines(&clock)), profiles)?;
    Ok(())
}

/// Times the parts of updates, steps, and the same sweeps without a tracker.
fn measure(setting: &Setting) -> Result<Clock, Failure> {
    let Setting { n_visible: m, n_hidden: j, updates, sweeps, .. } = *setting;
    let data = data(setting);
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Exponential(2.0))?;
    // Nearly independent units, so that no tracker ever loses the ladder: then times would be of initial rounds.
    let mut parameters = gaussian_parameters(m, j, 0.02, 1);
    let base = BaseDistribution::from_logits(&parameters.visible_bias)?;
    let mut engine = Host::new(&parameters);
    let mut rule = RmsSpectral::new(RmsSpectralConfig::default(), m, j, 1e-5);
    let mut trackers =
        trackers(setting, GeometricPath { engine: &engine, ladder: &ladder, base: &base });
    let mut bare: Vec<TemperedChains> =
        trackers.iter().map(|tracker| tracker.chains.clone()).collect();
    let mut aside = trackers[0].chains.clone();
    let zeta = trackers[0].pseudo_prior().to_vec();
    let mut clock = Clock::new(setting.threads);
    for update in 0..updates + 2 {
        if update == 2 {
            clock.restart();
        }
        let tracker = &trackers[0];
        let (positive, negative) = clock.time(UPDATE[0], || {
            let positive = engine.moments(&data, None);
            let cached = tracker.evaluated().cached.clone();
            let (visible, weights) = (&tracker.chains.visible, tracker.weights());
            (positive, engine.moments_of_cached(visible, cached, Some(&weights)))
        });
        clock.time(UPDATE[1], || {
            rule.step(&mut parameters, &gradient(&positive, &negative, None), 1e-5);
        });
        let new = clock.time(UPDATE[2], || Host::new(&parameters));
        let before = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let after = GeometricPath { engine: &new, ladder: &ladder, base: &base };
        for turn in 0..trackers.len() {
            let turn = (turn + update) % trackers.len();
            let (name, _, beta_update) = TRACKERS[turn];
            step(&mut trackers[turn], name, &before, &after, &mut clock)?;
            let chains = &mut bare[turn];
            clock.time(&format!("bare {name}"), || {
                chains.sweep(&after, &zeta, beta_update, sweeps, None)
            });
        }
        profile::parts(after, &mut aside, &zeta, sweeps, &mut clock);
        engine = new;
    }
    Ok(clock)
}
