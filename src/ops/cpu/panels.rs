//! A dense matrix cut into panels of 32 columns, each contiguous.
//!
//! A row of a panel is two cache lines. Contiguous panels keep cuts of 192 rows (24 KB) in the L1 cache, where rows of
//! a plain matrix would fall into a few cache sets only.

use super::look_up::Block;
use crate::ops::{Matrix, PANEL};

/// Panels of a matrix of shape [units, columns]; the last one is padded with zeros.
#[derive(Clone, Debug)]
pub struct Panels {
    units: usize,
    columns: usize,
    /// One row per (panel, unit), `[PANEL]` floats each.
    rows: Matrix,
}

impl Panels {
    /// Entry (unit, column) is `values[unit * stride + column]`.
    pub fn new(units: usize, columns: usize, values: &[f32], stride: usize) -> Self {
        let panels = columns.div_ceil(PANEL);
        let mut rows = Matrix::filled(panels * units, PANEL, 0.0);
        for (panel, target) in
            rows.as_mut_slice().chunks_exact_mut((units * PANEL).max(1)).enumerate()
        {
            let first = panel * PANEL;
            let width = (columns - first).min(PANEL);
            for (unit, row) in target.chunks_exact_mut(PANEL).enumerate() {
                row[..width].copy_from_slice(&values[unit * stride + first..][..width]);
            }
        }
        Self { units, columns, rows }
    }

    /// The transpose of a tight matrix of shape [columns, units]: entry (unit, column) is `values[column, unit]`.
    pub fn transposed(columns: usize, units: usize, values: &[f32]) -> Self {
        /// Units written together, so that the lines of the source are used while they are in the L1 cache.
        const TOGETHER: usize = 16;
        let mut rows = Matrix::filled(columns.div_ceil(PANEL) * units, PANEL, 0.0);
        for (panel, target) in
            rows.as_mut_slice().chunks_exact_mut((units * PANEL).max(1)).enumerate()
        {
            let first = panel * PANEL;
            for unit in (0..units).step_by(TOGETHER) {
                for column in first..columns.min(first + PANEL) {
                    for unit in unit..units.min(unit + TOGETHER) {
                        target[unit * PANEL + column - first] = values[column * units + unit];
                    }
                }
            }
        }
        Self { units, columns, rows }
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
