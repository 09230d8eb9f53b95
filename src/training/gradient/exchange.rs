//! PCD whose particles exchange states with tempered chains at the parameters that are trained (algorithms.md, section 4).
//!
//! Particles at beta = 1 stay in the modes they are in while the model moves mass between these. Tempered chains travel. A chain
//! at beta = 1 and a particle have the same distribution, so swapping their states needs no acceptance and makes no copies.

use super::{Moments, NegativePhase, Now, PersistentDivergence, Start};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::model::Parameters;
use crate::ops::BitMatrix;
use crate::ops::random::{Purpose, Streams, derived_seed};
use crate::tempering::GeometricPath;
use crate::tracking::{ChainTracker, Model, ModelTracker, TrackerOptions};

/// Where checkpoints keep the chains and the parameters they are at.
const PREFIX: &str = "exchange.";

/// How the chains are run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExchangeOptions {
    /// Updates between steps of the chains, each of which is followed by swaps.
    pub every: u64,
    /// Of the chains, which carry no weights.
    pub tracker: TrackerOptions,
}

/// Makes the operations of parameters.
pub type Rebuild = Box<dyn Fn(Parameters) -> Model + Send>;

/// Persistent contrastive divergence with exchange.
pub struct Exchange {
    particles: PersistentDivergence,
    options: ExchangeOptions,
    count: usize,
    rebuild: Rebuild,
    chains: Option<ModelTracker>,
}

impl Exchange {
    /// With `count` chains; their seed is derived from that of the particles.
    pub fn new(
        particles: PersistentDivergence,
        options: ExchangeOptions,
        count: usize,
        rebuild: Rebuild,
    ) -> Self {
        Self { particles, options, count, rebuild, chains: None }
    }

    /// A step of the chains to the model, and swaps where they travel: chains that lost the ladder or make no round trips do not
    /// know the model better than the particles do.
    fn exchange(&mut self, model: &Model, updates: u64) {
        let Some(chains) = &mut self.chains else { return };
        let lost = chains.step(model.clone()).rounds.is_some();
        if lost || !chains.chains().chains.round_trips.mixed() {
            return;
        }
        let particles = &mut self.particles.particles;
        let mut stream = Streams::new(particles.seed, Purpose::Exchange, updates).row(1);
        let first = (stream.uniform() * particles.visible.rows() as f64) as usize;
        chains.swap(&mut particles.visible, first);
    }
}

impl NegativePhase for Exchange {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        if now.updates > 0 && now.updates.is_multiple_of(self.options.every) {
            self.exchange(now.model, now.updates);
        }
        self.particles.moments(now)
    }

    fn start(&mut self, Start { model, ladder, base }: Start<'_>) {
        let seed = derived_seed(self.particles.particles.seed, Purpose::Exchange, 0);
        let options = self.options.tracker;
        let (chains, _) =
            ModelTracker::start(model.clone(), ladder, base, self.count, seed, options);
        self.chains = Some(chains);
    }

    fn particles(&self) -> Option<&BitMatrix> {
        self.particles.particles()
    }

    fn save(&self, state: &mut StateWriter) {
        self.particles.save(state);
        if let Some(chains) = &self.chains {
            state.parameters(PREFIX, &chains.model().parameters);
            chains.chains().write(PREFIX, state);
        }
    }

    fn load(&mut self, state: &StateReader, start: Option<Start<'_>>) -> Result<()> {
        self.particles.load(state, start)?;
        let Some(Start { model, ladder, base }) = start else { return Ok(()) };
        let Parameters { n_visible, n_hidden, .. } = *model.parameters;
        let model = (self.rebuild)(state.parameters(PREFIX, n_visible, n_hidden)?);
        let path = GeometricPath { ops: model.ops.as_ref(), ladder, base };
        let chains = ChainTracker::read(PREFIX, &path, self.count, self.options.tracker, state)?;
        self.chains = Some(ModelTracker::of(chains, model, ladder, base));
        Ok(())
    }
}
