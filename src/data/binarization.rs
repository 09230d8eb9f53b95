//! Grey levels to zeros and ones.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Dataset, Values};
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BitMatrix, words_per_row};
use crate::error::{Error, Result};
use crate::keys::choice;

/// Epoch number under which evaluation sets are binarized: one draw for a whole run, shared with no training epoch.
pub const EVALUATION_EPOCH: u64 = (1 << 56) - 1;

choice! {
    /// How grey levels become zeros and ones. Binary data are not changed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub enum Binarization {
        /// Not at all: the data must be binary.
        #[default]
        None = "none",
        /// A unit is 1 where level / 255 is above this, which lies in [0, 1).
        Threshold(f64, usual 0.5 => range(0.0..1.0).unit("share of the largest level")) = "threshold",
        /// A unit is 1 with probability level / 255, drawn again in every epoch (Salakhutdinov and Murray 2008).
        Stochastic = "stochastic",
    }
}

impl fmt::Display for Binarization {
    /// In the form of the command line: `none`, `stochastic`, or the threshold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Stochastic => f.write_str("stochastic"),
            Self::Threshold(threshold) => write!(f, "{threshold}"),
        }
    }
}

impl FromStr for Binarization {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "stochastic" => Ok(Self::Stochastic),
            text => {
                let problem = |_| format!("`{text}` is not none, stochastic or a threshold");
                let binarization = Self::Threshold(text.parse().map_err(problem)?);
                Binarizer::new(binarization).map_err(|error| error.to_string())?;
                Ok(binarization)
            }
        }
    }
}

/// A checked [`Binarization`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binarizer(Binarization);

impl Binarizer {
    /// Refuses thresholds outside [0, 1).
    pub fn new(binarization: Binarization) -> Result<Self> {
        match binarization {
            Binarization::Threshold(t) if !(0.0..1.0).contains(&t) => {
                Err(Error::Invalid(format!("binarization threshold {t} is outside [0, 1)")))
            }
            _ => Ok(Self(binarization)),
        }
    }

    /// Processing of the rows of a data set: nothing if they are binary already.
    pub(crate) fn done_to(&self, dataset: &Dataset) -> Binarization {
        match &dataset.values {
            Values::Binary(_) => Binarization::None,
            Values::Intensity(_) => self.0,
        }
    }

    /// All rows, shape [rows, columns]. Only stochastic binarization looks at `epoch` and `seed`.
    ///
    /// # Errors
    /// Grey data with [`Binarization::None`].
    pub fn binarize(&self, dataset: &Dataset, epoch: u64, seed: u64) -> Result<BitMatrix> {
        match &dataset.values {
            Values::Binary(bits) => Ok(bits.clone()),
            Values::Intensity(_) => {
                let rows: Vec<_> = (0..dataset.rows()).collect();
                self.binarize_rows(dataset, &rows, epoch, seed)
            }
        }
    }

    /// The given rows in the given order, each as [`Self::binarize`] gives it: a row's draws depend on its index in
    /// the data set, the epoch and the seed alone. Number of threads does not matter.
    ///
    /// # Errors
    /// As [`Self::binarize`], and rows that are not there.
    pub(crate) fn binarize_rows(
        &self,
        dataset: &Dataset,
        rows: &[usize],
        epoch: u64,
        seed: u64,
    ) -> Result<BitMatrix> {
        if let Some(row) = rows.iter().find(|&&row| row >= dataset.rows()) {
            return Err(Error::Invalid(format!(
                "data set `{}` has {} rows, row {row} (from 0) was asked for",
                dataset.name,
                dataset.rows()
            )));
        }
        let intensities = match &dataset.values {
            Values::Binary(bits) => return Ok(bits.select(rows.iter().copied())),
            Values::Intensity(intensities) => intensities,
        };
        let mut bits = BitMatrix::zeros(rows.len(), dataset.columns());
        let per_row = words_per_row(dataset.columns());
        let out = bits.words_mut().par_chunks_mut(per_row).zip(rows).with_min_len(16);
        match self.0 {
            Binarization::None => {
                return Err(Error::Invalid(format!(
                    "data set `{}` has grey levels: choose binarization `stochastic` or a threshold",
                    dataset.name
                )));
            }
            Binarization::Threshold(threshold) => out.for_each(|(words, &row)| {
                pack(intensities.row(row), words, |level| f64::from(level) / 255.0 > threshold);
            }),
            Binarization::Stochastic => {
                let streams = Streams::new(seed, Purpose::Binarization, epoch);
                // Probability level / 255 in units of 2^-32, rounded up so that 255 is certain and 0 impossible.
                let limits: [u64; 256] =
                    std::array::from_fn(|level| ((level as u64) << 32).div_ceil(255));
                out.for_each(|(words, &row)| {
                    let mut stream = streams.row(row as u32);
                    pack(intensities.row(row), words, |level| match level {
                        // Most pixels of a digit are black and need no draw.
                        0 => false,
                        255 => true,
                        _ => u64::from(stream.next_word()) < limits[usize::from(level)],
                    });
                });
            }
        }
        Ok(bits)
    }
}

/// Packs one row of levels into words.
fn pack(levels: &[u8], words: &mut [u64], mut unit: impl FnMut(u8) -> bool) {
    for (levels, word) in levels.chunks(64).zip(words) {
        *word = levels
            .iter()
            .enumerate()
            .fold(0, |word, (i, &level)| word | u64::from(unit(level)) << i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Intensities;

    fn grey(rows: usize, columns: usize, level: impl Fn(usize, usize) -> u8) -> Dataset {
        let levels = (0..rows * columns).map(|i| level(i / columns, i % columns)).collect();
        let values = Values::Intensity(Intensities::new(columns, levels).unwrap());
        Dataset::new("grey", values, None, None).unwrap()
    }

    fn stochastic() -> Binarizer {
        Binarizer::new(Binarization::Stochastic).unwrap()
    }

    #[test]
    fn frequencies_are_the_levels() {
        let rows = 20_000;
        let levels = [0, 1, 64, 128, 200, 254, 255];
        let data = grey(rows, 70, |_, j| levels[j % levels.len()]);
        let counts = stochastic().binarize(&data, 3, 11).unwrap().column_counts();
        for (j, count) in counts.into_iter().enumerate() {
            let p = f64::from(levels[j % levels.len()]) / 255.0;
            // 5 standard errors of a binomial frequency; exact at p = 0 and 1.
            let bound = 5.0 * (p * (1.0 - p) / rows as f64).sqrt();
            let frequency = count as f64 / rows as f64;
            assert!((frequency - p).abs() <= bound, "column {j}: {frequency} for {p}");
        }
    }

    #[test]
    fn neighbours_rows_and_epochs_are_independent() {
        let (rows, columns) = (2000, 100);
        let data = grey(rows, columns, |_, _| 128);
        let first = stochastic().binarize(&data, 0, 1).unwrap();
        let second = stochastic().binarize(&data, 1, 1).unwrap();
        let n = (rows * columns) as f64;
        let p = 128.0 / 255.0;
        let expected = p * p + (1.0 - p) * (1.0 - p);
        for (name, same) in [
            ("epochs", count(rows, columns, |i, j| first.get(i, j) == second.get(i, j))),
            ("rows", count(rows, columns, |i, j| first.get(i, j) == first.get((i + 1) % rows, j))),
            (
                "columns",
                count(rows, columns, |i, j| first.get(i, j) == first.get(i, (j + 1) % columns)),
            ),
        ] {
            assert!((same / n - expected).abs() < 5.0 * 0.5 / n.sqrt(), "{name}: {}", same / n);
        }
    }

    fn count(rows: usize, columns: usize, cell: impl Fn(usize, usize) -> bool) -> f64 {
        (0..rows * columns).filter(|i| cell(i / columns, i % columns)).count() as f64
    }

    #[test]
    fn chosen_rows_are_the_rows_of_the_whole() {
        let data = grey(300, 130, |i, j| (i * 7 + j * 13) as u8);
        let rows = [299, 0, 17, 17, 150];
        for binarization in [Binarization::Stochastic, Binarization::Threshold(0.5)] {
            let binarizer = Binarizer::new(binarization).unwrap();
            let whole = binarizer.binarize(&data, 5, 9).unwrap();
            let chosen = binarizer.binarize_rows(&data, &rows, 5, 9).unwrap();
            assert_eq!(chosen, whole.select(rows), "{binarization:?}");
        }
    }

    #[test]
    fn thresholds_are_strict_and_leave_binary_data_alone() {
        let data = grey(1, 4, |_, j| [0, 127, 128, 255][j]);
        let binarize = |t, data: &Dataset| {
            Binarizer::new(Binarization::Threshold(t)).unwrap().binarize(data, 0, 0).unwrap()
        };
        assert_eq!(binarize(0.5, &data).words(), [0b1100]);
        assert_eq!(binarize(0.0, &data).words(), [0b1110]);
        let bits = BitMatrix::from_fn(3, 5, |i, j| i == j);
        let binary = Dataset::new("b", Values::Binary(bits.clone()), None, None).unwrap();
        assert_eq!(binarize(0.9, &binary), bits);
        assert_eq!(stochastic().binarize_rows(&binary, &[1], 0, 0).unwrap(), bits.select([1]));
    }

    #[test]
    fn binarizations_are_written_as_they_are_read() {
        for binarization in
            [Binarization::None, Binarization::Stochastic, Binarization::Threshold(0.3)]
        {
            assert_eq!(binarization.to_string().parse(), Ok(binarization));
        }
        for bad in ["", "half", "1", "-0.5", "NaN"] {
            assert!(bad.parse::<Binarization>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_binarized_is_told() {
        let none = Binarizer::new(Binarization::None).unwrap();
        let message = none.binarize(&grey(1, 1, |_, _| 3), 0, 0).unwrap_err().to_string();
        assert!(message.contains("`stochastic`"), "{message}");
        assert!(stochastic().binarize_rows(&grey(1, 1, |_, _| 3), &[1], 0, 0).is_err());
        for threshold in [-0.1, 1.0, f64::NAN] {
            assert!(Binarizer::new(Binarization::Threshold(threshold)).is_err());
        }
    }
}
