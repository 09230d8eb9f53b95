//! Time of a run by part.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Seconds of wall time by part; the remaining time of a run is for records and checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// Gradients and updates, the chains of the tempered gradient included.
    pub updates: f64,
    /// Initial rounds of the tracker.
    pub initial_rounds: f64,
    /// Steps of the tracker.
    pub tracking: f64,
    /// Sweeps at fixed parameters before evaluations.
    pub settling: f64,
    /// Evaluations without their audits.
    pub evaluations: f64,
    /// Audits during training.
    pub audits: f64,
    /// Audits of the best models at the end, and their comparison with simple models.
    pub final_audits: f64,
}

impl Times {
    /// Seconds with a readable name each, in the order of the fields.
    pub fn parts(&self) -> [(&'static str, f64); 7] {
        [
            ("updates", self.updates),
            ("initial rounds", self.initial_rounds),
            ("tracking log Z", self.tracking),
            ("equilibration for evaluations", self.settling),
            ("evaluations", self.evaluations),
            ("audits in training", self.audits),
            ("audits at the end", self.final_audits),
        ]
    }
}

/// Runs something and adds its seconds.
pub(super) fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let clock = Instant::now();
    let done = work();
    *seconds += clock.elapsed().as_secs_f64();
    done
}
