//! Means of units given their inputs, weighted by row: what the gradient's statistics are sums of.

use super::instruction_set::for_every_instruction_set;
use super::math::exp_f32;

for_every_instruction_set! {
    /// [`crate::ops::RbmOps::means`] for the fused kernel.
    pub fn means(stride: usize, inputs: &mut [f32], weights: &[f32]) = body
}

#[inline(always)]
fn body(stride: usize, inputs: &mut [f32], weights: &[f32]) {
    for (x, &weight) in inputs.chunks_exact_mut(stride).zip(weights) {
        for x in x {
            *x = weight / (1.0 + exp_f32(-*x));
        }
    }
}
