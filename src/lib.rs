//! Train restricted Boltzmann machines and see log Z, with an error bar, while they train.

pub mod checkpoint;
pub mod data;
pub mod error;
pub mod model;
pub mod ops;
pub mod tempering;
pub mod tracking;
pub mod training;
pub mod error;
pub mod model;
pub mod ops;
pub mod record;

pub use error::{Error, Result};
