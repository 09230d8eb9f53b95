//! Where states live, and what is done to many of them: packed bits, random streams, and the interface [`Engine`] with its places.

mod base;
mod beta_grid;
mod bits;
pub mod host;
mod interface;
mod matrix;
mod mixture;
#[cfg(feature = "burn")]
mod on_burn;
pub mod random;
mod tasks;
mod threads;

pub use base::BaseDistribution;
pub use beta_grid::BetaGrid;
pub use bits::{BitMatrix, for_each_set_bit, words_per_row};
pub use host::{Draw, Host, PADDING};
pub use interface::{Base, Engine, Halves, Layer, Moments, Route, States, SweepStreams, Walker};
use matrix::Groups;
pub use matrix::{Matrix, PANEL, padded};
pub use mixture::MixtureBase;
#[cfg(feature = "burn")]
pub use on_burn::OnBurn;
pub(crate) use tasks::{rows_per_task, rows_per_thread, rows_per_thread_for};
pub(crate) use threads::{
    AS_A_NUMBER, AS_AN_EXPONENTIAL, NUMBERS_PER_TASK, Workers, awake, fewest_tasks, worth_threads,
};
