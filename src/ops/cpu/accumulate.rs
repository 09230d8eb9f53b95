//! The product of packed binary rows with a dense matrix: `out[s, :] += sum of matrix[i, :] over set bits i of row s`.
//!
//! This one primitive serves both layers and, with bits transposed, the gradient's outer products. A panel of 32 columns
//! of output stays in registers while a cut of the matrix stays in the L1 cache and the rows pass by; each set bit costs
//! one load and one add per vector, zeros cost nothing. Every output is summed in ascending order of i, whatever the
//! instruction set, so all of them give the same bits.

use super::{InstructionSet, Panels};
use crate::ops::{PANEL, words_per_row};

/// Words of bits per cut: 192 units x 32 columns of f32 are 24 KB.
const CUT: usize = 3;

/// Adds matrix rows of the set bits to a panel of one output row.
type Block = unsafe fn(bits: &[u64], matrix: *const f32, out: *mut f32);

/// Adds the product to `out`, rows of `stride` floats (whole panels). `given`: packed rows of `matrix.units()` bits.
///
/// Panics if the slices do not fit these shapes (a bug in the caller, never input).
pub fn accumulate(
    set: InstructionSet,
    given: &[u64],
    matrix: &Panels,
    stride: usize,
    out: &mut [f32],
) {
    let words = words_per_row(matrix.units());
    let rows = given.len() / words.max(1);
    assert!(stride.is_multiple_of(PANEL) && stride >= matrix.columns());
    assert!(given.len() == rows * words && out.len() >= rows * stride);
    let block: Block = match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => avx512,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => avx2,
        InstructionSet::Portable => portable,
    };
    for panel in 0..stride / PANEL {
        let values = matrix.panel(panel);
        for first in (0..words).step_by(CUT) {
            let last = (first + CUT).min(words);
            let cut = &values[first * 64 * PANEL..];
            for row in 0..rows {
                let bits = &given[row * words + first..row * words + last];
                let target = &mut out[row * stride + panel * PANEL..][..PANEL];
                // SAFETY: padding bits are zero, so the rows of set bits lie inside `cut`; `target` is one panel wide;
                // the instruction set was detected on this machine.
                unsafe { block(bits, cut.as_ptr(), target.as_mut_ptr()) };
            }
        }
    }
}

/// The body of a block kernel over `$n` vectors of `$width` floats; a macro because intrinsics need the caller's
/// target features.
macro_rules! sum_rows {
    ($bits:ident, $matrix:ident, $out:ident, $n:literal, $width:literal, $load:ident, $add:ident, $store:ident) => {{
        let mut sums: [_; $n] = std::array::from_fn(|n| $load($out.add(n * $width)));
        let mut base = $matrix;
        for &word in $bits {
            let mut rest = word;
            while rest != 0 {
                let row = base.add(rest.trailing_zeros() as usize * PANEL);
                for n in 0..$n {
                    sums[n] = $add(sums[n], $load(row.add(n * $width)));
                }
                rest &= rest - 1;
            }
            base = base.wrapping_add(64 * PANEL);
        }
        for n in 0..$n {
            $store($out.add(n * $width), sums[n]);
        }
    }};
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,bmi1")]
unsafe fn avx512(bits: &[u64], matrix: *const f32, out: *mut f32) {
    use std::arch::x86_64::{_mm512_add_ps, _mm512_loadu_ps, _mm512_storeu_ps};
    // SAFETY: the caller keeps `out` and all rows of set bits inside their slices.
    unsafe { sum_rows!(bits, matrix, out, 2, 16, _mm512_loadu_ps, _mm512_add_ps, _mm512_storeu_ps) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
unsafe fn avx2(bits: &[u64], matrix: *const f32, out: *mut f32) {
    use std::arch::x86_64::{_mm256_add_ps, _mm256_loadu_ps, _mm256_storeu_ps};
    // SAFETY: the caller keeps `out` and all rows of set bits inside their slices.
    unsafe { sum_rows!(bits, matrix, out, 4, 8, _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps) }
}

/// For the compiler to vectorise with what the target always has.
unsafe fn portable(bits: &[u64], matrix: *const f32, out: *mut f32) {
    // SAFETY: the caller keeps `out` and all rows of set bits inside their slices.
    unsafe {
        let mut sums: [f32; PANEL] = std::array::from_fn(|n| *out.add(n));
        crate::ops::for_each_set_bit(bits, |unit| {
            let row = std::slice::from_raw_parts(matrix.add(unit * PANEL), PANEL);
            for n in 0..PANEL {
                sums[n] += row[n];
            }
        });
        std::slice::from_raw_parts_mut(out, PANEL).copy_from_slice(&sums);
    }
}
