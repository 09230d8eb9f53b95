//! One row of a draw: its definition, which every instruction set keeps to.

use super::math::exp_f32;
use crate::engine::Draw;
use crate::engine::matrix::padded;
use crate::engine::random::{Stream, philox};
use crate::engine::words_per_row;

/// Units whose coarse bits come from one call of the vectorised generator.
pub(super) const GROUP: usize = 128;
/// Spacing of the coarse uniform numbers.
const COARSE: f32 = 1.0 / 65_536.0;
/// First block of the fine bits in a stream; coarse blocks come from 0 upwards.
const FINE_BLOCKS: u32 = 1 << 31;

/// Draws of some of the units of rows: the inputs and the base term are those of these units alone.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub draw: Draw<'a>,
    /// The first of them, a multiple of [`GROUP`].
    pub first: usize,
    /// Words from one row of states to the next.
    pub words: usize,
}

impl Part<'_> {
    /// Packed words, row and stream of each row.
    pub fn packed_rows<'o>(
        &self,
        out: &'o mut [u64],
    ) -> impl Iterator<Item = (&'o mut [u64], Row<'_>)> {
        let (part, words) = (*self, words_per_row(self.draw.n_units));
        let rows = out.chunks_mut(self.words).zip(self.draw.beta).enumerate();
        rows.map(move |(row, (out, &beta))| (&mut out[..words], part.row(row, beta)))
    }

    /// Goes over rows and words: `generate` makes the coarse bits of a group, and `decide` gives the ones and the ties of
    /// the word that starts at a unit.
    #[inline(always)]
    pub(super) fn rows<R>(
        &self,
        out: &mut [u64],
        generate: impl Fn(u32, [u32; 3], [u32; 2]) -> R,
        decide: impl Fn(&Row<'_>, usize, &R) -> (u64, u64),
    ) {
        for (packed, row) in self.packed_rows(out) {
            let (key, fixed) = row.stream.words();
            for (group, pair) in packed.chunks_mut(GROUP / 64).enumerate() {
                let random = generate(self.block(group), fixed, key);
                for (half, slot) in pair.iter_mut().enumerate() {
                    let first = group * GROUP + half * 64;
                    let (ones, ties) = decide(&row, first, &random);
                    *slot = row.settle(first, ones, ties);
                }
            }
        }
    }

    /// First block of the coarse bits of a group.
    pub fn block(&self, group: usize) -> u32 {
        (self.first / GROUP + group) as u32 * 16
    }
}

impl<'a> Part<'a> {
    fn row(&self, row: usize, beta: f32) -> Row<'a> {
        Row { first: self.first, ..self.draw.row(row, beta) }
    }
}

impl<'a> Draw<'a> {
    pub(super) fn row(&self, row: usize, beta: f32) -> Row<'a> {
        let stride = padded(self.n_units);
        Row {
            n_units: self.n_units,
            inputs: &self.inputs[row * stride..][..stride],
            base: self.base.map(|base| &base[..stride]),
            beta,
            stream: self.streams.row(self.first_row + row as u32),
            first: 0,
        }
    }
}

/// One row of states to draw.
pub(super) struct Row<'a> {
    n_units: usize,
    /// x, padded.
    pub inputs: &'a [f32],
    /// a, padded.
    pub base: Option<&'a [f32]>,
    pub beta: f32,
    pub stream: Stream,
    /// Number of the first unit in the stream.
    first: usize,
}

impl Row<'_> {
    /// The ones and the ties among units `first..first + 64`, by the definition for the least and the greatest uniform number
    /// that can follow from the coarse bits.
    #[inline(always)]
    pub fn decide(&self, first: usize, random: &[[u32; 16]; 4]) -> (u64, u64) {
        let mut scale = [f32::INFINITY; 64];
        self.scales(first, &mut scale);
        let (mut lower, mut upper) = (0u64, 0u64);
        for w in 0..4 {
            let (mut below, mut above) = ([0.0f32; 16], [0.0f32; 16]);
            for i in 0..16 {
                let coarse = (random[w][i] >> coarse_shift(first)) & 0xFFFF;
                // At most 16 bits, so the conversion is exact and one instruction everywhere.
                let u = coarse as i32 as f32 * COARSE;
                below[i] = u * scale[w * 16 + i];
                above[i] = (u + COARSE) * scale[w * 16 + i];
            }
            lower |= below_one(&below) << (w * 16);
            upper |= below_one(&above) << (w * 16);
        }
        (upper, lower & !upper)
    }

    /// 1 + exp(-logit), the reciprocal of the probability of a one, for units `first..first + 64`.
    #[inline(always)]
    fn scales(&self, first: usize, scale: &mut [f32; 64]) {
        let width = (self.inputs.len() - first).min(64);
        // Slices of one length, so that the compiler vectorises.
        let (scale, inputs) = (&mut scale[..width], &self.inputs[first..first + width]);
        match self.base {
            Some(base) => {
                let base = &base[first..first + width];
                for i in 0..width {
                    scale[i] = self.scale_of(inputs[i], Some(base[i]));
                }
            }
            None => {
                for i in 0..width {
                    scale[i] = self.scale_of(inputs[i], None);
                }
            }
        }
    }

    #[inline(always)]
    fn scale(&self, unit: usize) -> f32 {
        self.scale_of(self.inputs[unit], self.base.map(|base| base[unit]))
    }

    #[inline(always)]
    fn scale_of(&self, input: f32, base: Option<f32>) -> f32 {
        let logit = match base {
            Some(base) => self.beta * input + (1.0 - self.beta) * base,
            None => self.beta * input,
        };
        1.0 + exp_f32(-logit)
    }

    /// The word of units from `first` on: `ones`, but for `ties` the coarse bits could not decide.
    #[inline(always)]
    pub fn settle(&self, first: usize, ones: u64, ties: u64) -> u64 {
        let used = self.n_units - first;
        let mask = if used < 64 { (1u64 << used) - 1 } else { u64::MAX };
        let mut bits = ones & !ties & mask;
        let mut ties = ties & mask;
        while ties != 0 {
            let i = ties.trailing_zeros() as usize;
            let unit = first + i;
            let one = uniform(&self.stream, self.first + unit) * self.scale(unit) < 1.0;
            bits |= u64::from(one) << i;
            ties &= ties - 1;
        }
        bits
    }
}

#[inline(always)]
fn below_one(values: &[f32; 16]) -> u64 {
    values.iter().enumerate().fold(0, |mask, (i, &value)| mask | u64::from(value < 1.0) << i)
}

/// Where the coarse bits of the word from unit `first` on start in the random words of its group: the first word of a
/// group has the low halves, the second one the high halves.
#[inline(always)]
pub(super) fn coarse_shift(first: usize) -> usize {
    first / 64 % 2 * 16
}

/// The uniform number that decides a unit of a row: 16 coarse and 24 fine bits, rounded to f32.
pub fn uniform(stream: &Stream, unit: usize) -> f32 {
    let (key, fixed) = stream.words();
    let block = |number: u32| philox([number, fixed[0], fixed[1], fixed[2]], key);
    let (group, i) = (unit / GROUP, unit % 64);
    let word = block((group * 16 + i % 16) as u32)[i / 16];
    let coarse = (word >> coarse_shift(unit)) & 0xFFFF;
    let fine = block(FINE_BLOCKS + unit as u32 / 4)[unit % 4] >> 8;
    let fine = (fine as f32 + 0.5) * (1.0 / 16_777_216.0);
    (coarse as f32 + fine) * COARSE
}
