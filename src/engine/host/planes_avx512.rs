//! Packing of planes with AVX-512, which every machine with AMX has.

use std::arch::x86_64::*;

use super::planes::{DEPTH, PLANES, Tile, WIDTH};

/// Numbers of one unit or column, as many as the mask says.
#[target_feature(enable = "avx512f")]
unsafe fn numbers(values: *const f32, inverse: __m512, mask: __mmask16) -> __m512i {
    // SAFETY: the caller's; no others are read.
    let values = unsafe { _mm512_maskz_loadu_ps(mask, values) };
    _mm512_cvtps_epi32(_mm512_mul_ps(values, inverse))
}

fn first(count: usize) -> __mmask16 {
    if count >= WIDTH { !0 } else { (1 << count) - 1 }
}

/// Four units at a time: byte u of a column's four is that of unit u.
///
/// # Safety
/// There are so many rows, and tiles for them.
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn pack_block(
    (values, stride, units): (&[f32], usize, usize),
    inverse: &[f32],
    tiles: &mut [Tile],
) {
    let planes = tiles.len() / units.div_ceil(DEPTH);
    let mask = first(inverse.len());
    let low = _mm512_set1_epi32(0xFF);
    // SAFETY: units and columns are in range; each tile has 16 rows of 64 bytes.
    unsafe {
        let inverse = _mm512_maskz_loadu_ps(mask, inverse.as_ptr());
        for four in 0..units.div_ceil(4) {
            let mut q = [_mm512_setzero_si512(); 4];
            for (u, q) in q.iter_mut().enumerate().take(units - 4 * four) {
                *q = numbers(values.as_ptr().add((4 * four + u) * stride), inverse, mask);
            }
            for plane in 0..planes {
                let shift = _mm_cvtsi32_si128(8 * plane as i32);
                let [a, b, c, d] = q;
                let a = _mm512_and_si512(_mm512_srl_epi32(a, shift), low);
                let b = _mm512_and_si512(_mm512_srl_epi32(b, shift), low);
                let c = _mm512_and_si512(_mm512_srl_epi32(c, shift), low);
                let d = _mm512_srl_epi32(d, shift);
                let ab = _mm512_or_si512(a, _mm512_slli_epi32::<8>(b));
                let cd = _mm512_or_si512(_mm512_slli_epi32::<16>(c), _mm512_slli_epi32::<24>(d));
                let to = &mut tiles[four / WIDTH * planes + plane].0[four % WIDTH];
                _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_or_si512(ab, cd));
            }
        }
    }
}

/// A column is a row of the source: its bytes of 64 units are 16 words of 4, which go to as many rows of a tile.
///
/// # Safety
/// There are so many units, and tiles for them.
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn pack_rows(values: &[f32], units: usize, inverse: &[f32], tiles: &mut [Tile]) {
    let planes = tiles.len() / units.div_ceil(DEPTH);
    let mut words = [Tile::ZERO; PLANES];
    for (block, tiles) in tiles.chunks_exact_mut(planes).enumerate() {
        let count = (units - block * DEPTH).min(DEPTH);
        for (column, &inverse) in inverse.iter().enumerate() {
            let row = &values[column * units + block * DEPTH..][..count];
            for unit in (0..DEPTH).step_by(WIDTH) {
                // SAFETY: units beyond the row are not read; a row of a tile has room for 16 bytes.
                unsafe {
                    let mask = first(count.saturating_sub(unit));
                    let values = row.as_ptr().wrapping_add(unit);
                    let mut q = numbers(values, _mm512_set1_ps(inverse), mask);
                    for words in &mut words[..planes] {
                        let to = words.0[column][unit..][..WIDTH].as_mut_ptr();
                        _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(q));
                        q = _mm512_srli_epi32::<8>(q);
                    }
                }
            }
        }
        for (tile, words) in tiles.iter_mut().zip(&words) {
            // SAFETY: 16 rows of 64 bytes each.
            unsafe { transpose(words, tile) };
        }
    }
}

/// Of words of 4 bytes.
#[target_feature(enable = "avx512f")]
unsafe fn transpose(from: &Tile, to: &mut Tile) {
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let mut r = [_mm512_setzero_si512(); WIDTH];
    for (r, from) in r.iter_mut().zip(&from.0) {
        // SAFETY: the caller's.
        *r = unsafe { _mm512_loadu_si512(from.as_ptr().cast()) };
    }
    // u[4 i + k] has the words k, k + 4, k + 8, k + 12 of rows 4 i to 4 i + 3.
    let mut u = r;
    for i in (0..WIDTH).step_by(4) {
        let (low, high) =
            (_mm512_unpacklo_epi32(r[i], r[i + 1]), _mm512_unpackhi_epi32(r[i], r[i + 1]));
        let next_low = _mm512_unpacklo_epi32(r[i + 2], r[i + 3]);
        let next_high = _mm512_unpackhi_epi32(r[i + 2], r[i + 3]);
        u[i] = _mm512_unpacklo_epi64(low, next_low);
        u[i + 1] = _mm512_unpackhi_epi64(low, next_low);
        u[i + 2] = _mm512_unpacklo_epi64(high, next_high);
        u[i + 3] = _mm512_unpackhi_epi64(high, next_high);
    }
    let mut columns = r;
    for k in 0..4 {
        let even = _mm512_shuffle_i32x4::<EVEN>(u[k], u[k + 4]);
        let odd = _mm512_shuffle_i32x4::<ODD>(u[k], u[k + 4]);
        let next_even = _mm512_shuffle_i32x4::<EVEN>(u[k + 8], u[k + 12]);
        let next_odd = _mm512_shuffle_i32x4::<ODD>(u[k + 8], u[k + 12]);
        columns[k] = _mm512_shuffle_i32x4::<EVEN>(even, next_even);
        columns[k + 4] = _mm512_shuffle_i32x4::<EVEN>(odd, next_odd);
        columns[k + 8] = _mm512_shuffle_i32x4::<ODD>(even, next_even);
        columns[k + 12] = _mm512_shuffle_i32x4::<ODD>(odd, next_odd);
    }
    for (to, column) in to.0.iter_mut().zip(columns) {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), column) };
    }
}
