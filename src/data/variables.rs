//! Which adjacent columns of binary rows are one categorical variable.
//!
//! From left to right, the first of these that holds from a column on:
//! - exactly one column is set in every row: a variable of one-hot columns, the fewest columns for which it is so;
//! - at most one is set in every row, for as many columns as give evidence: a variable with the implicit state "no column is set";
//! - neither: a bit.
//!
//! Where most variables found are of one size with an implicit state, and blocks of that size from the first column on break no row, the
//! table is taken for a sequence of such variables: at some positions all letters but one are rare.
//!
//! Evidence for a column is the number of rows in which it would be set together with an earlier column of the variable if they were
//! independent, at least [`EXPECTED`]: rare columns that never meet by chance stay bits. The probability that independent columns never
//! meet where 20 meetings are expected is e^-20.

use crate::ops::BitMatrix;
use crate::units::Variables;

/// Fewest meetings expected of independent columns that never meet.
const EXPECTED: f64 = 20.0;
/// Most columns of a variable.
const MOST_COLUMNS: usize = 1000;

/// The variables of rows, [N, M].
pub fn find_variables(rows: &BitMatrix) -> Variables {
    let columns = Columns::of(rows);
    let (mut first, mut sizes) = (0, Vec::new());
    while first < columns.len() {
        let size = columns.one_hot(first).unwrap_or_else(|| columns.exclusive(first));
        sizes.push(size);
        first += size.0;
    }
    let sizes = columns.periodic(&sizes).unwrap_or(sizes);
    Variables::new(sizes).unwrap_or_default()
}

/// The columns as packed rows of their own.
struct Columns {
    bits: BitMatrix,
    ones: Vec<u64>,
}

impl Columns {
    fn of(rows: &BitMatrix) -> Self {
        Self { bits: rows.transposed(), ones: rows.column_counts() }
    }

    fn len(&self) -> usize {
        self.ones.len()
    }

    fn rows(&self) -> u64 {
        self.bits.columns() as u64
    }

    /// Blocks of one size with an implicit state, if more than half of the columns are in such variables and no block is broken.
    fn periodic(&self, found: &[(usize, bool)]) -> Option<Vec<(usize, bool)>> {
        let mut sizes: Vec<usize> = found.iter().map(|(size, _)| *size).collect();
        sizes.sort_unstable();
        let size = sizes[sizes.len() / 2];
        let alike = found.iter().filter(|variable| **variable == (size, true)).count();
        let regular = size > 1 && self.len().is_multiple_of(size) && alike * size * 2 > self.len();
        let whole = |first: usize| {
            let mut union = vec![0; self.bits.row(first).len()];
            (first..first + size).all(|column| self.joins(column, &mut union))
        };
        let blocks = || (0..self.len()).step_by(size);
        (regular && blocks().all(whole)).then(|| blocks().map(|_| (size, true)).collect())
    }

    /// Adds a column to the union of others; whether it is set in none of their rows.
    fn joins(&self, column: usize, union: &mut [u64]) -> bool {
        let own = self.bits.row(column);
        if self.ones[column] > 0 && own.iter().zip(&*union).any(|(a, b)| a & b != 0) {
            return false;
        }
        union.iter_mut().zip(own).for_each(|(union, own)| *union |= own);
        true
    }

    /// The fewest columns from `first` on of which exactly one is set in every row.
    fn one_hot(&self, first: usize) -> Option<(usize, bool)> {
        let mut union = vec![0; self.bits.row(first).len()];
        let mut set = 0;
        for column in first..self.len().min(first + MOST_COLUMNS) {
            if !self.joins(column, &mut union) {
                return None;
            }
            set += self.ones[column];
            if set == self.rows() {
                let size = column + 1 - first;
                return (size > 1 && set as f64 > EXPECTED).then_some((size, false));
            }
        }
        None
    }

    /// As many columns from `first` on as exclude each other with evidence; a bit if there is only one.
    fn exclusive(&self, first: usize) -> (usize, bool) {
        let mut union = self.bits.row(first).to_vec();
        let mut set = self.ones[first];
        let mut column = first + 1;
        while column < self.len().min(first + MOST_COLUMNS) {
            let expected = self.ones[column] as f64 * set as f64 / self.rows().max(1) as f64;
            if expected < EXPECTED || !self.joins(column, &mut union) {
                break;
            }
            set += self.ones[column];
            column += 1;
        }
        (column - first, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::random::{Purpose, Streams};

    /// Rows with states drawn for each variable, shares 1/states.
    fn rows(variables: &Variables, columns: usize, n: usize) -> BitMatrix {
        let means = variables.means(vec![0.0; columns]);
        let mut bits = BitMatrix::zeros(n, columns);
        let streams = Streams::new(1, Purpose::TestSystem, 0);
        for row in 0..n {
            let mut stream = streams.row(row as u32);
            variables.draw(&means, || stream.uniform(), |i| bits.set(row, i, true));
        }
        bits
    }

    #[test]
    fn variables_are_found_in_rows_of_them() {
        for (text, columns) in [("20*3+", 60), ("5*4,2", 22), ("3*1+,4,3+,2*1+,2*2,1+", 17)] {
            let variables: Variables = text.parse().unwrap();
            let found = find_variables(&rows(&variables, columns, 2000));
            assert_eq!(found, variables, "{text}: {found}");
        }
    }

    /// Columns that are set in one row of 50 never meet their neighbours by chance, and are bits.
    #[test]
    fn rare_columns_and_pictures_stay_bits() {
        let sparse = |share: f64| {
            let mut stream = Streams::new(2, Purpose::TestSystem, 1).row(0);
            BitMatrix::from_fn(2000, 40, |_, _| stream.uniform() < share)
        };
        for share in [0.0, 0.001, 0.02, 0.1, 0.5, 1.0] {
            let found = find_variables(&sparse(share));
            assert!(found.is_bits(), "{share}: {found}");
        }
        // Ten rows are no evidence.
        let few = rows(&"20*3+".parse().unwrap(), 60, 10);
        assert!(find_variables(&few).is_bits());
    }

    /// Two positions at which nearly all rows have the implicit state.
    #[test]
    fn a_sequence_is_found_where_single_positions_have_no_evidence() {
        let variables: Variables = "20*3+".parse().unwrap();
        let all = rows(&variables, 60, 2000);
        let rare = BitMatrix::from_fn(2000, 60, |row, i| {
            all.get(row, i) && (!(12..15).contains(&i) && !(57..60).contains(&i) || row % 40 == 0)
        });
        assert_eq!(find_variables(&rare), variables);
    }

    /// A state that no training row has belongs to no variable where it comes last, and to its own where it does not.
    #[test]
    fn states_that_never_occur_do_no_harm() {
        let variables: Variables = "3*4".parse().unwrap();
        let all = rows(&variables, 12, 2000);
        let without = all.select((0..2000).filter(|&row| !all.get(row, 5)));
        assert_eq!(find_variables(&without), variables);
    }
}
