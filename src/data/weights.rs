//! Weights of rows: given ones, and those of rows that are alike: 1 / the number of rows similar to it, itself included.

use rayon::prelude::*;

use super::neighbours::with_all_states;
use crate::engine::{BitMatrix, for_each_set_bit};
use crate::error::{Error, Result};
use crate::units::Variables;

/// Words that may be compared: about ten minutes of one usual core.
const MOST_WORK: f64 = 1e12;

/// The weights of rows, shape `[N]`; rows are similar if at least the fraction `share` of their variables are in the same state. Cost: every row is
/// compared with every other.
///
/// # Errors
/// So many rows that comparing them takes longer than that.
pub fn similarity_weights(rows: &BitMatrix, variables: &Variables, share: f64) -> Result<Vec<f64>> {
    let states = with_all_states(rows, variables);
    let sites = variables.of(rows.columns()).count();
    let work = (rows.rows() as f64).powi(2) * states.row(0).len() as f64;
    if work > MOST_WORK {
        return Err(Error::TooLarge(format!(
            "comparing {} rows with one another takes more than ten minutes: give fewer rows",
            rows.rows()
        )));
    }
    // The same fraction as a number of variables, whatever its last digits.
    let needed = (share * sites as f64 - 1e-9).ceil().max(0.0) as u32;
    let same =
        |a: &[u64], b: &[u64]| -> u32 { a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum() };
    let weight = |row: usize| {
        let similar = |other: &usize| same(states.row(row), states.row(*other)) >= needed;
        1.0 / (0..states.rows()).filter(similar).count() as f64
    };
    Ok((0..rows.rows()).into_par_iter().map(weight).collect())
}

/// Fewest rows that weighted rows may stand for in all.
const LEAST: f64 = 2.0;

/// Checks weights of so many rows.
///
/// # Errors
/// Another number of weights, weights that are negative or not finite, or weights that stand for fewer than two rows.
pub fn check_weights(weights: &[f64], rows: usize) -> Result<()> {
    let wrong = |problem: String| Err(Error::Invalid(format!("row weights: {problem}")));
    if weights.len() != rows {
        return wrong(format!("{} weights for {rows} rows", weights.len()));
    }
    let usable = |weight: &f64| weight.is_finite() && *weight >= 0.0;
    if let Some(row) = weights.iter().position(|weight| !usable(weight)) {
        return wrong(format!("row {}: {} is no number of at least 0", row + 1, weights[row]));
    }
    match weights.iter().sum::<f64>() {
        sum if sum >= LEAST && sum.is_finite() => Ok(()),
        sum => wrong(format!(
            "they sum to {sum}: a weight is the number of rows that a row stands for, usually 1; multiply all of them by one factor"
        )),
    }
}

/// Number of independent rows that weighted rows are worth, for errors. Where no weight is above 1 it is sum w: rows that are alike count as
/// one. It is at most (sum w)^2 / sum w^2 (Kish 1965), which is larger for such weights.
pub fn effective_rows(weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    sum * (sum / weights.iter().map(|weight| weight * weight).sum::<f64>()).min(1.0)
}

/// Ones in each column of weighted rows, in a total of as many rows as there are.
pub fn weighted_counts(rows: &BitMatrix, weights: &[f64]) -> Vec<u64> {
    let mut sums = vec![0.0; rows.columns()];
    for (row, weight) in weights.iter().enumerate() {
        for_each_set_bit(rows.columns_of(row), |column| sums[column] += weight);
    }
    let scale = rows.rows() as f64 / weights.iter().sum::<f64>();
    sums.into_iter().map(|sum| (sum * scale).round() as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    /// Against a comparison of variables one by one.
    #[test]
    fn weights_count_rows_with_the_same_states() {
        let variables: Variables = "3*3+,4,2*1+,2".parse().unwrap();
        let columns = 17;
        let mut rows = BitMatrix::zeros(60, columns);
        let streams = Streams::new(5, Purpose::TestSystem, 0);
        for row in 0..60 {
            let mut stream = streams.row(row as u32);
            let means = variables.means(vec![1.0; columns]);
            variables.draw(&means, || stream.uniform(), rows.row_mut(row));
        }
        for share in [0.1, 0.4, 4.0 / 7.0, 0.8, 1.0] {
            let weights = similarity_weights(&rows, &variables, share).unwrap();
            for (row, weight) in weights.iter().enumerate() {
                let alike = |other: &usize| {
                    let same = variables.of(columns).filter(|variable| {
                        variable.range().all(|i| rows.get(row, i) == rows.get(*other, i))
                    });
                    same.count() as f64 + 1e-9 >= share * 7.0
                };
                let similar = (0..60).filter(alike).count();
                assert_eq!(*weight, 1.0 / similar as f64, "row {row} at {share}");
            }
        }
    }

    #[test]
    fn rows_that_are_there_twice_count_as_one() {
        assert_eq!(effective_rows(&[0.5; 8]), 4.0);
        // Of equal weights above 1 there are as many independent rows as rows.
        assert_eq!(effective_rows(&[3.0; 8]), 8.0);
        assert_eq!(effective_rows(&[4.0, 0.0, 4.0, 0.0]), 2.0);
        let rows = BitMatrix::from_fn(8, 9, |row, column| (row / 2) >> column & 1 == 1);
        let weights = similarity_weights(&rows, &Variables::BITS, 1.0).unwrap();
        assert_eq!(weights, [0.5; 8]);
    }

    #[test]
    fn weighted_counts_are_weighted_means() {
        let rows = BitMatrix::from_fn(4, 3, |row, column| {
            row < 3 && column == 0 || row == 3 && column == 1
        });
        let third = 1.0 / 3.0;
        assert_eq!(weighted_counts(&rows, &[third, third, third, 1.0]), [2, 2, 0]);
        assert_eq!(weighted_counts(&rows, &[1.0; 4]), rows.column_counts());
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        for (weights, expected) in [
            (&[1.0, 1.0][..], "2 weights for 3 rows"),
            (&[1.0, -1.0, 1.0], "row 2: -1 is no number"),
            (&[1.0, 1.0, f64::NAN], "row 3: NaN"),
            (&[0.2, 0.3, 0.5], "sum to 1: a weight is the number of rows"),
            (&[f64::MAX; 3], "sum to inf"),
        ] {
            let message = check_weights(weights, 3).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert!(check_weights(&[0.0, 3.0, 0.5], 3).is_ok());
    }

    #[test]
    fn too_many_rows_are_refused() {
        let rows = BitMatrix::zeros(2_000_000, 1);
        let message = similarity_weights(&rows, &Variables::BITS, 0.8).unwrap_err().to_string();
        assert!(message.contains("give fewer rows"), "{message}");
    }
}
