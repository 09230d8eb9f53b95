//! Bernoulli draws: pre-activation, inverse temperature, base term, sigmoid, random number and comparison in one pass.
//!
//! A draw looks at 16 random bits first. They decide unless the probability falls into the same 1/65536, once in tens of
//! thousands of draws; then 24 more bits are drawn. The result is that of a 40-bit uniform number,
//! rounded to f32, at half the cost.
//!
//! Definition, the same on every instruction set: a unit is one if `uniform(unit) * (1 + exp_f32(-logit)) < 1`.

use super::InstructionSet;
#[cfg(target_arch = "aarch64")]
use super::draw_neon;
#[cfg(target_arch = "x86_64")]
use super::{draw_avx2, draw_avx512};
use crate::engine::Draw;
use crate::engine::random::philox_lanes;

impl Draw<'_> {
    /// [`crate::engine::RbmOps::draw`] for the fused kernel.
    pub(super) fn run(&self, set: InstructionSet, out: &mut [u64]) {
        match set {
            // SAFETY: the instruction set was detected on this machine.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { draw_avx512::rows(self, out) },
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { draw_avx2::rows(self, out) },
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon => unsafe { draw_neon::rows(self, out) },
            InstructionSet::Portable => {
                self.rows(out, philox_lanes::<16>, |row, first, random| row.decide(first, random))
            }
        }
    }
}
