//! Means of units given their inputs, weighted by row: what the gradient's statistics are sums of.

use super::instruction_set::for_every_instruction_set;
use super::math::exp_f32;

for_every_instruction_set! {
    /// [`crate::engine::Engine::means`] for the fused kernel.
    pub fn means(stride: usize, inputs: &mut [f32], weights: &[f32]) = body
}

for_every_instruction_set! {
    /// Adds rows of `stride` numbers to sums of their columns, row after row; columns beyond `sums` are padding.
    pub(crate) fn add_rows, add_rows_with(stride: usize, rows: &[f32], sums: &mut [f64]) = add_body
}

#[inline(always)]
fn add_body(stride: usize, rows: &[f32], sums: &mut [f64]) {
    for row in rows.chunks_exact(stride) {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += f64::from(*x);
        }
    }
}

#[inline(always)]
fn body(stride: usize, inputs: &mut [f32], weights: &[f32]) {
    for (x, &weight) in inputs.chunks_exact_mut(stride).zip(weights) {
        for x in x {
            *x = weight / (1.0 + exp_f32(-*x));
        }
    }
}
