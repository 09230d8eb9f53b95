//! MBAR, also known as UWHAM: all kept states of all temperatures reweighted at once (see [`super::reweighting`]).
//!
//! n_k counts the temperature that GENERATED a state; pseudo-prior and prior are not used (RTS section 3.4 and App. D, where eq. 31 sums to
//! K and eq. 33 lost r_k).

use std::borrow::Cow;
use std::time::Instant;

use super::super::{Estimate, Method};
use super::errors::between_chains;
use super::reweighting::{Pooled, Reweighted};
use super::{KeptRun, KeptStates};
use crate::trust::{Doubt, Trust};

/// log Z_k at every temperature by MBAR.
#[derive(Clone, Debug)]
pub struct Mbar {
    /// log Z_k - log Z_1, shape `[K]`.
    pub log_z: Vec<f64>,
    /// Standard error of log Z_K - log Z_1, between chains.
    pub std_error: f64,
    /// Whether Newton's method reached the minimum.
    pub converged: bool,
}

impl Mbar {
    /// Reweights states of `chains` chains from a first guess of log Z_k `[K]`; `None` without states.
    pub fn solve(states: &KeptStates, chains: usize, guess: &[f64]) -> Option<Self> {
        let rows = states.generated_at.len();
        let pooled = Pooled {
            k: guess.len(),
            log_f: Cow::Borrowed(states.log_f.as_slice()),
            generated_at: Cow::Borrowed(&states.generated_at),
            chain: (0..rows).map(|i| (i % chains) as u32).collect(),
            chains,
        };
        let Reweighted { log_z, influence, converged } = pooled.solve(guess)?;
        Some(Self { log_z, std_error: between_chains(&influence), converged })
    }
}

/// MBAR of the run's kept states.
pub fn mbar(run: &KeptRun) -> Estimate {
    let start = Instant::now();
    let solved = Mbar::solve(&run.states, run.chains, &run.measurement().log_z);
    let (found, converged) = solved.map_or(((f64::NAN, f64::NAN), false), |mbar| {
        let last = mbar.log_z.len() - 1;
        ((run.counted.zeta[0] + mbar.log_z[last], mbar.std_error), mbar.converged)
    });
    let doubt = (!converged).then_some(Doubt::NotSolved {});
    run.estimate(Method::Mbar, start, found, Trust::unless(doubt))
}
