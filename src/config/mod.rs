//! The configuration of a run: typed, checked, unknown fields refused.

mod automatic;
mod check;
mod data;
mod document;
mod explain;
mod gradient;
mod keys;
mod parse;
mod recipe;
mod sections;
mod seed;
mod shipped;
mod short_forms;
mod suggestion;
#[cfg(test)]
mod tests;
mod verify;

pub use automatic::Automatic;
pub use document::Places;
pub use explain::{REGENERATE, explain, markdown};
pub use gradient::{GradientConfig, PretrainingConfig};
pub use keys::{Key, all as all_keys, find as find_key};
pub(crate) use recipe::RATE;
pub use sections::{
    AuditConfig, AveragingConfig, Base, BetaUpdateConfig, CheckpointConfig, Config, DataConfig,
    EvaluationConfig, Kernel, ModelConfig, PriorConfig, SettlingConfig, SmoothingConfig,
    TemperingConfig, TrainingConfig, VisibleBias,
};
pub use shipped::{SHIPPED, Shipped, shipped};
pub use suggestion::{Suggestion, as_toml};
