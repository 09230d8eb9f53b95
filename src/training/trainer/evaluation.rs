//! One evaluation: log-likelihoods with error bars, the stopping decision, and everything a recorder may want.

use super::step::norm;
use super::{Audit, Trainer};
use crate::config::NegativePhase;
use crate::error::Result;
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, Draw, Layer, Matrix, for_each_set_bit};
use crate::record::{Notice, Record, Run};
use crate::tracking::{LogLikelihood, LogZTracker, MeanLogF, TrackRecord, mean_log_f};
use crate::training::{Decision, Evaluation};

/// Effective chains below which a tempered gradient is mostly noise.
const FEW_EFFECTIVE: f64 = 50.0;
/// Rows of the reconstruction error.
const RECONSTRUCTED: usize = 1000;

/// What an evaluation found.
#[derive(Clone, Debug)]
pub struct EvaluationRecord {
    /// Everything, flat, for recorders.
    pub record: Record,
    /// Tracked log Z and its standard error.
    pub log_z: (f64, f64),
    /// Whether the tracker vouches for its error bar.
    pub mixed: bool,
    /// Mean log-likelihood of the training rows evaluated.
    pub train: LogLikelihood,
    /// Mean log-likelihood of the validation rows.
    pub validation: Option<LogLikelihood>,
    /// The independent check, where one was due.
    pub audit: Option<Audit>,
    /// What early stopping decided; `None` without validation rows.
    pub decision: Option<Decision>,
    /// What a person should be told.
    pub notices: Vec<Notice>,
}

impl Trainer {
    /// Mean log-likelihoods of the training rows evaluated and of the validation rows, with the tracked log Z; `None`
    /// before the tracker has started.
    pub fn log_likelihoods(&self) -> Option<(LogLikelihood, Option<LogLikelihood>)> {
        let tracker = self.tracker.as_ref()?;
        let likelihood = |rows: &BitMatrix| {
            mean_log_f(self.ops.as_ref(), rows).log_likelihood(tracker.log_z(), tracker.std_error())
        };
        let validation = self.rows.validation.as_ref().map(likelihood);
        Some((likelihood(&self.rows.train_evaluated), validation))
    }

    /// Evaluates the current model; `None` before the tracker has started. `last`: the latest update's tracking record.
    ///
    /// # Errors
    /// Only those of pictures and audits, which are not expected.
    pub fn evaluate(&mut self, last: Option<&TrackRecord>) -> Result<Option<EvaluationRecord>> {
        let Some(tracker) = &self.tracker else { return Ok(None) };
        let (log_z, std_error) = (tracker.log_z(), tracker.std_error());
        let mixed = tracker.mixed();
        let train_f = mean_log_f(self.ops.as_ref(), &self.rows.train_evaluated);
        let validation_f =
            self.rows.validation.as_ref().map(|rows| mean_log_f(self.ops.as_ref(), rows));
        let train = train_f.log_likelihood(log_z, std_error);
        let validation = validation_f.map(|mean| mean.log_likelihood(log_z, std_error));

        let mut record = Record::new(self.updates, self.epoch(), self.seconds());
        record.scalar(Run::Tracker, "log_z", log_z);
        record.scalar(Run::Tracker, "log_z_std_error", std_error);
        record.scalar(Run::Tracker, "log_z_lower", log_z - 2.0 * std_error);
        record.scalar(Run::Tracker, "log_z_upper", log_z + 2.0 * std_error);
        record_likelihood(&mut record, Run::Train, train);
        if let Some(validation) = validation {
            record_likelihood(&mut record, Run::Validation, validation);
        }
        self.record_chains(&mut record, tracker, last);
        self.record_model(&mut record, &train_f, validation_f.as_ref());

        let mut notices = Vec::new();
        let number = self.updates / self.config.evaluation.every;
        let due = |every: u64| every > 0 && number.is_multiple_of(every);
        let audit =
            if due(self.config.audit.every) { Some(self.audit(log_z, std_error)?) } else { None };
        if let Some(audit) = &audit {
            record_audit(&mut record, audit);
            if audit.disagrees() {
                notices.push(Notice::Warning(format!(
                    "tracked log Z {log_z:.3} +- {std_error:.3} and {} {:.3} +- {:.3} differ by {:.1} errors{}",
                    audit.estimate.method,
                    audit.estimate.value,
                    audit.estimate.std_error,
                    audit.in_errors,
                    if mixed { "" } else { " (chains not mixed)" },
                )));
            }
        }
        self.warn(tracker, &mut notices);
        if due(self.config.evaluation.images_every) {
            self.record_pictures(&mut record, tracker)?;
        }
        let decision = match (self.config.training.early_stopping, validation) {
            (settings, Some(validation)) => {
                let settings = settings.unwrap_or_default();
                let evaluation = Evaluation {
                    update: self.updates,
                    value: validation.value,
                    log_z_std_error: validation.log_z_std_error,
                    mixed,
                };
                let mut decision = self.early_stopping.observe(&settings, evaluation);
                // Without early stopping the best model is still kept, but nothing ends the run.
                decision.stop &= self.config.training.early_stopping.is_some();
                Some(decision)
            }
            (_, None) => None,
        };
        let log_z = (log_z, std_error);
        Ok(Some(EvaluationRecord {
            record,
            log_z,
            mixed,
            train,
            validation,
            audit,
            decision,
            notices,
        }))
    }

    fn record_chains(
        &self,
        record: &mut Record,
        tracker: &LogZTracker,
        last: Option<&TrackRecord>,
    ) {
        let mut scalar = |tag, value| record.scalar(Run::Tracker, tag, value);
        let trips = &tracker.chains.round_trips;
        scalar("mixed", f64::from(u8::from(tracker.mixed())));
        scalar("window_round_trips", trips.per_chain());
        scalar("movement_per_round_trip", tracker.movement_per_round_trip());
        if let Some(rate) = trips.rate() {
            scalar("round_trips_per_1000_sweeps", rate);
        }
        if let Some(consistency) = tracker.consistency() {
            scalar("tracker_consistency", consistency);
        }
        scalar("effective_sample_size", tracker.effective_sample_size());
        if let Some(knot) = tracker.transitions().knot() {
            scalar("minimum_conductance", knot.conductance);
            let betas = self.ladder.betas();
            scalar("knot_beta", 0.5 * (betas[knot.index] + betas[knot.index + 1]));
        }
        if let Some(last) = last {
            scalar("occupancy_error", last.occupancy_error);
            let ratios = last.measurement.occupancy.iter().zip(self.ladder.log_prior());
            let ratios = ratios.map(|(c, log_r)| c / log_r.exp()).collect();
            record.histogram(Run::Tracker, "occupancy_ratio", ratios);
        }
    }

    fn record_model(&self, record: &mut Record, train: &MeanLogF, validation: Option<&MeanLogF>) {
        let parameters = self.rbm.parameters();
        let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        record.scalar(Run::Tracker, "learning_rate", self.learning_rate());
        record.scalar(Run::Tracker, "gradient_norm", self.gradient_norm);
        record.scalar(Run::Tracker, "weight_norm", norm(self.rbm.weights.val()));
        record.scalar(Run::Tracker, "reconstruction_error", self.reconstruction_error());
        if let Some(validation) = validation {
            record.scalar(Run::Tracker, "free_energy_gap", validation.mean - train.mean);
        }
        record.histogram(Run::Tracker, "weights", wide(&parameters.weights));
        record.histogram(Run::Tracker, "visible_bias", wide(&parameters.visible_bias));
        record.histogram(Run::Tracker, "hidden_bias", wide(&parameters.hidden_bias));
        record.histogram(Run::Tracker, "hidden_activity", self.hidden_activity.clone());
    }

    fn warn(&self, tracker: &LogZTracker, notices: &mut Vec<Notice>) {
        let tempered = matches!(self.config.training.gradient, NegativePhase::Tempered {});
        let effective = tracker.effective_sample_size();
        if tempered && effective < FEW_EFFECTIVE {
            notices.push(Notice::Warning(format!(
                "only {effective:.0} of {} chains carry the gradient: raise tempering.chains or use prior = {{ exponential = 2.0 }}",
                tracker.chains.len()
            )));
        }
        let visible = &tracker.chains.visible;
        let distinct: std::collections::HashSet<&[u64]> =
            (0..visible.rows()).map(|row| visible.row(row)).collect();
        if distinct.len() * 100 <= visible.rows() && visible.columns() > 8 {
            notices.push(Notice::Warning(format!(
                "the {} tempered chains collapsed to {} different states",
                visible.rows(),
                distinct.len()
            )));
        }
        if let Some(knot) = tracker.transitions().knot()
            && knot.is_narrow()
            && !tracker.mixed()
        {
            notices.push(Notice::Warning(format!(
                "few chains cross beta = {:.2}: more temperatures or sweeps would help",
                self.ladder.betas()[knot.index]
            )));
        }
    }

    /// Mean squared error of v against sigma(c + Wh), h drawn from v, over the first training rows evaluated.
    fn reconstruction_error(&self) -> f64 {
        let rows = self.rows.train_evaluated.rows().min(RECONSTRUCTED);
        let visible = self.rows.train_evaluated.select(0..rows);
        let ops = self.ops.as_ref();
        let (m, j) = (ops.n_units(Layer::Visible), ops.n_units(Layer::Hidden));
        let mut inputs = Matrix::filled(rows, j, 0.0);
        ops.inputs(Layer::Hidden, visible.words(), inputs.as_mut_slice());
        let mut hidden = BitMatrix::zeros(rows, j);
        let streams = Streams::new(self.config.seed, Purpose::SampleHidden, self.updates);
        let beta = vec![1.0; rows];
        ops.draw(
            &Draw {
                n_units: j,
                inputs: inputs.as_slice(),
                beta: &beta,
                base: None,
                streams,
                first_row: 0,
            },
            hidden.words_mut(),
        );
        let mut inputs = Matrix::filled(rows, m, 0.0);
        ops.inputs(Layer::Visible, hidden.words(), inputs.as_mut_slice());
        let mut sum = 0.0;
        for row in 0..rows {
            let means = inputs.row(row).iter().map(|&x| 1.0 / (1.0 + f64::from(-x).exp()));
            let means: Vec<f64> = means.collect();
            // (v - p)^2 is p^2 for zeros and p^2 + 1 - 2p for ones.
            sum += means.iter().map(|p| p * p).sum::<f64>();
            for_each_set_bit(visible.row(row), |i| sum += 1.0 - 2.0 * means[i]);
        }
        sum / (rows * m).max(1) as f64
    }
}

fn record_likelihood(record: &mut Record, run: Run, value: LogLikelihood) {
    record.scalar(run, "log_likelihood", value.value);
    record.scalar(run, "log_likelihood_std_error", value.std_error);
    record.scalar(run, "log_likelihood_data_std_error", value.data_std_error);
    record.scalar(run, "log_likelihood_lower", value.value - 2.0 * value.std_error);
    record.scalar(run, "log_likelihood_upper", value.value + 2.0 * value.std_error);
}

fn record_audit(record: &mut Record, audit: &Audit) {
    let mut scalar = |tag, value| record.scalar(Run::Tracker, tag, value);
    if audit.estimate.method == "exact" {
        scalar("exact_log_z", audit.estimate.value);
    } else {
        scalar("ais_log_z", audit.estimate.value);
        scalar("ais_log_z_std_error", audit.estimate.std_error);
    }
    scalar("audit_difference_in_errors", audit.in_errors);
}
