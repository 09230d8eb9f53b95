//! Tables of f64: one row a state or chain, one column an inverse temperature.

/// Numbers of shape [rows, columns], row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: usize,
    numbers: Vec<f64>,
}

impl Table {
    /// Zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, numbers: vec![0.0; rows * columns] }
    }

    /// From whole rows of `columns` numbers each, one after the other; a part of a row at the end is no row.
    pub fn from_numbers(columns: usize, numbers: Vec<f64>) -> Self {
        debug_assert!(numbers.len().is_multiple_of(columns.max(1)));
        Self { columns, numbers }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.numbers.len() / self.columns.max(1)
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.columns..][..self.columns]
    }

    /// One row, for writing.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.numbers[row * self.columns..][..self.columns]
    }

    /// All rows.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.numbers.chunks_exact(self.columns.max(1))
    }

    /// All rows, for writing.
    pub(crate) fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, f64> {
        self.numbers.chunks_exact_mut(self.columns.max(1))
    }

    /// One column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = f64> + Clone {
        self.numbers.iter().skip(column).step_by(self.columns.max(1)).copied()
    }

    /// The last column: what belongs to beta = 1.
    pub(crate) fn last_column(&self) -> impl Iterator<Item = f64> + Clone {
        self.column(self.columns.saturating_sub(1))
    }

    /// Sums of the columns, in the order of the rows.
    pub(crate) fn column_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for row in self.rows() {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        sums
    }

    /// Adds `factor` times another table of the same shape.
    pub fn add(&mut self, factor: f64, other: &Self) {
        self.numbers.iter_mut().zip(&other.numbers).for_each(|(sum, x)| *sum += factor * x);
    }

    /// Every row times a number of its own, `[rows]`.
    pub fn scaled(&self, factors: &[f64]) -> Self {
        let rows = self.rows().zip(factors);
        let numbers = rows.flat_map(|(row, factor)| row.iter().map(move |x| x * factor)).collect();
        Self { columns: self.columns, numbers }
    }

    /// Columns of these indices alone.
    pub fn select(&self, columns: &[usize]) -> Self {
        let numbers = self.rows().flat_map(|row| columns.iter().map(|&column| row[column]));
        Self { columns: columns.len(), numbers: numbers.collect() }
    }

    /// Rows `from` up to `to` alone.
    pub fn between(&self, from: usize, to: usize) -> Self {
        let numbers = self.numbers[from * self.columns..to * self.columns].to_vec();
        Self { columns: self.columns, numbers }
    }

    /// Adds the rows of another table at the end.
    pub fn extend(&mut self, other: &Self) {
        self.columns = other.columns;
        self.numbers.extend_from_slice(&other.numbers);
    }

    /// All numbers, row by row.
    pub fn as_slice(&self) -> &[f64] {
        &self.numbers
    }

    /// All numbers for writing.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_where_they_belong() {
        let mut table = Table::from_numbers(3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((table.len(), table.row(1)), (2, &[4.0, 5.0, 6.0][..]));
        assert_eq!(table.column(1).collect::<Vec<_>>(), [2.0, 5.0]);
        assert_eq!(table.last_column().collect::<Vec<_>>(), [3.0, 6.0]);
        assert_eq!(table.column_sums(), [5.0, 7.0, 9.0]);
        assert_eq!(table.scaled(&[2.0, 0.5]).as_slice(), [2.0, 4.0, 6.0, 2.0, 2.5, 3.0]);
        assert_eq!(table.select(&[2, 0]).as_slice(), [3.0, 1.0, 6.0, 4.0]);
        table.add(-1.0, &table.clone());
        assert_eq!(table, Table::zeros(2, 3));
        table.extend(&Table::zeros(1, 3));
        assert_eq!(table.between(1, 3), Table::zeros(2, 3));
    }
}
