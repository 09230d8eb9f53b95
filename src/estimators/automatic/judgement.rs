//! The verdict on an automatic estimate: how its chains moved, and whether everything else that is known agrees.

use super::candidates::Candidate;
use crate::estimators::tempered::{Mixing, TemperedRun};
use crate::estimators::{Estimate, Method};
use crate::numerics::Table;
use crate::tempering::{MeanWeight, PseudoPrior};
use crate::trust::Trust;
use std::time::Instant;

/// Combined errors by which two estimates of the same number may differ.
pub(super) const MOST_ERRORS: f64 = 4.0;
/// Nats by which annealing from anywhere exceeds log Z once in a thousand times at most (Markov's inequality).
const MOST_ABOVE: f64 = 7.0;
/// Rounding of log f at large models, nats: the bound is computed in f64, chains in f32.
const ROUNDING: f64 = 1e-3;

/// What is known at the end of a run.
pub(super) struct Evidence<'a> {
    pub run: &'a TemperedRun,
    /// The last so many chains started at beta = 1.
    pub above: usize,
    /// log Z by the annealing pass of the chains themselves.
    pub annealed: (f64, MeanWeight),
    pub candidates: &'a [Candidate],
    /// A lower bound of log Z.
    pub bound: f64,
}

/// The estimate with its verdict, and a line on what was found.
pub(super) fn judge(evidence: &Evidence<'_>) -> (Estimate, String) {
    let run = evidence.run;
    let last = run.ladder.len() - 1;
    let y = run.measurement();
    let (value, error) = (y.log_z[last], y.variance[last].sqrt());
    let mut trust = populations(evidence).and(annealing(evidence, value, error));
    if evidence.bound > value + MOST_ERRORS * error + ROUNDING {
        trust.doubt(
            "below-bound",
            format!(
                "wrong: log Z is at least {:.3}, the sum over distinct states alone",
                evidence.bound
            ),
        );
    }
    let estimate = run.estimate(Method::Auto, Instant::now(), (value, error), trust);
    let Mixing { round_trips, travelled, correlation, r_hat, effective_log_f, .. } =
        Mixing::of(run);
    let line = format!(
        "{} chains x {} sweeps: {value:.3} +- {error:.3}; {round_trips:.1} round trips a chain, {travelled} chains travelled, halves correlate by {correlation:.2}, R-hat of free energies {r_hat:.2}, {effective_log_f:.0} of them effective{}",
        run.chains,
        run.counted.sweeps,
        if estimate.trust.is_sound() {
            "".into()
        } else {
            format!("; in doubt: {}", estimate.trust.names())
        }
    );
    (estimate, line)
}

/// Chains from the mixture and chains from the modes must say the same.
fn populations(evidence: &Evidence<'_>) -> Trust {
    let run = evidence.run;
    let (k, below) = (run.ladder.len(), run.chains - evidence.above);
    if evidence.above < 2 || below < 2 {
        return Trust::sound();
    }
    let prior = PseudoPrior::new(&run.ladder, &run.counted.zeta);
    let of = |rows: Table| {
        let y = prior.measure(&rows);
        (y.log_z[k - 1], y.variance[k - 1].sqrt())
    };
    let occupancy = &run.counted.occupancy;
    let (a, error_a) = of(occupancy.between(0, below));
    let (b, error_b) = of(occupancy.between(below, run.chains));
    let apart = (a - b).abs() > MOST_ERRORS * error_a.hypot(error_b);
    let reason = apart.then(|| {
        format!("chains from the start say {a:.3} +- {error_a:.3}, chains from the modes {b:.3} +- {error_b:.3}: they see different parts of the model; give it a larger --budget")
    });
    Trust::unless("populations-differ", reason)
}

/// No annealing run may be far above: all of them are lower bounds with high probability.
fn annealing(evidence: &Evidence<'_>, value: f64, error: f64) -> Trust {
    let (log_z, mean) = &evidence.annealed;
    let own = ("the chains' own annealing", *log_z, mean.std_error);
    let tried = evidence.candidates.iter().map(|c| (c.name.as_str(), c.log_z, c.std_error));
    let reason = annealed_above(tried.chain([own]), value, error).map(|(name, log_z, std_error)| {
        format!("annealing from another start ({name}) finds {log_z:.3} +- {std_error:.3}, more than these chains: a mode is missing")
    });
    Trust::unless("annealing-above", reason)
}

/// An annealing run (name, log Z, standard error) that is too far above an estimate for the two to be of the same number.
pub(crate) fn annealed_above<'a>(
    mut tried: impl Iterator<Item = (&'a str, f64, f64)>,
    value: f64,
    error: f64,
) -> Option<(&'a str, f64, f64)> {
    tried.find(|(_, log_z, std_error)| {
        let own = (MOST_ERRORS * std_error).clamp(1.0, MOST_ABOVE);
        log_z - value > own.hypot(MOST_ERRORS * error)
    })
}
