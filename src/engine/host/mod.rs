//! The engine in memory of this machine: fused CPU kernels on packed states, threads and ranks.

mod accumulate;
#[cfg(target_arch = "x86_64")]
mod amx;
mod categorical;
mod centered;
mod choice;
mod draw;
#[cfg(target_arch = "x86_64")]
mod draw_avx2;
#[cfg(target_arch = "x86_64")]
mod draw_avx512;
#[cfg(target_arch = "aarch64")]
mod draw_neon;
mod draw_row;
mod engine;
mod fixed_point;
mod gibbs;
mod instruction_set;
mod look_up;
pub mod math;
mod means;
mod moments;
mod normals;
mod operations;
mod packed_rows;
mod panels;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod planes;
#[cfg(target_arch = "x86_64")]
mod planes_avx512;
mod reals;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod rough_exp;
mod selected_sum;
mod shape;
mod softmax;
mod softplus;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod tile_output;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod tiles;
mod tuning;
mod walker;

pub use categorical::draw_categorical;
pub(crate) use centered::{HiddenTerms, VisibleTerms, centered_row};
pub(crate) use choice::add_scaled;
pub use choice::choose;
pub use draw::{Draw, PADDING};
pub use draw_row::uniform;
pub use instruction_set::InstructionSet;
pub(crate) use means::add_rows;
pub use operations::Host;
use panels::Panels;
pub(crate) use selected_sum::selected_sum;
pub use shape::{Product, Shape};
pub use softmax::softmax;
pub(crate) use softmax::{exponentials, reweigh, softmax_of_line};
pub use tuning::Tuning;
