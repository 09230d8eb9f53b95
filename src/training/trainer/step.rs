//! One parameter update: data phase, negative phase, update rule, average, tracker.

use std::time::Instant;

use burn::tensor::Tensor;

use super::Trainer;
use super::model::model;
use crate::error::{Error, Result};
use crate::model::Rbm;
use crate::tempering::RoundsRecord;
use crate::tracking::TrackRecord;
use crate::training::gradient::{ContrastiveDivergence, Moments, Now, gradient, moments};
use crate::training::update::{Gradient, Sgd, SgdConfig, UpdateRule};

/// Weights beyond this size saturate every unit: training has diverged.
const LARGEST_WEIGHT: f32 = 1e3;

/// What one call of [`Trainer::step`] did.
#[derive(Clone, Debug)]
pub enum StepRecord {
    /// One CD-1 update of the pre-training phase.
    Pretrained,
    /// The tracker started: initial rounds were run.
    TrackingStarted(RoundsRecord),
    /// One update; with what the tracker found, unless its next step is still to come (`tempering.every`).
    Updated(Option<TrackRecord>),
}

impl Trainer {
    /// One pre-training update, the start of the tracker, or one update with tracking.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the parameters are not finite or beyond all measure: the run has diverged, and the
    /// trainer must not be used any more; and what a negative phase of one's own refuses.
    pub fn step(&mut self) -> Result<StepRecord> {
        if self.pretraining_left() {
            self.pretrain()?;
            return Ok(StepRecord::Pretrained);
        }
        let clock = Instant::now();
        let Some(tracker) = &self.tracker else {
            let rounds = self.start_tracking();
            self.times.initial_rounds += clock.elapsed().as_secs_f64();
            return Ok(StepRecord::TrackingStarted(rounds));
        };
        let batch = self.rows.batch(self.updates, self.config.training.batch)?;
        let data = moments(self.current.ops.as_ref(), &batch, None);
        let tracker = tracker.chains();
        let now = Now { model: &self.current, batch, updates: self.updates, tracker };
        let model = self.negative_phase.moments(now)?;
        let gradient = self.gradient(&data, &model);
        let learning_rate = self.learning_rate();
        let rbm = self.rule.step(self.rbm.clone(), gradient, learning_rate);
        self.replace_model(rbm)?;
        self.updates += 1;
        if let Some(averaged) = &mut self.averaged {
            averaged.follow(&self.current.parameters, self.updates);
        }
        self.times.updates += clock.elapsed().as_secs_f64();
        Ok(StepRecord::Updated(self.track()))
    }

    /// The step size of the next update.
    pub fn learning_rate(&self) -> f64 {
        self.config.training.learning_rate.at(self.updates, self.total)
    }

    /// Whether updates of the pre-training phase are left.
    pub fn pretraining_left(&self) -> bool {
        self.config.training.pretraining.is_some_and(|p| self.pretrained < p.updates)
    }

    fn pretrain(&mut self) -> Result<()> {
        let Some(settings) = self.config.training.pretraining else { return Ok(()) };
        let clock = Instant::now();
        // Batches of pre-training count from the far end, so that they are not those of the first epochs.
        let batch = self.rows.batch((1 << 40) + self.pretrained, settings.batch)?;
        let ops = self.current.ops.clone();
        let data = moments(ops.as_ref(), &batch, None);
        let phase = ContrastiveDivergence { sweeps: 1, seed: !self.config.seed };
        let model = phase.moments_from(ops.as_ref(), batch, self.pretrained);
        let gradient = self.gradient(&data, &model);
        let (m, j) = (self.rbm.n_visible(), self.rbm.n_hidden());
        let plain = SgdConfig { momentum: 0.0, ..SgdConfig::default() };
        let rbm = Sgd::new(plain, m, j, &self.device).step(
            self.rbm.clone(),
            gradient,
            settings.learning_rate,
        );
        self.replace_model(rbm)?;
        self.pretrained += 1;
        self.times.updates += clock.elapsed().as_secs_f64();
        Ok(())
    }

    fn gradient(&mut self, data: &Moments, model: &Moments) -> Gradient {
        if let Some(centering) = &mut self.centering {
            centering.follow(data);
        }
        self.hidden_activity.clone_from(&data.hidden);
        let mut gradient = gradient(data, model, self.centering.as_ref(), &self.device);
        if self.evaluation_due(self.updates + 1) {
            self.gradient_norm = norm(gradient.weights.clone());
        }
        let decay = self.config.training.weight_decay;
        if decay > 0.0 {
            gradient.weights = gradient.weights - self.rbm.weights.val() * decay;
        }
        gradient
    }

    fn replace_model(&mut self, rbm: Rbm) -> Result<()> {
        let parameters = rbm.parameters();
        let update = self.updates + 1;
        let remedy = "lower training.learning_rate.initial or raise tempering.chains";
        if let Some(name) = parameters.not_finite() {
            return Err(Error::Invalid(format!(
                "training diverged at update {update}: `{name}` contains NaN or infinity; {remedy}"
            )));
        }
        let largest = largest(&parameters.weights);
        if largest > LARGEST_WEIGHT {
            return Err(Error::Invalid(format!(
                "training diverged at update {update}: a weight reached {largest:.0}; {remedy}"
            )));
        }
        self.current = model(parameters, self.config.model.kernel, &self.device);
        self.rbm = rbm;
        Ok(())
    }
}

/// The largest |w|, in lanes, so that the compiler vectorises; of finite weights.
fn largest(weights: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    let (whole, rest) = weights.as_chunks::<16>();
    let mut take = |values: &[f32]| {
        for (lane, w) in lanes.iter_mut().zip(values) {
            *lane = if w.abs() > *lane { w.abs() } else { *lane };
        }
    };
    whole.iter().for_each(|values| take(values));
    take(rest);
    lanes.into_iter().fold(0.0, f32::max)
}

/// Frobenius norm, summed in f64 on the host so that every device gives the same.
pub(super) fn norm(tensor: Tensor<2>) -> f64 {
    crate::model::host(tensor).iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever it stands, whole vectors or the rest.
    #[test]
    fn the_largest_weight_is_found_anywhere() {
        for n in [1, 15, 16, 17, 40] {
            for at in 0..n {
                let mut weights = vec![0.5; n];
                weights[at] = -7.0;
                assert_eq!(largest(&weights), 7.0, "{at} of {n}");
            }
        }
        assert_eq!(largest(&[]), 0.0);
    }
}
