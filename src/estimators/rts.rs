//! Rao-Blackwellized tempered sampling of a fixed model (RTS Algorithm 1).

use std::time::Instant;

use super::tempered::{KeptRun, TemperedRun};
use super::{Estimate, Method};
use crate::engine::Engine;
use crate::error::Result;
use crate::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, SimulatedTempering,
    TemperedChains, Tempering,
};
use crate::trust::Trust;

/// Settings of Rao-Blackwellized tempered sampling.
#[derive(Clone, Debug, PartialEq)]
pub struct Rts {
    /// Number of chains, S.
    pub chains: usize,
    /// Sweeps of every chain that are counted, after the initial rounds and a burn-in of a fifth as many.
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
    /// Fewer than two chains, which give no error bar.
    pub fn run(&self, engine: &dyn Engine, base: &BaseDistribution) -> Result<Estimate> {
        Ok(self.sample(engine, base)?.rts())
    }

    /// [`Rts::run`] for several estimators: occupancies of the same chains.
    ///
    /// # Errors
    /// Fewer than two chains, which give no error bar.
    pub fn sample(&self, engine: &dyn Engine, base: &BaseDistribution) -> Result<TemperedRun> {
        self.with_chains(engine, base, |chains| {
            TemperedRun::new(chains, &self.initial_rounds, self.sweeps)
        })
    }

    /// [`Rts::run`] for all estimators: the same chains, with all statistics that estimators read.
    ///
    /// # Errors
    /// Fewer than two chains, which give no error bar.
    pub fn sample_and_keep(&self, engine: &dyn Engine, base: &BaseDistribution) -> Result<KeptRun> {
        self.with_chains(engine, base, |chains| {
            KeptRun::new(chains, &self.initial_rounds, self.sweeps)
        })
    }

    fn with_chains<T>(
        &self,
        engine: &dyn Engine,
        base: &BaseDistribution,
        run: impl FnOnce(&mut dyn SimulatedTempering) -> Result<T>,
    ) -> Result<T> {
        base.check_for(engine)?;
        let path = GeometricPath { engine, ladder: &self.ladder, base };
        let visible = base.sample(self.chains, self.seed, 0);
        let mut chains = TemperedChains::new(visible, self.ladder.len(), self.seed);
        run(&mut Tempering::new(path, &mut chains, self.beta_update))
    }
}

/// Rao-Blackwellized tempered sampling of any target: initial rounds, a burn-in of a fifth of `sweeps`, then `sweeps` counted.
///
/// # Errors
/// Fewer than two chains, which give no error bar.
pub fn rts(
    chains: &mut dyn SimulatedTempering,
    initial_rounds: &InitialRounds,
    sweeps: usize,
) -> Result<Estimate> {
    Ok(TemperedRun::new(chains, initial_rounds, sweeps)?.rts())
}

impl TemperedRun {
    /// Rao-Blackwellized tempered sampling.
    pub fn rts(&self) -> Estimate {
        let (start, last) = (Instant::now(), self.ladder.len() - 1);
        let y = self.measurement();
        self.estimate(Method::Rts, start, (y.log_z[last], y.variance[last].sqrt()), Trust::sound())
    }
}
