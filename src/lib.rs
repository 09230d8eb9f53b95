//! Train restricted Boltzmann machines and see log Z, with an error bar, while they train.
//!
//! # Train on an array in memory
//!
//! ```
//! use ztrack::{Options, fit};
//!
//! let rows: Vec<[u8; 16]> = (0..200).map(|row| [(row % 2) as u8; 16]).collect();
//! let fit = fit(&rows, Options { hidden: 8, epochs: 20, ..Options::default() })?;
//! println!("{:.3} nats per row; log Z {:.3}", fit.train.value, fit.log_z.value);
//! # Ok::<(), ztrack::Error>(())
//! ```
//!
//! Rows may be arrays, `ndarray`'s or Burn's ([`data::Rows`]); [`fit()`] returns model, curves and log-likelihoods. Training as the command
//! does it, with files, checkpoints and recorders: [`training::run`], `examples/quickstart.rs`.
//!
//! # Track your own loop
//!
//! [`LogZTracker`] is added to any training loop with one line before it and one after every update. `examples/track_my_loop.rs` is a loop
//! in Burn.
//!
//! ```
//! use ztrack::{BitMatrix, LogZTracker, model::test_systems::gaussian_parameters};
//!
//! let rows = BitMatrix::from_fn(100, 12, |row, unit| (row + unit) % 3 == 0);
//! let mut tracker = LogZTracker::builder(&rows).hidden(6).build()?;
//! let mut parameters = gaussian_parameters(12, 6, 0.3, 1);
//! tracker.update(&parameters)?; // once before training
//! for update in 0..50 {
//!     parameters.hidden_bias[update % 6] += 0.01; // any training
//!     tracker.update(&parameters)?;
//! }
//! let likelihood = tracker.log_likelihood(&rows)?;
//! let found = tracker.evaluate()?;
//! println!("log Z {:.3} +- {:.3}, {}", found.value, found.std_error, found.trust);
//! println!("{:.3} +- {:.3} nats per row", likelihood.value, likelihood.std_error);
//! # Ok::<(), ztrack::Error>(())
//! ```
//!
//! # log Z of a given model
//!
//! Weights come from [`checkpoint::ModelFile`] (npz, safetensors), [`Parameters::from_tensors`] (Burn), or
//! [`Parameters::from_hidden_major`] (scikit-learn, torch). [`log_partition()`] gives log Z with its error bar; settings and data rows are
//! given like this:
//!
//! ```
//! use ztrack::estimators::{EstimateSettings, Starting};
//! use ztrack::model::{exact, test_systems::gaussian_parameters};
//!
//! let parameters = gaussian_parameters(16, 8, 0.5, 1);
//! let settings = EstimateSettings { methods: vec!["auto".parse()?], seed: 1, ..Default::default() };
//! let found = settings.run(&parameters, Starting::default(), &mut |_step| {})?;
//! let estimate = &found.estimates[0];
//! let error = estimate.value - exact::log_partition(&parameters)?;
//! assert!(estimate.trust.is_sound() && error.abs() < 4.0 * estimate.std_error);
//! # Ok::<(), ztrack::Error>(())
//! ```
//!
//! Without `methods` small models are enumerated, and for others the automatic estimate is run; [`estimators::Method`] has all names.
//!
//! # Modules
//!
//! Data flows in one direction: [`data`] -> [`training`] (gradient, update rule) -> [`model`] -> [`tempering`] (chains, RTS statistics) ->
//! [`tracking`] (log Z, log-likelihoods) -> early stopping -> [`record`] -> [`report`]. [`live`] and [`mod@fit`] are for custom loops and
//! for arrays. Algorithms are written in the operations of [`engine`]; [`estimators`] are for fixed models; [`config`], [`checkpoint`] and
//! [`cli`] are input and output. [`context`] ends long computations, at a signal or alone, and reports how far they are.

pub mod checkpoint;
#[cfg(feature = "cli")]
pub mod cli;
pub mod collective;
pub mod config;
pub mod context;
pub mod data;
pub mod engine;
mod error;
pub mod estimators;
pub mod fit;
pub mod keys;
mod limited;
pub mod live;
mod memory;
pub mod model;
mod nearest;
pub mod numerics;
pub mod record;
pub mod report;
pub mod tempering;
pub mod tracking;
pub mod training;
mod trust;
pub mod units;

pub use config::Config;
pub use context::{Context, Device};
pub use data::Dataset;
pub use engine::{BitMatrix, Engine, Host};
pub use error::{Error, Result};
pub use estimators::{Ais, Estimate, Rts, log_partition};
pub use fit::{Fit, Options, fit};
pub use live::LogZTracker;
pub use model::Parameters;
#[cfg(feature = "burn")]
pub use model::Rbm;
pub use record::Recorder;
pub use training::{Trainer, run};
pub use trust::{Doubt, Interface, LogZ, Trust};
