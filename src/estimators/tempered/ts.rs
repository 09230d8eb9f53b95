//! Tempered sampling: log Z from counts of the temperatures, y_k = zeta_k + log((n_k + .1)/r_k) - log((n_1 + .1)/r_1).
//!
//! RTS without its Rao-Blackwellization; the tenth of a count keeps empty temperatures finite (RTS section 4).

use std::time::Instant;

use super::super::{Estimate, Method};
use super::KeptRun;
use crate::numerics::Table;
use crate::tempering::PseudoPrior;
use crate::trust::{Doubt, Trust};

/// Added to every temperature's count.
const PSEUDO_COUNT: f64 = 0.1;

/// Tempered sampling.
pub fn ts(run: &KeptRun) -> Estimate {
    let start = Instant::now();
    let (share, last) = (PSEUDO_COUNT / run.chains as f64, run.ladder.len() - 1);
    let counts = run.counts.as_slice().iter().map(|count| count + share).collect();
    let counts = Table::from_numbers(run.ladder.len(), counts);
    let y = PseudoPrior::new(&run.ladder, &run.counted.zeta).measure(&counts);
    let empty = [0, last].into_iter().find(|&k| y.occupancy[k] < 1.0 / run.chains as f64);
    let doubt = empty.map(|k| Doubt::EndNotVisited { beta: run.ladder.betas()[k] });
    let found = (y.log_z[last], y.variance[last].sqrt());
    run.estimate(Method::Ts, start, found, Trust::unless(doubt))
}
