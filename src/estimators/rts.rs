//! Rao-Blackwellized tempered sampling of a fixed model (RTS Algorithm 1).

use std::time::Instant;

use super::{Bias, Estimate};
use crate::error::Result;
use crate::ops::RbmOps;
use crate::tempering::{
    BaseDistribution, BetaUpdate, InitialRounds, Ladder, NEEDED_PER_CHAIN, Occupancy, Path,
    RoundsEnd, TemperedChains,
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
    /// Runs initial rounds, then all sweeps with a fixed pseudo-prior.
    ///
    /// # Errors
    /// Fewer than two chains, of which no error bar can be made.
    pub fn run(&self, ops: &dyn RbmOps, base: &BaseDistribution) -> Result<Estimate> {
        /// Sweeps between two looks at the statistics (bounds the memory of a call).
        const STRETCH: usize = 100;
        /// One more sweep in so many is run before counting.
        const BURN_IN: usize = 5;
        let start = Instant::now();
        super::at_least_two_chains(self.chains)?;
        let path = Path { ops, ladder: &self.ladder, base };
        let k = self.ladder.len();
        let visible = base.sample(self.chains, self.seed, 0);
        let mut chains = TemperedChains::new(visible, k, self.seed);
        let rounds = self.initial_rounds.run(path, &mut chains, self.beta_update);
        let zeta = rounds.measurement.log_z;
        // The last round left chains spread for the zeta before; the first fifth under the new one is not counted.
        chains.sweep(path, &zeta, self.beta_update, (self.sweeps / BURN_IN).max(1), None);
        let mut occupancy = Occupancy::new(self.chains, k);
        let mut round_trips = 0;
        let mut done = 0;
        while done < self.sweeps.max(1) {
            let sweeps = STRETCH.min(self.sweeps.max(1) - done);
            let record = chains.sweep(path, &zeta, self.beta_update, sweeps, None);
            occupancy.add(&record.occupancy, sweeps);
            round_trips += record.round_trips;
            done += sweeps;
        }
        let measurement = occupancy.measure(&self.ladder, &zeta);
        let per_chain = round_trips as f64 / self.chains as f64;
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
            gibbs_sweeps: chains.sweeps * self.chains as u64,
            seconds: start.elapsed().as_secs_f64(),
            doubt,
        })
    }
}
