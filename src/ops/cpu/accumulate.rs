//! The product of packed binary rows with a dense matrix: `out[s, :] += sum of weights[i, :] over set bits i of row s`.
//!
//! This one primitive serves both layers and, with bits transposed, the gradient's outer products. Output columns are
//! taken in blocks that stay in registers, while the block of the matrix stays in the L2 cache and the rows pass by;
//! each set bit costs one load and one add per vector, zeros cost nothing. Every output is summed in ascending order
//! of i, whatever the instruction set, so all of them give the same bits.

use super::InstructionSet;
use crate::ops::matrix::LANES;
use crate::ops::words_per_row;

/// Most floats of a matrix block that should stay in the L2 cache (512 KB).
const CACHE: usize = 128 * 1024;

/// Adds sum of matrix rows (distance `stride`) over the set bits to a block of floats at `out`.
type Block = unsafe fn(bits: &[u64], matrix: *const f32, stride: usize, out: *mut f32);

/// Block kernels of an instruction set, widest first, with their width in floats; the last one is [`LANES`] wide.
fn blocks(set: InstructionSet) -> [(usize, Block); 4] {
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => {
            [(128, avx512::<8>), (64, avx512::<4>), (32, avx512::<2>), (16, avx512::<1>)]
        }
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => {
            [(96, avx2::<12>), (64, avx2::<8>), (32, avx2::<4>), (16, avx2::<2>)]
        }
        InstructionSet::Portable => {
            [(32, portable::<32>), (32, portable::<32>), (32, portable::<32>), (16, portable::<16>)]
        }
    }
}

/// Adds the product to `out` [rows, stride]. `given`: packed rows of `units` bits; `weights`: [units, stride].
///
/// Panics if the slices do not fit these shapes (a bug in the caller, never input).
pub fn accumulate(
    set: InstructionSet,
    units: usize,
    given: &[u64],
    weights: &[f32],
    stride: usize,
    out: &mut [f32],
) {
    let words = words_per_row(units);
    let rows = given.len() / words;
    assert!(stride.is_multiple_of(LANES) && weights.len() >= units * stride);
    assert!(given.len() == rows * words && out.len() >= rows * stride);
    let blocks = blocks(set);
    // Cut the units so that a block of the matrix stays in cache, in whole words of bits.
    let words_per_cut = (CACHE / blocks[0].0 / 64).max(1);
    for first_word in (0..words).step_by(words_per_cut) {
        let last_word = (first_word + words_per_cut).min(words);
        let mut column = 0;
        while column < stride {
            let rest = stride - column;
            let &(width, block) = blocks.iter().find(|(w, _)| *w <= rest).unwrap_or(&blocks[3]);
            for row in 0..rows {
                let bits = &given[row * words + first_word..row * words + last_word];
                // SAFETY: column + width <= stride (both are multiples of LANES), and set bits are below `units`
                // because padding bits are zero, so every access stays inside `weights` and `out` (checked above);
                // the instruction set was detected on this machine.
                unsafe {
                    let matrix = weights.as_ptr().add(first_word * 64 * stride + column);
                    block(bits, matrix, stride, out.as_mut_ptr().add(row * stride + column));
                }
            }
            column += width;
        }
    }
}

/// The body of a block kernel over `N` vectors of `$width` floats; a macro because intrinsics need the caller's
/// target features.
macro_rules! sum_rows {
    ($bits:ident, $matrix:ident, $stride:ident, $out:ident, $n:ident, $width:literal, $load:ident, $add:ident, $store:ident) => {{
        let mut sums: [_; $n] = std::array::from_fn(|n| $load($out.add(n * $width)));
        for (w, &word) in $bits.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                let row = $matrix.add((w * 64 + rest.trailing_zeros() as usize) * $stride);
                for n in 0..$n {
                    sums[n] = $add(sums[n], $load(row.add(n * $width)));
                }
                rest &= rest - 1;
            }
        }
        for n in 0..$n {
            $store($out.add(n * $width), sums[n]);
        }
    }};
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,bmi1")]
unsafe fn avx512<const N: usize>(bits: &[u64], matrix: *const f32, stride: usize, out: *mut f32) {
    use std::arch::x86_64::{_mm512_add_ps, _mm512_loadu_ps, _mm512_storeu_ps};
    // SAFETY: the caller keeps `out` and all rows of set bits inside their slices.
    unsafe {
        sum_rows!(
            bits,
            matrix,
            stride,
            out,
            N,
            16,
            _mm512_loadu_ps,
            _mm512_add_ps,
            _mm512_storeu_ps
        )
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
unsafe fn avx2<const N: usize>(bits: &[u64], matrix: *const f32, stride: usize, out: *mut f32) {
    use std::arch::x86_64::{_mm256_add_ps, _mm256_loadu_ps, _mm256_storeu_ps};
    // SAFETY: the caller keeps `out` and all rows of set bits inside their slices.
    unsafe {
        sum_rows!(bits, matrix, stride, out, N, 8, _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps)
    }
}

/// For the compiler to vectorise with what the target always has.
unsafe fn portable<const N: usize>(bits: &[u64], matrix: *const f32, stride: usize, out: *mut f32) {
    // SAFETY: the caller keeps `out` and all rows of set bits inside their slices.
    unsafe {
        let mut sums: [f32; N] = std::array::from_fn(|n| *out.add(n));
        crate::ops::for_each_set_bit(bits, |unit| {
            let row = std::slice::from_raw_parts(matrix.add(unit * stride), N);
            for n in 0..N {
                sums[n] += row[n];
            }
        });
        std::slice::from_raw_parts_mut(out, N).copy_from_slice(&sums);
    }
}
