//! Whole numbers cut into planes of 8 bits, in tiles that matrix units multiply: q = p_0 + 2^8 p_1 + 2^16 p_2 (+ 2^24 p_3), the last plane
//! signed, the others not.
//!
//! A tile holds 64 units of 16 columns of one plane: 16 rows of 16 columns, 4 units each.

use rayon::prelude::*;

use super::InstructionSet;
use super::fixed_point::{fewest_panels, whole};
#[cfg(target_arch = "x86_64")]
use super::planes_avx512;
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
            // Columns of padding stay zero.
            if first < columns {
                let inverse = &inverse[first..columns.min(first + WIDTH)];
                pack_block(set, (&values[first..], stride, units), inverse, tiles);
            }
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
            pack_rows(set, values, units, &inverse[rows], tiles);
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

/// The tiles of a block of columns, from rows of units: values, floats from one row to the next, and how many there are.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn pack_block(
    set: InstructionSet,
    (values, stride, units): (&[f32], usize, usize),
    inverse: &[f32],
    tiles: &mut [Tile],
) {
    let width = inverse.len();
    assert!(width <= WIDTH && (units == 0 || values.len() >= (units - 1) * stride + width));
    #[cfg(target_arch = "x86_64")]
    if set.has_tiles() {
        // SAFETY: rows and tiles are there, as asserted; machines with AMX have AVX-512.
        return unsafe { planes_avx512::pack_block((values, stride, units), inverse, tiles) };
    }
    let planes = tiles.len() / units.div_ceil(DEPTH);
    for (unit, values) in values.chunks(stride).take(units).enumerate() {
        for (column, (value, inverse)) in values.iter().zip(inverse).enumerate() {
            set_number(tiles, planes, (unit, column), value * inverse);
        }
    }
}

/// The tiles of a block of columns, from rows of columns.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn pack_rows(
    set: InstructionSet,
    values: &[f32],
    units: usize,
    inverse: &[f32],
    tiles: &mut [Tile],
) {
    assert!(inverse.len() <= WIDTH && values.len() == inverse.len() * units);
    #[cfg(target_arch = "x86_64")]
    if set.has_tiles() {
        // SAFETY: as above.
        return unsafe { planes_avx512::pack_rows(values, units, inverse, tiles) };
    }
    let planes = tiles.len() / units.div_ceil(DEPTH);
    for (column, (values, inverse)) in values.chunks(units).zip(inverse).enumerate() {
        for (unit, value) in values.iter().enumerate() {
            set_number(tiles, planes, (unit, column), value * inverse);
        }
    }
}

fn set_number(tiles: &mut [Tile], planes: usize, (unit, column): (usize, usize), value: f32) {
    let bytes = whole([value; 4], [1.0; 4])[0].to_le_bytes();
    let (block, unit) = (unit / DEPTH, unit % DEPTH);
    for (tile, byte) in tiles[block * planes..][..planes].iter_mut().zip(bytes) {
        tile.0[unit / 4][4 * column + unit % 4] = byte;
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
