//! One parameter update: data phase, negative phase, update rule, average, tracker.

use std::sync::Arc;
use std::time::Instant;

use super::Trainer;
use super::cost::Sizes;
use crate::config::Config;
use crate::engine::awake;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::{Error, Result};
use crate::tempering::RoundsRecord;
use crate::tracking::{Model, ModelTracker, TrackRecord};
use crate::training::gradient::{Centering, ContrastiveDivergence, Moments, Now, write_gradient};
use crate::training::update::{Sgd, SgdConfig, UpdateRule};

/// Result of one call of [`Trainer::step`].
#[derive(Clone, Debug)]
pub enum StepRecord {
    /// One CD-1 update of the pre-training phase.
    Pretrained,
    /// The tracker started: initial rounds were run.
    TrackingStarted(RoundsRecord),
    /// One update, with the tracker's result unless its next step comes later (`tempering.every`).
    Updated(Option<TrackRecord>),
}

impl Trainer {
    /// One pre-training update, the start of the tracker, or one update with tracking.
    ///
    /// # Errors
    /// [`Error::Diverged`] when the parameters are not finite or too large: the run has diverged, and the trainer must not be used any
    /// more. Errors of a custom negative phase. [`Error::Interrupted`] in the midst of long work, such as initial rounds.
    pub fn step(&mut self) -> Result<StepRecord> {
        let Sizes { visible, hidden, batch, .. } = self.sizes;
        let done = awake(batch * visible * hidden, || self.step_awake());
        self.context.check().and(done)
    }

    fn step_awake(&mut self) -> Result<StepRecord> {
        if self.pretraining_left() {
            self.pretrain()?;
            return Ok(StepRecord::Pretrained);
        }
        let clock = Instant::now();
        if self.updates == 0 && self.tracker.is_none() {
            self.begin()?;
        }
        if self.tracking_comes_next() {
            let rounds = self.start_tracking();
            self.times.initial_rounds += clock.elapsed().as_secs_f64();
            return Ok(StepRecord::TrackingStarted(rounds));
        }
        self.mend()?;
        let Config { seed, training, .. } = &self.config;
        let batch = self.rows.batch(*seed, self.updates, training.batch)?;
        let data = self.current.engine.moments(&batch, None);
        let before = self.before_step(&batch);
        let tracker = self.tracker.as_ref().map(ModelTracker::chains);
        let now = Now { model: &self.current, batch, updates: self.updates, tracker };
        let model = self.negative_phase.moments(now)?;
        self.take_gradient(&data, &model);
        let learning_rate = self.learning_rate();
        let parameters = Arc::make_mut(&mut self.current.parameters);
        let (rule, gradient) = (&mut self.rule, &self.gradient);
        Centering::step(self.centering.as_ref(), parameters, |parameters| {
            rule.step(parameters, gradient, learning_rate);
        });
        self.take_moved()?;
        before.map_or(Ok(()), |before| self.shorten_step(before))?;
        self.updates += 1;
        let behind = self.updates_behind();
        if let Some(averaged) = &mut self.averaged {
            averaged.follow(&self.current.parameters, behind);
        }
        self.times.updates += clock.elapsed().as_secs_f64();
        Ok(StepRecord::Updated(self.track()))
    }

    /// Whether updates of the pre-training phase are left.
    pub(crate) fn pretraining_left(&self) -> bool {
        self.config.training.pretraining.is_some_and(|p| self.pretrained < p.updates)
    }

    fn pretrain(&mut self) -> Result<()> {
        let Some(settings) = self.config.training.pretraining else { return Ok(()) };
        let clock = Instant::now();
        // Other batches and streams than those of the first updates.
        let seed = derived_seed(self.config.seed, Purpose::Pretraining, 0);
        let batch = self.rows.batch(seed, self.pretrained, settings.batch)?;
        let engine = self.current.engine.clone();
        let data = engine.moments(&batch, None);
        let phase = ContrastiveDivergence { sweeps: 1, seed };
        let model = phase.moments_from(engine.as_ref(), batch, self.pretrained);
        self.take_gradient(&data, &model);
        let parameters = Arc::make_mut(&mut self.current.parameters);
        let plain = SgdConfig { momentum: 0.0, ..SgdConfig::default() };
        let (m, j) = (parameters.n_visible, parameters.n_hidden);
        Centering::step(self.centering.as_ref(), parameters, |parameters| {
            Sgd::new(plain, m, j).step(parameters, &self.gradient, settings.learning_rate);
        });
        self.take_moved()?;
        self.pretrained += 1;
        self.times.updates += clock.elapsed().as_secs_f64();
        Ok(())
    }

    /// The gradient from the moments of data and model.
    fn take_gradient(&mut self, data: &Moments, model: &Moments) {
        if let Some(centering) = &mut self.centering {
            centering.follow(data);
        }
        self.hidden_activity.clone_from(&data.hidden);
        write_gradient(data, model, self.centering.as_ref(), &mut self.gradient);
        let parameters = self.current.parameters.as_ref();
        let plus_minus = parameters.variables.is_plus_minus();
        if self.evaluation_due(self.updates + 1) {
            let of_couplings = if plus_minus { 4.0 } else { 1.0 };
            self.gradient_norm = of_couplings * norm(&self.gradient.weights);
        }
        self.preconditioner.apply(&mut self.gradient, self.centering.as_ref());
        let decay = self.config.training.weight_decay as f32;
        if decay > 0.0 {
            self.gradient.decay(parameters, decay);
        }
    }

    /// Checks the parameters after an update and makes the operations of the new model.
    pub(super) fn take_moved(&mut self) -> Result<()> {
        if self.gradient.variables.has_reals() {
            Arc::make_mut(&mut self.current.parameters).confine();
        }
        let parameters = self.current.parameters.clone();
        if let Some(what) = parameters.beyond_measure() {
            return Err(Error::Diverged(format!(
                "training diverged at update {}: {what}; lower training.learning_rate.initial or raise tempering.chains",
                self.updates + 1
            )));
        }
        // No one else holds the operations, unless a tracker is at this model.
        let engine = Arc::get_mut(&mut self.current.engine);
        if !engine.is_some_and(|engine| engine.load(&parameters)) {
            self.current = Model::within(parameters, &self.context);
        }
        Ok(())
    }
}

/// Frobenius norm, summed in f64.
fn norm(weights: &[f32]) -> f64 {
    weights.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}
