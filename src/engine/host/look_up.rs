//! The kernels of the product of packed rows with a dense matrix, in every [`Shape`] and for every instruction set.

use super::InstructionSet;
use super::packed_rows::{At, PackedRows, Place, SPARSE, used_groups};
use super::shape::{GROUP, SUMS, Shape};
use crate::engine::PANEL;

/// Matrix rows of the units of one table, from its first column on.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub values: &'a [f32],
    /// Units that there are; the table has room for more in the last word.
    pub units: usize,
    /// Floats from one unit to the next.
    pub row_stride: usize,
    /// Floats from one panel of columns to the next.
    pub panel_stride: usize,
}

/// Fills the table of a block.
pub type Tabulate = unsafe fn(block: &Block<'_>, table: &mut [f32]);
/// Adds the sums of a table's units, looked up in it.
///
/// # Safety
/// The instruction set is there, nobody else works on these columns, and they have been begun or begin here.
pub type LookUp = unsafe fn(rows: &PackedRows<'_>, at: At, table: &[f32]);
/// Adds the sums of one word of every row to a panel of the output, from rows of the panel.
///
/// # Safety
/// As of [`LookUp`]; the columns have been begun.
pub type AddUp = unsafe fn(rows: &PackedRows<'_>, word: usize, column: usize, units: &[f32]);

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

/// The kernels for many rows.
pub fn with_table(set: InstructionSet, shape: Shape) -> (Tabulate, LookUp) {
    macro_rules! shapes {
        ($set:ident, $n16:literal, $n32:literal, $n64:literal) => {
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
                1 => ($set::tabulate::<$n, $groups> as _, $set::look_up::<$n, $groups, 1> as _),
                2 => ($set::tabulate::<$n, $groups> as _, $set::look_up::<$n, $groups, 2> as _),
                _ => ($set::tabulate::<$n, $groups> as _, $set::look_up::<$n, $groups, 4> as _),
            }
        };
    }
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => shapes!(avx512, 1, 2, 4),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => shapes!(avx2, 2, 4, 8),
        _ => shapes!(portable, 4, 8, 16),
    }
}

/// The kernels over N vectors of `$width` floats; a macro because intrinsics need the caller's target features.
macro_rules! kernels {
    ($(#[$attribute:meta])* $width:literal, $zero:expr, $load:path, $add:path, $store:path) => {
        use super::{At, Block, GROUP, PANEL, PackedRows, Place, SPARSE, SUMS, used_groups};

        /// The sums of every group: entry (group, s) is the sum of the group's rows in s, ascending.
        $(#[$attribute])*
        pub unsafe fn tabulate<const N: usize, const GROUPS: usize>(block: &Block<'_>, table: &mut [f32]) {
            let width = N * $width;
            assert!(table.len() >= GROUPS * SUMS * width);
            for (group, sums) in table.chunks_exact_mut(SUMS * width).take(GROUPS).enumerate() {
                for n in 0..N {
                    let column = n * $width / PANEL * block.panel_stride + n * $width % PANEL;
                    // Missing units of the last group count nothing; their bits are never set.
                    let mut rows = [$zero; GROUP];
                    for (i, row) in rows.iter_mut().enumerate() {
                        let unit = group * GROUP + i;
                        if unit < block.units {
                            let from = &block.values[unit * block.row_stride + column..][..$width];
                            // SAFETY: the slice is one vector long.
                            *row = unsafe { $load(from.as_ptr()) };
                        }
                    }
                    // Each unit doubles what is there.
                    let mut entries = [$zero; SUMS];
                    for (i, row) in rows.into_iter().enumerate() {
                        for s in 0..1 << i {
                            entries[s + (1 << i)] = $add(entries[s], row);
                        }
                    }
                    for (s, entry) in entries.into_iter().enumerate() {
                        let to = &mut sums[s * width + n * $width..][..$width];
                        // SAFETY: the slice is one vector long.
                        unsafe { $store(to.as_mut_ptr(), entry) };
                    }
                }
            }
        }

        /// One look-up a group, R rows side by side: their additions do not wait for each other.
        $(#[$attribute])*
        pub unsafe fn look_up<const N: usize, const GROUPS: usize, const R: usize>(
            rows: &PackedRows<'_>,
            at: At,
            table: &[f32],
        ) {
            let width = N * $width;
            assert!(table.len() >= GROUPS * SUMS * width && at.column + width <= rows.stride);
            assert!(at.word < rows.words && at.bit as usize + GROUPS * GROUP <= 64);
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
                        all_groups::<N, GROUPS, R>(words, these, table);
                        row += R;
                    }
                }
                for row in row..count {
                    let word = given(row) & (u64::MAX >> (64 - GROUPS * GROUP));
                    let used = used_groups(word);
                    if used == 0 && !at.first {
                        continue;
                    }
                    if used.count_ones() <= SPARSE * GROUPS as u32 / 16 {
                        some_groups::<N>(word, used, places.of(row), table);
                    } else {
                        all_groups::<N, GROUPS, 1>([word], [places.of(row)], table);
                    }
                }
            }
        }

        /// What is not there is zero bits, and their entry is zero.
        $(#[$attribute])*
        #[inline]
        unsafe fn all_groups<const N: usize, const GROUPS: usize, const R: usize>(
            words: [u64; R],
            places: [Place; R],
            table: &[f32],
        ) {
            let width = N * $width;
            // SAFETY: the caller's.
            unsafe {
                let mut sums: [[_; N]; R] =
                    std::array::from_fn(|r| std::array::from_fn(|n| $load(places[r].from.add(n * $width))));
                for group in 0..GROUPS {
                    for r in 0..R {
                        let sum = (words[r] >> (group * GROUP)) as usize & (SUMS - 1);
                        let entry = table.as_ptr().add((group * SUMS + sum) * width);
                        for n in 0..N {
                            sums[r][n] = $add(sums[r][n], $load(entry.add(n * $width)));
                        }
                    }
                }
                for r in 0..R {
                    for n in 0..N {
                        $store(places[r].to.add(n * $width), sums[r][n]);
                    }
                }
            }
        }

        $(#[$attribute])*
        #[inline]
        unsafe fn some_groups<const N: usize>(word: u64, mut used: u64, place: Place, table: &[f32]) {
            let width = N * $width;
            // SAFETY: the caller's.
            unsafe {
                let mut sums: [_; N] = std::array::from_fn(|n| $load(place.from.add(n * $width)));
                while used != 0 {
                    let first = used.trailing_zeros() as usize;
                    let sum = (word >> first) as usize & (SUMS - 1);
                    let entry = table.as_ptr().add((first / GROUP * SUMS + sum) * width);
                    for n in 0..N {
                        sums[n] = $add(sums[n], $load(entry.add(n * $width)));
                    }
                    used &= used - 1;
                }
                for n in 0..N {
                    $store(place.to.add(n * $width), sums[n]);
                }
            }
        }

        /// One matrix row a set bit; `units` are rows of a panel.
        $(#[$attribute])*
        pub unsafe fn add_up<const N: usize>(rows: &PackedRows<'_>, word: usize, column: usize, units: &[f32]) {
            assert!(column + PANEL <= rows.stride);
            for (row, given) in rows.given.chunks_exact(rows.words).enumerate() {
                let mut rest = given[word];
                // SAFETY: the row has this panel, as asserted; rows of units are checked.
                unsafe {
                    let out = rows.out.add(row * rows.stride + column);
                    let mut sums: [_; N] = std::array::from_fn(|n| $load(out.add(n * $width)));
                    while rest != 0 {
                        let first = rest.trailing_zeros() as usize / GROUP * GROUP;
                        let mut group = rest >> first & (SUMS as u64 - 1);
                        rest &= !(group << first);
                        // From zero, as in the table.
                        let mut part: [_; N] = [$zero; N];
                        while group != 0 {
                            let unit = first + group.trailing_zeros() as usize;
                            let row = units[unit * PANEL..(unit + 1) * PANEL].as_ptr();
                            for n in 0..N {
                                part[n] = $add(part[n], $load(row.add(n * $width)));
                            }
                            group &= group - 1;
                        }
                        for n in 0..N {
                            sums[n] = $add(sums[n], part[n]);
                        }
                    }
                    for n in 0..N {
                        $store(out.add(n * $width), sums[n]);
                    }
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{_mm512_add_ps, _mm512_loadu_ps, _mm512_setzero_ps, _mm512_storeu_ps};
    kernels! {
        #[target_feature(enable = "avx512f,bmi1,bmi2,popcnt")]
        16, _mm512_setzero_ps(), _mm512_loadu_ps, _mm512_add_ps, _mm512_storeu_ps
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{_mm256_add_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm256_storeu_ps};
    kernels! {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        8, _mm256_setzero_ps(), _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps
    }
}

/// For the compiler to vectorise with what the target always has.
mod portable {
    type Vector = [f32; 4];

    unsafe fn load(from: *const f32) -> Vector {
        // SAFETY: the caller points at a whole vector.
        unsafe { from.cast::<Vector>().read_unaligned() }
    }

    fn add(a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|n| a[n] + b[n])
    }

    unsafe fn store(to: *mut f32, value: Vector) {
        // SAFETY: the caller points at a whole vector.
        unsafe { to.cast::<Vector>().write_unaligned(value) }
    }

    kernels! { 4, [0.0; 4], load, add, store }
}
