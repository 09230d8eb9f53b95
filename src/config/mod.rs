//! The configuration of a run: typed, checked, unknown fields refused.

mod automatic;
mod parse;
mod sections;
mod seed;

pub use automatic::Automatic;
pub use sections::{
    AuditConfig, AveragingConfig, Base, BetaUpdateConfig, CheckpointConfig, Config, DataConfig,
    EvaluationConfig, GradientConfig, Kernel, ModelConfig, PretrainingConfig, PriorConfig,
    SettlingConfig, SmoothingConfig, TemperingConfig, TrainingConfig, VisibleBias,
};
