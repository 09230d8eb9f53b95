//! log Z in any training loop: the tracker as a part that is added with one line.

mod builder;
mod diagnostics;
mod log_z_tracker;
mod path_state;
mod path_tracker;
mod settings;
mod state;

pub use builder::{LogZTrackerBuilder, TrackedData};
pub use diagnostics::Diagnostics;
pub use log_z_tracker::{LogZTracker, WeightedStates, not_started};
pub use path_tracker::PathTracker;
