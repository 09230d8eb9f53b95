//! Gradients, update rules, schedules, early stopping.

mod early_stopping;
mod learning_rate;
pub mod update;

pub use early_stopping::{Decision, EarlyStopping, EarlyStoppingConfig, Evaluation, Reason};
pub use learning_rate::{LearningRate, Schedule};
