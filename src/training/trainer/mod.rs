//! The trainer: gradient, update, tracker, likelihoods, stopping decision; state and record are separate.

mod agreement;
mod audit;
mod best;
mod build;
mod builder;
mod comparison;
mod cooldown;
mod cost;
mod evaluation;
mod final_likelihood;
mod forecast;
mod judging;
mod known_states;
mod live;
mod mending;
mod parts;
mod pictures;
mod plan;
mod records;
mod rows;
mod run;
mod shortlist;
mod small_start;
mod state;
mod step;
mod step_limit;
mod steps;
mod times;
mod tracking;

pub(crate) use build::LEAST_MARGINAL;
pub(crate) use cost::temperatures;
pub(crate) use steps::Steps;

pub use audit::Audit;
pub use best::{Best, LastAudits};
pub use builder::{TrainerBuilder, TrainingData};
pub use comparison::Comparison;
pub use evaluation::{EvaluationRecord, Judged, Source};
pub use final_likelihood::FinalLikelihood;
pub use forecast::Forecast;
pub use parts::Trainer;
pub use run::{Checkpoints, NoCheckpoints, Outcome, StopReason, run};
pub use shortlist::Candidate;
pub use step::StepRecord;
pub use times::Times;
