//! Sequences that look like the splice-junction data (Statlog DNA), with planted structure.
//!
//! 60 nucleotides as 180 bits: nucleotide i sets bit 3i for A, 3i + 1 for C, 3i + 2 for G, and none for T.
//!
//! Planted, with numbers rounded from the real training set:
//! - three classes: 1 exon to intron (donor), 2 intron to exon (acceptor), 3 neither, with shares .24, .23 and .53;
//! - class consensus: positions 28 to 36 of class 1 ([C/A]AG|GT[A/G]AGT) and 17 to 30 of class 2 (pyrimidines, CAG|G);
//! - neighbours: a first-order Markov chain, with CG rare;
//! - four long-range pairs ([`DnaLike::PAIRS`]) in all classes: the second nucleotide favours the complement of the
//!   first (A-T, C-G) by odds of e.
//!
//! The conditional of nucleotide i given those before it and the class is proportional to
//! chain(previous, x) * consensus(class, i, x) / background(x) * pair(first of the pair, x).

use serde::{Deserialize, Serialize};

use super::check_size;
use crate::data::{Dataset, Values};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Stream, Streams};
use crate::error::Result;
use crate::keys::section;
use crate::numerics::index_at;

const LENGTH: usize = 60;
const STEP: u64 = 1;
const CLASS_SHARES: [f64; 3] = [0.24, 0.23, 0.53];
/// A, C, G, T.
const BACKGROUND: [f64; 4] = [0.23, 0.27, 0.26, 0.24];
/// Row: previous nucleotide.
const CHAIN: [[f64; 4]; 4] = [
    [0.26, 0.22, 0.32, 0.20],
    [0.27, 0.32, 0.11, 0.30],
    [0.25, 0.25, 0.31, 0.19],
    [0.14, 0.27, 0.33, 0.26],
];
/// First position, and frequencies of A, C, G, T from there on.
const DONOR: (usize, &[[f64; 4]]) = (
    28,
    &[
        [0.57, 0.13, 0.14, 0.16],
        [0.06, 0.02, 0.85, 0.07],
        [0.001, 0.001, 0.997, 0.001],
        [0.001, 0.01, 0.001, 0.988],
        [0.55, 0.02, 0.41, 0.02],
        [0.67, 0.10, 0.15, 0.08],
        [0.05, 0.05, 0.85, 0.05],
        [0.16, 0.17, 0.25, 0.42],
        [0.25, 0.19, 0.42, 0.14],
    ],
);
const PYRIMIDINES: [f64; 4] = [0.08, 0.38, 0.10, 0.44];
const ACCEPTOR: (usize, &[[f64; 4]]) = (
    17,
    &[
        PYRIMIDINES,
        PYRIMIDINES,
        PYRIMIDINES,
        PYRIMIDINES,
        PYRIMIDINES,
        PYRIMIDINES,
        PYRIMIDINES,
        PYRIMIDINES,
        PYRIMIDINES,
        BACKGROUND,
        [0.02, 0.81, 0.01, 0.16],
        [0.997, 0.001, 0.001, 0.001],
        [0.001, 0.001, 0.997, 0.001],
        [0.29, 0.15, 0.46, 0.10],
    ],
);

section! {
    /// Settings of the dna-like generator.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct DnaLike {
        /// Number of rows; 2000 are as many as the real training and validation sets have together.
        rows: usize = 2000 => unit("rows");
        /// Seed of the rows.
        seed: u64 = 0 => example("1");
    }
}

impl DnaLike {
    /// Planted pairs of nucleotide positions, counted from 0.
    pub const PAIRS: [(usize, usize); 4] = [(3, 42), (7, 48), (11, 53), (14, 57)];

    /// Generates the data set, 180 columns, labels 1 to 3.
    ///
    /// # Errors
    /// [`crate::Error::Config`] for no rows or more than the limits allow.
    pub fn generate(&self) -> Result<Dataset> {
        check_size(self.rows, 3 * LENGTH)?;
        let mut bits = BitMatrix::zeros(self.rows, 3 * LENGTH);
        let mut labels = Vec::with_capacity(self.rows);
        let streams = Streams::new(self.seed, Purpose::Generator, STEP);
        for row in 0..self.rows {
            let mut stream = streams.row(row as u32);
            let class = draw(&CLASS_SHARES, &mut stream);
            labels.push(class as i64 + 1);
            let mut sequence = [0; LENGTH];
            for i in 0..LENGTH {
                let nucleotide = draw(&conditional(class, i, &sequence), &mut stream);
                sequence[i] = nucleotide;
                if nucleotide < 3 {
                    bits.set(row, 3 * i + nucleotide, true);
                }
            }
        }
        Dataset::new("dna-like", Values::Binary(bits), Some(labels), None)
    }
}

/// Weights of nucleotide `i`, not normalised, given class (from 0) and the nucleotides before it.
fn conditional(class: usize, i: usize, sequence: &[usize; LENGTH]) -> [f64; 4] {
    let chain = if i == 0 { BACKGROUND } else { CHAIN[sequence[i - 1]] };
    let consensus = [Some(DONOR), Some(ACCEPTOR), None][class]
        .and_then(|(start, columns)| columns.get(i.checked_sub(start)?));
    let first = DnaLike::PAIRS.iter().find(|(_, second)| *second == i).map(|pair| pair.0);
    std::array::from_fn(|x| {
        let consensus = consensus.map_or(1.0, |column| column[x] / BACKGROUND[x]);
        // The complement of A, C, G, T is T, G, C, A.
        let pairs = first.is_some_and(|first| sequence[first] == 3 - x);
        chain[x] * consensus * if pairs { std::f64::consts::E } else { 1.0 }
    })
}

/// An index with probability proportional to its weight.
fn draw(weights: &[f64], stream: &mut Stream) -> usize {
    let point = stream.uniform() * weights.iter().sum::<f64>();
    index_at(weights.iter().copied(), point).unwrap_or(weights.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 20_000;

    /// Nucleotides and class (from 0) of every row.
    fn sequences() -> Vec<([usize; LENGTH], usize)> {
        let data = DnaLike { rows: ROWS, seed: 5 }.generate().unwrap();
        let Values::Binary(bits) = &data.values else { panic!("grey") };
        let labels = data.labels.as_ref().unwrap();
        (0..ROWS)
            .map(|row| {
                let sequence = std::array::from_fn(|i| {
                    let set: Vec<_> = (0..3).filter(|x| bits.get(row, 3 * i + x)).collect();
                    assert!(set.len() <= 1, "row {row}, nucleotide {i}");
                    set.first().copied().unwrap_or(3)
                });
                (sequence, labels[row] as usize - 1)
            })
            .collect()
    }

    #[track_caller]
    fn assert_rate(hits: usize, n: usize, p: f64) {
        // 5 standard errors of a binomial frequency.
        let rate = hits as f64 / n as f64;
        assert!(
            (rate - p).abs() < 5.0 * (p * (1.0 - p) / n as f64).sqrt(),
            "{rate} for {p}, n {n}"
        );
    }

    #[test]
    fn classes_neighbours_and_consensus_have_the_planted_frequencies() {
        let rows = sequences();
        for (class, share) in CLASS_SHARES.into_iter().enumerate() {
            assert_rate(rows.iter().filter(|row| row.1 == class).count(), ROWS, share);
        }
        // Positions 19 to 40 of class 3 carry neither consensus nor pairs: the chain alone.
        for (previous, expected) in CHAIN.into_iter().enumerate() {
            let steps: Vec<_> = rows
                .iter()
                .filter(|row| row.1 == 2)
                .flat_map(|(s, _)| (19..40).map(|i| (s[i], s[i + 1])))
                .filter(|step| step.0 == previous)
                .collect();
            for (next, p) in expected.into_iter().enumerate() {
                assert_rate(steps.iter().filter(|step| step.1 == next).count(), steps.len(), p);
            }
        }
        let share = |class: usize, i: usize, x: usize| {
            let of_class: Vec<_> = rows.iter().filter(|row| row.1 == class).collect();
            of_class.iter().filter(|row| row.0[i] == x).count() as f64 / of_class.len() as f64
        };
        assert!(share(0, 30, 2) > 0.99 && share(0, 31, 3) > 0.97, "GT of the donor");
        assert!(share(1, 28, 0) > 0.99 && share(1, 29, 2) > 0.99, "AG of the acceptor");
        assert!(share(2, 30, 2) < 0.35, "no consensus in class 3");
    }

    #[test]
    fn planted_pairs_are_complementary_and_others_are_not() {
        let rows = sequences();
        let complementary = |i: usize, j: usize| {
            rows.iter().filter(|(s, _)| s[i] == 3 - s[j]).count() as f64 / ROWS as f64
        };
        for (i, j) in DnaLike::PAIRS {
            // Odds of e on a base rate near 1/4 give about e / (3 + e) = .48; chance gives .25 +- .003.
            assert!((complementary(i, j) - 0.48).abs() < 0.04, "{i} {j}: {}", complementary(i, j));
            assert!((complementary(i - 1, j) - 0.25).abs() < 0.03, "{}", complementary(i - 1, j));
        }
    }

    #[test]
    fn rows_depend_on_the_seed_and_not_on_their_number() {
        let few = DnaLike { rows: 10, seed: 1 }.generate().unwrap();
        let many = DnaLike { rows: 50, seed: 1 }.generate().unwrap();
        assert_eq!(few, many.select(&(0..10).collect::<Vec<_>>()));
        assert_ne!(few, DnaLike { rows: 10, seed: 2 }.generate().unwrap());
        assert!(DnaLike { rows: 0, seed: 1 }.generate().is_err());
    }
}
