//! The fused CPU kernel: packed states in, packed states out.

mod accumulate;
mod draw;
mod fused;
mod instruction_set;
pub mod math;
mod panels;
mod softplus;

pub(crate) use draw::uniform;
pub use fused::Fused;
pub use instruction_set::InstructionSet;
use panels::Panels;
