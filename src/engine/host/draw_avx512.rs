//! Draws with AVX-512 by rough probabilities: the same bits as the portable kernel in a fraction of its time.

use std::arch::x86_64::*;

use super::draw_row::{GROUP, Part, Row};
use super::rough_exp::{EXP2, SURELY_ONE, SURELY_ZERO};
use crate::engine::random::{MULTIPLIERS, ROUNDS, WEYL};

/// [`crate::engine::Draw::bits`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
pub fn rows(part: &Part<'_>, out: &mut [u64]) {
    for (packed, row) in part.packed_rows(out) {
        let (key, fixed) = row.stream.words();
        for (group, pair) in packed.chunks_mut(2).enumerate() {
            let random = philox(part.block(group), fixed, key);
            for (half, slot) in pair.iter_mut().enumerate() {
                let first = group * GROUP + half * 64;
                let (mut ones, mut zeros) = (0u64, 0u64);
                for (quarter, random) in random.iter().enumerate() {
                    let unit = first + quarter * 16;
                    if unit < row.inputs.len() {
                        let coarse = if half == 0 {
                            _mm512_and_si512(*random, _mm512_set1_epi32(0xFFFF))
                        } else {
                            _mm512_srli_epi32::<16>(*random)
                        };
                        let (one, zero) = decide(logits(&row, unit), _mm512_cvtepi32_ps(coarse));
                        ones |= u64::from(one) << (quarter * 16);
                        zeros |= u64::from(zero) << (quarter * 16);
                    }
                }
                *slot = row.settle(first, ones, !(ones | zeros));
            }
        }
    }
}

/// -(beta x + (1 - beta) a) for units `unit..unit + 16`, rounded as in the definition: large terms may cancel.
#[inline]
#[target_feature(enable = "avx512f")]
fn logits(row: &Row<'_>, unit: usize) -> __m512 {
    let load = |values: &[f32]| {
        let values = &values[unit..unit + 16];
        // SAFETY: 16 floats are read from a slice of 16.
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    };
    let beta = _mm512_set1_ps(-row.beta);
    let model = _mm512_mul_ps(beta, load(row.inputs));
    match row.base {
        Some(base) => {
            _mm512_add_ps(model, _mm512_mul_ps(_mm512_set1_ps(row.beta - 1.0), load(base)))
        }
        None => model,
    }
}

/// Units that are one for every fine number that can follow, and units that are zero for every one.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn decide(minus_logit: __m512, coarse: __m512) -> (u16, u16) {
    let set = |value: f32| _mm512_set1_ps(value);
    // exp(-logit) = 2^n 2^f with f in [-1/2, 1/2].
    let y = _mm512_mul_ps(minus_logit, set(std::f32::consts::LOG2_E));
    let n = _mm512_roundscale_ps::<0>(y);
    let f = _mm512_sub_ps(y, n);
    let p = _mm512_fmadd_ps(set(EXP2[3]), f, set(EXP2[2]));
    let p = _mm512_fmadd_ps(p, f, set(EXP2[1]));
    let p = _mm512_fmadd_ps(p, f, set(EXP2[0]));
    let e = _mm512_scalef_ps(p, n);
    let next = _mm512_add_ps(coarse, set(1.0));
    let (low, high) = (_mm512_fmadd_ps(coarse, e, coarse), _mm512_fmadd_ps(next, e, next));
    let one = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(high, set(SURELY_ONE));
    let zero = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(low, set(SURELY_ZERO));
    (one, zero)
}

/// Philox4x32-10 in 16 lanes, as [`crate::engine::random::philox_lanes`].
#[inline]
#[target_feature(enable = "avx512f")]
fn philox(block: u32, fixed: [u32; 3], key: [u32; 2]) -> [__m512i; 4] {
    let set = |value: u32| _mm512_set1_epi32(value as i32);
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut c = [_mm512_add_epi32(set(block), lanes), set(fixed[0]), set(fixed[1]), set(fixed[2])];
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        let (high0, low0) = multiply(c[0], set(MULTIPLIERS[0]));
        let (high1, low1) = multiply(c[2], set(MULTIPLIERS[1]));
        // 0x96 is the truth table of a xor b xor c.
        let c0 = _mm512_ternarylogic_epi32::<0x96>(high1, c[1], set(k0));
        let c2 = _mm512_ternarylogic_epi32::<0x96>(high0, c[3], set(k1));
        c = [c0, low1, c2, low0];
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    c
}

/// High and low halves of the 64-bit products.
#[inline]
#[target_feature(enable = "avx512f")]
fn multiply(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    const ODD: __mmask16 = 0xAAAA;
    let even = _mm512_mul_epu32(a, b);
    let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), b);
    let high = _mm512_mask_blend_epi32(ODD, _mm512_srli_epi64::<32>(even), odd);
    let low = _mm512_mask_blend_epi32(ODD, even, _mm512_slli_epi64::<32>(odd));
    (high, low)
}
