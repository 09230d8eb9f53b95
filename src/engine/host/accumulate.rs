//! The product of packed binary rows with a dense matrix: `out[s, :] = start + sum of matrix[i, :] over set bits i of row s`.
//!
//! This one primitive serves both layers and, with bits transposed, the gradient's outer products. The matrix holds whole numbers
//! ([`FixedPoint`]), so all ways to add them give the same bits:
//!
//! - matrix units, where the processor has them ([`super::tiles`]), which can draw from the sums at once;
//! - many rows: the 16 possible sums of every group of four units are tabulated once ("four Russians", Arlazarov et al. 1970), some
//!   groups and columns at a time so that the table (16 to 64 KB) stays in the L1 cache; each group then
//!   costs one load and one add per vector, four times fewer than a dense product;
//! - few rows, for which tables do not pay: the rows of set bits are added one by one; zeros cost nothing.

use std::ops::Range;

use rayon::prelude::*;

use super::fixed_point::{FixedPoint, Layout};
use super::look_up::{with_table, without_table};
use super::packed_rows::{At, PackedRows};
use super::shape::{GROUP, Product};
use super::{InstructionSet, Panels};
#[cfg(target_arch = "x86_64")]
use super::{amx, tile_output::Draws, tiles::HEIGHT};
use crate::engine::{Draw, Groups, PANEL, Workers, for_each_set_bit, words_per_row};

/// Fewest rows for which tables pay (measured: `cargo bench --bench kernels -- crossover`).
const FEWEST_ROWS: usize = 16;

/// Writes the product to rows of whole panels. The packed rows have `matrix.units()` bits.
///
/// Panics if the slices do not fit these shapes (a bug in the caller, never input).
pub fn accumulate(how: Product, workers: Workers, matrix: &FixedPoint, rows: PackedRows<'_>) {
    accumulate_numbers(how, workers, matrix, &rows);
    for (column, values) in &matrix.in_floats {
        for (row, given) in rows.given.chunks_exact(rows.words).enumerate() {
            let mut sum = f64::from(rows.start[*column]);
            for_each_set_bit(given, |unit| sum += f64::from(values[unit]));
            // SAFETY: the output has this row and this column, and nobody else works on it.
            unsafe { rows.out.add(row * rows.stride + column).write(sum as f32) };
        }
    }
}

fn accumulate_numbers(how: Product, workers: Workers, matrix: &FixedPoint, rows: &PackedRows<'_>) {
    let (units, columns) = (matrix.units(), rows.stride);
    assert!(rows.words == words_per_row(units) && columns == matrix.scale.len());
    let sparse: Vec<bool> = match &matrix.layout {
        Layout::Panels(panels) if rows.count() < FEWEST_ROWS => {
            let add_up = without_table(how.set);
            for column in (0..columns).step_by(PANEL) {
                let block = panels.block(0, column);
                // SAFETY: the instruction set was detected on this machine; this is the only thread.
                unsafe { add_up(rows, column, &matrix.scale, block.values) };
            }
            return;
        }
        Layout::Panels(_) => (0..rows.words).map(|word| rows.sparse(word)).collect(),
        Layout::Planes(_) => Vec::new(),
    };
    let parts = workers.for_products(rows.count() * units * columns);
    let part = (columns / PANEL).div_ceil(parts) * PANEL;
    (0..columns.div_ceil(part)).into_par_iter().for_each(|i| {
        let columns = i * part..columns.min((i + 1) * part);
        // SAFETY: the parts have no column in common; layouts are those of detected instruction sets.
        unsafe {
            match &matrix.layout {
                Layout::Panels(panels) => {
                    let table = &mut how.shape.table();
                    look_up(how, (panels, units, &matrix.scale), columns, &sparse, table, rows);
                }
                #[cfg(target_arch = "x86_64")]
                Layout::Planes(planes) => amx::multiply(planes, &matrix.scale, columns, rows, rows),
                #[cfg(not(target_arch = "x86_64"))]
                Layout::Planes(_) => unreachable!("no matrix units on this architecture"),
            }
        }
    });
}

/// Draws from the product without keeping it, where that is faster: on matrix units. Whether it has been done. `draw`: rows and units, its
/// inputs are not read; `rows` without output.
///
/// Panics as [`accumulate`].
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub fn accumulate_and_draw(
    workers: Workers,
    matrix: &FixedPoint,
    rows: &PackedRows<'_>,
    (draw, set): (&Draw<'_>, InstructionSet),
    out: &mut [u64],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Layout::Planes(planes) = &matrix.layout
        && matrix.in_floats.is_empty()
    {
        assert!(rows.words == words_per_row(matrix.units()) && rows.stride == matrix.scale.len());
        let words = words_per_row(draw.n_units);
        let threads = workers.for_products(rows.count() * matrix.units() * rows.stride);
        let part = rows.count().div_ceil(threads).next_multiple_of(2 * HEIGHT);
        out.par_chunks_mut(part * words).enumerate().for_each(|(i, out)| {
            let here = i * part..i * part + out.len() / words;
            let first_row = draw.first_row + here.start as u32;
            let draw = Draw { beta: &draw.beta[here.clone()], first_row, ..*draw };
            let given = &rows.given[here.start * rows.words..here.end * rows.words];
            let rows = PackedRows::without_output(given, rows.words, rows.start);
            // SAFETY: layouts are those of detected instruction sets; nothing is written but draws.
            unsafe {
                let draws = Draws::new(draw, set, out);
                amx::multiply(planes, &matrix.scale, 0..rows.stride, &rows, draws);
            }
        });
        return true;
    }
    false
}

/// Some columns, whole panels, table by table: all units of some columns before the next columns. The matrix: panels, units, scale.
///
/// # Safety
/// Nobody else works on these columns.
pub(in crate::engine) unsafe fn look_up(
    how: Product,
    (panels, units, scale): (&Panels, usize, &[f32]),
    columns: Range<usize>,
    sparse: &[bool],
    table: &mut Groups<i32>,
    rows: &PackedRows<'_>,
) {
    let mut column = columns.start;
    while column < columns.end {
        let shape = how.shape.within(columns.end - column);
        let (tabulate, look_up, look_up_last) = with_table(how.set, shape);
        let step = shape.groups * GROUP;
        for first in (0..units).step_by(step) {
            let (word, left) = (first / 64, units - first);
            let (bit, sparse) = ((first % 64) as u32, sparse[word]);
            let at = At { word, bit, column, sparse, first: first == 0 };
            let look_up = if left <= step { look_up_last } else { look_up };
            // SAFETY: the instruction set was detected on this machine; the columns are the caller's, and their first units begin them.
            unsafe {
                tabulate(&panels.block(first, column), left, table.as_mut_slice());
                look_up(rows, at, scale, table.as_slice());
            }
        }
        column += shape.columns;
    }
}
