//! Rao-Blackwellized tempered sampling of a fixed model (RTS Algorithm 1).

use std::time::Instant;

use super::{Bias, Estimate};
use crate::error::Result;
use crate::ops::RbmOps;
use crate::tempering::{
    BaseDistribution, BetaUpdate, InitialRounds, Ladder, NEEDED_PER_CHAIN, Occupancy, Path,
    RbmTempering, RoundsEnd, SimulatedTempering, TemperedChains,
};

/// Settings of Rao-Blackwellized tempered sampling.
#[derive(Clone, Debug, PartialEq)]
pub struct Rts {
    /// Number of chains, S.
    pub chains: usize,
    /// Sweeps of every chain that are counted, after the initial rounds and a fifth as many to settle.
    pub sweeps: usize,
    /// Inverse temperatures and their prior.
    pub ladder: Ladder,
    /// How inverse temperatures are redrawn.
    pub beta_update: BetaUpdate,
    /// Rounds that find the pseudo-prior.
    pub initial_rounds: InitialRounds,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Rts {
    /// Runs initial rounds, then all sweeps with a fixed pseudo-prior, on fresh chains of an RBM.
    ///
    /// # Errors
    /// Fewer than two chains, of which no error bar can be made.
    pub fn run(&self, ops: &dyn RbmOps, base: &BaseDistribution) -> Result<Estimate> {
        let path = Path { ops, ladder: &self.ladder, base };
        let visible = base.sample(self.chains, self.seed, 0);
        let mut chains = TemperedChains::new(visible, self.ladder.len(), self.seed);
        let mut tempering = RbmTempering::new(path, &mut chains, self.beta_update);
        rts(&mut tempering, &self.initial_rounds, self.sweeps)
    }
}

/// Rao-Blackwellized tempered sampling of any target: initial rounds, a fifth of `sweeps` to settle, then `sweeps` counted.
///
/// # Errors
/// Fewer than two chains, of which no error bar can be made.
pub fn rts(
    chains: &mut dyn SimulatedTempering,
    initial_rounds: &InitialRounds,
    sweeps: usize,
) -> Result<Estimate> {
    /// Sweeps between two looks at the statistics (bounds the memory of a call).
    const STRETCH: usize = 100;
    /// One more sweep in so many is run before counting.
    const BURN_IN: usize = 5;
    let start = Instant::now();
    let (n, k) = (chains.chains(), chains.ladder().len());
    super::at_least_two_chains(n)?;
    let before = chains.sweeps_done();
    let rounds = initial_rounds.run(chains);
    let zeta = rounds.measurement.log_z;
    // The last round left chains spread for the zeta before; the first fifth under the new one is not counted.
    chains.sweep(&zeta, (sweeps / BURN_IN).max(1));
    let mut occupancy = Occupancy::new(n, k);
    let mut round_trips = 0;
    let mut done = 0;
    while done < sweeps.max(1) {
        let stretch = STRETCH.min(sweeps.max(1) - done);
        let swept = chains.sweep(&zeta, stretch);
        occupancy.add(&swept.occupancy, stretch);
        round_trips += swept.round_trips;
        done += stretch;
    }
    let measurement = occupancy.measure(chains.ladder(), &zeta);
    let per_chain = round_trips as f64 / n as f64;
    let doubt = if per_chain < NEEDED_PER_CHAIN {
        Some(format!(
            "not mixed: {per_chain:.2} round trips per chain, {NEEDED_PER_CHAIN} needed: use more sweeps or temperatures"
        ))
    } else if rounds.end == RoundsEnd::Exhausted {
        Some("initial rounds did not converge: use more rounds or sweeps per round".into())
    } else {
        None
    };
    Ok(Estimate {
        method: "rts",
        value: measurement.log_z[k - 1],
        std_error: measurement.variance[k - 1].sqrt(),
        // A round trip forgets where a chain came from.
        effective_samples: Some(round_trips as f64),
        bias: Bias::Consistent,
        gibbs_sweeps: (chains.sweeps_done() - before) * n as u64,
        seconds: start.elapsed().as_secs_f64(),
        doubt,
    })
}
