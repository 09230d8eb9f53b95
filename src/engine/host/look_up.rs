//! The kernels of the product of packed rows with a dense matrix, in every [`Shape`] and for every instruction set.

use super::InstructionSet;
use super::packed_rows::{At, PackedRows, Place, SPARSE, used_groups};
use super::shape::{GROUP, SUMS, Shape};
use crate::engine::PANEL;

/// Whole numbers of the units of one table and those after it, from its first column on: rows of a panel, and the panels that follow.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub values: &'a [i32],
    /// Numbers from one panel of columns to the next.
    pub panel_stride: usize,
}

/// Fills the table of so many units of a block.
pub type Tabulate = unsafe fn(block: &Block<'_>, units: usize, table: &mut [i32]);
/// Adds the sums of a table's units, looked up in it; with the last units, writes start + scale sum.
///
/// # Safety
/// The instruction set is there, nobody else works on these columns, and their sums have been begun or begin here.
pub type LookUp = unsafe fn(rows: &PackedRows<'_>, at: At, scale: &[f32], table: &[i32]);
/// Writes start + scale sum for a panel of the output, from rows of the panel.
///
/// # Safety
/// As of [`LookUp`].
pub type AddUp = unsafe fn(rows: &PackedRows<'_>, column: usize, scale: &[f32], units: &[i32]);

/// The kernels for few rows, without a table.
pub fn without_table(set: InstructionSet) -> AddUp {
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => avx512::add_up::<2>,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => avx2::add_up::<4>,
        _ => portable::add_up::<8>,
    }
}

/// A kernel that fills a table, one that reads it, and one that does so for the last units.
pub type Kernels = (Tabulate, LookUp, LookUp);

/// The kernels for many rows.
pub fn with_table(set: InstructionSet, shape: Shape) -> Kernels {
    macro_rules! shapes {
        ($set:ident: $n16:literal, $n32:literal, $n64:literal) => {
            match (shape.columns, shape.groups) {
                (16, 8) => shapes!($set, $n16, 8),
                (16, _) => shapes!($set, $n16, 16),
                (32, 8) => shapes!($set, $n32, 8),
                (32, _) => shapes!($set, $n32, 16),
                (_, 8) => shapes!($set, $n64, 8),
                _ => shapes!($set, $n64, 16),
            }
        };
        ($set:ident, $n:literal, $groups:literal) => {
            match shape.rows {
                1 => shapes!($set, $n, $groups, 1),
                2 => shapes!($set, $n, $groups, 2),
                _ => shapes!($set, $n, $groups, 4),
            }
        };
        ($set:ident, $n:literal, $groups:literal, $rows:literal) => {
            (
                $set::tabulate::<$n, $groups> as _,
                $set::look_up::<$n, $groups, $rows, false> as _,
                $set::look_up::<$n, $groups, $rows, true> as _,
            )
        };
    }
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => shapes!(avx512: 1, 2, 4),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => shapes!(avx2: 2, 4, 8),
        _ => shapes!(portable: 4, 8, 16),
    }
}

/// The kernels over N vectors of `$width` numbers; a macro because intrinsics need the caller's target features. Each module has `load`, `add`
/// and `store` of whole numbers, and `finish`, which stores start + scale sum in two roundings.
macro_rules! kernels {
    ($width:literal, $zero:expr $(, #[$attribute:meta])*) => {
        use super::{At, Block, PackedRows, Place, used_groups};
        use super::{GROUP, PANEL, SPARSE, SUMS};

        /// The sums of every group: entry (group, s) is the sum of the group's rows in s.
        $(#[$attribute])*
        pub unsafe fn tabulate<const N: usize, const GROUPS: usize>(
            block: &Block<'_>,
            units: usize,
            table: &mut [i32],
        ) {
            let width = N * $width;
            assert!(table.len() >= GROUPS * SUMS * width);
            for (group, sums) in table.chunks_exact_mut(SUMS * width).take(GROUPS).enumerate() {
                for n in 0..N {
                    let column = n * $width / PANEL * block.panel_stride + n * $width % PANEL;
                    // Missing units of the last group count nothing; their bits are never set.
                    let mut rows = [$zero; GROUP];
                    for (i, row) in rows.iter_mut().enumerate() {
                        let unit = group * GROUP + i;
                        if unit < units {
                            let from = &block.values[unit * PANEL + column..][..$width];
                            // SAFETY: the slice is one vector long.
                            *row = unsafe { load(from.as_ptr()) };
                        }
                    }
                    // Each unit doubles what is there.
                    let mut entries = [$zero; SUMS];
                    for (i, row) in rows.into_iter().enumerate() {
                        for s in 0..1 << i {
                            // SAFETY: the instruction set is the caller's.
                            entries[s + (1 << i)] = unsafe { add(entries[s], row) };
                        }
                    }
                    for (s, entry) in entries.into_iter().enumerate() {
                        let to = &mut sums[s * width + n * $width..][..$width];
                        // SAFETY: the slice is one vector long.
                        unsafe { store(to.as_mut_ptr(), entry) };
                    }
                }
            }
        }

        /// One look-up a group, R rows side by side: their additions do not wait for each other.
        $(#[$attribute])*
        pub unsafe fn look_up<const N: usize, const GROUPS: usize, const R: usize, const LAST: bool>(
            rows: &PackedRows<'_>,
            at: At,
            scale: &[f32],
            table: &[i32],
        ) {
            let width = N * $width;
            assert!(table.len() >= GROUPS * SUMS * width && at.column + width <= rows.stride);
            assert!(at.word < rows.words && at.bit as usize + GROUPS * GROUP <= 64);
            let (start, scale) = (&rows.start[at.column..][..width], &scale[at.column..][..width]);
            let ends = (start.as_ptr(), scale.as_ptr());
            let count = rows.count();
            let given = |row: usize| rows.given[row * rows.words + at.word] >> at.bit;
            let mut row = 0;
            // SAFETY: rows are in range and have the table's columns, as asserted; every group has its entries in the table.
            unsafe {
                let places = rows.places(at);
                if !at.sparse {
                    while row + R <= count {
                        let (mut words, mut these) = ([given(row); R], [places.of(row); R]);
                        for r in 1..R {
                            (words[r], these[r]) = (given(row + r), places.of(row + r));
                        }
                        all_groups::<N, GROUPS, R, LAST>(words, these, ends, table);
                        row += R;
                    }
                }
                for row in row..count {
                    let word = given(row) & (u64::MAX >> (64 - GROUPS * GROUP));
                    let used = used_groups(word);
                    if used == 0 && !at.first && !LAST {
                        continue;
                    }
                    if used.count_ones() <= SPARSE * GROUPS as u32 / 16 {
                        some_groups::<N, LAST>(word, used, places.of(row), ends, table);
                    } else {
                        all_groups::<N, GROUPS, 1, LAST>([word], [places.of(row)], ends, table);
                    }
                }
            }
        }

        /// What is not there is zero bits, and their entry is zero.
        $(#[$attribute])*
        #[inline]
        unsafe fn all_groups<const N: usize, const GROUPS: usize, const R: usize, const LAST: bool>(
            words: [u64; R],
            places: [Place; R],
            ends: (*const f32, *const f32),
            table: &[i32],
        ) {
            let width = N * $width;
            // SAFETY: the caller's.
            unsafe {
                let mut sums: [[_; N]; R] = std::array::from_fn(|r| {
                    std::array::from_fn(|n| load(places[r].from.add(n * $width)))
                });
                for group in 0..GROUPS {
                    for r in 0..R {
                        let sum = (words[r] >> (group * GROUP)) as usize & (SUMS - 1);
                        let entry = table.as_ptr().add((group * SUMS + sum) * width);
                        for n in 0..N {
                            sums[r][n] = add(sums[r][n], load(entry.add(n * $width)));
                        }
                    }
                }
                for r in 0..R {
                    put::<N, LAST>(sums[r], places[r].to, ends);
                }
            }
        }

        $(#[$attribute])*
        #[inline]
        unsafe fn some_groups<const N: usize, const LAST: bool>(
            word: u64,
            mut used: u64,
            place: Place,
            ends: (*const f32, *const f32),
            table: &[i32],
        ) {
            let width = N * $width;
            // SAFETY: the caller's.
            unsafe {
                let mut sums: [_; N] = std::array::from_fn(|n| load(place.from.add(n * $width)));
                while used != 0 {
                    let first = used.trailing_zeros() as usize;
                    let sum = (word >> first) as usize & (SUMS - 1);
                    let entry = table.as_ptr().add((first / GROUP * SUMS + sum) * width);
                    for n in 0..N {
                        sums[n] = add(sums[n], load(entry.add(n * $width)));
                    }
                    used &= used - 1;
                }
                put::<N, LAST>(sums, place.to, ends);
            }
        }

        $(#[$attribute])*
        #[inline]
        unsafe fn put<const N: usize, const LAST: bool>(
            sums: [Vector; N],
            to: *mut i32,
            (start, scale): (*const f32, *const f32),
        ) {
            for n in 0..N {
                let at = n * $width;
                // SAFETY: the caller's.
                unsafe {
                    if LAST {
                        finish(to.add(at).cast(), sums[n], start.add(at), scale.add(at));
                    } else {
                        store(to.add(at), sums[n]);
                    }
                }
            }
        }

        /// One matrix row a set bit; `units` are rows of a panel.
        $(#[$attribute])*
        pub unsafe fn add_up<const N: usize>(
            rows: &PackedRows<'_>,
            column: usize,
            scale: &[f32],
            units: &[i32],
        ) {
            let (start, scale) = (&rows.start[column..][..PANEL], &scale[column..][..PANEL]);
            let ends = (start.as_ptr(), scale.as_ptr());
            for (row, given) in rows.given.chunks_exact(rows.words).enumerate() {
                let mut sums = [$zero; N];
                for (word, &given) in given.iter().enumerate() {
                    let mut rest = given;
                    while rest != 0 {
                        let unit = word * 64 + rest.trailing_zeros() as usize;
                        let row = units[unit * PANEL..(unit + 1) * PANEL].as_ptr();
                        for n in 0..N {
                            // SAFETY: a row of a panel is N vectors long.
                            sums[n] = unsafe { add(sums[n], load(row.add(n * $width))) };
                        }
                        rest &= rest - 1;
                    }
                }
                // SAFETY: the output has this row and, as the start does, this panel.
                unsafe {
                    let to = rows.out.add(row * rows.stride + column).cast();
                    put::<N, true>(sums, to, ends);
                }
            }
        }
    };
}

/// Vectors by intrinsics.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! vectors {
    ($vector:ident, $add:ident, $load:ident, $store:ident, $convert:ident, $mul:ident, $add_floats:ident, $load_floats:ident, $store_floats:ident, #[$attribute:meta]) => {
        type Vector = $vector;

        #[$attribute]
        #[inline]
        unsafe fn load(from: *const i32) -> Vector {
            // SAFETY: the caller points at a whole vector.
            unsafe { $load(from.cast()) }
        }

        #[$attribute]
        #[inline]
        unsafe fn add(a: Vector, b: Vector) -> Vector {
            $add(a, b)
        }

        #[$attribute]
        #[inline]
        unsafe fn store(to: *mut i32, value: Vector) {
            // SAFETY: the caller points at a whole vector.
            unsafe { $store(to.cast(), value) }
        }

        #[$attribute]
        #[inline]
        unsafe fn finish(to: *mut f32, sum: Vector, start: *const f32, scale: *const f32) {
            // SAFETY: the caller points at whole vectors.
            unsafe {
                let scaled = $mul($convert(sum), $load_floats(scale));
                $store_floats(to, $add_floats($load_floats(start), scaled));
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;
    vectors! {
        __m512i, _mm512_add_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_cvtepi32_ps,
        _mm512_mul_ps, _mm512_add_ps, _mm512_loadu_ps, _mm512_storeu_ps,
        #[target_feature(enable = "avx512f,bmi1,bmi2,popcnt")]
    }
    kernels! { 16, _mm512_setzero_si512(), #[target_feature(enable = "avx512f,bmi1,bmi2,popcnt")] }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    vectors! {
        __m256i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_cvtepi32_ps,
        _mm256_mul_ps, _mm256_add_ps, _mm256_loadu_ps, _mm256_storeu_ps,
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    }
    kernels! { 8, _mm256_setzero_si256(), #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")] }
}

/// What the target always has.
#[cfg(target_arch = "x86_64")]
mod portable {
    use std::arch::x86_64::*;
    vectors! {
        __m128i, _mm_add_epi32, _mm_loadu_si128, _mm_storeu_si128, _mm_cvtepi32_ps,
        _mm_mul_ps, _mm_add_ps, _mm_loadu_ps, _mm_storeu_ps,
        #[target_feature(enable = "sse2")]
    }
    kernels! { 4, _mm_setzero_si128(), #[target_feature(enable = "sse2")] }
}

#[cfg(target_arch = "aarch64")]
mod portable {
    use std::arch::aarch64::*;
    vectors! {
        int32x4_t, vaddq_s32, vld1q_s32, vst1q_s32, vcvtq_f32_s32, vmulq_f32, vaddq_f32, vld1q_f32, vst1q_f32,
        #[target_feature(enable = "neon")]
    }
    kernels! { 4, vdupq_n_s32(0), #[target_feature(enable = "neon")] }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod portable {
    type Vector = [i32; 4];

    unsafe fn load(from: *const i32) -> Vector {
        // SAFETY: the caller points at a whole vector.
        unsafe { from.cast::<Vector>().read_unaligned() }
    }

    unsafe fn add(a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|n| a[n].wrapping_add(b[n]))
    }

    unsafe fn store(to: *mut i32, value: Vector) {
        // SAFETY: the caller points at a whole vector.
        unsafe { to.cast::<Vector>().write_unaligned(value) }
    }

    unsafe fn finish(to: *mut f32, sum: Vector, start: *const f32, scale: *const f32) {
        // SAFETY: the caller points at whole vectors.
        unsafe {
            for (n, sum) in sum.into_iter().enumerate() {
                to.add(n).write(*start.add(n) + *scale.add(n) * sum as f32);
            }
        }
    }

    kernels! { 4, [0; 4] }
}
