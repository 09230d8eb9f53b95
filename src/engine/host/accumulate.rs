//! The product of packed binary rows with a dense matrix: `out[s, :] = start + sum of matrix[i, :] over set bits i of row s`.
//!
//! This one primitive serves both layers and, with bits transposed, the gradient's outer products. Units go in groups of
//! four (nibbles of the packed words): a group's sum is formed first, in ascending order, and then added to the output,
//! group after group. That order is the definition of the result. It lets two methods give the same bits, and every
//! [`Shape`](super::Shape) of the first:
//!
//! - many rows: the 16 possible sums of every group are tabulated once ("four Russians", Arlazarov et al. 1970), some
//!   groups and columns at a time so that the table (16 to 64 KB) stays in the L1 cache; each group then
//!   costs one load and one add per vector, four times fewer than a dense product;
//! - few rows, for which tables do not pay: the rows of set bits are added one by one; zeros cost nothing.

use std::ops::Range;

use rayon::prelude::*;

use super::Panels;
use super::look_up::{Block, with_table, without_table};
use super::packed_rows::{At, PackedRows};
use super::shape::{GROUP, Product};
use crate::engine::{Matrix, PANEL, Workers, words_per_row};

/// Fewest rows for which tables pay (measured: `cargo bench --bench kernels -- crossover`).
const FEWEST_ROWS: usize = 16;

/// Writes the product to rows of whole panels. The packed rows have `matrix.units()` bits.
///
/// Panics if the slices do not fit these shapes (a bug in the caller, never input).
pub fn accumulate(how: Product, workers: Workers, matrix: &Panels, mut rows: PackedRows<'_>) {
    assert!(rows.words == words_per_row(matrix.units()) && rows.stride >= matrix.columns());
    if rows.count() < FEWEST_ROWS {
        rows.begin();
        let add_up = without_table(how.set);
        for panel in 0..rows.stride / PANEL {
            for (word, units) in matrix.panel(panel).chunks(64 * PANEL).enumerate() {
                // SAFETY: the instruction set was detected on this machine; all columns have been begun, and this is the only thread.
                unsafe { add_up(&rows, word, panel * PANEL, units) };
            }
        }
        return;
    }
    accumulate_block(how, workers, &matrix.block(), rows);
}

/// As [`accumulate`] with many packed rows, of any matrix of at least one unit that fills the columns of the output: nothing is copied,
/// since a table reads each matrix row once.
pub fn accumulate_block(how: Product, workers: Workers, matrix: &Block<'_>, rows: PackedRows<'_>) {
    assert!(rows.words == words_per_row(matrix.units) && matrix.units > 0);
    let columns = rows.stride;
    let sparse: Vec<bool> = (0..rows.words).map(|word| rows.sparse(word)).collect();
    let parts = workers.for_products(rows.count() * matrix.units * columns);
    let part = (columns / PANEL).div_ceil(parts) * PANEL;
    (0..columns.div_ceil(part)).into_par_iter().for_each(|i| {
        let columns = i * part..columns.min((i + 1) * part);
        // SAFETY: the parts have no column in common.
        unsafe { look_up(how, matrix, columns, &sparse, &mut how.shape.table(), &rows) };
    });
}

/// Some columns, whole panels, table by table: all units of some columns before the next columns.
///
/// # Safety
/// Nobody else works on these columns.
pub unsafe fn look_up(
    how: Product,
    matrix: &Block<'_>,
    columns: Range<usize>,
    sparse: &[bool],
    table: &mut Matrix,
    rows: &PackedRows<'_>,
) {
    let mut column = columns.start;
    while column < columns.end {
        let shape = how.shape.within(columns.end - column);
        let (tabulate, look_up) = with_table(how.set, shape);
        let first_column = column / PANEL * matrix.panel_stride + column % PANEL;
        let units = shape.groups * GROUP;
        for first in (0..matrix.units).step_by(units) {
            let block = Block {
                values: &matrix.values[first * matrix.row_stride + first_column..],
                units: (matrix.units - first).min(units),
                ..*matrix
            };
            let word = first / 64;
            let (bit, sparse) = ((first % 64) as u32, sparse[word]);
            let at = At { word, bit, column, sparse, first: first == 0 };
            // SAFETY: the instruction set was detected on this machine; the columns are the caller's, and their first units begin them.
            unsafe {
                tabulate(&block, table.as_mut_slice());
                look_up(rows, at, table.as_slice());
            }
        }
        column += shape.columns;
    }
}
