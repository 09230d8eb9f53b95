//! Nearest rows: does a model repeat the rows it was trained on?

use rayon::prelude::*;

use crate::ops::BitMatrix;

/// The nearest row of a set, and the number of units that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// Number of units that differ (Hamming distance).
    pub distance: u32,
    /// The row; the first of several equally near ones.
    pub row: usize,
}

/// For every row of `of` the nearest of `among`, which has the same columns. Cost: all pairs, a word of 64 units at a time.
///
/// `None` where `among` has no rows.
pub fn nearest_rows(of: &BitMatrix, among: &BitMatrix) -> Option<Vec<Neighbour>> {
    let nearest = |row: usize| {
        let differing = |other: usize| -> u32 {
            let words = of.row(row).iter().zip(among.row(other));
            words.map(|(a, b)| (a ^ b).count_ones()).sum()
        };
        (0..among.rows()).map(|row| Neighbour { distance: differing(row), row }).min()
    };
    (0..of.rows()).into_par_iter().map(nearest).collect()
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
        assert_eq!(nearest_rows(&of, &among).unwrap(), [at(3, 3), at(3, 5), at(13, 1)]);
        assert_eq!(nearest_rows(&of, &BitMatrix::zeros(0, 130)), None);
    }
}
