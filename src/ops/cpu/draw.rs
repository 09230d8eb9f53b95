//! Bernoulli draws: pre-activation, inverse temperature, base term, sigmoid, random number and comparison in one pass.
//!
//! A draw looks at 16 random bits first. They decide unless the probability falls into the same 1/65536, once in tens of
//! thousands of draws; then 24 more bits are drawn. The result is that of a 40-bit uniform number,
//! rounded to f32, at half the cost.
//!
//! Definition, the same on every instruction set: a unit is one if `uniform(unit) * (1 + exp_f32(-logit)) < 1`.

use super::InstructionSet;
#[cfg(target_arch = "x86_64")]
use super::draw_avx512;
#[cfg(target_arch = "aarch64")]
use super::draw_neon;
use crate::ops::Draw;
use crate::ops::random::philox_lanes;

impl Draw<'_> {
    /// [`crate::ops::RbmOps::draw`] for the fused kernel.
    pub(super) fn run(&self, set: InstructionSet, out: &mut [u64]) {
        match set {
            // SAFETY: the instruction set was detected on this machine.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { draw_avx512::rows(self, out) },
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { avx2(self, out) },
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon => unsafe { draw_neon::rows(self, out) },
            InstructionSet::Portable => self.rows(out, philox_lanes::<16>, |row, first, random| {
                row.decide(first, random, mask_portable)
            }),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn avx2(draw: &Draw<'_>, out: &mut [u64]) {
    use std::arch::x86_64::{
        _CMP_LT_OQ, _mm256_cmp_ps, _mm256_loadu_ps, _mm256_movemask_ps, _mm256_set1_ps,
    };
    let below_one = |values: &[f32; 16]| {
        let one = _mm256_set1_ps(1.0);
        // SAFETY: twice 8 floats are read from an array of 16.
        let halves =
            unsafe { [_mm256_loadu_ps(values.as_ptr()), _mm256_loadu_ps(values.as_ptr().add(8))] };
        let mask = |half| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(half, one)) as u32;
        u64::from(mask(halves[0]) | mask(halves[1]) << 8)
    };
    draw.rows(out, philox_lanes::<16>, |row, first, random| row.decide(first, random, below_one));
}

#[inline(always)]
fn mask_portable(values: &[f32; 16]) -> u64 {
    values.iter().enumerate().fold(0, |mask, (i, &value)| mask | u64::from(value < 1.0) << i)
}
