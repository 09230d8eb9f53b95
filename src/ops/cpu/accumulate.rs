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
const FEWEST_ROWS: usize = 16;
/// Units in a group.
const GROUP: usize = 4;
/// Groups in a word.
const GROUPS: usize = 64 / GROUP;
/// Sums of a group.
const SUMS: usize = 1 << GROUP;
/// Most groups with a set bit in a word for which going from one to the next beats going through all.
const SPARSE: u32 = 7;

/// Packed rows, and where their sums go.
pub struct Rows<'a> {
    /// Packed rows of `words` words.
    pub given: &'a [u64],
    /// Words in a row.
    pub words: usize,
    /// Output rows of `stride` floats.
    pub out: &'a mut [f32],
    /// Floats from one output row to the next.
    pub stride: usize,
}

impl Rows<'_> {
    /// Kernels pair packed and output rows one by one: what is left over on one side would be passed over in silence.
    fn check(&self) {
        assert!(self.given.len().is_multiple_of(self.words) && self.stride.is_multiple_of(PANEL));
        assert!(self.out.len() == self.given.len() / self.words * self.stride);
    }
}

/// Adds the sums of one word of every row to a panel of the output. `source`: the table, or the matrix rows themselves.
type Block = unsafe fn(rows: &mut Rows<'_>, word: usize, column: usize, source: &[f32]);
/// Fills the table of one word of units from matrix rows `row_stride` floats apart.
type Tabulate = unsafe fn(units: &[f32], row_stride: usize, table: &mut [f32]);

fn kernels(set: InstructionSet) -> (Tabulate, Block, Block) {
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => (avx512::tabulate, avx512::look_up, avx512::add_up),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => (avx2::tabulate, avx2::look_up, avx2::add_up),
        _ => (portable::tabulate, portable::look_up, portable::add_up),
    }
}

/// Room for the table of one word of units.
pub fn empty_table() -> Matrix {
    Matrix::filled(GROUPS * SUMS, PANEL, 0.0)
}

/// Adds the product to rows of `stride` floats (whole panels). The packed rows have `matrix.units()` bits.
///
/// Panics if the slices do not fit these shapes (a bug in the caller, never input).
pub fn accumulate(set: InstructionSet, matrix: &Panels, rows: &mut Rows<'_>) {
    assert!(rows.words == words_per_row(matrix.units()) && rows.stride >= matrix.columns());
    rows.check();
    let (tabulate, look_up, add_up) = kernels(set);
    let many = rows.given.len() >= FEWEST_ROWS * rows.words;
    let mut table = many.then(empty_table);
    for panel in 0..rows.stride / PANEL {
        for (word, units) in matrix.panel(panel).chunks(64 * PANEL).enumerate() {
            // SAFETY: the instruction set was detected on this machine.
            unsafe {
                match &mut table {
                    Some(table) => {
                        tabulate(units, PANEL, table.as_mut_slice());
                        look_up(rows, word, panel * PANEL, table.as_slice());
                    }
                    None => add_up(rows, word, panel * PANEL, units),
                }
            }
        }
    }
}

/// As [`accumulate`] for one panel of columns of a row-major matrix with many packed rows, `stride` = one panel: nothing is
/// copied, since a table reads each matrix row once. `matrix`: rows from the panel's first column on.
pub fn accumulate_panel(
    set: InstructionSet,
    matrix: &[f32],
    row_stride: usize,
    table: &mut Matrix,
    rows: &mut Rows<'_>,
) {
    assert!(rows.words == words_per_row(matrix.len().div_ceil(row_stride)) && rows.stride == PANEL);
    rows.check();
    let (tabulate, look_up, _) = kernels(set);
    for (word, units) in matrix.chunks(64 * row_stride).enumerate() {
        // SAFETY: the instruction set was detected on this machine.
        unsafe {
            tabulate(units, row_stride, table.as_mut_slice());
            look_up(rows, word, 0, table.as_slice());
        }
    }
}

/// The kernels over `$n` vectors of `$width` floats; a macro because intrinsics need the caller's target features.
macro_rules! kernels {
    ($(#[$attribute:meta])* $n:literal, $width:literal, $zero:expr, $load:path, $add:path, $store:path) => {
        use super::{GROUP, GROUPS, PANEL, Rows, SPARSE, SUMS};

        /// The sums of every group: entry (group, s) is the sum of the group's rows in s, ascending.
        $(#[$attribute])*
        pub unsafe fn tabulate(units: &[f32], row_stride: usize, table: &mut [f32]) {
            assert!(table.len() >= GROUPS * SUMS * PANEL);
            let count = units.len().div_ceil(row_stride);
            for (group, sums) in table.chunks_exact_mut(SUMS * PANEL).enumerate() {
                for n in 0..$n {
                    // Missing units of the last group count nothing; their bits are never set.
                    let mut rows = [$zero; GROUP];
                    for (i, row) in rows.iter_mut().enumerate() {
                        let unit = group * GROUP + i;
                        if unit < count {
                            let from = &units[unit * row_stride..][n * $width..(n + 1) * $width];
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
                        let to = &mut sums[s * PANEL + n * $width..][..$width];
                        // SAFETY: the slice is one vector long.
                        unsafe { $store(to.as_mut_ptr(), entry) };
                    }
                }
            }
        }

        /// One look-up a group.
        $(#[$attribute])*
        pub unsafe fn look_up(rows: &mut Rows<'_>, word: usize, column: usize, table: &[f32]) {
            assert!(table.len() >= GROUPS * SUMS * PANEL);
            let given = rows.given.chunks_exact(rows.words);
            for (given, out) in given.zip(rows.out.chunks_exact_mut(rows.stride)) {
                let word = given[word];
                let mut used = word | word >> 1;
                used = (used | used >> 2) & 0x1111_1111_1111_1111;
                if used == 0 {
                    continue;
                }
                let out = out[column..column + PANEL].as_mut_ptr();
                // SAFETY: `out` is one panel wide, and every group has its entries in the table.
                unsafe {
                    let mut sums: [_; $n] = std::array::from_fn(|n| $load(out.add(n * $width)));
                    if used.count_ones() <= SPARSE {
                        while used != 0 {
                            let first = used.trailing_zeros() as usize;
                            let sum = (word >> first) as usize & (SUMS - 1);
                            let entry = table.as_ptr().add((first / GROUP * SUMS + sum) * PANEL);
                            for n in 0..$n {
                                sums[n] = $add(sums[n], $load(entry.add(n * $width)));
                            }
                            used &= used - 1;
                        }
                    } else {
                        // All groups: what is not there is zero bits, and their entry is zero.
                        for group in 0..GROUPS {
                            let sum = (word >> (group * GROUP)) as usize & (SUMS - 1);
                            let entry = table.as_ptr().add((group * SUMS + sum) * PANEL);
                            for n in 0..$n {
                                sums[n] = $add(sums[n], $load(entry.add(n * $width)));
                            }
                        }
                    }
                    for n in 0..$n {
                        $store(out.add(n * $width), sums[n]);
                    }
                }
            }
        }

        /// One matrix row a set bit; `units` are rows of a panel.
        $(#[$attribute])*
        pub unsafe fn add_up(rows: &mut Rows<'_>, word: usize, column: usize, units: &[f32]) {
            let given = rows.given.chunks_exact(rows.words);
            for (given, out) in given.zip(rows.out.chunks_exact_mut(rows.stride)) {
                let mut rest = given[word];
                let out = out[column..column + PANEL].as_mut_ptr();
                // SAFETY: `out` is one panel wide; rows of units are checked.
                unsafe {
                    let mut sums: [_; $n] = std::array::from_fn(|n| $load(out.add(n * $width)));
                    while rest != 0 {
                        let first = rest.trailing_zeros() as usize / GROUP * GROUP;
                        let mut group = rest >> first & (SUMS as u64 - 1);
                        rest &= !(group << first);
                        // From zero, as in the table.
                        let mut part: [_; $n] = [$zero; $n];
                        while group != 0 {
                            let unit = first + group.trailing_zeros() as usize;
                            let row = units[unit * PANEL..(unit + 1) * PANEL].as_ptr();
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

    kernels! { 8, 4, [0.0; 4], load, add, store }
}
