//! A tracker's whole state in a file. A loaded tracker continues with the same bits.

use std::path::Path as FilePath;

use serde::{Deserialize, Serialize};

use super::LogZTracker;
use super::settings::Settings;
use crate::checkpoint::{StateReader, StateWriter, write_bytes};
use crate::config::TemperingConfig;
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::tempering::BaseDistribution;
use crate::tracking::{Found, Model, ModelTracker, Start, TRACKED, check_count};
use crate::training::{Averaged, temperatures};
use crate::trust::{Interface, LogZ, Trust};

/// Values that are not arrays.
#[derive(Serialize, Deserialize)]
struct Saved {
    visible: usize,
    hidden: usize,
    seed: u64,
    tempering: TemperingConfig,
    data_rows: Option<usize>,
    particle_rows: Option<usize>,
    started: bool,
    newest: bool,
    updates: u64,
    tracked_at: u64,
    steps: u64,
    /// Fraction of the updates that is averaged over.
    window: f64,
    #[serde(flatten)]
    found: Found,
    /// Diagnostics, if the last update was evaluated already.
    trust: Option<Trust>,
}

impl LogZTracker {
    /// Writes the state atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: impl AsRef<FilePath>) -> Result<()> {
        write_bytes(path.as_ref(), &self.to_bytes()?)
    }

    /// Reads what [`LogZTracker::save`] wrote; the tracker continues bit for bit.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, or is not of a tracker.
    pub fn load(path: impl AsRef<FilePath>) -> Result<Self> {
        Self::read(&StateReader::open(path)?)
    }

    /// The state as the content of a file; the same state gives the same bytes.
    ///
    /// # Errors
    /// None are expected.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut state = StateWriter::new();
        let rows = |bits: &Option<BitMatrix>| bits.as_ref().map(BitMatrix::rows);
        state.json(
            "live",
            &Saved {
                visible: self.visible(),
                hidden: self.hidden(),
                seed: self.settings.seed,
                tempering: self.settings.tempering.clone(),
                data_rows: rows(&self.data),
                particle_rows: rows(&self.particles),
                started: self.tracker.is_some(),
                newest: self.newest.is_some(),
                updates: self.updates,
                tracked_at: self.tracked_at,
                steps: self.steps,
                window: self.settings.window,
                found: self.tracker.as_ref().map_or_else(Found::default, |tracker| tracker.found),
                trust: self
                    .evaluated
                    .as_ref()
                    .map(|evaluated| evaluated.trust.kept(Interface::Rust)),
            },
        );
        state.array("base", &[self.visible()], self.base.logits());
        state.variables("base.", self.base.variables());
        if let Some(data) = &self.data {
            state.bits("data", data);
        }
        if let Some(particles) = &self.particles {
            state.bits("particles", particles);
        }
        if let Some(newest) = &self.newest {
            state.parameters("newest.", newest);
        }
        if let Some(averaged) = &self.averaged {
            state.parameters("averaged.", averaged.parameters());
        }
        if let Some(tracker) = &self.tracker {
            tracker.write(&mut state);
        }
        state.to_bytes()
    }

    /// As [`LogZTracker::load`] from bytes.
    ///
    /// # Errors
    /// As [`LogZTracker::load`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::read(&StateReader::from_bytes("tracker state", bytes)?)
    }

    fn read(state: &StateReader) -> Result<Self> {
        if !state.has("live") {
            return Err(Error::Mismatch(
                "this is the state of a training run, not of a tracker: `ztrack train --resume` continues it".into(),
            ));
        }
        let saved: Saved = state.json("live")?;
        let (m, j) = (saved.visible, saved.hidden);
        check_count("updates", saved.updates.max(saved.steps).max(saved.tracked_at))?;
        if !(0.0..=1.0).contains(&saved.window) {
            return Err(Error::Invalid(format!("a window of {}, not in [0, 1]", saved.window)));
        }
        let ladder = saved.tempering.ladder(temperatures(m, j))?;
        let variables = state.variables("base.")?;
        let base = BaseDistribution::from_logits(&state.array("base", &[m])?)?;
        if !variables.fit(m) {
            return Err(Error::Mismatch(format!("variables `{variables}` for {m} columns")));
        }
        let base = base.of(&variables);
        let bits = |name: &str, rows: Option<usize>| {
            rows.map(|rows| state.bits(name, rows, m)).transpose()
        };
        let (data, particles) =
            (bits("data", saved.data_rows)?, bits("particles", saved.particle_rows)?);
        let Saved { seed, window, tempering, .. } = saved;
        let settings = Settings { hidden: j, tempering, seed, window };
        let mut live = Self::new(settings, ladder, base, data);
        live.particles = particles;
        (live.updates, live.steps) = (saved.updates, saved.steps);
        live.tracked_at = saved.tracked_at;
        let parameters = |prefix: &str| -> Result<Parameters> { state.parameters(prefix, m, j) };
        live.newest = saved.newest.then(|| parameters("newest.")).transpose()?;
        if saved.started {
            let averaged = (window > 0.0).then(|| parameters("averaged.")).transpose()?;
            live.averaged = averaged.map(|parameters| Averaged::new(window, parameters));
            let model = &Model::on_host(parameters(TRACKED)?);
            let start = Start { model, ladder: &live.ladder, base: &live.base };
            let (chains, options) = (live.chains(), live.options());
            let tracker = ModelTracker::read(state, start, chains, options, saved.found)?;
            let found = |trust| LogZ { trust, ..tracker.log_z(f64::NEG_INFINITY) };
            live.evaluated = saved.trust.map(found);
            live.tracker = Some(tracker);
        }
        Ok(live)
    }
}
