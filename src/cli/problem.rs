//! A model, and what its estimators start from: a product distribution, or a mixture that was found.

use anyhow::{Result, bail};

use crate::estimators::tempered::{KeptRun, Reader, TemperedRun};
use crate::estimators::{Equilibrium, Estimate, FoundStart};
use crate::model::Parameters;
use crate::ops::Fused;
use crate::tempering::mixture::MixturePath;
use crate::tempering::{
    BaseDistribution, BetaUpdate, InitialRounds, Ladder, Path, SimulatedTempering, TemperedChains,
    TemperedPath, Tempering,
};

/// A model to estimate.
pub struct Problem<'a> {
    pub parameters: &'a Parameters,
    pub ops: &'a Fused,
    /// p1(v), where no mixture was found.
    pub base: &'a BaseDistribution,
    /// The start that was found, if one was looked for.
    pub found: Option<FoundStart>,
}

/// The chains that estimators share, run once.
pub enum Shared {
    NotNeeded,
    Occupancy(Box<TemperedRun>),
    Kept(Box<KeptRun>),
}

impl Problem<'_> {
    /// The path along a ladder.
    pub fn along<'b>(&'b self, ladder: &'b Ladder) -> Box<dyn TemperedPath + 'b> {
        match &self.found {
            Some(found) => Box::new(MixturePath { ops: self.ops, ladder, base: &found.mixture }),
            None => Box::new(Path { ops: self.ops, ladder, base: self.base }),
        }
    }

    /// Runs something on `chains` fresh tempered chains.
    pub fn tempered<T>(
        &self,
        ladder: &Ladder,
        chains: usize,
        seed: u64,
        run: impl FnOnce(&mut dyn SimulatedTempering) -> T,
    ) -> T {
        let path = self.along(ladder);
        let mut states = TemperedChains::new(path.sample_base(chains, seed, 0), ladder.len(), seed);
        let mut tempering = Tempering::new(&*path, &mut states, BetaUpdate::Collapsed);
        if let Some(found) = &self.found {
            let above = found.from_above.rows().min(chains / 2);
            tempering = tempering.with_states_above(found.from_above.select(0..above));
        }
        run(&mut tempering)
    }

    /// The shared chains, kept or not.
    pub fn shared(
        &self,
        ladder: &Ladder,
        (chains, sweeps): (usize, usize),
        seed: u64,
        keep: bool,
    ) -> Result<Shared> {
        let rounds = InitialRounds::default();
        self.tempered(ladder, chains, seed, |tempered| {
            Ok(if keep {
                Shared::Kept(Box::new(KeptRun::new(tempered, &rounds, sweeps)?))
            } else {
                Shared::Occupancy(Box::new(TemperedRun::new(tempered, &rounds, sweeps)?))
            })
        })
    }

    /// Samples of the model for reverse annealing.
    pub fn equilibrium(&self, count: usize, seed: u64) -> Result<Equilibrium> {
        let Some(found) = &self.found else {
            return Ok(Equilibrium::draw(self.parameters, self.ops, self.base, count, seed)?);
        };
        Ok(Equilibrium::draw_from(self.parameters, self.ops, found, count, seed)?)
    }

    /// The product distribution, for what knows no other start.
    pub fn product(&self, what: &str) -> Result<&BaseDistribution> {
        if self.found.is_some() {
            bail!(
                "{what} starts from a product distribution: name one with --start, such as pinv or visible-bias"
            );
        }
        Ok(self.base)
    }
}

impl Shared {
    /// What a method reads off the shared chains; `None` where they were not run or not kept for it.
    pub fn read(&self, reader: Reader) -> Option<Estimate> {
        match (self, reader) {
            (Self::Kept(run), reader) => Some(reader.read(run)),
            (Self::Occupancy(run), Reader::Occupancy(method)) => Some(method(run)),
            _ => None,
        }
    }
}
