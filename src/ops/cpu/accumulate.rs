//! The product of packed binary rows with a dense matrix: `out[s, :] += sum of matrix[i, :] over set bits i of row s`.
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

use super::Panels;
use super::look_up::{At, Block, PackedRows, with_table, without_table};
use super::shape::{GROUP, Product};
use crate::ops::{Matrix, PANEL, words_per_row};

/// Fewest rows for which tables pay (measured: `cargo bench --bench kernels -- crossover`).
const FEWEST_ROWS: usize = 16;

/// Adds the product to rows of `stride` floats (whole panels). The packed rows have `matrix.units()` bits.
///
/// Panics if the slices do not fit these shapes (a bug in the caller, never input).
pub fn accumulate(how: Product, matrix: &Panels, rows: &mut PackedRows<'_>) {
    assert!(rows.words == words_per_row(matrix.units()) && rows.stride >= matrix.columns());
    rows.check();
    if rows.given.len() < FEWEST_ROWS * rows.words {
        let add_up = without_table(how.set);
        for panel in 0..rows.stride / PANEL {
            for (word, units) in matrix.panel(panel).chunks(64 * PANEL).enumerate() {
                // SAFETY: the instruction set was detected on this machine.
                unsafe { add_up(rows, word, panel * PANEL, units) };
            }
        }
        return;
    }
    accumulate_block(how, &matrix.block(), rows);
}

/// As [`accumulate`] with many packed rows, of any matrix that fills the columns of the output: nothing is copied, since a table reads
/// each matrix row once.
pub fn accumulate_block(how: Product, matrix: &Block<'_>, rows: &mut PackedRows<'_>) {
    assert!(rows.words == words_per_row(matrix.units));
    rows.check();
    let columns = rows.stride;
    look_up(how, matrix, columns, &sparse_words(rows), &mut how.shape.table(), rows);
}

/// Which words of the rows are sparse, see [`Rows::sparse`].
fn sparse_words(rows: &PackedRows<'_>) -> Vec<bool> {
    (0..rows.words).map(|word| rows.sparse(word)).collect()
}

/// Table by table, all units of some columns before the next columns.
pub fn look_up(
    how: Product,
    matrix: &Block<'_>,
    columns: usize,
    sparse: &[bool],
    table: &mut Matrix,
    rows: &mut PackedRows<'_>,
) {
    let mut column = 0;
    while column < columns {
        let shape = how.shape.within(columns - column);
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
            let at = At { word, bit: (first % 64) as u32, column, sparse: sparse[word] };
            // SAFETY: the instruction set was detected on this machine.
            unsafe {
                tabulate(&block, table.as_mut_slice());
                look_up(rows, at, table.as_slice());
            }
        }
        column += shape.columns;
    }
}
