//! Numbers as grey levels 0..=255, one byte each, or as bits.

use crate::data::limits::{Checked, check_shape};
use crate::data::{Intensities, Values};
use crate::memory::DOES_NOT_FIT;

/// The highest level, and the number of white where numbers are whole.
const WHITE: f64 = 255.0;
/// What to do about numbers above white.
const REMEDY: &str = ": give the number that is white by data.source.white (--white), or take the numbers as real ones by data.variables = \"real\"";

/// Grey levels as they are read. Numbers that are all 0 or 1, or all -1 or +1, are bits.
pub(in crate::data) struct Levels {
    /// The number of the level 255: 255 where numbers are whole, 1 where they are fractions; `None` until the numbers show which.
    largest: Option<f64>,
    /// Whether the user gave that number (`data.source.white`).
    given: bool,
    /// All numbers so far are 0 or 1, and so are the levels.
    binary: bool,
    /// Whether a 0 and a -1 were there.
    zero: bool,
    minus: bool,
    levels: Vec<u8>,
}

impl Levels {
    /// `white` is the number of the level 255 where the user gave it, else `usual`, else what the numbers show.
    pub fn new(white: Option<f64>, usual: Option<f64>) -> Self {
        let (largest, given) = (white.or(usual), white.is_some());
        Self { largest, given, binary: true, zero: false, minus: false, levels: Vec::new() }
    }

    /// Another so many levels of 0; the place of the first.
    pub fn grow(&mut self, cells: usize) -> Checked<usize> {
        let first = self.levels.len();
        self.levels.try_reserve(cells).map_err(|_| DOES_NOT_FIT)?;
        self.levels.resize(first + cells, 0);
        Ok(first)
    }

    /// The level of a number at a place; numbers before it may become levels of another scale.
    pub fn set(&mut self, place: usize, value: f64) -> Checked<()> {
        // Nearly all cells are bits or whole levels, and need no arithmetic.
        let level = value as u8;
        let plain = match self.binary {
            true => level <= 1 && !self.minus,
            false => self.largest == Some(WHITE),
        };
        if plain && f64::from(level) == value {
            self.zero |= level == 0;
            self.levels[place] = level;
            return Ok(());
        }
        if value == -1.0 && self.binary && !self.zero {
            self.minus = true;
            return Ok(());
        } else if self.minus && value != 1.0 {
            return Err(format!("{value} is neither -1 nor +1, as the numbers before it are"));
        }
        self.zero |= value == 0.0;
        let bit = value == 0.0 || value == 1.0;
        let shown = if value.fract() == 0.0 && value.abs() != 1.0 { WHITE } else { 1.0 };
        let largest = self.largest.unwrap_or(if bit { 1.0 } else { shown });
        if !(0.0..=largest).contains(&value) {
            let remedy = if value > largest { REMEDY } else { "" };
            return Err(format!("{value} is outside 0..{largest}{remedy}"));
        } else if largest == WHITE && !self.given && value.fract() != 0.0 {
            return Err(format!("{value} is not whole, as the grey levels before it are"));
        }
        let scaled = |value: f64| (value * WHITE / largest).round() as u8;
        if self.binary && !bit {
            (self.binary, self.largest) = (false, Some(largest));
            self.levels.iter_mut().for_each(|level| *level = scaled(f64::from(*level)));
        }
        self.levels[place] = if self.binary { value as u8 } else { scaled(value) };
        Ok(())
    }

    /// The levels in rows, or the bits, and whether these were -1 and +1; `columns_first` where they lie column by column.
    ///
    /// # Errors
    /// No whole rows, a shape beyond the limits, or whole numbers of which none is above 127: their white is not 255, and a threshold
    /// would make zeros of all.
    pub fn finish(self, columns: usize, columns_first: bool) -> Checked<(Values, bool)> {
        let Self { binary, minus, mut levels, largest, given, .. } = self;
        let rows = levels.len() / columns.max(1);
        check_shape(rows, columns, binary)?;
        let white = levels.iter().max().copied().unwrap_or(255);
        if !binary && largest == Some(WHITE) && !given && white < 128 {
            return Err(format!(
                "grey levels end at {white}, and whole numbers are read as 0 to 255, so nearly all would become 0: give the number that is white, as in data.source.white = {white} (--white {white})"
            ));
        }
        if columns_first {
            levels =
                (0..rows * columns).map(|i| levels[i % columns * rows + i / columns]).collect();
        }
        let values = match binary {
            true => Values::from_levels(columns, levels),
            false => Intensities::new(columns, levels).map(Values::Intensity),
        };
        let values = values.ok_or_else(|| "holds no whole rows".to_string())?;
        Ok((values, minus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(numbers: &[f64]) -> Checked<Vec<u8>> {
        read_with(None, numbers)
    }

    fn read_with(white: Option<f64>, numbers: &[f64]) -> Checked<Vec<u8>> {
        let mut levels = Levels::new(white, None);
        for number in numbers {
            let place = levels.grow(1)?;
            levels.set(place, *number)?;
        }
        match levels.finish(1, false)?.0 {
            Values::Intensity(levels) => Ok(levels.levels().to_vec()),
            Values::Binary(bits) => {
                Ok((0..bits.rows()).map(|row| bits.get(row, 0).into()).collect())
            }
        }
    }

    #[test]
    fn the_scale_is_that_of_the_numbers() {
        assert_eq!(read(&[0.0, 1.0, 1.0]), Ok(vec![0, 1, 1]));
        assert_eq!(read(&[0.0, 1.0, 2.0, 255.0, 1.0]), Ok(vec![0, 1, 2, 255, 1]));
        assert_eq!(read(&[1.0, 0.5, 0.0, 0.2, 1.0]), Ok(vec![255, 128, 0, 51, 255]));
        assert_eq!(read(&[1.0, -1.0, 1.0]), Ok(vec![1, 0, 1]));
        for (numbers, expected) in [
            (&[1.0, -1.0, 0.0][..], "0 is neither -1 nor +1"),
            (&[1.0, 0.0, -1.0], "-1 is outside 0..1"),
            (
                &[0.0, 0.5, 7.0][..],
                "7 is outside 0..1: give the number that is white by data.source.white (--white)",
            ),
            (&[7.0, 16.0, 0.0], "as in data.source.white = 16 (--white 16)"),
            (&[7.0, 0.5], "0.5 is not whole"),
            (&[256.0], "256 is outside 0..255"),
            (&[-1.0, 0.5], "0.5 is neither -1 nor +1"),
            (&[f64::NAN], "NaN is outside"),
        ] {
            let problem = read(numbers).unwrap_err();
            assert!(problem.contains(expected), "{numbers:?}: {problem}");
        }
    }

    #[test]
    fn white_can_be_given() {
        let white = |white, numbers: &[f64]| read_with(Some(white), numbers);
        assert_eq!(white(16.0, &[1.0, 0.0, 16.0, 7.0]), Ok(vec![16, 0, 255, 112]));
        assert_eq!(white(255.0, &[1.0, 0.5, 100.0]), Ok(vec![1, 1, 100]));
        assert_eq!(white(16.0, &[1.0, 0.0]), Ok(vec![1, 0]));
        let problem = white(16.0, &[7.0, 17.0]).unwrap_err();
        assert!(problem.starts_with("17 is outside 0..16: give"), "{problem}");
    }
}
