//! The trait of recorders, and the progress of a run.

use super::{Notice, Record};
use crate::error::Result;

/// Progress of a run. Values are (estimate, standard error); the latest known ones, which may be of an earlier update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Parameter updates done.
    pub update: u64,
    /// Parameter updates planned; early stopping may end the run before.
    pub updates: u64,
    /// Passes through the training data done.
    pub epoch: f64,
    /// Training time so far in seconds.
    pub seconds: f64,
    /// Expected time left in seconds, if nothing ends the run before its last update.
    pub seconds_left: Option<f64>,
    /// The update that log-likelihoods and log Z belong to.
    pub evaluated_at: u64,
    /// Mean log-likelihood of the training data, nats.
    pub train_log_likelihood: Option<(f64, f64)>,
    /// Mean log-likelihood of the validation data, nats.
    pub validation_log_likelihood: Option<(f64, f64)>,
    /// Tracked log Z, nats.
    pub log_z: Option<(f64, f64)>,
    /// The latest independent value of log Z.
    pub audited_log_z: Option<AuditedLogZ>,
    /// Update and mean log-likelihood of the validation rows of the best model so far.
    pub best: Option<(u64, f64)>,
    /// How near early stopping is.
    pub patience: Option<Patience>,
    /// A note on doubts or phase, such as "in doubt: lag" or "pre-training".
    pub note: Option<String>,
}

/// log Z computed independently of the tracker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AuditedLogZ {
    /// Name of the estimator.
    pub method: &'static str,
    /// Its update; parameters may have changed since.
    pub update: u64,
    /// log Z, nats.
    pub value: f64,
    /// Its standard error; 0 for exact values.
    pub std_error: f64,
    /// Tracked minus audited value of that update in combined standard errors.
    pub in_errors: f64,
    /// Whether the errors do not explain this difference.
    pub disagrees: bool,
}

/// The state of early stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Evaluations without improvement.
    pub without_improvement: u64,
    /// As many of them end the run,
    pub patience: u64,
    /// but not before this update.
    pub not_before: u64,
}

/// Receives the output of a run. Training calls [`Self::record`] at every evaluation, [`Self::progress`] at every update, [`Self::notice`]
/// when something happened, and [`Self::finish`] once at a regular end.
///
/// At one update: first the record, then the progress that shows its values, then the checkpoint. A resume drops what came after the
/// checkpoint, so everything before it is on disk.
pub trait Recorder {
    /// Keeps a record. After `Ok` it survives a kill of the process.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] for an entry that is not in [`super::tags::TAGS`], [`crate::Error::Invalid`] for one that comes twice;
    /// [`crate::Error::Io`] when writing fails.
    fn record(&mut self, record: &Record) -> Result<()>;

    /// Shows the progress. Called often, so it must be cheap, and it cannot fail a run.
    fn progress(&mut self, _progress: &Progress) {}

    /// Reports something that happened at an update.
    ///
    /// # Errors
    /// [`crate::Error::Io`] when writing fails.
    fn notice(&mut self, _notice: &Notice, _update: u64) -> Result<()> {
        Ok(())
    }

    /// Makes the records survive a power failure: called before each checkpoint, which must not be newer on disk than the records before
    /// it.
    ///
    /// # Errors
    /// [`crate::Error::Io`] when the system cannot guarantee it, [`crate::Error::File`] if a file is gone.
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    /// Ends the recording: buffered data are written.
    ///
    /// # Errors
    /// [`crate::Error::Io`] when writing fails.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A borrowed recorder records, so that a caller can lend one to a [`super::Tee`] and read it afterwards.
impl<R: Recorder + ?Sized> Recorder for &mut R {
    fn record(&mut self, record: &Record) -> Result<()> {
        (**self).record(record)
    }

    fn progress(&mut self, progress: &Progress) {
        (**self).progress(progress);
    }

    fn notice(&mut self, notice: &Notice, update: u64) -> Result<()> {
        (**self).notice(notice, update)
    }

    fn sync(&mut self) -> Result<()> {
        (**self).sync()
    }

    fn finish(&mut self) -> Result<()> {
        (**self).finish()
    }
}
