//! Bernoulli draws: pre-activation, inverse temperature, base term, sigmoid, random number and comparison in one pass.

use super::dispatched;
use super::math::exp_f32;
use crate::ops::random::{Streams, philox_lanes};
use crate::ops::words_per_row;

dispatched! {
    /// [`crate::ops::RbmOps::draw`] for the fused kernel.
    pub fn draw(
        n_units: usize,
        stride: usize,
        inputs: &[f32],
        beta: &[f32],
        base: Option<&[f32]>,
        streams: Streams,
        first_row: u32,
        out: &mut [u64],
    ) = body;
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn body(
    n_units: usize,
    stride: usize,
    inputs: &[f32],
    beta: &[f32],
    base: Option<&[f32]>,
    streams: Streams,
    first_row: u32,
    out: &mut [u64],
) {
    let words = words_per_row(n_units);
    let mut logits = [0.0f32; 64];
    for (row, (packed, &beta)) in out.chunks_exact_mut(words).zip(beta).enumerate() {
        let x = &inputs[row * stride..][..stride];
        let (key, fixed) = streams.row(first_row + row as u32).words();
        for (word, slot) in packed.iter_mut().enumerate() {
            let first = word * 64;
            let width = (stride - first).min(64);
            let x = &x[first..first + width];
            match base {
                Some(base) => {
                    let base = &base[first..first + width];
                    for i in 0..width {
                        logits[i] = beta * x[i] + (1.0 - beta) * base[i];
                    }
                }
                None => {
                    for i in 0..width {
                        logits[i] = beta * x[i];
                    }
                }
            }
            let random = philox_lanes::<16>(word as u32 * 16, fixed, key);
            let used = n_units - first;
            let mask = if used < 64 { (1u64 << used) - 1 } else { u64::MAX };
            *slot = compare(&logits, &random) & mask;
        }
    }
}

/// Bit i is 1 where uniform i < sigma(logit i), that is where u (1 + exp(-logit)) < 1.
#[inline(always)]
fn compare(logits: &[f32; 64], random: &[[u32; 16]; 4]) -> u64 {
    let mut word = 0u64;
    for w in 0..4 {
        let mut below = [0u16; 16];
        for i in 0..16 {
            let u = uniform(random[w][i]);
            let scaled = u + u * exp_f32(-logits[w * 16 + i]);
            below[i] = u16::from(scaled < 1.0) << i;
        }
        let bits = below.iter().fold(0, |all, bit| all | bit);
        word |= u64::from(bits) << (w * 16);
    }
    word
}

/// A uniform f32 in the open interval (0, 1) with 24 random bits.
#[inline(always)]
pub fn uniform(word: u32) -> f32 {
    // The shifted word fits an i32, whose conversion is one vector instruction everywhere.
    ((word >> 8) as i32 as f32 + 0.5) * (1.0 / 16_777_216.0)
}
