//! The tempered gradient: all chains at all temperatures, weighted by q(beta = 1 | v) (Carlson et al. 2016, section 4.4).

use super::{Moments, NegativePhase, Now, Start};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::tracking::{ChainTracker, Model, ModelTracker, TrackerOptions};

/// Name in checkpoints of chains of its own.
const PREFIX: &str = "gradient.";

/// Weighted tempered chains as negative phase: its own, or the tracker's.
pub struct Tempered(Option<OwnChains>);

struct OwnChains {
    count: usize,
    seed: u64,
    options: TrackerOptions,
    chains: Option<ModelTracker>,
}

impl Tempered {
    /// The tracker's chains are the negative phase: if the tracker follows the model of the gradient.
    pub(crate) fn of_tracker() -> Self {
        Self(None)
    }

    /// `count` chains of its own, which follow the model of the gradient while the tracker follows an average.
    pub(crate) fn with_chains(count: usize, seed: u64, options: TrackerOptions) -> Self {
        Self(Some(OwnChains { count, seed, options, chains: None }))
    }
}

impl NegativePhase for Tempered {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        let Some(chains) = self.chains().or(now.tracker) else {
            return Err(Error::Invalid(
                "the tempered gradient needs the chains of the tracker".into(),
            ));
        };
        let cached = chains.evaluated().cached.clone();
        let weights = chains.weights();
        let engine = now.model.engine.as_ref();
        Ok(engine.moments_of_cached(&chains.chains.visible, cached, Some(&weights)))
    }

    fn start(&mut self, start: Start<'_>) {
        let Some(OwnChains { count, seed, options, chains }) = &mut self.0 else { return };
        *chains = Some(ModelTracker::start(start, None, *count, *seed, *options).0);
    }

    fn follow(&mut self, new: &Model) {
        if let Some(OwnChains { chains: Some(chains), .. }) = &mut self.0 {
            chains.step(new.clone());
        }
    }

    fn chains(&self) -> Option<&ChainTracker> {
        self.0.as_ref().and_then(|own| own.chains.as_ref()).map(ModelTracker::chains)
    }

    fn is_of_tracker(&self) -> bool {
        self.0.is_none()
    }

    fn save(&self, state: &mut StateWriter) {
        if let Some(chains) = self.chains() {
            chains.write(PREFIX, state);
        }
    }

    fn load(&mut self, state: &StateReader, start: Option<Start<'_>>) -> Result<()> {
        let (Some(own), Some(start)) = (&mut self.0, start) else { return Ok(()) };
        let chains = ModelTracker::read_chains(PREFIX, state, start, own.count, own.options)?;
        own.chains = Some(chains);
        Ok(())
    }
}
