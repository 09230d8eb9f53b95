//! Draws with AVX2 by rough probabilities: the same bits as the portable kernel, which the compiler vectorises with this instruction
//! set too but whose accurate exponential and generator take two and a half times as long.

use std::arch::x86_64::*;

use super::draw_row::{Part, Row, coarse_shift};
use super::rough_exp::{EXP2, SURELY_ONE, SURELY_ZERO};
use crate::engine::random::{MULTIPLIERS, ROUNDS, WEYL};

/// Four vectors of eight 32-bit words: those of lanes 0 to 7, then of lanes 8 to 15.
type Random = [[__m256i; 4]; 2];

/// [`crate::engine::Draw::bits`].
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
pub fn rows(part: &Part<'_>, out: &mut [u64]) {
    part.rows(
        out,
        |block, fixed, key| philox(block, fixed, key),
        |row, first, random| {
            let low_halves = coarse_shift(first) == 0;
            let (mut ones, mut zeros) = (0u64, 0u64);
            for eighth in 0..8 {
                let unit = first + eighth * 8;
                if unit < row.inputs.len() {
                    let words = random[eighth % 2][eighth / 2];
                    let coarse = match low_halves {
                        true => _mm256_and_si256(words, _mm256_set1_epi32(0xFFFF)),
                        false => _mm256_srli_epi32::<16>(words),
                    };
                    let minus_logit = minus_logits(row, unit);
                    let (one, zero) = decide(minus_logit, _mm256_cvtepi32_ps(coarse));
                    ones |= u64::from(one) << (eighth * 8);
                    zeros |= u64::from(zero) << (eighth * 8);
                }
            }
            (ones, !(ones | zeros))
        },
    );
}

/// -(beta x + (1 - beta) a) for units `unit..unit + 8`, rounded as in the definition: large terms may cancel.
#[inline]
#[target_feature(enable = "avx2")]
fn minus_logits(row: &Row<'_>, unit: usize) -> __m256 {
    let load = |values: &[f32]| {
        let values = &values[unit..unit + 8];
        // SAFETY: 8 floats are read from a slice of 8.
        unsafe { _mm256_loadu_ps(values.as_ptr()) }
    };
    let model = _mm256_mul_ps(_mm256_set1_ps(-row.beta), load(row.inputs));
    match row.base {
        Some(base) => {
            _mm256_add_ps(model, _mm256_mul_ps(_mm256_set1_ps(row.beta - 1.0), load(base)))
        }
        None => model,
    }
}

/// Units that are one for every fine number that can follow, and units that are zero for every one.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn decide(minus_logit: __m256, coarse: __m256) -> (u8, u8) {
    let set = |value: f32| _mm256_set1_ps(value);
    let fma = |a, b, c| _mm256_fmadd_ps(a, b, c);
    // exp(-logit) = 2^n 2^f with f in [-1/2, 1/2]. Beyond 2^100 nothing depends on it, and the exponent stays in its field. What is not
    // a number stays so, and is left to the definition.
    let y = _mm256_mul_ps(minus_logit, set(std::f32::consts::LOG2_E));
    let y = _mm256_min_ps(set(100.0), _mm256_max_ps(set(-100.0), y));
    let n = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(y);
    let f = _mm256_sub_ps(y, n);
    let p = fma(fma(fma(set(EXP2[3]), f, set(EXP2[2])), f, set(EXP2[1])), f, set(EXP2[0]));
    let power = _mm256_slli_epi32::<23>(_mm256_cvtps_epi32(n));
    let e = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), power));
    let next = _mm256_add_ps(coarse, set(1.0));
    let (low, high) = (fma(coarse, e, coarse), fma(next, e, next));
    let one = _mm256_cmp_ps::<_CMP_LT_OQ>(high, set(SURELY_ONE));
    let zero = _mm256_cmp_ps::<_CMP_GT_OQ>(low, set(SURELY_ZERO));
    (_mm256_movemask_ps(one) as u8, _mm256_movemask_ps(zero) as u8)
}

/// Philox4x32-10 in 16 lanes, as [`crate::engine::random::philox_lanes`].
#[inline]
#[target_feature(enable = "avx2")]
fn philox(block: u32, fixed: [u32; 3], key: [u32; 2]) -> Random {
    let set = |value: u32| _mm256_set1_epi32(value as i32);
    let first = _mm256_add_epi32(set(block), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    let fixed = fixed.map(set);
    let mut counters =
        [first, _mm256_add_epi32(first, set(8))].map(|first| [first, fixed[0], fixed[1], fixed[2]]);
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        for c in &mut counters {
            let (high0, low0) = multiply(c[0], set(MULTIPLIERS[0]));
            let (high1, low1) = multiply(c[2], set(MULTIPLIERS[1]));
            let c0 = _mm256_xor_si256(_mm256_xor_si256(high1, c[1]), set(k0));
            let c2 = _mm256_xor_si256(_mm256_xor_si256(high0, c[3]), set(k1));
            *c = [c0, low1, c2, low0];
        }
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    counters
}

/// High and low halves of the 64-bit products.
#[inline]
#[target_feature(enable = "avx2")]
fn multiply(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
    const ODD: i32 = 0xAA;
    let even = _mm256_mul_epu32(a, b);
    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), b);
    let high = _mm256_blend_epi32::<ODD>(_mm256_srli_epi64::<32>(even), odd);
    let low = _mm256_blend_epi32::<ODD>(even, _mm256_slli_epi64::<32>(odd));
    (high, low)
}
