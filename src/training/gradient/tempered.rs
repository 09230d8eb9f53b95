//! The tempered gradient: all chains at all temperatures, weighted by q(beta = 1 | v) (Carlson et al. 2016, section 4.4).

use super::{Carriers, Moments, NegativePhase, Now, moments_from_inputs};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::tempering::{Path, TemperedChains};
use crate::tracking::{LogZTracker, TrackerOptions};

/// Where checkpoints keep chains of its own.
const PREFIX: &str = "gradient.";

/// Weighted tempered chains as negative phase: its own, or the tracker's.
pub struct Tempered(Option<OwnChains>);

struct OwnChains {
    count: usize,
    seed: u64,
    options: TrackerOptions,
    chains: Option<LogZTracker>,
}

impl Tempered {
    /// The tracker's chains are the negative phase: for a tracker of the model the gradient is taken at.
    pub fn of_tracker() -> Self {
        Self(None)
    }

    /// `count` chains of its own, which follow the model the gradient is taken at where the tracker follows an average.
    pub fn with_chains(count: usize, seed: u64, options: TrackerOptions) -> Self {
        Self(Some(OwnChains { count, seed, options, chains: None }))
    }

    fn own(&self) -> Option<&LogZTracker> {
        self.0.as_ref().and_then(|own| own.chains.as_ref())
    }
}

impl NegativePhase for Tempered {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        let chains = self.own().unwrap_or(now.tracker);
        let inputs = chains.evaluated().inputs.clone();
        let weights = chains.weights();
        Ok(moments_from_inputs(now.ops, &chains.chains.visible, inputs, Some(&weights)))
    }

    fn start(&mut self, path: Path<'_>) {
        let Some(OwnChains { count, seed, options, chains }) = &mut self.0 else { return };
        let start =
            TemperedChains::new(path.base.sample(*count, *seed, 0), path.ladder.len(), *seed);
        *chains = Some(LogZTracker::start(path, start, *options).0);
    }

    fn follow(&mut self, old: Path<'_>, new: Path<'_>) {
        if let Some(OwnChains { chains: Some(chains), .. }) = &mut self.0 {
            chains.step(old, new);
        }
    }

    fn carriers(&self) -> Carriers<'_> {
        match (&self.0, self.own()) {
            (None, _) => Carriers::Tracker,
            (_, Some(chains)) => Carriers::Own(chains),
            (_, None) => Carriers::None,
        }
    }

    fn save(&self, state: &mut StateWriter) {
        if let Some(chains) = self.own() {
            chains.write(PREFIX, state);
        }
    }

    fn load(&mut self, state: &StateReader, path: Option<Path<'_>>) -> Result<()> {
        let (Some(own), Some(path)) = (&mut self.0, path) else { return Ok(()) };
        own.chains = Some(LogZTracker::read(PREFIX, path, own.count, own.options, state)?);
        Ok(())
    }
}
