//! Variables as text, in configurations and model files.

use std::fmt;
use std::str::FromStr;

use super::{Real, Variable, Variables};
use crate::error::{Error, Result};

/// Longest list in a text.
const MOST: usize = 10_000_000;
/// The name of a real variable.
const REAL: &str = "real";
/// The name of units that are -1 and +1.
const PLUS_MINUS: &str = "plus-minus";

/// "1 bit", "2 bits".
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plus_minus {
            return f.write_str(PLUS_MINUS);
        }
        let text = |it: &Variable| match it.real {
            None => format!("{}{}", it.columns, if it.implicit { "+" } else { "" }),
            Some(real) if real.scale <= 0.0 => REAL.into(),
            Some(Real { mean, scale, .. }) => format!("{REAL}({mean};{scale})"),
        };
        let texts: Vec<String> = self.categorical().iter().map(text).collect();
        for (n, alike) in texts.chunk_by(|a, b| a == b).enumerate() {
            let separator = if n > 0 { "," } else { "" };
            let times = if alike.len() > 1 { format!("{}*", alike.len()) } else { String::new() };
            write!(f, "{separator}{times}{}", alike[0])?;
        }
        Ok(())
    }
}

impl Variables {
    /// How many variables of each kind `columns` columns are, in words.
    pub fn kinds(&self, columns: usize) -> String {
        let (categorical, bits) = self.counts(columns);
        let kinds = [
            (self.reals().count(), "real number"),
            (categorical, "categorical variable"),
            (bits, "bit"),
        ];
        let there = kinds.into_iter().filter(|(count, _)| *count > 0);
        let words = there.map(|(count, kind)| counted(count, kind));
        words.collect::<Vec<_>>().join(", ")
    }
}

impl FromStr for Variables {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |part: &str| {
            Error::Invalid(format!(
                "`{part}` is no variable: the number of its columns is expected, with + where \"no column is set\" is a state, or `real`, and a factor before several alike, as in 60*3+,4,1+,10*real"
            ))
        };
        match text.trim() {
            PLUS_MINUS => return Ok(Self::PLUS_MINUS),
            "bits" => return Ok(Self::BITS),
            _ => {}
        }
        let mut sizes = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (times, size) = part.split_once('*').unwrap_or(("1", part));
            let (columns, implicit) = match size.strip_suffix('+') {
                Some(columns) => (columns, true),
                None => (size, false),
            };
            let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong(part));
            let real = size
                .trim()
                .strip_prefix(REAL)
                .map(|text| real(text).ok_or_else(|| wrong(part)))
                .transpose()?;
            let columns = if real.is_some() { 2 } else { number(columns)? };
            let times = number(times)?;
            if times.max(columns) > MOST || sizes.len() + times > MOST {
                return Err(wrong(part));
            }
            let variable = Variable { first: 0, columns, implicit, real };
            sizes.extend(std::iter::repeat_n(variable, times));
        }
        Self::listed(sizes)
    }
}

/// What follows `real` in a text: nothing, or a mean and a scale.
fn real(text: &str) -> Option<Real> {
    if text.is_empty() {
        return Some(Real::UNSEEN);
    }
    let (mean, scale) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(';')?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let real = Real { mean: number(mean)?, scale: number(scale)?, ..Real::UNSEEN };
    (real.scale > 0.0).then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_the_variables() {
        assert_eq!("2*3+,4,1+".parse::<Variables>().unwrap().to_string(), "2*3+,4,1+");
        assert_eq!("3*1+".parse::<Variables>().unwrap(), Variables::BITS);
        assert_eq!(Variables::BITS.to_string(), "");
        assert!(
            "2*3+,4,1+".parse::<Variables>().unwrap().fit(11)
                && !"2*3+,4,1+".parse::<Variables>().unwrap().fit(12)
                && Variables::BITS.fit(5)
        );
        assert_eq!("2*3+,4,1+".parse::<Variables>().unwrap().counts(11), (3, 1));
        for bad in [
            "0",
            "1",
            "3++",
            "x",
            "2*",
            "99999999999999999999*3",
            "99999999*3+",
            "-1",
            "real(1)",
            "real(0;-1)",
            "real(0;nan)",
            "realer",
        ] {
            assert!(bad.parse::<Variables>().is_err(), "{bad}");
        }
    }
}
