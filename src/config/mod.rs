//! The configuration of a run: typed, checked, unknown fields refused.

mod parse;
mod sections;
mod seed;

pub use sections::{
    AuditConfig, Base, BetaUpdateConfig, CheckpointConfig, Config, DataConfig, EvaluationConfig,
    Kernel, ModelConfig, NegativePhase, PretrainingConfig, PriorConfig, SmoothingConfig,
    TemperingConfig, TrainingConfig, VisibleBias,
};
