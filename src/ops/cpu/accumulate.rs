//! The product of packed binary rows with a dense matrix: `out[s, :] += sum of matrix[i, :] over set bits i of row s`.
//!
//! This one primitive serves both layers and, with bits transposed, the gradient's outer products. Units go in groups of
//! four (nibbles of the packed words): a group's sum is formed first, in ascending order, and then added to the output,
//! group after group. That order is the definition of the result. It lets two methods give the same bits:
//!
//! - many rows: the 16 possible sums of every group are tabulated once ("four Russians", Arlazarov et al. 1970), one
//!   word of units and one panel of columns at a time so that the table (32 KB) stays in the L1 cache; each group then
//!   costs one load and one add per vector, four times fewer than a dense product;
//! - few rows, for which tables do not pay: the rows of set bits are added one by one; zeros cost nothing.

use super::{InstructionSet, Panels};
use crate::ops::{Matrix, PANEL, words_per_row};

/// Fewest rows for which tables pay (measured: `cargo bench --bench kernels -- crossover`).
const FEWEST_ROWS: usize = 20;
/// Units in a group.
const GROUP: usize = 4;
/// Groups in a word.
const GROUPS: usize = 64 / GROUP;
/// Sums of a group.
const SUMS: usize = 1 << GROUP;
/// Most groups with a set bit in a word for which going from one to the next beats going through all.
const SPARSE: u32 = 7;

/// Adds the sums of one word of one row to a panel of its output.
type Block = unsafe fn(word: u64, groups: usize, table: *const f32, out: *mut f32);
/// Fills the table of one word of units.
type Tabulate = unsafe fn(units: &[f32], table: &mut [f32]);

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
    let (tabulate, look_up, add_up): (Tabulate, Block, Block) = match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => (avx512::tabulate, avx512::look_up, avx512::add_up),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => (avx2::tabulate, avx2::look_up, avx2::add_up),
        InstructionSet::Portable => (portable::tabulate, portable::look_up, portable::add_up),
    };
    let tabulated = rows >= FEWEST_ROWS;
    let block = if tabulated { look_up } else { add_up };
    let mut table = tabulated.then(|| Matrix::filled(GROUPS * SUMS, PANEL, 0.0));
    for panel in 0..stride / PANEL {
        let values = matrix.panel(panel);
        for (word, units) in values.chunks(64 * PANEL).enumerate() {
            let source = match &mut table {
                Some(table) => {
                    // SAFETY: the instruction set was detected on this machine.
                    unsafe { tabulate(units, table.as_mut_slice()) };
                    table.as_slice()
                }
                None => units,
            };
            let groups = units.len().div_ceil(GROUP * PANEL);
            for row in 0..rows {
                let bits = given[row * words + word];
                if bits != 0 {
                    let target = &mut out[row * stride + panel * PANEL..][..PANEL];
                    // SAFETY: padding bits are zero, so set bits lie inside `units` and groups inside the table;
                    // `target` is one panel wide; the instruction set was detected on this machine.
                    unsafe { block(bits, groups, source.as_ptr(), target.as_mut_ptr()) };
                }
            }
        }
    }
}

/// The sums of every group: entry (group, s) is the sum of the group's rows in s, ascending. `units`: rows of a panel.
#[inline(always)]
fn fill(units: &[f32], table: &mut [f32]) {
    for (group, sums) in units.chunks(GROUP * PANEL).zip(table.chunks_exact_mut(SUMS * PANEL)) {
        // The first entry is zero from the start; each unit doubles what is there.
        for (unit, row) in group.chunks_exact(PANEL).enumerate() {
            let half = PANEL << unit;
            let (without, with) = sums.split_at_mut(half);
            for (without, with) in without.chunks_exact(PANEL).zip(with.chunks_exact_mut(PANEL)) {
                for n in 0..PANEL {
                    with[n] = without[n] + row[n];
                }
            }
        }
    }
}

/// The kernels over `$n` vectors of `$width` floats; a macro because intrinsics need the caller's target features.
macro_rules! kernels {
    ($(#[$attribute:meta])* $n:literal, $width:literal, $zero:expr, $load:path, $add:path, $store:path) => {
        use super::{GROUP, PANEL, SPARSE, SUMS};

        /// All sums of all groups.
        $(#[$attribute])*
        pub unsafe fn tabulate(units: &[f32], table: &mut [f32]) {
            super::fill(units, table);
        }

        /// One look-up a group.
        $(#[$attribute])*
        pub unsafe fn look_up(word: u64, groups: usize, table: *const f32, out: *mut f32) {
            // SAFETY: the caller keeps `out` and the tables of all groups inside their slices.
            unsafe {
                let mut sums: [_; $n] = std::array::from_fn(|n| $load(out.add(n * $width)));
                let mut used = word | word >> 1;
                used = (used | used >> 2) & 0x1111_1111_1111_1111;
                if used.count_ones() <= SPARSE {
                    while used != 0 {
                        let first = used.trailing_zeros() as usize;
                        let sum = (word >> first) as usize & (SUMS - 1);
                        let entry = table.add((first / GROUP * SUMS + sum) * PANEL);
                        for n in 0..$n {
                            sums[n] = $add(sums[n], $load(entry.add(n * $width)));
                        }
                        used &= used - 1;
                    }
                } else {
                    let mut rest = word;
                    let mut entries = table;
                    for _ in 0..groups {
                        let entry = entries.add((rest as usize & (SUMS - 1)) * PANEL);
                        for n in 0..$n {
                            sums[n] = $add(sums[n], $load(entry.add(n * $width)));
                        }
                        entries = entries.wrapping_add(SUMS * PANEL);
                        rest >>= GROUP;
                    }
                }
                for n in 0..$n {
                    $store(out.add(n * $width), sums[n]);
                }
            }
        }

        /// One matrix row a set bit.
        $(#[$attribute])*
        pub unsafe fn add_up(word: u64, _groups: usize, units: *const f32, out: *mut f32) {
            // SAFETY: the caller keeps `out` and all rows of set bits inside their slices.
            unsafe {
                let mut sums: [_; $n] = std::array::from_fn(|n| $load(out.add(n * $width)));
                let mut rest = word;
                while rest != 0 {
                    let first = rest.trailing_zeros() as usize / GROUP * GROUP;
                    let mut group = rest >> first & (SUMS as u64 - 1);
                    rest &= !(group << first);
                    // From zero, as in the table.
                    let mut part: [_; $n] = [$zero; $n];
                    while group != 0 {
                        let row = units.add((first + group.trailing_zeros() as usize) * PANEL);
                        for n in 0..$n {
                            part[n] = $add(part[n], $load(row.add(n * $width)));
                        }
                        group &= group - 1;
                    }
                    for n in 0..$n {
                        sums[n] = $add(sums[n], part[n]);
                    }
                }
                for n in 0..$n {
                    $store(out.add(n * $width), sums[n]);
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{_mm512_add_ps, _mm512_loadu_ps, _mm512_setzero_ps, _mm512_storeu_ps};
    kernels! {
        #[target_feature(enable = "avx512f,bmi1,popcnt")]
        2, 16, _mm512_setzero_ps(), _mm512_loadu_ps, _mm512_add_ps, _mm512_storeu_ps
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{_mm256_add_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm256_storeu_ps};
    kernels! {
        #[target_feature(enable = "avx2,bmi1,popcnt")]
        4, 8, _mm256_setzero_ps(), _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps
    }
}

/// For the compiler to vectorise with what the target always has.
mod portable {
    type Vector = [f32; PANEL];

    unsafe fn load(from: *const f32) -> Vector {
        // SAFETY: the caller points at a whole panel.
        unsafe { from.cast::<Vector>().read_unaligned() }
    }

    fn add(a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|n| a[n] + b[n])
    }

    unsafe fn store(to: *mut f32, value: Vector) {
        // SAFETY: the caller points at a whole panel.
        unsafe { to.cast::<Vector>().write_unaligned(value) }
    }

    kernels! { 1, 32, [0.0; PANEL], load, add, store }
}
