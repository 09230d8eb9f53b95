//! The trainer: gradient, update, tracker, likelihoods, stopping decision; state and record apart.

mod audit;
mod evaluation;
mod pictures;
mod rows;
mod run;
mod state;
mod step;

pub use audit::{Audit, FinalLikelihood};
pub use evaluation::EvaluationRecord;
pub use run::{Checkpoints, Outcome, StopReason, run};
pub use step::{StepRecord, Trainer};
