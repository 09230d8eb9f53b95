//! Draws with NEON by rough probabilities. In the portable kernel on 64-bit Arm the compiler leaves the generator scalar and
//! makes masks of comparisons in 64-bit lanes; this one takes 30 to 40 % of the cycles (`llvm-mca`).

use std::arch::aarch64::*;

use super::draw_row::{Part, Row, coarse_shift};
use super::rough_exp::{EXP2, SURELY_ONE, SURELY_ZERO};
use crate::engine::random::{MULTIPLIERS, ROUNDS, WEYL};

/// Sixteen 32-bit words, one for each of 16 units.
type Quarter = [uint32x4_t; 4];

/// [`crate::engine::Draw::bits`].
#[target_feature(enable = "neon")]
pub fn rows(part: &Part<'_>, out: &mut [u64]) {
    part.rows(
        out,
        |block, fixed, key| philox(block, fixed, key),
        |row, first, random| {
            let down = vdupq_n_s32(-(coarse_shift(first) as i32));
            let mut ones = [vdupq_n_u8(0); 4];
            let mut zeros = ones;
            for (quarter, random) in random.iter().enumerate() {
                let unit = first + quarter * 16;
                if unit < row.inputs.len() {
                    let (mut one, mut zero) = ([vdupq_n_u32(0); 4], [vdupq_n_u32(0); 4]);
                    for n in 0..4 {
                        let coarse = vandq_u32(vshlq_u32(random[n], down), vdupq_n_u32(0xFFFF));
                        let minus_logit = minus_logits(row, unit + 4 * n);
                        (one[n], zero[n]) = decide(minus_logit, vcvtq_f32_u32(coarse));
                    }
                    (ones[quarter], zeros[quarter]) = (narrow(one), narrow(zero));
                }
            }
            let (ones, zeros) = (mask(ones), mask(zeros));
            (ones, !(ones | zeros))
        },
    );
}

/// -(beta x + (1 - beta) a) for units `unit..unit + 4`, rounded as in the definition: large terms may cancel.
#[inline]
#[target_feature(enable = "neon")]
fn minus_logits(row: &Row<'_>, unit: usize) -> float32x4_t {
    let load = |values: &[f32]| {
        let values = &values[unit..unit + 4];
        // SAFETY: 4 floats are read from a slice of 4.
        unsafe { vld1q_f32(values.as_ptr()) }
    };
    let model = vmulq_n_f32(load(row.inputs), -row.beta);
    match row.base {
        Some(base) => vaddq_f32(model, vmulq_n_f32(load(base), row.beta - 1.0)),
        None => model,
    }
}

/// Units that are one for every fine number that can follow, and units that are zero for every one.
#[inline]
#[target_feature(enable = "neon")]
fn decide(minus_logit: float32x4_t, coarse: float32x4_t) -> (uint32x4_t, uint32x4_t) {
    let set = |value: f32| vdupq_n_f32(value);
    // exp(-logit) = 2^n 2^f with f in [-1/2, 1/2]. Beyond 2^100 nothing depends on it, and the exponent stays in its field.
    let y = vmulq_n_f32(minus_logit, std::f32::consts::LOG2_E);
    let y = vminq_f32(vmaxq_f32(y, set(-100.0)), set(100.0));
    let f = vsubq_f32(y, vrndnq_f32(y));
    let p = vfmaq_f32(set(EXP2[2]), set(EXP2[3]), f);
    let p = vfmaq_f32(set(EXP2[1]), p, f);
    let p = vfmaq_f32(set(EXP2[0]), p, f);
    let power = vshlq_n_s32::<23>(vcvtnq_s32_f32(y));
    let e = vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(p), power));
    let next = vaddq_f32(coarse, set(1.0));
    let (low, high) = (vfmaq_f32(coarse, coarse, e), vfmaq_f32(next, next, e));
    (vcltq_f32(high, set(SURELY_ONE)), vcgtq_f32(low, set(SURELY_ZERO)))
}

/// All ones or all zeros in a byte a unit.
#[inline]
#[target_feature(enable = "neon")]
fn narrow(masks: Quarter) -> uint8x16_t {
    let low = |a, b| vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
    let (a, b) = (low(masks[0], masks[1]), low(masks[2], masks[3]));
    vuzp1q_u8(vreinterpretq_u8_u16(a), vreinterpretq_u8_u16(b))
}

/// One bit a unit.
#[inline]
#[target_feature(enable = "neon")]
fn mask(bytes: [uint8x16_t; 4]) -> u64 {
    let weights = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    let [a, b, c, d] = bytes.map(|bytes| vandq_u8(bytes, weights));
    // Neighbours are added three times: eight bytes with a bit each become one.
    let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
}

/// Philox4x32-10 in 16 lanes, as [`crate::engine::random::philox_lanes`].
#[inline]
#[target_feature(enable = "neon")]
fn philox(block: u32, fixed: [u32; 3], key: [u32; 2]) -> [Quarter; 4] {
    let set = |value: u32| vdupq_n_u32(value);
    let blocks = |n: u32| {
        let first = block.wrapping_add(4 * n);
        // SAFETY: 4 words are read from an array of 4.
        vaddq_u32(set(first), unsafe { vld1q_u32([0, 1, 2, 3].as_ptr()) })
    };
    let mut c0 = [blocks(0), blocks(1), blocks(2), blocks(3)];
    let [mut c1, mut c2, mut c3] = fixed.map(|word| [set(word); 4]);
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        for n in 0..4 {
            let (high0, low0) = multiply(c0[n], MULTIPLIERS[0]);
            let (high1, low1) = multiply(c2[n], MULTIPLIERS[1]);
            c0[n] = veorq_u32(veorq_u32(high1, c1[n]), set(k0));
            c2[n] = veorq_u32(veorq_u32(high0, c3[n]), set(k1));
            (c1[n], c3[n]) = (low1, low0);
        }
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3]
}

/// High and low halves of the 64-bit products.
#[inline]
#[target_feature(enable = "neon")]
fn multiply(a: uint32x4_t, b: u32) -> (uint32x4_t, uint32x4_t) {
    let first = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(a), b));
    let last = vreinterpretq_u32_u64(vmull_high_n_u32(a, b));
    (vuzp2q_u32(first, last), vuzp1q_u32(first, last))
}
