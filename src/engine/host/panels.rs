//! Whole numbers cut into panels of 32 columns, each contiguous.
//!
//! A row of a panel is two cache lines. Contiguous panels keep cuts of 192 rows (24 KB) in the L1 cache, where rows of
//! a plain matrix would fall into a few cache sets only.

use rayon::prelude::*;

use super::InstructionSet;
use super::fixed_point::{fewest_panels, whole, wholes};
use super::instruction_set::for_every_instruction_set;
use super::look_up::Block;
use crate::engine::{Groups, PANEL};

/// Side of the squares that are transposed in registers.
const SQUARE: usize = 4;

/// Panels of a matrix of shape [units, columns]; the last one is padded with zeros.
#[derive(Clone, Debug)]
pub struct Panels {
    units: usize,
    columns: usize,
    /// One group per (panel, unit).
    rows: Groups<i32>,
}

impl Panels {
    /// All zeros.
    pub fn zeros(units: usize, columns: usize) -> Self {
        Self { units, columns, rows: Groups::filled(columns.div_ceil(PANEL) * units, 0) }
    }

    /// Takes values of shape [units, columns], rows `stride` apart, times `inverse` of their columns.
    pub fn copy(&mut self, set: InstructionSet, values: &[f32], stride: usize, inverse: &[f32]) {
        let columns = self.columns;
        self.panels_mut().for_each(|(first, panel)| {
            let width = (columns - first).min(PANEL);
            copy_panel(set, &values[first..], stride, width, &inverse[first..], panel);
        });
    }

    /// Takes the transpose of tight values of shape [columns, units], times `inverse` of their columns.
    pub fn copy_transposed(&mut self, set: InstructionSet, values: &[f32], inverse: &[f32]) {
        let (units, columns) = (self.units, self.columns);
        self.panels_mut().for_each(|(first, panel)| {
            let source = &values[first * units..(first + PANEL).min(columns) * units];
            transpose_panel(set, source, units, &inverse[first..], panel);
        });
    }

    /// First column and rows of every panel.
    fn panels_mut(&mut self) -> impl ParallelIterator<Item = (usize, &mut [[i32; PANEL]])> {
        let fewest = fewest_panels(self.units, self.columns);
        let (rows, _) = self.rows.as_mut_slice().as_chunks_mut::<PANEL>();
        let panels = rows.par_chunks_exact_mut(self.units.max(1)).enumerate();
        panels.with_min_len(fewest).map(|(panel, rows)| (panel * PANEL, rows))
    }

    /// From this unit and column on.
    pub fn block(&self, unit: usize, column: usize) -> Block<'_> {
        let panel_stride = self.units * PANEL;
        let first = column / PANEL * panel_stride + unit * PANEL + column % PANEL;
        Block { values: &self.rows.as_slice()[first..], panel_stride }
    }
}

for_every_instruction_set! {
    fn copy_panel(
        values: &[f32],
        stride: usize,
        width: usize,
        inverse: &[f32],
        panel: &mut [[i32; PANEL]]
    ) = copy
}

#[inline(always)]
fn copy(values: &[f32], stride: usize, width: usize, inverse: &[f32], panel: &mut [[i32; PANEL]]) {
    for (row, values) in panel.iter_mut().zip(values.chunks(stride)) {
        match width {
            PANEL => wholes(values, inverse, row),
            _ => wholes(values, inverse, &mut row[..width]),
        }
    }
}

for_every_instruction_set! {
    fn transpose_panel(
        source: &[f32],
        units: usize,
        inverse: &[f32],
        panel: &mut [[i32; PANEL]]
    ) = transpose
}

#[inline(always)]
fn transpose(source: &[f32], units: usize, inverse: &[f32], panel: &mut [[i32; PANEL]]) {
    let width = source.len() / units;
    for (i, rows) in panel.chunks_mut(SQUARE).enumerate() {
        for column in (0..width).step_by(SQUARE) {
            let corner = &source[column * units + i * SQUARE..];
            let (count, inverse) = (SQUARE.min(width - column), &inverse[column..]);
            if rows.len() < SQUARE || count < SQUARE {
                for (unit, to) in rows.iter_mut().enumerate() {
                    for n in 0..count {
                        to[column + n] = whole([corner[n * units + unit]; 4], [inverse[n]; 4])[0];
                    }
                }
                continue;
            }
            let Some(inverse) = inverse.first_chunk() else { continue };
            let square =
                std::array::from_fn(|row| std::array::from_fn(|unit| corner[row * units + unit]));
            for (to, square) in rows.iter_mut().zip(transposed(square)) {
                to[column..column + SQUARE].copy_from_slice(&whole(square, *inverse));
            }
        }
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

    /// Panels and squares with and without a rest, on every instruction set.
    #[test]
    fn panels_hold_the_matrix_and_its_transpose() {
        for (units, columns) in
            [(1_usize, 1_usize), (3, 37), (8, 32), (13, 70), (64, 96), (130, 33)]
        {
            let values: Vec<f32> = (0..units * columns).map(|i| i as f32 + 1.0).collect();
            let inverse: Vec<f32> = (0..columns).map(|j| 1.0 + (j % 3) as f32).collect();
            let check = |panels: &Panels, value: &dyn Fn(usize, usize) -> f32| {
                for panel in 0..columns.div_ceil(PANEL) {
                    let (rows, _) = panels.block(0, panel * PANEL).values.as_chunks::<PANEL>();
                    for (unit, row) in rows[..units].iter().enumerate() {
                        for (i, found) in row.iter().enumerate() {
                            let column = panel * PANEL + i;
                            let inside = column < columns;
                            let expected =
                                if inside { value(unit, column) * inverse[column] } else { 0.0 };
                            assert_eq!(
                                *found, expected as i32,
                                "{units} x {columns}: {unit}, {column}"
                            );
                        }
                    }
                }
            };
            for set in InstructionSet::available() {
                let mut panels = Panels::zeros(units, columns);
                panels.copy(set, &values, columns, &inverse);
                check(&panels, &|unit, column| values[unit * columns + column]);
                panels.copy_transposed(set, &values, &inverse);
                check(&panels, &|unit, column| values[column * units + unit]);
            }
        }
    }
}
