//! Which adjacent columns of binary rows are one categorical variable.
//!
//! From left to right, the first of these that holds from a column on:
//! - exactly one column is set in every row: a variable of one-hot columns, the fewest columns for which it is so;
//! - at most one is set in every row, up to the first column that meets an earlier one, if there is evidence: a variable with the
//!   implicit state "no column is set";
//! - neither: a bit.
//!
//! Where blocks of one size from the first column on break no row, the table is taken for a sequence of such variables. One-hot ones are as
//! many as columns are set in a row: the last states of some may never occur. With an implicit state, most variables found must be of that
//! size: at some positions all letters but one are rare.
//!
//! Evidence is the number of rows in which two of the columns would be set together if they were independent, at least [`EXPECTED`]: rare
//! columns that never meet by chance stay bits. The probability that independent columns never meet where 20 meetings are expected is
//! e^-20.

use std::fmt;

use serde::Serialize;

use crate::engine::BitMatrix;
use crate::units::{Variables, counted};

/// Fewest meetings expected of independent columns that never meet.
const EXPECTED: f64 = 20.0;
/// The same of the last column with the others: without it a rare bit would be taken for a state of the variable before it.
const EXPECTED_OF_LAST: f64 = 5.0;
/// Most columns of a variable.
const MOST_COLUMNS: usize = 1000;

/// The variables of rows, [N, M].
pub fn find_variables(rows: &BitMatrix) -> Variables {
    let columns = Columns::of(rows);
    let (mut first, mut sizes) = (0, Vec::new());
    while first < columns.len() {
        let found = match columns.one_hot(first) {
            Some(size) => vec![(size, false)],
            None => columns.exclusive(first),
        };
        first += found.iter().map(|(size, _)| size).sum::<usize>();
        sizes.extend(found);
    }
    let sizes = columns.periodic(&sizes).unwrap_or(sizes);
    Variables::new(sizes).unwrap_or_default()
}

/// What categorical variables gain over bits in a description by independent sites.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grouping {
    /// The variables as text, see [`Variables`].
    pub variables: String,
    /// Number of categorical variables.
    pub categorical: usize,
    /// Number of bits.
    pub bits: usize,
    /// Mean log-likelihood of the rows under independent variables with their marginals, in nats a row.
    pub independent: f64,
    /// The same of independent bits.
    pub independent_bits: f64,
}

impl Grouping {
    /// Of rows with these numbers of ones in their columns; `None` for bits.
    pub fn of(variables: &Variables, counts: &[u64], rows: usize) -> Option<Self> {
        let independent = |variables: &Variables| {
            let eta = variables.logits_of_counts(counts, rows, PSEUDO_COUNT);
            let linear: f64 = eta.iter().zip(counts).map(|(a, n)| f64::from(*a) * *n as f64).sum();
            linear / rows as f64 - variables.log_partition(eta.into_iter().map(f64::from))
        };
        let (categorical, bits) = variables.counts(counts.len());
        (!variables.is_bits() && !variables.has_reals()).then(|| Self {
            variables: variables.to_string(),
            categorical,
            bits,
            independent: independent(variables),
            independent_bits: independent(&Variables::BITS),
        })
    }
}

/// Rows added to every state of an independent variable (Krichevsky and Trofimov 1981: a half).
const PSEUDO_COUNT: f64 = 0.5;

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = match self.bits {
            0 => String::new(),
            bits => format!(" and {}", counted(bits, "bit")),
        };
        write!(
            f,
            "{}{bits} ({}): independent sites have {:.2} nats a row with them, {:.2} as bits",
            counted(self.categorical, "categorical variable"),
            self.variables,
            self.independent,
            self.independent_bits
        )
    }
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

    /// Blocks of one size that break no row: one-hot ones, or with an implicit state if more than half of the columns are in such variables.
    fn periodic(&self, found: &[(usize, bool)]) -> Option<Vec<(usize, bool)>> {
        let whole = |first: usize, (size, implicit): (usize, bool)| {
            let mut union = vec![0; self.bits.row(first).len()];
            let set: u64 = self.ones[first..first + size].iter().sum();
            (implicit || set == self.rows())
                && (first..first + size).all(|column| self.joins(column, &mut union))
        };
        let blocks = |size: usize| (0..self.len()).step_by(size);
        let most = |kind: &&(usize, bool)| {
            let alike = found.iter().filter(|other| other == kind).count();
            kind.1 && alike * kind.0 * 2 > self.len()
        };
        // As many one-hot variables as columns are set in a row.
        let one_hot = found.iter().any(|(size, implicit)| *size > 1 && !implicit);
        let all = self.ones.iter().sum::<u64>().max(1);
        let size = (self.len() as u64 * self.rows() / all) as usize;
        let mut kinds =
            one_hot.then_some((size, false)).into_iter().chain(found.iter().find(most).copied());
        let regular = |&kind: &(usize, bool)| {
            let fits = kind.0 > 1 && self.len().is_multiple_of(kind.0);
            fits && blocks(kind.0).all(|first| whole(first, kind))
        };
        kinds.find(regular).map(|kind| blocks(kind.0).map(|_| kind).collect())
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
    fn one_hot(&self, first: usize) -> Option<usize> {
        let mut union = vec![0; self.bits.row(first).len()];
        let mut set = 0;
        for column in first..self.len().min(first + MOST_COLUMNS) {
            if !self.joins(column, &mut union) {
                return None;
            }
            set += self.ones[column];
            if set == self.rows() {
                // One column that is always set is a constant bit, whatever empty columns are before it.
                let varies = self.ones[column] < set;
                return (varies && set as f64 > EXPECTED).then_some(column + 1 - first);
            }
        }
        None
    }

    /// The columns from `first` up to one that meets them, if there is evidence, else a bit.
    fn exclusive(&self, first: usize) -> Vec<(usize, bool)> {
        let mut union = vec![0; self.bits.row(first).len()];
        let (mut set, mut expected) = (0, Vec::new());
        for column in first..self.len().min(first + MOST_COLUMNS) {
            if !self.joins(column, &mut union) {
                break;
            }
            expected.push(self.ones[column] as f64 * set as f64 / self.rows().max(1) as f64);
            set += self.ones[column];
        }
        let all = expected.len();
        // Rare columns at the end may be bits, unless a one-hot variable begins where they end.
        let end = first + all;
        if end < self.len() && self.one_hot(end).is_none() {
            while expected.last().is_some_and(|last| *last < EXPECTED_OF_LAST) {
                expected.pop();
            }
        }
        if expected.iter().sum::<f64>() < EXPECTED {
            return vec![(1, true)];
        }
        let bits = std::iter::repeat_n((1, true), all - expected.len());
        [(expected.len(), true)].into_iter().chain(bits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    /// Rows with states drawn for each variable, shares 1/states.
    fn rows(variables: &Variables, columns: usize, n: usize) -> BitMatrix {
        let means = variables.means(vec![0.0; columns]);
        let mut bits = BitMatrix::zeros(n, columns);
        let streams = Streams::new(1, Purpose::TestSystem, 0);
        for row in 0..n {
            let mut stream = streams.row(row as u32);
            variables.draw(&means, || stream.uniform(), bits.row_mut(row));
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
        // A column that is always set, after columns that never are.
        let constant = BitMatrix::from_fn(2000, 7, |row, i| i == 5 || i < 2 && row % 2 == i);
        assert_eq!(find_variables(&constant).to_string(), "2,5*1+");
        let constant = BitMatrix::from_fn(2000, 8, |_, i| i == 5);
        assert!(find_variables(&constant).is_bits());
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

    /// States that no training row has are found where the variables have one size, wherever they lie; in others where they are not last.
    #[test]
    fn states_that_never_occur_do_no_harm() {
        let variables: Variables = "3*4".parse().unwrap();
        let all = rows(&variables, 12, 2000);
        for missing in [&[5][..], &[3], &[2, 3, 11], &[6, 7]] {
            let kept = |row: &usize| missing.iter().all(|&column| !all.get(*row, column));
            let without = all.select((0..2000).filter(kept));
            assert_eq!(find_variables(&without), variables, "{missing:?}");
        }
        let variables: Variables = "3,4,5".parse().unwrap();
        let all = rows(&variables, 12, 2000);
        let without = all.select((0..2000).filter(|&row| !all.get(row, 4)));
        assert_eq!(find_variables(&without), variables);
    }
}
