//! Tracking log Z while parameters move, and log-likelihoods with error bars.

mod alpha;
mod kalman;
mod likelihood;
mod prediction;
mod saved;
mod shift;
mod tracker;

pub use alpha::AlphaSmoother;
pub use kalman::Kalman;
pub use likelihood::{LogLikelihood, MeanLogF, mean_log_f};
pub(crate) use saved::LARGEST_COUNT;
pub use shift::{Shift, shift};
pub use tracker::{Filter, LogZTracker, SavedTracker, Smoothing, TrackRecord, TrackerOptions};
