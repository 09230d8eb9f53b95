//! Train restricted Boltzmann machines and see log Z, with an error bar, while they train.
//!
//! # Quick start
//!
//! log Z of a model from Rao-Blackwellized tempered sampling, beside the exact value:
//!
//! ```
//! use ztrack::model::{exact, test_systems};
//! use ztrack::tempering::{BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior};
//! use ztrack::{Fused, Rts};
//!
//! let parameters = test_systems::gaussian_parameters(16, 8, 0.5, 1);
//! let rts = Rts {
//!     chains: 100,
//!     sweeps: 200,
//!     ladder: Ladder::linear(20, &Prior::Uniform)?,
//!     beta_update: BetaUpdate::Collapsed,
//!     initial_rounds: InitialRounds::default(),
//!     seed: 1,
//! };
//! let estimate = rts.run(&Fused::new(&parameters), &BaseDistribution::uniform(16))?;
//! let error = estimate.value - exact::log_partition(&parameters)?;
//! assert!(error.abs() < 4.0 * estimate.std_error);
//! # Ok::<(), ztrack::Error>(())
//! ```
//!
//! Training with a recorder of one's own: `examples/quickstart.rs`.
//!
//! # Rooms
//!
//! Data flows one way: [`data`] -> [`training`] (gradient, update rule) -> [`model`] -> [`tempering`] (chains, RTS statistics)
//! -> [`tracking`] (log Z, log-likelihoods) -> early stopping -> [`record`] -> [`report`]. Algorithms are written in the operations of
//! [`ops`]; [`estimators`] serve fixed models; [`config`], [`checkpoint`] and [`cli`] are the edges. [`interrupt`] ends long computations at
//! a signal, [`memory`] says what may be taken.

pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod data;
pub mod error;
pub mod estimators;
pub mod interrupt;
mod limited;
pub mod live;
pub mod memory;
pub mod model;
mod nearest;
pub mod ops;
pub mod progress;
pub mod record;
pub mod report;
pub mod tempering;
pub mod tracking;
pub mod training;
pub mod trust;

pub use config::Config;
pub use error::{Error, Result};
pub use estimators::{Ais, Estimate, Rts};
pub use live::LogZTracker;
pub use model::{Parameters, Rbm};
pub use ops::{BitMatrix, Fused, RbmOps};
pub use record::Recorder;
pub use training::{Trainer, run};
pub use trust::{Doubt, Trust};
