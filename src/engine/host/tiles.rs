//! Products of packed rows with planes of 8 bits on matrix units.
//!
//! A word of 64 bits becomes 64 bytes, 16 rows of them a tile; a tile of a plane has 64 units of 16 columns. One instruction multiplies
//! both and adds the sums of 32 bits to a third. Sums of planes are put together as whole numbers, so the result has the same bits as that
//! of the other kernels. The instructions are those of [`Tiles`]; the tests have an emulation of them, for machines without.

use std::ops::Range;

use super::draw_row::GROUP;
use super::packed_rows::PackedRows;
use super::planes::{PLANES, Planes, SHORT, Tile, WIDTH};
use super::tile_output::Output;

/// Rows of a tile.
pub const HEIGHT: usize = 16;
/// Bytes of planes that are kept in the L2 cache while all rows pass over them.
const CACHED: usize = 1 << 20;

/// Eight tiles, numbered, and what can be done to them.
pub trait Tiles {
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
pub struct Sums([[i32; WIDTH]; HEIGHT]);

impl Sums {
    const ZERO: Self = Self([[0; WIDTH]; HEIGHT]);
}

/// start + scale sum of some columns, whole panels, for all rows.
#[inline(always)]
pub fn multiply_with(
    tiles: &mut impl Tiles,
    planes: &Planes,
    scale: &[f32],
    columns: Range<usize>,
    rows: &PackedRows<'_>,
    mut output: impl Output,
) {
    let depth = planes.depth();
    let mut bits = vec![Tile::ZERO; 2 * depth];
    // Whole groups of draws.
    let cached = CACHED / (PLANES * depth.max(1) * size_of::<Tile>()) * WIDTH;
    let at_once = (cached / GROUP).max(1) * GROUP;
    let mut sums = [Sums::ZERO; 2 * PLANES];
    for first in columns.clone().step_by(at_once) {
        let these = first..columns.end.min(first + at_once);
        output.begin(these.clone());
        for row in (0..rows.count()).step_by(2 * HEIGHT) {
            let here = row..rows.count().min(row + 2 * HEIGHT);
            spread_rows(tiles, &mut bits, rows, here.clone());
            for column in these.clone().step_by(WIDTH) {
                let block = planes.of_block(column / WIDTH);
                let (upper, lower) = bits.split_at(depth);
                if block.len() == PLANES * depth {
                    sum_long(tiles, upper, block, &mut sums[..PLANES]);
                    sum_long(tiles, lower, block, &mut sums[PLANES..]);
                    write::<PLANES>(&sums, scale, column, here.clone(), rows, &mut output);
                } else {
                    sum(tiles, upper, lower, block, &mut sums);
                    write::<SHORT>(&sums, scale, column, here.clone(), rows, &mut output);
                }
            }
            output.end(here);
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
    output: &mut impl Output,
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
        // SAFETY: the row is in work, these columns are the caller's, and nobody refers to them.
        unsafe { output.place(row, column).write(x) };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::fixed_point::{FixedPoint, Layout, Sizes};
    use crate::engine::host::tile_output::Draws;
    use crate::engine::host::{InstructionSet, Product, Shape, accumulate};
    use crate::engine::random::{Purpose, Streams};
    use crate::engine::{BitMatrix, Draw, Matrix, Workers, padded, words_per_row};

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
                        multiply_with(
                            tiles,
                            planes,
                            &matrix.scale,
                            0..padded(columns),
                            &rows,
                            &rows,
                        );
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

    /// Draws of a product that is not kept are those of the product, with several groups of columns and with a base term.
    #[test]
    fn draws_by_tiles_are_those_of_the_product() {
        for (units, columns, count) in [(3, 70, 33), (1100, 500, 40), (70, 300, 7)] {
            let mut stream = Streams::new(6, Purpose::TestSystem, 0).row(0);
            let values: Vec<f32> =
                (0..units * columns).map(|_| 0.3 * stream.normal() as f32).collect();
            let given = BitMatrix::from_fn(count, units, |_, _| stream.uniform() < 0.4);
            let start: Vec<f32> = (0..padded(columns)).map(|j| (j % 7) as f32 * 0.1).collect();
            let base: Vec<f32> = (0..padded(columns)).map(|j| (j % 5) as f32 * 0.3 - 0.6).collect();
            let beta: Vec<f32> = (0..count).map(|s| s as f32 / count as f32).collect();
            let mut matrix = FixedPoint::in_planes(units, columns);
            let [_, sizes] = Sizes::of(InstructionSet::Portable, &values, columns, columns);
            matrix.copy(&values, columns, &sizes);
            let Layout::Planes(planes) = &matrix.layout else { unreachable!() };
            let words = words_per_row(units);
            for base in [None, Some(&base[..])] {
                let mut inputs = Matrix::filled(count, columns, 0.0);
                let rows = PackedRows::new(given.words(), words, &start, inputs.as_mut_slice());
                let tiles = &mut Emulated([Tile::ZERO; 8]);
                multiply_with(tiles, planes, &matrix.scale, 0..padded(columns), &rows, &rows);
                let streams = Streams::new(7, Purpose::SampleHidden, 3);
                let draw = |inputs| Draw {
                    n_units: columns,
                    inputs,
                    beta: &beta,
                    base,
                    streams,
                    first_row: 5,
                };
                let mut expected = BitMatrix::zeros(count, columns);
                draw(inputs.as_slice()).bits(expected.words_mut());
                for set in InstructionSet::available() {
                    let mut found = BitMatrix::zeros(count, columns);
                    let rows = PackedRows::without_output(given.words(), words, &start);
                    let draws = Draws::new(draw(&[]), set, found.words_mut());
                    let tiles = &mut Emulated([Tile::ZERO; 8]);
                    multiply_with(tiles, planes, &matrix.scale, 0..padded(columns), &rows, draws);
                    assert_eq!(found, expected, "{units}x{columns}, {count} rows, {set}");
                }
            }
        }
    }
}
