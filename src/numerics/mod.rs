//! Functions and tables for all modules, in f64. Kernels in [`crate::engine`] have vectorised versions of their own.

mod betting;
mod categorical;
mod influence;
mod log_sum_exp;
mod scalar;
pub(crate) mod statistics;
mod table;

pub use betting::betting_lower_bound;
pub(crate) use categorical::index_at;
pub use influence::{Influence, pairs};
pub(crate) use log_sum_exp::LogSumExp;
pub use log_sum_exp::log_sum_exp;
pub use scalar::{entropy, logit, sigmoid, softplus};
pub use statistics::MOST_ERRORS;
pub use statistics::{joined, pooled};
pub use table::Table;
