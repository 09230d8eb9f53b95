//! Input of estimators: a model, its start (a product distribution, or a mixture that was found), and the amount of work.

use super::tempered::{KeptRun, Reader, TemperedRun};
use super::{Bound, Equilibrium, Estimate, FoundStart};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::tempering::mixture::MixturePath;
use crate::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, SimulatedTempering,
    TemperedChains, TemperedPath, Tempering,
};

/// A model to estimate.
pub(super) struct Request<'a> {
    pub parameters: &'a Parameters,
    pub engine: &'a dyn Engine,
    /// p1(v), if there is no mixture.
    pub base: &'a BaseDistribution,
    /// The mixture that was found, if one was searched for.
    pub found: Option<FoundStart>,
    /// A known lower bound of log Z, if any: samples of chains that miss a part of the model are put in doubt.
    pub bound: Option<Bound>,
    /// Number of chains, S.
    pub chains: usize,
    /// Counted sweeps of tempered chains.
    pub sweeps: usize,
    /// Seed; every method derives its own ([`Method::seed`]).
    pub seed: u64,
}

/// The chains that estimators share, run once.
pub(super) enum Shared {
    NotNeeded,
    Occupancy(Box<TemperedRun>),
    Kept(Box<KeptRun>),
}

impl Request<'_> {
    /// The path along a ladder.
    pub fn along<'b>(&'b self, ladder: &'b Ladder) -> Box<dyn TemperedPath + 'b> {
        match &self.found {
            Some(found) => {
                Box::new(MixturePath { engine: self.engine, ladder, base: &found.mixture })
            }
            None => Box::new(GeometricPath { engine: self.engine, ladder, base: self.base }),
        }
    }

    /// Runs a function on `chains` fresh tempered chains.
    pub fn tempered<T>(
        &self,
        ladder: &Ladder,
        seed: u64,
        run: impl FnOnce(&mut dyn SimulatedTempering) -> T,
    ) -> T {
        let (path, chains) = (self.along(ladder), self.chains);
        let mut states = TemperedChains::new(path.sample_base(chains, seed, 0), ladder.len(), seed);
        let mut tempering = Tempering::new(&*path, &mut states, BetaUpdate::Collapsed);
        if let Some(found) = &self.found {
            let above = found.from_above.rows().min(chains / 2);
            tempering = tempering.with_states_above(found.from_above.select(0..above));
        }
        run(&mut tempering)
    }

    /// The shared chains, with kept states or without.
    pub fn shared(&self, ladder: &Ladder, keep: bool) -> Result<Shared> {
        let (rounds, sweeps) = (InitialRounds::default(), self.sweeps);
        self.tempered(ladder, self.seed, |tempered| {
            Ok(if keep {
                Shared::Kept(Box::new(KeptRun::new(tempered, &rounds, sweeps)?))
            } else {
                Shared::Occupancy(Box::new(TemperedRun::new(tempered, &rounds, sweeps)?))
            })
        })
    }

    /// Samples of the model for reverse annealing.
    pub fn equilibrium(&self, seed: u64) -> Result<Equilibrium> {
        let (parameters, engine, count) = (self.parameters, self.engine, self.chains);
        let mut samples = match &self.found {
            Some(found) => Equilibrium::draw_from(parameters, engine, found, count, seed)?,
            None => Equilibrium::draw(parameters, engine, self.base, count, seed)?,
        };
        if let Some(bound) = self.bound {
            samples.refuse_below(bound.value);
        }
        Ok(samples)
    }

    /// The product distribution, for methods that need one.
    pub fn product(&self, what: &str) -> Result<&BaseDistribution> {
        if self.found.is_some() {
            return Err(Error::Invalid(format!(
                "{what} starts from a product distribution: name one with --start, such as pinv or visible-bias"
            )));
        }
        Ok(self.base)
    }
}

impl Shared {
    /// The result of a method from the shared chains; `None` if they were not run or not kept for it.
    pub fn read(&self, reader: Reader) -> Option<Estimate> {
        match (self, reader) {
            (Self::Kept(run), reader) => Some(reader.read(run)),
            (Self::Occupancy(run), Reader::Occupancy(method)) => Some(method(run)),
            _ => None,
        }
    }

    /// RTS of the shared chains, whose doubts apply to all methods that read them.
    pub fn rts(&self) -> Option<Estimate> {
        match self {
            Self::NotNeeded => None,
            Self::Occupancy(run) => Some(run.rts()),
            Self::Kept(run) => Some(run.rts()),
        }
    }
}
