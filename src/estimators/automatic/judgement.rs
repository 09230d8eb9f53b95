//! Diagnostics of an automatic estimate: the movement of its chains, and agreement with all other results.

use crate::estimators::tempered::{Mixing, TemperedRun};
use crate::estimators::{Estimate, Method};
use crate::numerics::{MOST_ERRORS, Table};
use crate::tempering::PseudoPrior;
use crate::trust::{Doubt, Trust};
use std::time::Instant;

/// Rounding of log f at large models, nats: the bound is computed in f64, chains in f32.
const ROUNDING: f64 = 1e-3;

/// Knowledge at the end of a run.
pub(super) struct Evidence<'a> {
    pub run: &'a TemperedRun,
    /// The last so many chains started at beta = 1.
    pub above: usize,
    /// A lower bound of log Z from the weights of all annealing passes.
    pub at_least: f64,
    /// A lower bound of log Z.
    pub bound: f64,
}

/// The estimate with its diagnostics, and a line that describes the result.
pub(super) fn judge(evidence: &Evidence<'_>) -> (Estimate, String) {
    let run = evidence.run;
    let last = run.ladder.len() - 1;
    let y = run.measurement();
    let (value, error) = (y.log_z[last], y.variance[last].sqrt());
    let mut trust = populations(evidence);
    if evidence.bound > value + MOST_ERRORS * error + ROUNDING {
        trust.doubt(Doubt::BelowBound { value, std_error: error, bound: evidence.bound });
    }
    let found = run.estimate(Method::Auto, Instant::now(), (value, error), trust);
    let mut estimate = Estimate { at_least: Some(evidence.at_least), ..found };
    estimate.doubt_below(evidence.at_least);
    let Mixing { round_trips, crossed, correlation, r_hat, effective_log_f, .. } = Mixing::of(run);
    let line = format!(
        "{} chains x {} sweeps: {value:.3} ± {error:.3}; {round_trips:.1} round trips a chain, {crossed} of them crossed the ladder, halves correlate by {correlation:.2}, R-hat of free energies {r_hat:.2}, {effective_log_f:.0} of them effective{}",
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

/// Chains from the mixture and chains from the modes must agree.
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
    let (first, first_error) = of(occupancy.between(0, below));
    let (modes, modes_error) = of(occupancy.between(below, run.chains));
    let apart = (first - modes).abs() > MOST_ERRORS * first_error.hypot(modes_error);
    let differ = Doubt::StartsOfRunDiffer { first, first_error, modes, modes_error };
    Trust::unless(apart.then_some(differ))
}
