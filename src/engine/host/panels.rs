//! A dense matrix cut into panels of 32 columns, each contiguous.
//!
//! A row of a panel is two cache lines. Contiguous panels keep cuts of 192 rows (24 KB) in the L1 cache, where rows of
//! a plain matrix would fall into a few cache sets only.

use rayon::prelude::*;

use super::look_up::Block;
use crate::engine::{AS_A_NUMBER, Matrix, PANEL, Workers};

/// Side of the squares that are transposed in registers.
const SQUARE: usize = 4;

/// Panels of a matrix of shape [units, columns]; the last one is padded with zeros.
#[derive(Clone, Debug)]
pub struct Panels {
    units: usize,
    columns: usize,
    /// One row per (panel, unit), `[PANEL]` floats each.
    rows: Matrix,
}

impl Panels {
    /// All zeros.
    pub fn zeros(units: usize, columns: usize) -> Self {
        let rows = Matrix::filled(columns.div_ceil(PANEL) * units, PANEL, 0.0);
        Self { units, columns, rows }
    }

    /// Takes tight values of shape [units, columns].
    pub fn copy(&mut self, values: &[f32]) {
        let columns = self.columns;
        self.panels_mut().for_each(|(first, width, panel)| {
            for (row, values) in panel.iter_mut().zip(values.chunks_exact(columns)) {
                match values[first..].first_chunk() {
                    Some(whole) => *row = *whole,
                    None => row[..width].copy_from_slice(&values[first..]),
                }
            }
        });
    }

    /// Takes the transpose of tight values of shape [columns, units].
    pub fn copy_transposed(&mut self, values: &[f32]) {
        let units = self.units;
        self.panels_mut().for_each(|(first, width, panel)| {
            let source = &values[first * units..(first + width) * units];
            for (i, rows) in panel.chunks_mut(SQUARE).enumerate() {
                for column in (0..width).step_by(SQUARE) {
                    let corner = &source[column * units + i * SQUARE..];
                    transpose(corner, units, rows, column, width);
                }
            }
        });
    }

    /// First column, width without padding and rows of every panel; each thread has those whose columns it is likely to work on
    /// in a product.
    fn panels_mut(&mut self) -> impl ParallelIterator<Item = (usize, usize, &mut [[f32; PANEL]])> {
        let columns = self.columns;
        let threads = Workers::All.for_products(self.units * columns * AS_A_NUMBER);
        let fewest = (columns.div_ceil(PANEL) / threads).max(1);
        let (rows, _) = self.rows.as_mut_slice().as_chunks_mut::<PANEL>();
        let panels = rows.par_chunks_exact_mut(self.units.max(1)).enumerate();
        panels.with_min_len(fewest).map(move |(panel, rows)| {
            let first = panel * PANEL;
            (first, (columns - first).min(PANEL), rows)
        })
    }

    /// Number of rows of the matrix.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Number of columns of the matrix.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All of it, from the first unit and column on.
    pub fn block(&self) -> Block<'_> {
        Block {
            values: self.rows.as_slice(),
            units: self.units,
            row_stride: PANEL,
            panel_stride: self.units * PANEL,
        }
    }

    /// One panel, [units, PANEL].
    pub fn panel(&self, panel: usize) -> &[f32] {
        &self.rows.as_slice()[panel * self.units * PANEL..][..self.units * PANEL]
    }
}

/// Writes rows of the source, `units` floats apart and as many as make `width` columns, to `column` and those after it of `to`.
#[inline(always)]
fn transpose(source: &[f32], units: usize, to: &mut [[f32; PANEL]], column: usize, width: usize) {
    let rows = SQUARE.min(width - column);
    if to.len() < SQUARE || rows < SQUARE {
        for (unit, to) in to.iter_mut().enumerate() {
            (0..rows).for_each(|row| to[column + row] = source[row * units + unit]);
        }
        return;
    }
    let square = std::array::from_fn(|row| std::array::from_fn(|unit| source[row * units + unit]));
    for (to, square) in to.iter_mut().zip(transposed(square)) {
        to[column..column + SQUARE].copy_from_slice(&square);
    }
}

/// By shuffles, which the compiler does not find by itself: a third of the time, no more than a copy takes. Every x86-64 has them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed(mut square: [[f32; SQUARE]; SQUARE]) -> [[f32; SQUARE]; SQUARE] {
    use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};
    // SAFETY: four rows of four floats each are read and written.
    unsafe {
        let [mut a, mut b, mut c, mut d] = square.each_ref().map(|row| _mm_loadu_ps(row.as_ptr()));
        _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
        for (row, values) in square.iter_mut().zip([a, b, c, d]) {
            _mm_storeu_ps(row.as_mut_ptr(), values);
        }
    }
    square
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn transposed(square: [[f32; SQUARE]; SQUARE]) -> [[f32; SQUARE]; SQUARE] {
    std::array::from_fn(|unit| square.map(|row| row[unit]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panels and squares with and without a rest.
    #[test]
    fn panels_hold_the_matrix_and_its_transpose() {
        for (units, columns) in [(1, 1), (3, 37), (8, 32), (13, 70), (64, 96), (130, 33)] {
            let values: Vec<f32> = (0..units * columns).map(|i| i as f32 + 1.0).collect();
            let mut panels = Panels::zeros(units, columns);
            let check = |panels: &Panels, value: &dyn Fn(usize, usize) -> f32| {
                for panel in 0..columns.div_ceil(PANEL) {
                    let (rows, _) = panels.panel(panel).as_chunks::<PANEL>();
                    for (unit, row) in rows.iter().enumerate() {
                        for (i, found) in row.iter().enumerate() {
                            let column = panel * PANEL + i;
                            let expected = if column < columns { value(unit, column) } else { 0.0 };
                            assert_eq!(*found, expected, "{units} x {columns}: {unit}, {column}");
                        }
                    }
                }
            };
            panels.copy(&values);
            check(&panels, &|unit, column| values[unit * columns + column]);
            panels.copy_transposed(&values);
            check(&panels, &|unit, column| values[column * units + unit]);
        }
    }
}
