//! Train restricted Boltzmann machines and see log Z, with an error bar, while they train.

pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod data;
pub mod error;
pub mod estimators;
pub mod model;
pub mod ops;
pub mod record;
pub mod tempering;
pub mod tracking;
pub mod training;

pub use error::{Error, Result};
