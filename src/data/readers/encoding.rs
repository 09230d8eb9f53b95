//! Values of the cells of a table: 0 and 1, -1 and +1, or true and false, the same throughout.

use std::borrow::Cow;

use crate::data::Separator;
use crate::data::limits::Checked;

/// Longest cell that can be a number.
const LONGEST_NUMBER: usize = 64;
/// Characters of a cell shown in a message.
const SHOWN: usize = 32;
/// Text for missing values in other programs, besides an empty cell. `none` is an answer.
pub(super) const MISSING: [&str; 6] = ["na", "n/a", "nan", "null", "?", "-"];

/// Line and column, both from 1.
type Place = (usize, usize);

/// A cell that holds a bit: which of [`RIVALS`] it is, its text, and whether the unit is on.
type Written = (usize, &'static str, bool);

/// What 0, -1, words and 1 do not go with; 1 goes with 0 and with -1.
const RIVALS: [&[usize]; 4] = [&[1, 2], &[0, 2], &[0, 1, 3], &[2]];

/// The encodings found in a table, each with its first place.
#[derive(Default)]
pub(super) struct Encoding {
    /// In the order of [`RIVALS`].
    first: [Option<(Place, &'static str)>; 4],
}

impl Encoding {
    /// Whether the unit of a cell is on.
    ///
    /// # Errors
    /// Cells that are neither of two values, or that belong to another encoding than those before.
    pub fn bit(&mut self, cell: &[u8], place: Place) -> Checked<bool> {
        let (class, text, on) = written(cell).ok_or_else(|| refused(cell))?;
        if self.first[class].is_none() {
            if let Some(((line, column), rival)) =
                RIVALS[class].iter().find_map(|&rival| self.first[rival])
            {
                return Err(format!(
                    "{text} here, but {rival} in line {line}, column {column}: one of 0/1, -1/+1, true/false throughout is wanted"
                ));
            }
            self.first[class] = Some((place, text));
        }
        Ok(on)
    }

    /// How the values found so far write 0 and 1; `minus`: 1 alone goes with -1, as in other columns.
    pub fn words(&self, minus: bool) -> [&'static str; 2] {
        match self.first {
            [_, Some(_), _, _] => ["-1", "1"],
            [None, _, None, _] if minus => ["-1", "1"],
            [_, _, Some(_), _] => ["false", "true"],
            _ => ["0", "1"],
        }
    }
}

fn written(cell: &[u8]) -> Option<Written> {
    let value = match cell {
        // Nearly all cells: no number is parsed.
        b"0" => 0.0,
        b"1" => 1.0,
        word if word.eq_ignore_ascii_case(b"true") => return Some((2, "true", true)),
        word if word.eq_ignore_ascii_case(b"false") => return Some((2, "false", false)),
        other => number(other)?,
    };
    match value {
        0.0 => Some((0, "0", false)),
        -1.0 => Some((1, "-1", false)),
        1.0 => Some((3, "1", true)),
        _ => None,
    }
}

/// The number in a cell.
pub(super) fn number(cell: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok().filter(|text| text.len() <= LONGEST_NUMBER)?;
    text.parse().ok()
}

/// The whole number in a cell, also as in 3.0; beyond 2^53 not every integer is a float.
pub(super) fn whole(cell: &[u8]) -> Option<i64> {
    number(cell).filter(|x| x.fract() == 0.0 && x.abs() < 9e15).map(|x| x as i64)
}

/// A cell, with a point where a number has a decimal comma, as in 2,5; commas that separate columns are none.
pub(super) fn pointed(cell: &[u8], separator: Separator) -> Cow<'_, [u8]> {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let comma = cell.iter().position(|&byte| byte == b',').filter(|&comma| {
        let whole = cell[..comma].strip_prefix(b"-").unwrap_or(&cell[..comma]);
        separator != Separator::Comma && digits(whole) && digits(&cell[comma + 1..])
    });
    match comma {
        Some(comma) => [&cell[..comma], b".", &cell[comma + 1..]].concat().into(),
        None => cell.into(),
    }
}

/// The weight in a cell.
pub(super) fn weight(cell: &[u8]) -> Checked<f64> {
    let weight = number(cell).filter(|weight| weight.is_finite() && *weight >= 0.0);
    weight.ok_or_else(|| format!("`{}` is no weight, a number of at least 0", shown(cell)))
}

/// The grey level in a cell, as a number.
pub(super) fn level(cell: &[u8]) -> Checked<f64> {
    number(cell).ok_or_else(|| {
        format!(
            "`{}` is no number, as grey levels are: leave out data.binarization for a table of categories, or choose other columns by data.source.columns (--columns)",
            shown(cell)
        )
    })
}

/// Whether a cell is a value rather than a name.
pub(super) fn is_value(cell: &[u8]) -> bool {
    number(cell).is_some() || written(cell).is_some()
}

/// Whether a cell holds zeros and ones with nothing between them, too many for a number among others.
pub(super) fn is_glued(cell: &[u8]) -> bool {
    cell.len() > 4 && cell.iter().all(|byte| matches!(byte, b'0' | b'1'))
}

/// Whether a cell says that its value is missing.
pub(super) fn is_missing(cell: &[u8]) -> bool {
    cell.is_empty() || MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a cell is there and holds no bit.
pub(super) fn is_category(cell: &[u8]) -> bool {
    written(cell).is_none() && !is_missing(cell)
}

/// The beginning of a cell, for messages.
pub(super) fn shown(cell: &[u8]) -> String {
    String::from_utf8_lossy(&cell[..cell.len().min(4 * SHOWN)]).chars().take(SHOWN).collect()
}

fn refused(cell: &[u8]) -> String {
    format!(
        "`{}` is neither 0 nor 1 (nor -1/+1 or true/false): choose other columns by data.source.columns (--columns), or name the column of labels by data.source.label (--label)",
        shown(cell)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str]) -> Checked<Vec<bool>> {
        let mut encoding = Encoding::default();
        let read = |(column, cell): (usize, &&str)| encoding.bit(cell.as_bytes(), (1, column + 1));
        cells.iter().enumerate().map(read).collect()
    }

    #[test]
    fn each_encoding_is_understood_alone() {
        for cells in [
            ["1", "0", "1", "0"],
            ["1.0", "0.0", "+1", "-0"],
            ["1", "-1", "+1", "-1.0"],
            ["true", "False", "TRUE", "false"],
        ] {
            assert_eq!(read(&cells), Ok(vec![true, false, true, false]), "{cells:?}");
        }
    }

    #[test]
    fn decimal_commas_are_points() {
        let read = |cell: &str, separator| {
            String::from_utf8(pointed(cell.as_bytes(), separator).into()).unwrap()
        };
        assert_eq!(read("-12,50", Separator::Semicolon), "-12.50");
        for text in ["1,", ",5", "1,2,3", "1.2,3", "a,b", "12"] {
            assert_eq!(read(text, Separator::Tab), text);
        }
        assert_eq!(read("1,5", Separator::Comma), "1,5");
    }

    #[test]
    fn mixtures_and_other_values_are_refused() {
        for (cells, expected) in [
            (&["0", "1", "-1"][..], "-1 here, but 0 in line 1, column 1"),
            (&["1", "-1", "0"], "0 here, but -1 in line 1, column 2"),
            (&["1", "true"], "true here, but 1 in line 1, column 1"),
            (&["FALSE", "0"], "0 here, but false in line 1, column 1"),
            (&["0", "0.5"], "`0.5` is neither 0 nor 1"),
            (&["0", "inf"], "`inf` is neither 0 nor 1"),
        ] {
            let problem = read(cells).unwrap_err();
            assert!(problem.contains(expected), "{cells:?}: {problem}");
        }
    }
}
