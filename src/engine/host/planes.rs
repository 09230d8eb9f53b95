//! Whole numbers cut into planes of 8 bits, in tiles that matrix units multiply: q = p_0 + 2^8 p_1 + 2^16 p_2 (+ 2^24 p_3), the last plane
//! signed, the others not.
//!
//! A tile holds 64 units of 16 columns of one plane: 16 rows of 16 columns, 4 units each.

use rayon::prelude::*;

use super::InstructionSet;
use super::fixed_point::{fewest_panels, whole};
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
        return unsafe { avx512::pack_block((values, stride, units), inverse, tiles) };
    }
    let planes = tiles.len() / units.div_ceil(DEPTH);
    for (unit, values) in values.chunks(stride).take(units).enumerate() {
        for (column, (value, inverse)) in values.iter().zip(inverse).enumerate() {
            set_number(
                &mut tiles[unit / DEPTH * planes..][..planes],
                unit % DEPTH,
                column,
                value * inverse,
            );
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
        return unsafe { avx512::pack_rows(values, units, inverse, tiles) };
    }
    let planes = tiles.len() / units.div_ceil(DEPTH);
    for (column, (values, inverse)) in values.chunks(units).zip(inverse).enumerate() {
        for (unit, value) in values.iter().enumerate() {
            set_number(
                &mut tiles[unit / DEPTH * planes..][..planes],
                unit % DEPTH,
                column,
                value * inverse,
            );
        }
    }
}

fn set_number(tiles: &mut [Tile], unit: usize, column: usize, value: f32) {
    let bytes = whole([value; 4], [1.0; 4])[0].to_le_bytes();
    for (tile, byte) in tiles.iter_mut().zip(bytes) {
        tile.0[unit / 4][4 * column + unit % 4] = byte;
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{DEPTH, PLANES, Tile, WIDTH};

    /// Numbers of one unit or column, as many as the mask says.
    #[target_feature(enable = "avx512f")]
    unsafe fn numbers(values: *const f32, inverse: __m512, mask: __mmask16) -> __m512i {
        // SAFETY: the caller's; no others are read.
        let values = unsafe { _mm512_maskz_loadu_ps(mask, values) };
        _mm512_cvtps_epi32(_mm512_mul_ps(values, inverse))
    }

    fn first(count: usize) -> __mmask16 {
        if count >= WIDTH { !0 } else { (1 << count) - 1 }
    }

    /// Four units at a time: byte u of a column's four is that of unit u.
    ///
    /// # Safety
    /// There are so many rows, and tiles for them.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub unsafe fn pack_block(
        (values, stride, units): (&[f32], usize, usize),
        inverse: &[f32],
        tiles: &mut [Tile],
    ) {
        let planes = tiles.len() / units.div_ceil(DEPTH);
        let mask = first(inverse.len());
        let low = _mm512_set1_epi32(0xFF);
        // SAFETY: units and columns are in range; each tile has 16 rows of 64 bytes.
        unsafe {
            let inverse = _mm512_maskz_loadu_ps(mask, inverse.as_ptr());
            for four in 0..units.div_ceil(4) {
                let mut q = [_mm512_setzero_si512(); 4];
                for (u, q) in q.iter_mut().enumerate().take(units - 4 * four) {
                    *q = numbers(values.as_ptr().add((4 * four + u) * stride), inverse, mask);
                }
                for plane in 0..planes {
                    let shift = _mm_cvtsi32_si128(8 * plane as i32);
                    let [a, b, c, d] = q;
                    let a = _mm512_and_si512(_mm512_srl_epi32(a, shift), low);
                    let b = _mm512_and_si512(_mm512_srl_epi32(b, shift), low);
                    let c = _mm512_and_si512(_mm512_srl_epi32(c, shift), low);
                    let d = _mm512_srl_epi32(d, shift);
                    let ab = _mm512_or_si512(a, _mm512_slli_epi32::<8>(b));
                    let cd =
                        _mm512_or_si512(_mm512_slli_epi32::<16>(c), _mm512_slli_epi32::<24>(d));
                    let to = &mut tiles[four / WIDTH * planes + plane].0[four % WIDTH];
                    _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_or_si512(ab, cd));
                }
            }
        }
    }

    /// A column is a row of the source: its bytes of 64 units are 16 words of 4, which go to as many rows of a tile.
    ///
    /// # Safety
    /// There are so many units, and tiles for them.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub unsafe fn pack_rows(values: &[f32], units: usize, inverse: &[f32], tiles: &mut [Tile]) {
        let planes = tiles.len() / units.div_ceil(DEPTH);
        let mut words = [Tile::ZERO; PLANES];
        for (block, tiles) in tiles.chunks_exact_mut(planes).enumerate() {
            let count = (units - block * DEPTH).min(DEPTH);
            for (column, &inverse) in inverse.iter().enumerate() {
                let row = &values[column * units + block * DEPTH..][..count];
                for unit in (0..DEPTH).step_by(WIDTH) {
                    // SAFETY: units beyond the row are not read; a row of a tile has room for 16 bytes.
                    unsafe {
                        let mask = first(count.saturating_sub(unit));
                        let values = row.as_ptr().wrapping_add(unit);
                        let mut q = numbers(values, _mm512_set1_ps(inverse), mask);
                        for words in &mut words[..planes] {
                            let to = words.0[column][unit..][..WIDTH].as_mut_ptr();
                            _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(q));
                            q = _mm512_srli_epi32::<8>(q);
                        }
                    }
                }
            }
            for (tile, words) in tiles.iter_mut().zip(&words) {
                // SAFETY: 16 rows of 64 bytes each.
                unsafe { transpose(words, tile) };
            }
        }
    }

    /// Of words of 4 bytes.
    #[target_feature(enable = "avx512f")]
    unsafe fn transpose(from: &Tile, to: &mut Tile) {
        const EVEN: i32 = 0b10_00_10_00;
        const ODD: i32 = 0b11_01_11_01;
        let mut r = [_mm512_setzero_si512(); WIDTH];
        for i in 0..WIDTH {
            // SAFETY: the caller's.
            r[i] = unsafe { _mm512_loadu_si512(from.0[i].as_ptr().cast()) };
        }
        // u[4 i + k] has the words k, k + 4, k + 8, k + 12 of rows 4 i to 4 i + 3.
        let mut u = r;
        for i in (0..WIDTH).step_by(4) {
            let (low, high) =
                (_mm512_unpacklo_epi32(r[i], r[i + 1]), _mm512_unpackhi_epi32(r[i], r[i + 1]));
            let next_low = _mm512_unpacklo_epi32(r[i + 2], r[i + 3]);
            let next_high = _mm512_unpackhi_epi32(r[i + 2], r[i + 3]);
            u[i] = _mm512_unpacklo_epi64(low, next_low);
            u[i + 1] = _mm512_unpackhi_epi64(low, next_low);
            u[i + 2] = _mm512_unpacklo_epi64(high, next_high);
            u[i + 3] = _mm512_unpackhi_epi64(high, next_high);
        }
        let mut columns = r;
        for k in 0..4 {
            let even = _mm512_shuffle_i32x4::<EVEN>(u[k], u[k + 4]);
            let odd = _mm512_shuffle_i32x4::<ODD>(u[k], u[k + 4]);
            let next_even = _mm512_shuffle_i32x4::<EVEN>(u[k + 8], u[k + 12]);
            let next_odd = _mm512_shuffle_i32x4::<ODD>(u[k + 8], u[k + 12]);
            columns[k] = _mm512_shuffle_i32x4::<EVEN>(even, next_even);
            columns[k + 4] = _mm512_shuffle_i32x4::<EVEN>(odd, next_odd);
            columns[k + 8] = _mm512_shuffle_i32x4::<ODD>(even, next_even);
            columns[k + 12] = _mm512_shuffle_i32x4::<ODD>(odd, next_odd);
        }
        for i in 0..WIDTH {
            // SAFETY: the caller's.
            unsafe { _mm512_storeu_si512(to.0[i].as_mut_ptr().cast(), columns[i]) };
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
