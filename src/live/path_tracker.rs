//! The tracker for models of one's own.

use super::Diagnostics;
use super::settings::Settings;
use crate::config::TemperingConfig;
use crate::error::{Error, Result};
use crate::tempering::{Ladder, TemperedChains, TemperedPath};
use crate::tracking::{ChainTracker, Found, TrackerOptions};
use crate::trust::{Doubt, LogZ, Trust};

/// Default number of inverse temperatures.
const TEMPERATURES: usize = 20;

/// log Z of any model in training, with an error bar: of one that is a [`TemperedPath`] for every state of its parameters.
///
/// As [`super::LogZTracker`], without what needs an RBM: the average of parameters, and the check that modes of the data are known. The
/// verdict rests on the chains alone: a mode that no chain has ever visited is not missed. `examples/own_energy.rs` has two models.
#[derive(Clone)]
pub struct PathTracker<P> {
    pub(super) settings: Settings,
    pub(super) tracked: Option<(P, ChainTracker)>,
    /// The newest path, if the chains have made no step to it yet.
    pub(super) newest: Option<P>,
    pub(super) updates: u64,
    pub(super) tracked_at: u64,
    /// Steps of the chains since the last evaluation.
    pub(super) steps: u64,
    pub(super) restarts: u64,
    pub(super) evaluated: Option<LogZ>,
}

impl<P: TemperedPath> PathTracker<P> {
    /// A tracker with these chains; of `tempering`, what is said of base distributions, mixtures and `share` is not used. Its chains start
    /// at the first [`Self::update`].
    pub fn new(tempering: TemperingConfig, seed: u64) -> Self {
        Self {
            settings: Settings { hidden: 0, tempering, seed, window: 0.0 },
            tracked: None,
            newest: None,
            updates: 0,
            tracked_at: 0,
            steps: 0,
            restarts: 0,
            evaluated: None,
        }
    }

    /// The ladder of paths to give to [`Self::update`].
    ///
    /// # Errors
    /// Inverse temperatures or their prior cannot be used.
    pub fn ladder(tempering: &TemperingConfig) -> Result<Ladder> {
        tempering.ladder(TEMPERATURES)
    }

    /// To be called after every update of the model, and once before the first, which starts the chains. All paths have one ladder.
    ///
    /// # Errors
    /// Another ladder than before, or another log Z of the base distribution. [`Error::Interrupted`] after [`crate::Context::cancel`] of the
    /// path's context; the tracker must not be used after that.
    pub fn update(&mut self, path: P) -> Result<()> {
        let Some((old, _)) = &self.tracked else {
            let Settings { seed, tempering, .. } = &self.settings;
            let start = path.sample_base(tempering.chains, *seed, 0);
            let chains = TemperedChains::new(start, path.ladder().len(), *seed);
            let tracker = path.context().interruptible(|| {
                let (mut tracker, _) = ChainTracker::start(&path, chains, self.options());
                tracker.measure_again(&path);
                Ok(tracker)
            })?;
            self.tracked = Some((path, tracker));
            return Ok(());
        };
        if old.ladder() != path.ladder() {
            return Err(Error::Mismatch("the path has another ladder than the one before".into()));
        }
        if old.log_z_base() != path.log_z_base() {
            return Err(Error::Mismatch(format!(
                "log Z of the base distribution was {}, and is {}: it must stay as it is",
                old.log_z_base(),
                path.log_z_base()
            )));
        }
        self.evaluated = None;
        self.updates += 1;
        self.newest = Some(path);
        if self.settings.steps().due(self.updates, self.tracked_at) {
            self.step()?;
        }
        Ok(())
    }

    /// log Z of the model of the last update, with its verdict. The first call after an update equilibrates a copy of the chains, and the
    /// filter uses the result.
    ///
    /// # Errors
    /// There was no update yet. [`Error::Interrupted`], as in [`Self::update`].
    pub fn evaluate(&mut self) -> Result<LogZ> {
        if let Some(evaluated) = &self.evaluated {
            return Ok(evaluated.clone());
        }
        self.step()?;
        let settling = self.options().settling;
        let (path, tracker) = self.tracked.as_mut().ok_or_else(super::not_started)?;
        tracker.set_settling(settling);
        path.context().interruptible(|| Ok(tracker.settle(path)))?;
        let LogZ { value, std_error, trust } = tracker.found_alone(false);
        let infinite = !(value.is_finite() && std_error.is_finite());
        let doubt = infinite.then_some(Doubt::NotFinite { value, std_error });
        let trust = Trust::unless(doubt).and(trust);
        self.steps = 0;
        Ok(self.evaluated.insert(LogZ { value, std_error, trust }).clone())
    }

    /// Diagnostics of the last evaluation; empty before the first update.
    pub fn diagnostics(&self) -> Diagnostics {
        let found = Found { restarts: self.restarts, ..Found::default() };
        self.tracked.as_ref().map(|(_, chains)| Diagnostics::of(chains, &found)).unwrap_or_default()
    }

    /// The chains and the path of their last step; `None` before the first update. [`ChainTracker::weights`] of their states give averages
    /// over the model.
    pub fn tracked(&self) -> Option<(&P, &ChainTracker)> {
        self.tracked.as_ref().map(|(path, chains)| (path, chains))
    }

    /// The path of the last update, if the chains have made no step to it yet.
    pub fn newest(&self) -> Option<&P> {
        self.newest.as_ref()
    }

    /// Number of chains, S.
    pub fn chains(&self) -> usize {
        self.settings.tempering.chains
    }

    /// Updates since the one that started the chains.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Number of times the chains were re-initialised because they had crowded at few temperatures.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    pub(super) fn options(&self) -> TrackerOptions {
        self.settings.tracker_options(self.steps)
    }

    fn step(&mut self) -> Result<()> {
        let (Some(new), Some((path, tracker))) = (self.newest.take(), &mut self.tracked) else {
            return Ok(());
        };
        self.restarts += u64::from(tracker.step(path, &new).rounds.is_some());
        *path = new;
        self.steps += 1;
        self.tracked_at = self.updates;
        path.context().check()
    }
}
