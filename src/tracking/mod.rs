//! Tracking log Z while parameters change, and log-likelihoods with error bars.

mod alpha;
mod bound;
mod chain_state;
mod filter;
mod kalman;
mod known_share;
mod likelihood;
mod model_tracker;
mod part;
mod prediction;
mod preferred;
mod reported;
mod restart;
mod second_population;
mod settle;
mod settling;
mod shift;
mod start;
mod tracker;
mod verdict;
mod weighting;

pub use alpha::AlphaSmoother;
pub use bound::HiddenStates;
pub(crate) use chain_state::check_count;
pub use filter::{AnyFilter, Filter, Smoothing};
pub use kalman::Kalman;
pub use known_share::KnownShare;
pub use likelihood::{LogLikelihood, MeanLogF, mean_log_f, weighted_log_f};
pub(crate) use model_tracker::{BOUND_ROWS, TRACKED};
pub use model_tracker::{Found, KnownStates, ModelTracker};
pub use part::{Part, Parts};
pub use second_population::SecondPopulation;
pub use settling::{Settled, Settling};
pub use shift::{Shift, shift};
pub use start::{Model, Start};
pub use tracker::{ChainTracker, TrackRecord, TrackerOptions};
