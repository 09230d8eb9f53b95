//! A dense matrix cut into panels of 32 columns, each contiguous.
//!
//! A row of a panel is two cache lines. Contiguous panels keep cuts of 192 rows (24 KB) in the L1 cache, where rows of
//! a plain matrix would fall into a few cache sets only.

use rayon::prelude::*;

use super::look_up::Block;
use crate::ops::{AS_A_NUMBER, Matrix, PANEL, Workers};

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
        /// Units written together, so that the lines of the source are used while they are in the L1 cache.
        const TOGETHER: usize = 16;
        let units = self.units;
        self.panels_mut().for_each(|(first, width, panel)| {
            for (i, rows) in panel.chunks_mut(TOGETHER).enumerate() {
                for column in 0..width {
                    let values = &values[(first + column) * units + i * TOGETHER..];
                    rows.iter_mut().zip(values).for_each(|(row, value)| row[column] = *value);
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
