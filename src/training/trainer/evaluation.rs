//! One evaluation: log-likelihoods with error bars, and all values for recorders. It changes nothing; decisions are made elsewhere.

use serde::Serialize;

use super::records::{record_audit, record_likelihood};
use super::{Audit, Trainer};
use crate::engine::BitMatrix;
use crate::error::Result;
use crate::record::{Notice, Record, Run};
use crate::tracking::{ChainTracker, LogLikelihood, LogZ, TrackRecord, mean_log_f};
use crate::training::gradient::Carriers;
use crate::training::{Decision, TrainingState};
use crate::trust::Trust;

/// Fraction of effective chains of a tempered gradient below which most of the work on it is lost.
const FEW_EFFECTIVE: f64 = 0.1;

/// Result of an evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationRecord {
    /// All values, flat, for recorders.
    pub record: Record,
    /// Tracked log Z and its standard error.
    pub log_z: (f64, f64),
    /// Whether all diagnostics of the tracked value pass.
    pub trust: Trust,
    /// The log Z of the reported log-likelihoods.
    pub judged: Judged,
    /// Mean log-likelihood of the training rows evaluated.
    pub train: LogLikelihood,
    /// Mean log-likelihood of the validation rows.
    pub validation: Option<LogLikelihood>,
    /// The audit, if one was due.
    pub audit: Option<Audit>,
    /// What early stopping decided; `None` without validation rows, or before [`Trainer::judge`].
    pub decision: Option<Decision>,
    /// The verdict on the training; healthy before [`Trainer::judge`].
    pub training: TrainingState,
    /// Messages for the user.
    pub notices: Vec<Notice>,
}

/// Source of the log Z of the log-likelihoods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The tracker.
    Tracked,
    /// An audit that contradicts the tracker, or replaces a tracked value in doubt.
    Audited,
    /// Enumeration.
    Exact,
}

/// The log Z of the reported log-likelihoods and of decisions.
#[derive(Clone, Debug)]
pub struct Judged {
    /// log Z, nats.
    pub log_z: f64,
    /// Its standard error; 0 for exact values.
    pub std_error: f64,
    /// Its source.
    pub source: Source,
    /// Whether it can be trusted.
    pub trust: Trust,
}

impl Trainer {
    /// Evaluates the current model; `None` before the tracker has started. `last`: the latest update's tracking record.
    ///
    /// # Errors
    /// Only those of pictures and audits, which are not expected.
    pub fn evaluate(&self, last: Option<&TrackRecord>) -> Result<Option<EvaluationRecord>> {
        let Some(reported) = self.reported() else { return Ok(None) };
        let (tracker, model) = (reported.chains(), reported.model());
        let mean = |rows: &BitMatrix| mean_log_f(model.engine.as_ref(), rows);
        let train_f = self.rows.train_log_f(model.engine.as_ref());
        let validation_f = self.rows.validation.as_ref().map(mean);
        let of_rows = [Some(&train_f), validation_f.as_ref()].into_iter().flatten();
        let bound = of_rows.fold(reported.found.bound, |bound, rows| bound.max(rows.log_z_bound));
        let LogZ { value: log_z, std_error, mut trust } =
            reported.log_z_beside_rows(bound, train_f.log_z_bound);
        let audit = self.audit_if_due(model, (log_z, std_error), bound)?;
        if let (None, Some(update)) = (&audit, self.judge.standing.contradicted_at) {
            trust.doubt("audit", format!("the audit at update {update} found a higher log Z; in doubt until a sound audit agrees (audit.every)"));
        }
        let mut notices = Vec::new();
        let judged = judged(log_z, std_error, &mut trust, audit.as_ref(), &mut notices);
        let likelihood =
            |mean: crate::tracking::MeanLogF| mean.log_likelihood(judged.log_z, judged.std_error);
        let train = likelihood(train_f);
        let validation = validation_f.map(likelihood);

        let mut record = Record::new(self.updates, self.epoch(), self.seconds());
        record_log_z(&mut record, log_z, std_error);
        record.scalar(Run::Tracker, "sound", f64::from(u8::from(trust.is_sound())));
        record.text(Run::Tracker, "doubts", trust.names());
        record.scalar(Run::Tracker, "log_z_bound", bound);
        let (samples, deviation) = tracker.log_f_of_samples();
        record.scalar(Run::Tracker, "samples_log_f", samples);
        record.scalar(Run::Tracker, "samples_log_f_deviation", deviation);
        record.scalar(Run::Tracker, "train_log_f", train_f.mean);
        record_likelihood(&mut record, Run::Train, train);
        if let Some(validation) = validation {
            record_likelihood(&mut record, Run::Validation, validation);
        }
        self.record_chains(&mut record, tracker, last);
        self.record_model(&mut record, model, &train_f, validation_f.as_ref());
        if let Some(audit) = &audit {
            record_audit(&mut record, audit);
        }
        if reported.restarted {
            notices.push(Notice::ModeMissed);
        }
        self.warn(tracker, &mut notices);
        let number = self.updates / self.config.evaluation.every;
        let pictures = self.config.evaluation.images_every;
        if pictures > 0 && number.is_multiple_of(pictures) {
            self.record_pictures(&mut record, tracker, model)?;
        }
        let log_z = (log_z, std_error);
        let decision = None;
        Ok(Some(EvaluationRecord {
            record,
            log_z,
            trust,
            judged,
            train,
            validation,
            audit,
            decision,
            training: TrainingState::Healthy,
            notices,
        }))
    }

    fn warn(&self, tracker: &ChainTracker, notices: &mut Vec<Notice>) {
        let carriers = match self.negative_phase.carriers() {
            Carriers::None => None,
            Carriers::Tracker => Some(tracker),
            Carriers::Own(chains) => Some(chains),
        };
        if let Some(carriers) = carriers {
            let (effective, chains) = (carriers.effective_sample_size(), carriers.chains.len());
            if effective < FEW_EFFECTIVE * chains as f64 {
                notices.push(Notice::FewEffectiveChains { effective, chains });
            }
        }
        let parameters = &self.current.parameters;
        let at_bound = parameters.variances_at_bound();
        if at_bound > 0 {
            let reals = parameters.variables.reals().count();
            notices.push(Notice::VariancesAtBound { at_bound, reals });
        }
        let visible = &tracker.chains.visible;
        let distinct: std::collections::HashSet<&[u64]> =
            (0..visible.rows()).map(|row| visible.row(row)).collect();
        if distinct.len() * 100 <= visible.rows() && visible.columns() > 8 {
            notices
                .push(Notice::ChainsCollapsed { chains: visible.rows(), states: distinct.len() });
        }
        if let Some(knot) = tracker.transitions().knot()
            && knot.is_narrow()
            && !tracker.trust().is_sound()
        {
            notices.push(Notice::NarrowPassage { beta: self.plan.ladder.betas()[knot.index] });
        }
    }
}

fn record_log_z(record: &mut Record, log_z: f64, std_error: f64) {
    record.scalar(Run::Tracker, "log_z", log_z);
    record.scalar(Run::Tracker, "log_z_std_error", std_error);
    record.scalar(Run::Tracker, "log_z_lower", log_z - 2.0 * std_error);
    record.scalar(Run::Tracker, "log_z_upper", log_z + 2.0 * std_error);
}

/// The tracked value, unless an audit overrides it: an exact value replaces it; a sampled one replaces a value in doubt, and a value that
/// it contradicts if the audit is higher.
fn judged(
    log_z: f64,
    std_error: f64,
    trust: &mut Trust,
    audit: Option<&Audit>,
    notices: &mut Vec<Notice>,
) -> Judged {
    let tracked =
        |trust: &Trust| Judged { log_z, std_error, source: Source::Tracked, trust: trust.clone() };
    let Some(audit) = audit else { return tracked(trust) };
    let estimate = &audit.estimate;
    let (vouched, exact) = (trust.is_sound(), audit.is_exact());
    // A sampled audit in doubt is still a lower bound in expectation, so it counts if it is above the tracked value.
    let believed = estimate.trust.is_sound() || audit.difference < 0.0;
    if vouched && believed && audit.disagrees() {
        let notice = Notice::AuditDisagrees {
            tracked: (log_z, std_error),
            method: estimate.method.name(),
            audited: (estimate.value, estimate.std_error),
            in_errors: audit.in_errors,
        };
        if !exact {
            trust.doubt("audit", notice.text());
        }
        notices.push(notice);
    }
    // Annealing is too low in expectation: a result below a sound tracked value puts both in doubt and supports no value.
    let low = vouched && audit.difference > 0.0;
    if !exact && (trust.is_sound() || !believed || low) {
        return tracked(trust);
    }
    let mut own = Trust::sound();
    if !estimate.trust.is_sound() {
        own.doubt("audit-doubt", format!("{}: {}", estimate.method, estimate.trust));
    }
    let source = if exact { Source::Exact } else { Source::Audited };
    Judged { log_z: estimate.value, std_error: estimate.std_error, source, trust: own }
}
