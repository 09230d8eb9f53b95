//! The configuration of a run: typed, checked, unknown fields refused.

mod check;
mod data;
mod document;
mod explain;
mod gradient;
mod parse;
mod recipe;
mod schema;
mod sections;
mod seed;
mod shipped;
mod short_forms;
mod suggestion;
mod table;
#[cfg(test)]
mod tests;
mod verify;

pub use document::Places;
#[cfg(feature = "cli")]
pub(crate) use document::key_and_value;
pub use explain::{REGENERATE, explain, markdown};
pub use gradient::{GradientConfig, PretrainingConfig};
pub(crate) use recipe::RATE;
pub use schema::{SCHEMA_FILE, schema};
pub use sections::{
    AuditConfig, AveragingConfig, Base, CheckpointConfig, Config, DataConfig, EvaluationConfig,
    ModelConfig, SettlingConfig, TemperingConfig, TrainingConfig, VisibleBias, WeightStart,
};
pub use shipped::{SHIPPED, Shipped, shipped};
pub use suggestion::{Suggestion, as_toml};
#[cfg(feature = "cli")]
pub(crate) use table::called_elsewhere;
pub use table::{all as all_keys, find as find_key};

pub use crate::keys::{Automatic, Key};
