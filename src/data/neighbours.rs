//! Nearest rows: does a model repeat the rows it was trained on?

use std::borrow::Cow;

use rayon::prelude::*;

use crate::engine::BitMatrix;
use crate::units::Variables;

/// The nearest row of a set, and the number of variables that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// Number of variables in different states (Hamming distance).
    pub distance: u32,
    /// The row; the first of several equally near ones.
    pub row: usize,
}

/// For every row of `of` the nearest of `among`, which has the same variables. Cost: all pairs, a word of 64 units at a time.
///
/// `None` where `among` has no rows.
pub fn nearest_rows(
    of: &BitMatrix,
    among: &BitMatrix,
    variables: &Variables,
) -> Option<Vec<Neighbour>> {
    // With all states as columns two of them differ where a variable does.
    let columns = if variables.is_bits() { 1 } else { 2 };
    let states = |rows| match columns {
        1 => Cow::Borrowed(rows),
        _ => Cow::Owned(with_all_states(rows, variables)),
    };
    let (of, among) = (states(of), states(among));
    let nearest = |row: usize| {
        let differing = |other: usize| -> u32 {
            let words = of.row(row).iter().zip(among.row(other));
            words.map(|(a, b)| (a ^ b).count_ones()).sum::<u32>() / columns
        };
        (0..among.rows()).map(|row| Neighbour { distance: differing(row), row }).min()
    };
    (0..of.rows()).into_par_iter().map(nearest).collect()
}

/// Rows with one column for every state, the implicit ones too: variables in the same state have one set column in common.
pub(super) fn with_all_states(rows: &BitMatrix, variables: &Variables) -> BitMatrix {
    let columns = variables.of(rows.columns()).map(|variable| variable.states()).sum();
    let mut all = BitMatrix::zeros(rows.rows(), columns);
    for row in 0..rows.rows() {
        let mut first = 0;
        for variable in variables.of(rows.columns()) {
            let set = variable.range().position(|column| rows.get(row, column));
            all.set(row, first + set.unwrap_or(variable.states() - 1), true);
            first += variable.states();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rows_are_found_with_their_distances() {
        // Row r of `among` has its first 10 r units on; 130 columns take three words.
        let among = BitMatrix::from_fn(14, 130, |row, i| i < 10 * row);
        let of = BitMatrix::from_fn(3, 130, |row, i| match row {
            0 => i < 33,
            1 => i < 35,
            _ => i >= 1,
        });
        let at = |row, distance| Neighbour { distance, row };
        // 35 lies between 30 and 40: the first counts.
        let bits = Variables::BITS;
        assert_eq!(nearest_rows(&of, &among, &bits).unwrap(), [at(3, 3), at(3, 5), at(13, 1)]);
        assert_eq!(nearest_rows(&of, &BitMatrix::zeros(0, 130), &bits), None);
        // Columns 0 to 2, with "none is set"; columns 3 to 6; column 7.
        let variables: Variables = "3+,4,1+".parse().unwrap();
        let row = |set: &[usize]| BitMatrix::from_fn(1, 8, |_, i| set.contains(&i));
        let of = row(&[0, 3]);
        for (other, distance) in
            [(&[0usize, 3][..], 0), (&[3], 1), (&[1, 3], 1), (&[0, 3, 7], 1), (&[2, 5, 7], 3)]
        {
            assert_eq!(nearest_rows(&of, &row(other), &variables).unwrap(), [at(0, distance)]);
        }
    }
}
