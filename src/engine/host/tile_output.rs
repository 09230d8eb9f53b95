//! Where products on matrix units go: to a matrix, or to draws at once.

use std::ops::Range;

use super::InstructionSet;
use super::draw_row::Part;
use super::packed_rows::PackedRows;
use super::planes::WIDTH;
use super::tiles::HEIGHT;
use crate::engine::{Draw, Matrix, words_per_row};

/// Where the results of a product go.
pub trait Output {
    /// Columns from the first one on, which are done for all rows before the next ones begin.
    fn begin(&mut self, columns: Range<usize>);
    /// Where 16 columns of a row go.
    ///
    /// # Safety
    /// The row is one of those that are in work, the columns are among those that were begun.
    unsafe fn place(&mut self, row: usize, column: usize) -> *mut [f32; WIDTH];
    /// All columns that were begun are there for these rows, at most 32.
    fn end(&mut self, rows: Range<usize>);
}

/// A matrix.
impl Output for &PackedRows<'_> {
    fn begin(&mut self, _: Range<usize>) {}

    #[inline(always)]
    unsafe fn place(&mut self, row: usize, column: usize) -> *mut [f32; WIDTH] {
        // SAFETY: the output has this row and these columns.
        unsafe { self.out.add(row * self.stride + column).cast() }
    }

    fn end(&mut self, _: Range<usize>) {}
}

/// Draws: the pre-activations of a few rows stay in the cache and are not kept.
pub struct Draws<'a> {
    /// Of all rows and units, without inputs.
    draw: Draw<'a>,
    set: InstructionSet,
    columns: Range<usize>,
    inputs: Matrix,
    out: &'a mut [u64],
}

impl<'a> Draws<'a> {
    /// Of rows and units of `draw`, whose inputs are not read, into packed rows.
    pub fn new(draw: Draw<'a>, set: InstructionSet, out: &'a mut [u64]) -> Self {
        assert!(out.len() == draw.beta.len() * words_per_row(draw.n_units));
        Self { draw, set, columns: 0..0, inputs: Matrix::filled(0, 0, 0.0), out }
    }
}

impl Output for Draws<'_> {
    fn begin(&mut self, columns: Range<usize>) {
        self.inputs = Matrix::filled(2 * HEIGHT, columns.len(), 0.0);
        self.columns = columns;
    }

    #[inline(always)]
    unsafe fn place(&mut self, row: usize, column: usize) -> *mut [f32; WIDTH] {
        let first = row % (2 * HEIGHT) * self.columns.len() + column - self.columns.start;
        self.inputs.as_mut_slice()[first..][..WIDTH].as_mut_ptr().cast()
    }

    fn end(&mut self, rows: Range<usize>) {
        let words = words_per_row(self.draw.n_units);
        let first = self.columns.start;
        if first >= self.draw.n_units {
            return;
        }
        let draw = Draw {
            n_units: self.draw.n_units.min(self.columns.end) - first,
            inputs: self.inputs.as_slice(),
            beta: &self.draw.beta[rows.clone()],
            base: self.draw.base.map(|base| &base[first..]),
            first_row: self.draw.first_row + rows.start as u32,
            ..self.draw
        };
        let out = &mut self.out[rows.start * words + first / 64..];
        Part { draw, first, words }.run(self.set, out);
    }
}
