//! Means of units given their inputs, weighted by row: what the gradient's statistics are sums of.

use super::InstructionSet;
use super::math::exp_f32;

/// [`crate::ops::RbmOps::means`] for the fused kernel.
pub fn means(set: InstructionSet, stride: usize, inputs: &mut [f32], weights: &[f32]) {
    match set {
        // SAFETY: the instruction set was detected on this machine.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => unsafe { avx512(stride, inputs, weights) },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { avx2(stride, inputs, weights) },
        _ => body(stride, inputs, weights),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn avx512(stride: usize, inputs: &mut [f32], weights: &[f32]) {
    body(stride, inputs, weights);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(stride: usize, inputs: &mut [f32], weights: &[f32]) {
    body(stride, inputs, weights);
}

#[inline(always)]
fn body(stride: usize, inputs: &mut [f32], weights: &[f32]) {
    for (x, &weight) in inputs.chunks_exact_mut(stride).zip(weights) {
        for x in x {
            *x = weight / (1.0 + exp_f32(-*x));
        }
    }
}
