//! The configuration of a run: typed, checked, unknown fields refused.

mod parse;
mod sections;

pub use sections::{
    AuditConfig, Base, BetaUpdateConfig, CheckpointConfig, Config, DataConfig, EvaluationConfig,
    InitialRoundsConfig, Kernel, ModelConfig, NegativePhase, PretrainingConfig, PriorConfig,
    SmoothingConfig, TemperingConfig, TrainingConfig, VisibleBias,
};
