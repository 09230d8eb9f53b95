//! Bars and stripes (MacKay 2003, "Information Theory, Inference, and Learning Algorithms", section 43.4).
//!
//! Pictures of side x side pixels in which every column is of one colour (bars) or every row is (stripes):
//! 2^(side + 1) - 2 different ones, since all black and all white are both.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::check_size;
use crate::data::limits::check_shape;
use crate::data::{Dataset, ImageShape, Values};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams};
use crate::error::{Error, Result};
use crate::keys::section;

/// Largest side for which all patterns are listed: 2 million rows.
const MAX_LISTED_SIDE: usize = 20;
const STEP: u64 = 0;

section! {
    /// Settings of the bars-and-stripes generator; all 30 patterns of 4 x 4 pixels where nothing is given.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct BarsAndStripes {
        /// Height and width of the pictures.
        side: usize = 4 => least(1).unit("pixels").example("5");
        /// Number of rows: bars or stripes with equal probability, then every bar or stripe black or white with equal probability; 0 for
        /// every pattern once.
        rows: usize = 0 => unit("rows").example("2000");
        /// Probability that a pixel is flipped.
        noise: f64 = 0.0 => range(0.0..=0.5).unit("probability").example("0.02");
        /// Seed of the rows.
        seed: u64 = 0 => example("1");
    }
}

impl BarsAndStripes {
    /// Generates the data set.
    ///
    /// # Errors
    /// [`Error::Config`] with the field for a side of 0, noise outside [0, 0.5], or more cells than the limits allow.
    pub fn generate(&self) -> Result<Dataset> {
        let Self { side, rows, noise, seed } = *self;
        if !(0.0..=0.5).contains(&noise) {
            return Err(Error::config("noise", format!("{noise} is outside [0, 0.5]")));
        }
        if rows == 0 && side > MAX_LISTED_SIDE {
            let problem = format!(
                "{side} has too many patterns to list (at most {MAX_LISTED_SIDE}); set a number of rows"
            );
            return Err(Error::config("side", problem));
        }
        let patterns = 1usize << side.min(MAX_LISTED_SIDE);
        let count = if rows == 0 { (2 * patterns).saturating_sub(2) } else { rows };
        // The side alone, where a single row does not pass.
        check_shape(1, side.saturating_mul(side), true)
            .map_err(|problem| Error::config("side", problem))?;
        check_size(count, side * side)?;

        let mut bits = BitMatrix::zeros(count, side * side);
        let mut colours = vec![false; side];
        let streams = Streams::new(seed, Purpose::Generator, STEP);
        for row in 0..count {
            let mut stream = streams.row(row as u32);
            let stripes = if rows == 0 {
                // Bars 0..patterns, then stripes without the two pictures that are both.
                let stripes = row >= patterns;
                let pattern = if stripes { row - patterns + 1 } else { row };
                colours.iter_mut().enumerate().for_each(|(i, c)| *c = pattern >> i & 1 == 1);
                stripes
            } else {
                colours.iter_mut().for_each(|colour| *colour = stream.random());
                stream.random()
            };
            for cell in 0..side * side {
                let colour = colours[if stripes { cell / side } else { cell % side }];
                let flip = noise > 0.0 && stream.uniform() < noise;
                bits.set(row, cell, colour != flip);
            }
        }
        let image = ImageShape { height: side, width: side };
        Dataset::new("bars-and-stripes", Values::Binary(bits), None, Some(image))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn bits(settings: BarsAndStripes) -> BitMatrix {
        match settings.generate().unwrap().values {
            Values::Binary(bits) => bits,
            Values::Intensity(_) => panic!("grey"),
        }
    }

    fn is_bars_or_stripes(bits: &BitMatrix, row: usize, side: usize) -> bool {
        let cell = |i: usize, j: usize| bits.get(row, i * side + j);
        let all = |same: &dyn Fn(usize, usize) -> bool| {
            (0..side * side).all(|c| same(c / side, c % side))
        };
        all(&|i, j| cell(i, j) == cell(0, j)) || all(&|i, j| cell(i, j) == cell(i, 0))
    }

    #[test]
    fn every_pattern_is_listed_once() {
        for side in 1..=6 {
            let bits = bits(BarsAndStripes { side, ..Default::default() });
            assert_eq!(bits.rows(), (1 << (side + 1)) - 2);
            let distinct: HashSet<_> = (0..bits.rows()).map(|row| bits.row(row)).collect();
            assert_eq!(distinct.len(), bits.rows());
            assert!((0..bits.rows()).all(|row| is_bars_or_stripes(&bits, row, side)), "{side}");
        }
    }

    #[test]
    fn drawn_rows_are_patterns_and_depend_on_the_seed() {
        let settings = BarsAndStripes { side: 5, rows: 400, noise: 0.0, seed: 7 };
        let drawn = bits(settings);
        assert!((0..400).all(|row| is_bars_or_stripes(&drawn, row, 5)));
        // Half of the pixels are black: a row has the variance of 5 bars of 5 pixels. 5 standard errors.
        let mean = drawn.count_ones() as f64 / (400.0 * 25.0);
        assert!((mean - 0.5).abs() < 5.0 * 0.5 / (400f64 * 5.0).sqrt(), "{mean}");
        assert_eq!(drawn, bits(settings));
        assert_ne!(drawn, bits(BarsAndStripes { seed: 8, ..settings }));
    }

    #[test]
    fn noise_flips_its_share_of_pixels() {
        let clean = BarsAndStripes { side: 8, rows: 0, noise: 0.0, seed: 3 };
        let noisy = bits(BarsAndStripes { noise: 0.1, ..clean });
        let clean = bits(clean);
        let n = (clean.rows() * 64) as f64;
        let flips: u32 =
            clean.words().iter().zip(noisy.words()).map(|(a, b)| (a ^ b).count_ones()).sum();
        let rate = f64::from(flips) / n;
        assert!((rate - 0.1).abs() < 5.0 * (0.09 / n).sqrt(), "{rate}");
    }

    #[test]
    fn impossible_settings_are_refused() {
        let ok = BarsAndStripes::default();
        for (settings, expected) in [
            (BarsAndStripes { side: 0, ..ok }, ["side: ", "no data"]),
            (BarsAndStripes { side: 21, ..ok }, ["side: ", "set a number of rows"]),
            (BarsAndStripes { side: usize::MAX, rows: 1, ..ok }, ["side: ", "at most"]),
            (BarsAndStripes { rows: usize::MAX, ..ok }, ["rows: ", "at most"]),
            (BarsAndStripes { noise: 0.6, ..ok }, ["noise: ", "outside [0, 0.5]"]),
            (BarsAndStripes { noise: f64::NAN, ..ok }, ["noise: ", "outside [0, 0.5]"]),
        ] {
            let message = settings.generate().unwrap_err().to_string();
            assert!(expected.iter().all(|words| message.contains(words)), "{message}");
        }
    }
}
