//! Values of chains, model and likelihoods for recorders at an evaluation.

use super::final_likelihood::{BY_CHANCE, SOME_ROWS};
use super::{Audit, Trainer};
use crate::engine::Layer;
use crate::engine::random::{Purpose, Streams};
use crate::record::{Record, Run};
use crate::tracking::{ChainTracker, LogLikelihood, MeanLogF, Model, TrackRecord};

impl Trainer {
    pub(super) fn record_chains(
        &self,
        record: &mut Record,
        tracker: &ChainTracker,
        last: Option<&TrackRecord>,
    ) {
        let mut scalar = |tag, value| record.scalar(Run::Tracker, tag, value);
        if let Some(settled) = tracker.settled() {
            scalar("settled_log_z", settled.log_z);
            scalar("settled_log_z_std_error", settled.std_error);
            scalar("settling_sweeps", settled.sweeps as f64);
            scalar("settling_drift_in_errors", settled.drift_in_errors);
            scalar("settling_correlation", settled.correlation);
            scalar("lag_in_errors", settled.innovation_in_errors);
        }
        let trips = &tracker.chains.round_trips;
        scalar("window_round_trips", trips.per_chain());
        scalar("movement_per_round_trip", tracker.movement_per_round_trip());
        if let Some(rate) = trips.rate() {
            scalar("round_trips_per_1000_sweeps", rate);
        }
        if let Some(consistency) = tracker.consistency() {
            scalar("tracker_consistency", consistency);
        }
        scalar("effective_sample_size", tracker.effective_sample_size());
        scalar("effective_chains", tracker.effective_chains());
        scalar("crossed_share", tracker.crossed_share());
        if let Some(knot) = tracker.transitions().knot() {
            scalar("minimum_conductance", knot.conductance);
            let betas = self.plan.ladder.betas();
            scalar("knot_beta", 0.5 * (betas[knot.index] + betas[knot.index + 1]));
        }
        if let Some(last) = last {
            scalar("occupancy_error", last.occupancy_error);
            let ratios = last.measurement.occupancy.iter().zip(self.plan.ladder.log_prior());
            let ratios = ratios.map(|(c, log_r)| c / log_r.exp()).collect();
            record.histogram(Run::Tracker, "occupancy_ratio", ratios);
        }
    }

    pub(super) fn record_model(
        &self,
        record: &mut Record,
        model: &Model,
        train: &MeanLogF,
        validation: Option<&MeanLogF>,
    ) {
        let own = model.parameters.couplings();
        record.scalar(Run::Tracker, "learning_rate", self.learning_rate());
        record.scalar(Run::Tracker, "gradient_norm", self.gradient_norm);
        let norm = own.weights.iter().map(|x| x.powi(2)).sum::<f64>().sqrt();
        record.scalar(Run::Tracker, "weight_norm", norm);
        record.scalar(Run::Tracker, "reconstruction_error", self.reconstruction_error(model));
        if let Some(validation) = validation {
            record.scalar(Run::Tracker, "free_energy_gap", validation.mean - train.mean);
        }
        record.histogram(Run::Tracker, "weights", own.weights);
        record.histogram(Run::Tracker, "visible_bias", own.visible_bias);
        record.histogram(Run::Tracker, "hidden_bias", own.hidden_bias);
        record.histogram(Run::Tracker, "hidden_activity", self.hidden_activity.clone());
    }

    /// Mean squared error of v against A'(c + Wh), h drawn from v, over the first training rows evaluated.
    fn reconstruction_error(&self, model: &Model) -> f64 {
        let rows = self.rows.train_evaluated.rows().min(SOME_ROWS);
        let visible = self.rows.train_evaluated.select(0..rows);
        let engine = model.engine.as_ref();
        let m = engine.n_units(Layer::Visible);
        let streams = Streams::new(self.config.seed, Purpose::SampleHidden, self.updates);
        let hidden = engine.hidden_states(&visible, streams, 0);
        let inputs = engine.inputs(Layer::Visible, &hidden);
        let mut sum = 0.0;
        for row in 0..rows {
            let eta = inputs.row(row)[..m].iter().map(|&x| f64::from(x));
            let variables = engine.variables();
            let mut errors = variables.means(eta);
            variables.statistics(visible.row(row), m, |i, t| errors[i] -= t);
            // The squares of real variables say nothing that these do not say.
            variables.reals().for_each(|(first, _)| errors[first + 1] = 0.0);
            sum += errors.iter().map(|error| error * error).sum::<f64>();
        }
        sum / (rows * m).max(1) as f64
    }
}

pub(super) fn record_likelihood(record: &mut Record, run: Run, value: LogLikelihood) {
    record.scalar(run, "log_likelihood", value.value);
    record.scalar(run, "log_likelihood_std_error", value.std_error);
    record.scalar(run, "log_likelihood_data_std_error", value.data_std_error);
    record.scalar(run, "log_likelihood_lower", value.value - BY_CHANCE * value.std_error);
    record.scalar(run, "log_likelihood_upper", value.value + BY_CHANCE * value.std_error);
}

pub(super) fn record_audit(record: &mut Record, audit: &Audit) {
    let mut scalar = |tag, value| record.scalar(Run::Tracker, tag, value);
    if audit.is_exact() {
        scalar("exact_log_z", audit.estimate.value);
    } else {
        scalar("ais_log_z", audit.estimate.value);
        scalar("ais_log_z_std_error", audit.estimate.std_error);
    }
    let band = BY_CHANCE * audit.difference_std_error;
    scalar("audit_difference", audit.difference);
    scalar("audit_difference_lower", audit.difference - band);
    scalar("audit_difference_upper", audit.difference + band);
    scalar("audit_difference_in_errors", audit.in_errors);
}
