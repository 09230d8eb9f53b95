//! Whole numbers cut into planes of 8 bits, in tiles that matrix units multiply: q = p_0 + 2^8 p_1 + 2^16 p_2 (+ 2^24 p_3), the last plane
//! signed, the others not.
//!
//! A tile holds 64 units of 16 columns of one plane: 16 rows of 16 columns, 4 units each.

use rayon::prelude::*;

use super::InstructionSet;
use super::fixed_point::{fewest_panels, wholes};
use super::instruction_set::for_every_instruction_set;
use super::panels::transposed;
use crate::engine::{PANEL, padded};

/// Columns of a tile.
pub const WIDTH: usize = 16;
/// Units of a tile: the bits of a word.
pub const DEPTH: usize = 64;
/// Most planes of a number.
pub const PLANES: usize = 4;
/// Planes of a number of at most 24 bits.
pub const SHORT: usize = 3;

/// 16 rows of 64 bytes, as the instructions take them.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Tile(pub [[u8; 64]; 16]);

impl Tile {
    pub const ZERO: Self = Self([[0; 64]; 16]);
}

/// Planes of a matrix of shape [units, columns], padded with zeros.
#[derive(Clone, Debug)]
pub struct Planes {
    units: usize,
    columns: usize,
    /// [blocks of columns, blocks of units, planes].
    tiles: Vec<Tile>,
    /// Whether some number of a block of columns needs the fourth plane.
    wide: Vec<bool>,
}

impl Planes {
    /// All zeros.
    pub fn zeros(units: usize, columns: usize) -> Self {
        let blocks = padded(columns) / WIDTH;
        let tiles = vec![Tile::ZERO; blocks * PLANES * units.div_ceil(DEPTH)];
        Self { units, columns, tiles, wide: vec![false; blocks] }
    }

    /// Takes values of shape [units, columns], rows `stride` apart, times `inverse` of their columns; `long`: columns with numbers of more
    /// than 24 bits.
    pub fn copy(
        &mut self,
        set: InstructionSet,
        values: &[f32],
        stride: usize,
        inverse: &[f32],
        long: &[bool],
    ) {
        let Self { units, columns, .. } = *self;
        self.blocks_mut(long).for_each(|(first, tiles)| {
            let width = columns.saturating_sub(first).min(WIDTH);
            let values = if width > 0 { &values[first..] } else { &[] };
            pack_block(set, (values, stride, units), width, &inverse[first..], tiles);
        });
    }

    /// Takes the transpose of tight values of shape [columns, units], in the same way.
    pub fn copy_transposed(
        &mut self,
        set: InstructionSet,
        values: &[f32],
        inverse: &[f32],
        long: &[bool],
    ) {
        let Self { units, columns, .. } = *self;
        self.blocks_mut(long).for_each(|(first, tiles)| {
            let rows = first.min(columns)..(first + WIDTH).min(columns);
            let values = &values[rows.start * units..rows.end * units];
            pack_rows(set, values, units, &inverse[first..], tiles);
        });
    }

    /// First column and tiles, three planes of them or four, of every block of columns.
    fn blocks_mut(&mut self, long: &[bool]) -> impl ParallelIterator<Item = (usize, &mut [Tile])> {
        let depth = self.depth();
        let blocks = long.chunks(WIDTH).map(|long| long.contains(&true));
        self.wide.iter_mut().zip(blocks).for_each(|(wide, long)| *wide = long);
        let fewest = fewest_panels(self.units, self.columns) * (PANEL / WIDTH);
        let blocks = self.tiles.par_chunks_exact_mut(PLANES * depth.max(1)).zip(&self.wide);
        blocks.enumerate().with_min_len(fewest).map(move |(block, (tiles, &wide))| {
            let planes = if wide { PLANES } else { SHORT };
            (block * WIDTH, &mut tiles[..planes * depth])
        })
    }

    /// The tiles of a block of columns, the three or four planes of some units before those of the next.
    pub fn of_block(&self, block: usize) -> &[Tile] {
        let planes = if self.wide[block] { PLANES } else { SHORT };
        &self.tiles[block * PLANES * self.depth()..][..planes * self.depth()]
    }

    /// Number of tiles of a plane.
    pub fn depth(&self) -> usize {
        self.units.div_ceil(DEPTH)
    }
}

for_every_instruction_set! {
    fn pack_block(
        rows: (&[f32], usize, usize),
        width: usize,
        inverse: &[f32],
        tiles: &mut [Tile]
    ) = pack
}

/// Four units at a time: byte u of a column's four is that of unit u.
#[inline(always)]
fn pack(
    (values, stride, units): (&[f32], usize, usize),
    width: usize,
    inverse: &[f32],
    tiles: &mut [Tile],
) {
    let planes = tiles.len() / units.div_ceil(DEPTH);
    for four in 0..units.div_ceil(4) {
        let mut q = [[0i32; WIDTH]; 4];
        for (u, q) in q.iter_mut().enumerate() {
            let unit = 4 * four + u;
            if unit < units && width > 0 {
                let row = &values[unit * stride..];
                match width {
                    WIDTH => wholes(row, inverse, q),
                    _ => wholes(row, inverse, &mut q[..width]),
                }
            }
        }
        let of_units = &mut tiles[four / WIDTH * planes..][..planes];
        for (plane, tile) in of_units.iter_mut().enumerate() {
            let row = &mut tile.0[four % WIDTH];
            for (i, bytes) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let byte = |u: usize| (q[u][i] >> (8 * plane)) & 0xFF;
                let word = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
                *bytes = word.to_le_bytes();
            }
        }
    }
}

for_every_instruction_set! {
    fn pack_rows(values: &[f32], units: usize, inverse: &[f32], tiles: &mut [Tile]) = pack_transposed
}

/// A column is a row of the source: its bytes of 64 units are 16 words of 4, which go to as many rows of a tile.
#[inline(always)]
fn pack_transposed(values: &[f32], units: usize, inverse: &[f32], tiles: &mut [Tile]) {
    let depth = units.div_ceil(DEPTH);
    for (block, tiles) in tiles.chunks_exact_mut(tiles.len() / depth).enumerate() {
        let mut bytes = [[[0u8; DEPTH]; WIDTH]; PLANES];
        for (column, (row, &inverse)) in values.chunks_exact(units).zip(inverse).enumerate() {
            let row = &row[block * DEPTH..units.min((block + 1) * DEPTH)];
            let mut q = [0i32; DEPTH];
            wholes(row, &[inverse; DEPTH], &mut q[..row.len()]);
            for (plane, bytes) in bytes.iter_mut().enumerate() {
                for i in 0..DEPTH {
                    bytes[column][i] = (q[i] >> (8 * plane)) as u8;
                }
            }
        }
        tiles.iter_mut().zip(&bytes).for_each(|(tile, bytes)| transpose_words(bytes, &mut tile.0));
    }
}

/// Words of 4 bytes, [16, 16], in squares of four.
#[inline(always)]
fn transpose_words(from: &[[u8; DEPTH]; WIDTH], to: &mut [[u8; 64]; 16]) {
    const SIDE: usize = 4;
    for i in (0..WIDTH).step_by(SIDE) {
        for j in (0..WIDTH).step_by(SIDE) {
            let square = std::array::from_fn(|row| {
                let words = from[i + row].as_chunks::<4>().0;
                std::array::from_fn(|n| f32::from_ne_bytes(words[j + n]))
            });
            for (row, words) in transposed(square).iter().enumerate() {
                for (n, word) in words.iter().enumerate() {
                    to[j + row].as_chunks_mut::<4>().0[i + n] = word.to_ne_bytes();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a unit and column, put together from its planes.
    fn number(planes: &Planes, unit: usize, column: usize) -> i32 {
        let tiles = planes.of_block(column / WIDTH);
        let byte = |plane: usize| {
            let tile = &tiles[unit / DEPTH * (tiles.len() / planes.depth()) + plane];
            let at = column % WIDTH * 4 + unit % 4;
            i32::from(tile.0[unit % DEPTH / 4][at])
        };
        let low = byte(0) | byte(1) << 8;
        if tiles.len() == PLANES * planes.depth() {
            low | byte(2) << 16 | byte(3) << 24
        } else {
            low | i32::from(byte(2) as i8) << 16
        }
    }

    /// Whole and partial tiles, both directions, short numbers and long ones, on every instruction set.
    #[test]
    fn planes_hold_the_matrix_and_its_transpose() {
        for (units, columns) in [(1, 1), (5, 16), (64, 33), (70, 20), (200, 70)] {
            let values: Vec<f32> =
                (0..units * columns).map(|i| (i as f32 - 300.0) * 499.0).collect();
            // The first sixteen columns have numbers beyond 24 bits.
            let inverse: Vec<f32> = (0..padded(columns))
                .map(|j| match j {
                    0 => 40.0,
                    j if j < columns => 0.5,
                    _ => 0.0,
                })
                .collect();
            let long: Vec<bool> = (0..padded(columns)).map(|j| j == 0).collect();
            for set in InstructionSet::available() {
                let mut planes = Planes::zeros(units, columns);
                let check = |planes: &Planes, value: &dyn Fn(usize, usize) -> f32| {
                    for (unit, column) in (0..units).flat_map(|i| (0..columns).map(move |j| (i, j)))
                    {
                        let expected = (value(unit, column) * inverse[column]).round_ties_even();
                        assert_eq!(
                            number(planes, unit, column),
                            expected as i32,
                            "{units}x{columns}"
                        );
                    }
                };
                planes.copy(set, &values, columns, &inverse, &long);
                check(&planes, &|unit, column| values[unit * columns + column]);
                planes.copy_transposed(set, &values, &inverse, &long);
                check(&planes, &|unit, column| values[column * units + unit]);
            }
        }
    }
}
