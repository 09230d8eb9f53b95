//! The real variables of a layer: their columns in tables and their numbers in packed states.

use super::{Real, Variable, Variables};
use crate::engine::{BitMatrix, for_each_set_bit, words_per_row};

impl Variables {
    /// The real variables, each with its first column.
    pub fn reals(&self) -> impl Iterator<Item = (usize, Real)> + '_ {
        self.categorical().iter().filter_map(|it| Some((it.first, it.real?)))
    }

    /// Whether one of them is real.
    pub fn has_reals(&self) -> bool {
        self.reals().next().is_some()
    }

    /// Number of columns of variables that are listed.
    pub(crate) fn columns(&self) -> usize {
        self.categorical().last().map_or(0, |last| last.range().end)
    }

    /// Of a table of `columns` columns: `real` alone is all of them.
    pub(crate) fn over(&self, columns: usize) -> Self {
        match self.categorical() {
            &[it @ Variable { real: Some(Real { scale: 0.0, .. }), .. }] => {
                Self::listed(vec![it; columns]).unwrap_or_default()
            }
            _ => self.clone(),
        }
    }

    /// The variables of a table with real ones, each with its first column there.
    pub(crate) fn of_table(&self) -> impl Iterator<Item = (usize, Variable)> + '_ {
        self.categorical().iter().scan(0, |next, &it| {
            let first = *next;
            *next += it.table_columns();
            Some((first, it))
        })
    }

    /// The cells of a packed row of `columns` columns in a table: 0 and 1, and numbers in the table's own units.
    pub fn cells(&self, row: &[u64], columns: usize) -> Vec<f64> {
        let of = |it: Variable| match it.real {
            Some(real) => vec![real.number(real.value(row))],
            None => it.range().map(|i| (row[i / 64] >> (i % 64) & 1) as f64).collect(),
        };
        self.of(columns).flat_map(of).collect()
    }

    /// Words of a packed state of `columns` columns: bits, then two real numbers a word.
    pub fn words(&self, columns: usize) -> usize {
        words_per_row(columns) + self.reals().count().div_ceil(2)
    }

    /// Room for `rows` states of `columns` columns.
    pub fn states(&self, rows: usize, columns: usize) -> BitMatrix {
        BitMatrix::with_words(rows, columns, self.words(columns))
    }

    /// Visits the statistics t(v) of a packed row of `columns` columns that are not zero: columns that are set, with 1, and v and v^2 of real
    /// variables.
    pub(crate) fn statistics(
        &self,
        row: &[u64],
        columns: usize,
        mut visit: impl FnMut(usize, f64),
    ) {
        for_each_set_bit(&row[..words_per_row(columns)], |i| visit(i, 1.0));
        for (first, real) in self.reals() {
            let v = f64::from(real.value(row));
            visit(first, v);
            visit(first + 1, v * v);
        }
    }

    /// The part of eta.t(v) that real variables have in a packed row.
    pub(crate) fn dot_of_reals(&self, row: &[u64], eta: &[f32]) -> f64 {
        let term = |(first, real): (usize, Real)| {
            let v = f64::from(real.value(row));
            v * (f64::from(eta[first]) + v * f64::from(eta[first + 1]))
        };
        self.reals().map(term).sum()
    }

    /// Whether a column is the square of a real variable, which has no weights, for each of `columns`.
    pub(crate) fn squares(&self, columns: usize) -> Vec<bool> {
        let mut squares = vec![false; columns];
        self.reals().for_each(|(first, _)| squares[first + 1] = true);
        squares
    }
}
