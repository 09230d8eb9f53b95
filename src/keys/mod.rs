//! Keys of a configuration, described where their values are defined: from one line of `section!` or `choice!` come the field, its default,
//! how it is read and written, its bounds, and its text in messages and in the documentation.

mod automatic;
mod described;
mod key;
mod macros;
mod takes;

pub use automatic::Automatic;
pub(crate) use described::described;
pub use described::{Described, Variant, choice_below, choice_takes};
pub use key::{Key, LeftOut};
pub(crate) use macros::{choice, doc_of, section};
pub use takes::{Short, Takes, Worded};

/// Largest layers, chains and temperatures accepted; beyond, arithmetic on sizes could overflow.
pub const LARGEST: u64 = 10_000_000;
