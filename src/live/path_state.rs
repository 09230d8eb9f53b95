//! The state of a tracker of models of one's own. The models are the caller's to keep.

use serde::{Deserialize, Serialize};

use super::PathTracker;
use crate::checkpoint::{StateReader, StateWriter};
use crate::config::TemperingConfig;
use crate::error::{Error, Result};
use crate::tempering::TemperedPath;
use crate::tracking::{ChainTracker, check_count};
use crate::trust::{Interface, LogZ, Trust};

/// Values that are not of the chains.
#[derive(Serialize, Deserialize)]
struct Saved {
    seed: u64,
    tempering: TemperingConfig,
    /// Whether there are chains, and a path to which they have made no step.
    paths: [bool; 2],
    updates: u64,
    tracked_at: u64,
    steps: u64,
    restarts: u64,
    /// Diagnostics, if the last update was evaluated already.
    trust: Option<Trust>,
}

impl<P: TemperedPath> PathTracker<P> {
    /// The state without the paths, which [`Self::from_bytes`] takes beside it: that of [`Self::tracked`] and [`Self::newest`].
    ///
    /// # Errors
    /// None are expected.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Self { settings, tracked, newest, updates, tracked_at, steps, restarts, evaluated } =
            self;
        let mut state = StateWriter::new();
        let saved = Saved {
            seed: settings.seed,
            tempering: settings.tempering.clone(),
            paths: [tracked.is_some(), newest.is_some()],
            updates: *updates,
            tracked_at: *tracked_at,
            steps: *steps,
            restarts: *restarts,
            trust: evaluated.as_ref().map(|evaluated| evaluated.trust.kept(Interface::Rust)),
        };
        state.json("path", &saved);
        if let Some((_, chains)) = tracked {
            chains.write("", &mut state);
        }
        state.to_bytes()
    }

    /// The tracker with this state; it continues bit for bit.
    ///
    /// # Errors
    /// Bytes that are damaged or of something else, or other paths than the state was written with.
    pub fn from_bytes(bytes: Vec<u8>, tracked: Option<P>, newest: Option<P>) -> Result<Self> {
        let state = StateReader::from_bytes("tracker state", bytes)?;
        if !state.has("path") {
            return Err(Error::Mismatch("this is no state of a tracker of paths".into()));
        }
        let saved: Saved = state.json("path")?;
        check_count("updates", saved.updates.max(saved.steps).max(saved.tracked_at))?;
        let ladder = Self::ladder(&saved.tempering)?;
        let same = [&tracked, &newest]
            .iter()
            .all(|path| path.as_ref().is_none_or(|path| path.ladder() == &ladder));
        if saved.paths != [tracked.is_some(), newest.is_some()] || !same {
            return Err(Error::Mismatch("the paths are not those of the tracker's state".into()));
        }
        let Saved { seed, tempering, updates, tracked_at, steps, restarts, .. } = saved;
        let fresh = Self::new(tempering, seed);
        let mut found = Self { updates, tracked_at, steps, restarts, newest, ..fresh };
        if let Some(path) = tracked {
            let (chains, options) = (found.chains(), found.options());
            let tracker = ChainTracker::read("", &path, chains, options, &state)?;
            found.evaluated = saved.trust.map(|trust| LogZ { trust, ..tracker.found_alone(false) });
            found.tracked = Some((path, tracker));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Automatic;
    use crate::engine::Host;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::{BaseDistribution, GeometricPath};

    #[test]
    fn a_tracker_goes_on_from_its_bytes_to_the_bit() {
        let models: Vec<_> =
            (0..9).map(|i| gaussian_parameters(8, 4, 0.3 + 0.01 * f64::from(i), 1)).collect();
        let engines: Vec<_> = models.iter().map(Host::new).collect();
        let every = Automatic::Given(3);
        let tempering = TemperingConfig { chains: 40, every, ..Default::default() };
        let base = BaseDistribution::uniform(8);
        let ladder = PathTracker::<GeometricPath<'_>>::ladder(&tempering).unwrap();
        let mut straight = PathTracker::new(tempering.clone(), 5);
        let mut again = PathTracker::new(tempering, 5);
        for (update, engine) in engines.iter().enumerate() {
            let path = GeometricPath { engine, ladder: &ladder, base: &base };
            straight.update(path).unwrap();
            again.update(path).unwrap();
            if update % 4 == 1 {
                assert_eq!(straight.evaluate().unwrap(), again.evaluate().unwrap());
            }
            let paths = (again.tracked().map(|(path, _)| *path), again.newest().copied());
            again = PathTracker::from_bytes(again.to_bytes().unwrap(), paths.0, paths.1).unwrap();
            assert_eq!(again.to_bytes().unwrap(), straight.to_bytes().unwrap(), "update {update}");
        }
        assert_eq!(straight.evaluate().unwrap(), again.evaluate().unwrap());
        // Without its paths, with one too many, damaged.
        let bytes = again.to_bytes().unwrap();
        let path = Some(GeometricPath { engine: &engines[8], ladder: &ladder, base: &base });
        let refused = |bytes: &[u8], tracked, newest| {
            PathTracker::<GeometricPath<'_>>::from_bytes(bytes.to_vec(), tracked, newest)
                .err()
                .unwrap()
                .to_string()
        };
        assert!(refused(&bytes, None, None).contains("paths"));
        assert!(refused(&bytes, path, path).contains("paths"));
        assert!(refused(&bytes[..bytes.len() / 2], path, None).contains("tracker state"));
    }
}
