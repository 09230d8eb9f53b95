//! Products of packed rows with planes of 8 bits on matrix units: AMX of Intel servers (from Sapphire Rapids on).
//!
//! A word of 64 bits becomes 64 bytes, 16 rows of them a tile; a tile of a plane has 64 units of 16 columns. One instruction multiplies
//! both and adds the sums of 32 bits to a third. Sums of planes are put together as whole numbers, so the result has the same bits as that
//! of the other kernels. The instructions are those of [`Tiles`]; the tests have an emulation of them, for machines without.

use std::ops::Range;

use super::packed_rows::PackedRows;
use super::planes::{PLANES, Planes, SHORT, Tile, WIDTH};

/// Rows of a tile.
const HEIGHT: usize = 16;
/// Bytes of planes that are kept in the L2 cache while all rows pass over them.
const CACHED: usize = 1 << 20;

/// Eight tiles, numbered, and what can be done to them.
trait Tiles {
    /// The bits of a word as bytes.
    fn spread(word: u64, to: &mut [u8; 64]);
    fn clear<const T: usize>(&mut self);
    fn load<const T: usize>(&mut self, from: &Tile);
    fn store<const T: usize>(&self, to: &mut Sums);
    /// C += A B: A has rows of bits, B units of a plane, which is signed or not.
    fn add<const C: usize, const A: usize, const B: usize, const SIGNED: bool>(&mut self);
}

/// Sums of a tile of rows and one of columns.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Sums([[i32; WIDTH]; HEIGHT]);

impl Sums {
    const ZERO: Self = Self([[0; WIDTH]; HEIGHT]);
}

/// start + scale sum of some columns, whole panels, for all rows.
#[inline(always)]
fn multiply_with(
    tiles: &mut impl Tiles,
    planes: &Planes,
    scale: &[f32],
    columns: Range<usize>,
    rows: &PackedRows<'_>,
) {
    let depth = planes.depth();
    let mut bits = vec![Tile::ZERO; 2 * depth];
    let at_once = (CACHED / (PLANES * depth * size_of::<Tile>())).max(1) * WIDTH;
    let mut sums = [Sums::ZERO; 2 * PLANES];
    for first in columns.clone().step_by(at_once) {
        for row in (0..rows.count()).step_by(2 * HEIGHT) {
            let here = row..rows.count().min(row + 2 * HEIGHT);
            spread_rows(tiles, &mut bits, rows, here.clone());
            for column in (first..columns.end.min(first + at_once)).step_by(WIDTH) {
                let block = planes.of_block(column / WIDTH);
                let (upper, lower) = bits.split_at(depth);
                if block.len() == PLANES * depth {
                    sum_long(tiles, upper, block, &mut sums[..PLANES]);
                    sum_long(tiles, lower, block, &mut sums[PLANES..]);
                    write::<PLANES>(&sums, scale, column, here.clone(), rows);
                } else {
                    sum(tiles, upper, lower, block, &mut sums);
                    write::<SHORT>(&sums, scale, column, here.clone(), rows);
                }
            }
        }
    }
}

/// Writes start + scale sum, in two roundings, of up to 32 rows and a tile of columns, from their sums of so many planes.
#[inline(always)]
fn write<const P: usize>(
    sums: &[Sums],
    scale: &[f32],
    column: usize,
    here: Range<usize>,
    rows: &PackedRows<'_>,
) {
    let start = rows.start[column..].first_chunk::<WIDTH>();
    let (Some(start), Some(scale)) = (start, scale[column..].first_chunk::<WIDTH>()) else {
        return;
    };
    for (i, row) in here.enumerate() {
        let of_row = &sums[i / HEIGHT * P..][..P];
        let mut x = [0.0; WIDTH];
        for n in 0..WIDTH {
            let sum = (0..P)
                .fold(0_i32, |sum, p| sum.wrapping_add(of_row[p].0[i % HEIGHT][n] << (8 * p)));
            x[n] = start[n] + scale[n] * sum as f32;
        }
        // SAFETY: the output has this row, these columns are the caller's, and nobody refers to them.
        unsafe { rows.out.add(row * rows.stride + column).cast::<[f32; WIDTH]>().write(x) };
    }
}

/// Tiles of the bits of up to 32 rows: [2, words of a row]; rows that are missing keep what is there, and their sums are not read.
#[inline(always)]
fn spread_rows<T: Tiles>(_: &T, bits: &mut [Tile], rows: &PackedRows<'_>, here: Range<usize>) {
    for (i, row) in here.enumerate() {
        for (k, &word) in rows.given[row * rows.words..][..rows.words].iter().enumerate() {
            T::spread(word, &mut bits[i / HEIGHT * rows.words + k].0[i % HEIGHT]);
        }
    }
}

/// Sums of three planes for two tiles of rows.
#[inline(always)]
fn sum<T: Tiles>(tiles: &mut T, upper: &[Tile], lower: &[Tile], block: &[Tile], sums: &mut [Sums]) {
    tiles.clear::<0>();
    tiles.clear::<1>();
    tiles.clear::<2>();
    tiles.clear::<3>();
    tiles.clear::<4>();
    tiles.clear::<5>();
    for ((upper, lower), [low, middle, high]) in upper.iter().zip(lower).zip(block.as_chunks().0) {
        tiles.load::<6>(upper);
        tiles.load::<7>(low);
        tiles.add::<0, 6, 7, false>();
        tiles.load::<7>(middle);
        tiles.add::<1, 6, 7, false>();
        tiles.load::<7>(high);
        tiles.add::<2, 6, 7, true>();
        tiles.load::<6>(lower);
        tiles.add::<5, 6, 7, true>();
        tiles.load::<7>(low);
        tiles.add::<3, 6, 7, false>();
        tiles.load::<7>(middle);
        tiles.add::<4, 6, 7, false>();
    }
    tiles.store::<0>(&mut sums[0]);
    tiles.store::<1>(&mut sums[1]);
    tiles.store::<2>(&mut sums[2]);
    tiles.store::<3>(&mut sums[3]);
    tiles.store::<4>(&mut sums[4]);
    tiles.store::<5>(&mut sums[5]);
}

/// Sums of four planes for one tile of rows.
#[inline(always)]
fn sum_long<T: Tiles>(tiles: &mut T, rows: &[Tile], block: &[Tile], sums: &mut [Sums]) {
    tiles.clear::<0>();
    tiles.clear::<1>();
    tiles.clear::<2>();
    tiles.clear::<3>();
    for (row, [low, middle, high, highest]) in rows.iter().zip(block.as_chunks().0) {
        tiles.load::<6>(row);
        tiles.load::<7>(low);
        tiles.add::<0, 6, 7, false>();
        tiles.load::<7>(middle);
        tiles.add::<1, 6, 7, false>();
        tiles.load::<7>(high);
        tiles.add::<2, 6, 7, false>();
        tiles.load::<7>(highest);
        tiles.add::<3, 6, 7, true>();
    }
    tiles.store::<0>(&mut sums[0]);
    tiles.store::<1>(&mut sums[1]);
    tiles.store::<2>(&mut sums[2]);
    tiles.store::<3>(&mut sums[3]);
}

#[cfg(target_arch = "x86_64")]
pub use amx::{is_available, multiply};

#[cfg(not(target_arch = "x86_64"))]
pub use elsewhere::multiply;

#[cfg(target_arch = "x86_64")]
mod amx {
    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid, __cpuid_count, _mm512_maskz_set1_epi8, _mm512_storeu_si512, _xgetbv,
    };
    use std::ops::Range;

    use super::{HEIGHT, PackedRows, Planes, Sums, Tile, Tiles, WIDTH};

    /// Whether this processor has tiles of 8-bit integers, and the system lets this process use them.
    pub fn is_available() -> bool {
        if !cfg!(target_os = "linux") || __cpuid(0).eax < 7 {
            return false;
        }
        // AMX-TILE and AMX-INT8; OSXSAVE, without which `xgetbv` does not exist; both states of tiles switched on by the system.
        let has_tiles = __cpuid_count(7, 0).edx >> 24 & 0b11 == 0b11;
        let has_xgetbv = __cpuid(1).ecx >> 27 & 1 == 1;
        // SAFETY: the instruction is there.
        has_tiles && has_xgetbv && unsafe { enabled() } && permitted()
    }

    #[target_feature(enable = "xsave")]
    fn enabled() -> bool {
        // SAFETY: the caller has seen OSXSAVE.
        unsafe { _xgetbv(0) >> 17 & 0b11 == 0b11 }
    }

    /// Asks Linux for the state of tiles, for all threads of this process.
    fn permitted() -> bool {
        const ARCH_PRCTL: i64 = 158;
        const REQUEST_PERMISSION: i64 = 0x1023;
        const TILE_DATA: i64 = 18;
        let mut result = ARCH_PRCTL;
        // SAFETY: a system call that reads no memory.
        unsafe {
            asm!("syscall", inlateout("rax") result, in("rdi") REQUEST_PERMISSION, in("rsi") TILE_DATA,
                lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result == 0
    }

    /// [`super::multiply_with`] on tiles of the processor.
    ///
    /// # Safety
    /// [`is_available`], as AVX-512 is; nobody else works on these columns.
    pub unsafe fn multiply(
        planes: &Planes,
        scale: &[f32],
        columns: Range<usize>,
        rows: &PackedRows<'_>,
    ) {
        // SAFETY: the caller's.
        unsafe { on_tiles(planes, scale, columns, rows) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
    fn on_tiles(planes: &Planes, scale: &[f32], columns: Range<usize>, rows: &PackedRows<'_>) {
        super::multiply_with(&mut Processor::new(), planes, scale, columns, rows);
    }

    /// The tiles of this thread while it has them. The compiler uses none, so what is in them stays from one instruction to the next.
    struct Processor;

    /// Palette 1: eight tiles of 16 rows of 64 bytes.
    #[repr(C, align(64))]
    struct Configuration {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        bytes: [u16; 16],
        rows: [u8; 16],
    }

    impl Processor {
        fn new() -> Self {
            let mut configuration = Configuration {
                palette: 1,
                start_row: 0,
                reserved: [0; 14],
                bytes: [0; 16],
                rows: [0; 16],
            };
            configuration.bytes[..8].fill(64);
            configuration.rows[..8].fill(HEIGHT as u8);
            // SAFETY: the instruction reads 64 bytes; made where tiles are there.
            unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack)) };
            Self
        }
    }

    impl Drop for Processor {
        fn drop(&mut self) {
            // SAFETY: tiles are there.
            unsafe { asm!("tilerelease", options(nostack)) };
        }
    }

    impl Tiles for Processor {
        #[inline(always)]
        fn spread(word: u64, to: &mut [u8; 64]) {
            // SAFETY: machines with AMX have AVX-512; 64 bytes are written.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_maskz_set1_epi8(word, 1)) };
        }

        #[inline(always)]
        fn clear<const T: usize>(&mut self) {
            // SAFETY: tiles are configured.
            unsafe { asm!("tilezero tmm{}", const T, options(nostack, nomem)) };
        }

        #[inline(always)]
        fn load<const T: usize>(&mut self, from: &Tile) {
            // SAFETY: 16 rows of 64 bytes, one after the other.
            unsafe {
                asm!("tileloadd tmm{}, [{} + {}*1]", const T, in(reg) &raw const *from, in(reg) 64_usize,
                    options(nostack, readonly));
            }
        }

        #[inline(always)]
        fn store<const T: usize>(&self, to: &mut Sums) {
            // SAFETY: 16 rows of 16 numbers of 32 bits.
            unsafe {
                asm!("tilestored [{} + {}*1], tmm{}", in(reg) &raw mut *to, in(reg) 4 * WIDTH, const T,
                    options(nostack));
            }
        }

        #[inline(always)]
        fn add<const C: usize, const A: usize, const B: usize, const SIGNED: bool>(&mut self) {
            // SAFETY: tiles are configured.
            unsafe {
                if SIGNED {
                    asm!("tdpbusd tmm{}, tmm{}, tmm{}", const C, const A, const B, options(nostack, nomem));
                } else {
                    asm!("tdpbuud tmm{}, tmm{}, tmm{}", const C, const A, const B, options(nostack, nomem));
                }
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use std::ops::Range;

    use super::{PackedRows, Planes};

    /// Never called: planes are laid out for instruction sets with tiles alone.
    ///
    /// # Safety
    /// None.
    pub unsafe fn multiply(_: &Planes, _: &[f32], _: Range<usize>, _: &PackedRows<'_>) {
        unreachable!("no matrix units on this architecture");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::fixed_point::{FixedPoint, Layout, Sizes};
    use crate::engine::host::{InstructionSet, Product, Shape, accumulate};
    use crate::engine::random::{Purpose, Streams};
    use crate::engine::{BitMatrix, Matrix, Workers, padded, words_per_row};

    /// What the instructions do, by their definition.
    struct Emulated([Tile; 8]);

    impl Emulated {
        fn numbers(tile: &Tile) -> Sums {
            Sums(
                tile.0.map(|row| {
                    std::array::from_fn(|n| i32::from_le_bytes(row.as_chunks::<4>().0[n]))
                }),
            )
        }
    }

    impl Tiles for Emulated {
        fn spread(word: u64, to: &mut [u8; 64]) {
            *to = std::array::from_fn(|i| (word >> i & 1) as u8);
        }

        fn clear<const T: usize>(&mut self) {
            self.0[T] = Tile::ZERO;
        }

        fn load<const T: usize>(&mut self, from: &Tile) {
            self.0[T] = *from;
        }

        fn store<const T: usize>(&self, to: &mut Sums) {
            *to = Self::numbers(&self.0[T]);
        }

        fn add<const C: usize, const A: usize, const B: usize, const SIGNED: bool>(&mut self) {
            let mut sums = Self::numbers(&self.0[C]);
            for (m, row) in sums.0.iter_mut().enumerate() {
                for (n, sum) in row.iter_mut().enumerate() {
                    for k in 0..64 {
                        let (a, b) = (self.0[A].0[m][k], self.0[B].0[k / 4][4 * n + k % 4]);
                        let b = if SIGNED { i32::from(b as i8) } else { i32::from(b) };
                        *sum = sum.wrapping_add(i32::from(a) * b);
                    }
                }
                let bytes = row.map(i32::to_le_bytes);
                self.0[C].0[m].copy_from_slice(bytes.as_flattened());
            }
        }
    }

    /// Sizes that leave words, tiles and rows over; weights of 24 bits and, in one column, of more.
    #[test]
    fn products_by_tiles_have_the_bits_of_the_other_kernels() {
        for (units, columns, count) in
            [(1, 1, 1), (70, 45, 33), (200, 33, 40), (64, 100, 16), (3, 64, 70)]
        {
            let mut stream = Streams::new(5, Purpose::TestSystem, 0).row(0);
            let mut values: Vec<f32> =
                (0..units * columns).map(|_| stream.normal() as f32).collect();
            values[columns / 2] = -3e4;
            let given = BitMatrix::from_fn(count, units, |_, _| stream.uniform() < 0.4);
            let start: Vec<f32> = (0..padded(columns)).map(|j| j as f32 * 0.1).collect();
            let product = |matrix: &FixedPoint, set: Option<InstructionSet>| {
                let mut out = Matrix::filled(count, columns, 9.0);
                let words = words_per_row(units);
                let rows = PackedRows::new(given.words(), words, &start, out.as_mut_slice());
                match (set, &matrix.layout) {
                    (None, Layout::Planes(planes)) => {
                        let tiles = &mut Emulated([Tile::ZERO; 8]);
                        multiply_with(tiles, planes, &matrix.scale, 0..padded(columns), &rows);
                    }
                    (set, _) => {
                        let set = set.unwrap_or(InstructionSet::Portable);
                        let how = Product { set, shape: Shape::USUAL };
                        accumulate::accumulate(how, Workers::One, matrix, rows);
                    }
                }
                out
            };
            let mut portable = FixedPoint::zeros(units, columns, InstructionSet::Portable);
            let [_, sizes] = Sizes::of(InstructionSet::Portable, &values, columns, columns);
            portable.copy(&values, columns, &sizes);
            let expected = product(&portable, Some(InstructionSet::Portable));
            let mut emulated = FixedPoint::in_planes(units, columns);
            emulated.copy(&values, columns, &sizes);
            assert_eq!(product(&emulated, None), expected, "{units}x{columns}, {count} rows");
            for set in InstructionSet::available() {
                let mut matrix = FixedPoint::zeros(units, columns, set);
                matrix.copy(&values, columns, &sizes);
                assert_eq!(
                    product(&matrix, Some(set)),
                    expected,
                    "{units}x{columns}, {count} rows, {set}"
                );
            }
        }
    }
}
