//! One evaluation: log-likelihoods with error bars, and all values for recorders. It changes nothing; decisions are made elsewhere.

use serde::Serialize;

use super::final_likelihood::BY_CHANCE;
use super::records::{record_audit, record_likelihood};
use super::{Audit, Trainer};
use crate::engine::BitMatrix;
use crate::error::Result;
use crate::estimators::Estimate;
use crate::record::{Notice, Record, Run};
use crate::tracking::{
    AnnealedLogZ, ChainTracker, LogLikelihood, MeanLogF, TrackRecord, mean_log_f,
};
use crate::training::{Decision, TrainingState};
use crate::trust::{Doubt, LogZ};

/// Fraction of effective chains of a tempered gradient below which most of the work on it is lost.
const FEW_EFFECTIVE: f64 = 0.1;

/// Result of an evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationRecord {
    /// All values, flat, for recorders.
    pub record: Record,
    /// Tracked log Z.
    pub log_z: LogZ,
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
    /// log Z; exact values have no error.
    pub log_z: LogZ,
    /// Its source.
    pub source: Source,
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
        let mut log_z = reported.log_z_beside_rows(bound, train_f.log_z_bound);
        let audit = self.audit_if_due(model, &log_z, bound)?;
        remember(&mut log_z, self.judge.standing.lasting_doubts(), audit.as_ref());
        let mut notices = Vec::new();
        let judged = judged(&mut log_z, audit.as_ref(), &mut notices);
        let likelihood =
            |mean: MeanLogF| mean.log_likelihood(judged.log_z.value, judged.log_z.std_error);
        let train = likelihood(train_f);
        let validation = validation_f.map(likelihood);

        let mut record = Record::new(self.updates, self.epoch(), self.seconds());
        let LogZ { value, std_error, trust } = &log_z;
        record.scalar(Run::Tracker, "log_z", *value);
        record.scalar(Run::Tracker, "log_z_std_error", *std_error);
        record.scalar(Run::Tracker, "log_z_lower", value - BY_CHANCE * std_error);
        record.scalar(Run::Tracker, "log_z_upper", value + BY_CHANCE * std_error);
        record.scalar(Run::Tracker, "sound", f64::from(u8::from(trust.is_sound())));
        record.text(Run::Tracker, "doubts", trust.names());
        record.scalar(Run::Tracker, "log_z_bound", bound);
        if let Some(AnnealedLogZ { value, std_error }) = reported.found.annealed {
            record.scalar(Run::Tracker, "annealed_log_z", value);
            record.scalar(Run::Tracker, "annealed_log_z_std_error", std_error);
        }
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
        if self.falls_on(self.updates, self.config.evaluation.images_every) {
            self.record_pictures(&mut record, tracker, model)?;
        }
        Ok(Some(EvaluationRecord {
            record,
            log_z,
            judged,
            train,
            validation,
            audit,
            decision: None,
            training: TrainingState::Healthy,
            notices,
        }))
    }

    fn warn(&self, tracker: &ChainTracker, notices: &mut Vec<Notice>) {
        let phase = &self.negative_phase;
        if let Some(own) = phase.chains().or(phase.is_of_tracker().then_some(tracker)) {
            let (effective, chains) = (own.effective_sample_size(), own.chains.len());
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

/// Adds doubts of earlier evaluations, unless an audit confirms the value: then it is as certain as the audit. One that disagrees has a doubt of
/// its own.
fn remember(tracked: &mut LogZ, doubts: impl Iterator<Item = Doubt>, audit: Option<&Audit>) {
    for doubt in doubts {
        match audit {
            Some(audit) if audit.confirms() => {
                tracked.std_error = tracked.std_error.max(audit.estimate.std_error);
            }
            Some(audit) if audit.disagrees() => {}
            _ => tracked.trust.doubt(doubt),
        }
    }
}

/// The tracked value, unless an audit overrides it: an exact value replaces it; a sampled one replaces a value in doubt, and a value that
/// it contradicts if the audit is higher.
fn judged(tracked: &mut LogZ, audit: Option<&Audit>, notices: &mut Vec<Notice>) -> Judged {
    let own = |log_z: &LogZ| Judged { log_z: log_z.clone(), source: Source::Tracked };
    let Some(audit) = audit else { return own(tracked) };
    let estimate = &audit.estimate;
    let (vouched, exact) = (tracked.trust.is_sound(), audit.is_exact());
    let believed = estimate.trust.is_sound() || audit.difference < 0.0;
    if vouched && audit.contradicts() {
        let doubt = Doubt::AuditDisagrees {
            value: tracked.value,
            std_error: tracked.std_error,
            method: estimate.method.name().into(),
            audited: estimate.value,
            audited_error: estimate.std_error,
            in_errors: audit.in_errors,
        };
        if !exact {
            tracked.trust.doubt(doubt.clone());
        }
        notices.push(Notice::AuditDisagrees(doubt));
    }
    // Annealing is too low in expectation: a result below a sound tracked value puts both in doubt and supports no value.
    let low = vouched && audit.difference > 0.0;
    if !exact && (tracked.trust.is_sound() || !believed || low) {
        return own(tracked);
    }
    let source = if exact { Source::Exact } else { Source::Audited };
    let Estimate { value, std_error, trust, .. } = estimate.clone();
    Judged { log_z: LogZ { value, std_error, trust }, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::Method;
    use crate::trust::Trust;

    /// A value that may miss a part of the model is as certain as the audit that confirms it; an audit in doubt confirms nothing.
    #[test]
    fn an_audit_confirms_within_its_own_error() {
        let doubt = || Doubt::other("part", "missing");
        let found = |doubts: usize, std_error: f64, in_errors: f64, sound: bool| {
            let trust = Trust::unless((!sound).then(doubt));
            let estimate = Estimate { trust, ..Estimate::new(Method::Ais, 5.0, std_error) };
            let audit = Audit { estimate, difference: 0.0, difference_std_error: 1.0, in_errors };
            let mut tracked = LogZ { value: 5.0, std_error: 0.1, trust: Trust::sound() };
            remember(&mut tracked, (0..doubts).map(|_| doubt()), Some(&audit));
            (tracked.std_error, tracked.trust.is_sound())
        };
        assert_eq!(found(1, 0.5, 1.0, true), (0.5, true));
        assert_eq!(found(1, 0.05, 1.0, true), (0.1, true));
        assert_eq!(found(0, 0.5, 1.0, true), (0.1, true));
        assert_eq!(found(1, 0.5, 1.0, false), (0.1, false));
        assert_eq!(found(1, 0.5, 9.0, true), (0.1, true));
    }
}
