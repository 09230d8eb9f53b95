//! Schedules: the inverse temperatures 0 = beta_1 < ... < beta_K = 1 of a ladder.

mod automatic;
mod binned_linear;
mod deceleration;
mod fixed;
mod list;
mod varopt;

pub use automatic::{Automatic, Refined};
pub use binned_linear::BinnedLinear;
pub use deceleration::decelerate;
pub use fixed::{SALAKHUTDINOV_MURRAY, geometric, linear, resample, salakhutdinov_murray};
pub use list::read_list;
pub use varopt::SlopeVariance;
