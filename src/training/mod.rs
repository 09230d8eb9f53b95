//! Gradients, update rules, schedules, early stopping, the trainer.

mod averaging;
mod early_stopping;
pub mod gradient;
mod health;
mod identity;
mod learning_rate;
mod trainer;
pub mod update;

pub(crate) use trainer::{LEAST_MARGINAL, Steps, temperatures};

pub use averaging::Averaged;
pub(crate) use averaging::WINDOW;
pub use early_stopping::{Decision, EarlyStopping, EarlyStoppingConfig, Evaluation};
pub use health::{Health, Likelihoods, TrainingState};
pub use identity::{Changes, Identity, Sums, fields, refuse_other_rows};
pub use learning_rate::{LearningRate, Schedule};
pub use trainer::{
    Audit, Best, Candidate, Checkpoints, Comparison, EvaluationRecord, FinalLikelihood, Forecast,
    Judged, LastAudits, NoCheckpoints, Outcome, Source, StepRecord, StopReason, Times, Trainer,
    TrainerBuilder, TrainingData, run,
};
