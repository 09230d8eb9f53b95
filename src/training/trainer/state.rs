//! The trainer's full state in a checkpoint: a resumed run equals an uninterrupted one bit for bit.

use burn::tensor::Device;

use super::Trainer;
use super::step::{Followed, operations};
use crate::checkpoint::{StateReader, StateWriter};
use crate::config::Config;
use crate::data::Splits;
use crate::error::{Error, Result};
use crate::model::Rbm;
use crate::record::Written;
use crate::tempering::{Path, RoundTrips, TemperedChains};
use crate::tracking::{LARGEST_COUNT, LogZTracker, SavedTracker};
use crate::training::gradient::{Centering, Particles};
use crate::training::{Changes, Identity};

/// Numbers of a checkpoint that are not arrays.
#[derive(serde::Serialize, serde::Deserialize)]
struct Position {
    updates: u64,
    pretrained: u64,
    #[serde(with = "crate::checkpoint::float")]
    seconds: f64,
    #[serde(with = "crate::checkpoint::float")]
    gradient_norm: f64,
    tracking: bool,
}

/// Position of the chains' random streams and their recent round trips.
#[derive(serde::Serialize, serde::Deserialize)]
struct ChainsPosition {
    seed: u64,
    sweeps: u64,
    recent: [(u64, u64); 2],
}

/// Where checkpoints keep the model the tracker is still at.
const FOLLOWED: &str = "followed.";

impl Trainer {
    /// What the run was started with.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The same, to be told what was forced upon the run.
    pub fn identity_mut(&mut self) -> &mut Identity {
        &mut self.identity
    }

    /// Evaluations that [`super::run`] handed to its recorder, those before a resume included.
    pub fn recorded(&self) -> Written {
        self.recorded
    }

    /// Name of a checkpoint of the current state; names sort by progress, pre-training first.
    pub fn state_name(&self) -> String {
        match self.tracker {
            None => format!("pretraining-{:08}", self.pretrained),
            Some(_) => format!("update-{:08}", self.updates),
        }
    }

    /// Writes the full state into a checkpoint.
    pub fn save(&self, state: &mut StateWriter) {
        state.parameters("", &self.rbm.parameters());
        state.json(
            "position",
            &Position {
                updates: self.updates,
                pretrained: self.pretrained,
                seconds: self.seconds(),
                gradient_norm: self.gradient_norm,
                tracking: self.tracker.is_some(),
            },
        );
        state.json("identity", &self.identity);
        state.json("recorded", &self.recorded);
        state.json("early_stopping", &self.early_stopping);
        // Of the last gradient: an evaluation right after a resume tells it.
        state.f64s("hidden_activity", &[self.hidden_activity.len()], &self.hidden_activity);
        self.rule.save(state);
        if let Some(Particles { visible, sweeps, .. }) = &self.particles {
            state.bits("particles.visible", visible);
            state.json("particles.sweeps", sweeps);
        }
        if let Some(Centering { visible, hidden }) = &self.centering {
            state.f64s("centering.visible", &[visible.len()], visible);
            state.f64s("centering.hidden", &[hidden.len()], hidden);
        }
        if let Some(Followed { rbm, .. }) = &self.followed {
            state.parameters(FOLLOWED, &rbm.parameters());
        }
        if let Some(tracker) = &self.tracker {
            save_tracker(tracker, self.ladder.len(), state);
        }
    }

    /// Continues the run a checkpoint was taken of.
    ///
    /// # Errors
    /// A checkpoint of another configuration, other rows or another model size.
    pub fn resume(
        config: &Config,
        splits: Splits,
        device: &Device,
        state: &StateReader,
        changes: Changes,
    ) -> Result<Self> {
        let mut trainer = Self::new(config, splits, device)?;
        trainer.identity = trainer.identity.after(state.json("identity")?, changes)?;
        trainer.recorded = state.json("recorded")?;
        let (m, j) = (trainer.rows.columns(), config.model.hidden);
        let parameters = state.parameters("", m, j)?;
        trainer.rbm = Rbm::from_parameters(&parameters, device);
        trainer.ops = operations(config.model.kernel, &trainer.rbm, &parameters);
        let position: Position = state.json("position")?;
        trainer.check(&position)?;
        trainer.updates = position.updates;
        trainer.pretrained = position.pretrained;
        trainer.seconds_before = position.seconds;
        trainer.gradient_norm = position.gradient_norm;
        trainer.hidden_activity = state.f64s("hidden_activity", &[j])?;
        trainer.early_stopping = state.json("early_stopping")?;
        trainer.rule.load(state)?;
        if let Some(particles) = &mut trainer.particles {
            particles.visible = state.bits("particles.visible", particles.visible.rows(), m)?;
            particles.sweeps = state.json("particles.sweeps")?;
            check_count("particles.sweeps", particles.sweeps)?;
        }
        if let Some(centering) = &mut trainer.centering {
            centering.visible = state.f64s("centering.visible", &[m])?;
            centering.hidden = state.f64s("centering.hidden", &[j])?;
        }
        if state.has(&format!("{FOLLOWED}weights")) {
            let parameters = state.parameters(FOLLOWED, m, j)?;
            let rbm = Rbm::from_parameters(&parameters, device);
            let ops = operations(config.model.kernel, &rbm, &parameters);
            trainer.followed = Some(Followed { rbm, ops });
        }
        if position.tracking {
            trainer.tracker = Some(trainer.load_tracker(state)?);
        }
        Ok(trainer)
    }

    /// Whether a checkpoint's position is one this run can be at.
    fn check(&self, position: &Position) -> Result<()> {
        let &Position { updates, pretrained, tracking, .. } = position;
        if updates > self.total {
            let field = match self.config.training.updates {
                Some(_) => "training.updates",
                None => "training.epochs",
            };
            let problem = format!(
                "the run is at update {updates} already and {} in all are asked for: give more, or resume it as it was",
                self.total
            );
            return Err(Error::config(field, problem));
        }
        let planned = self.config.training.pretraining.map_or(0, |settings| settings.updates);
        if pretrained > planned || (updates > 0 && !tracking) {
            return Err(Error::Invalid(format!(
                "checkpoint: {pretrained} updates of pre-training and {updates} after it are no position of this run"
            )));
        }
        Ok(())
    }

    fn load_tracker(&self, state: &StateReader) -> Result<LogZTracker> {
        let (s, k) = (self.config.tempering.chains, self.ladder.len());
        let position: ChainsPosition = state.json("chains.position")?;
        let counts = position.recent.iter().flat_map(|&(trips, sweeps)| [trips, sweeps]);
        for count in counts.chain([position.sweeps]) {
            check_count("chains.position", count)?;
        }
        let inconsistent =
            |what: &str| Error::Invalid(format!("checkpoint: {what} do not fit the configuration"));
        let directions = state.u8s("chains.directions", &[s])?;
        let temperatures = state.u32s("chains.temperatures", &[s])?;
        if temperatures.iter().any(|&t| t as usize >= k) {
            return Err(inconsistent("the chains' temperatures"));
        }
        let chains = TemperedChains {
            visible: state.bits("chains.visible", s, self.rows.columns())?,
            temperatures,
            round_trips: RoundTrips::restore(directions, position.recent)
                .ok_or_else(|| inconsistent("the chains' directions"))?,
            seed: position.seed,
            sweeps: position.sweeps,
            redrawn: false,
        };
        let saved = SavedTracker {
            filter: state.json("tracker.filter")?,
            pseudo_prior: state.f64s("tracker.pseudo_prior", &[k])?,
            transitions: state.f64s("tracker.transitions", &[k, k])?,
            movement: state.json("tracker.movement")?,
        };
        let options = self.config.tempering.tracker_options();
        saved
            .check(k, s, options.smoothing)
            .map_err(|problem| Error::Invalid(format!("checkpoint: {problem}")))?;
        let ops = self.followed.as_ref().map_or(&self.ops, |followed| &followed.ops).as_ref();
        LogZTracker::resume(Path { ops, ..self.path() }, chains, options, saved)
            .ok_or_else(|| inconsistent("the tracker's temperatures"))
    }
}

/// Refuses counters near their end.
fn check_count(name: &str, count: u64) -> Result<()> {
    if count > LARGEST_COUNT {
        return Err(Error::Invalid(format!("checkpoint: `{name}` counts {count} sweeps or trips")));
    }
    Ok(())
}

fn save_tracker(tracker: &LogZTracker, k: usize, state: &mut StateWriter) {
    // Temperatures are redrawn in initial rounds alone, which always sweep.
    let TemperedChains { visible, temperatures, round_trips, seed, sweeps, redrawn: _ } =
        &tracker.chains;
    let s = temperatures.len();
    state.bits("chains.visible", visible);
    state.u32s("chains.temperatures", &[s], temperatures);
    state.u8s("chains.directions", &[s], round_trips.directions());
    state.json(
        "chains.position",
        &ChainsPosition { seed: *seed, sweeps: *sweeps, recent: round_trips.recent },
    );
    let saved = tracker.save();
    state.json("tracker.filter", &saved.filter);
    state.f64s("tracker.pseudo_prior", &[k], &saved.pseudo_prior);
    state.f64s("tracker.transitions", &[k, k], &saved.transitions);
    state.json("tracker.movement", &saved.movement);
}
