//! A schedule from a text file: one inverse temperature per line, ascending from 0 to 1.

use std::path::Path;

use crate::error::{Error, Result};
use crate::limited::read_text;

/// Longest file, in bytes.
const LONGEST: u64 = 256 << 20;

/// Reads a list; blank lines and lines that begin with `#` are left out.
///
/// # Errors
/// The file cannot be read, or a line, named by its number, is not a number in its place.
pub fn read_list(path: &Path) -> Result<Vec<f64>> {
    let text = read_text(path, LONGEST, "a list of inverse temperatures")?;
    let mut betas: Vec<f64> = Vec::new();
    let wrong = |line: usize, problem: String| Error::file(path, format!("line {line}: {problem}"));
    let mut last_line = 1;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        last_line = line;
        let problem = match (content.parse::<f64>(), betas.last()) {
            (Err(_), _) => format!("`{content}` is not an inverse temperature"),
            (Ok(beta), _) if !(0.0..=1.0).contains(&beta) => {
                format!("{content} is not between 0 and 1")
            }
            (Ok(beta), None) if beta != 0.0 => {
                format!("the first inverse temperature is {content}, it must be 0")
            }
            (Ok(beta), Some(before)) if beta <= *before => {
                format!("{content} is not above {before}, the one before")
            }
            (Ok(beta), _) => {
                betas.push(beta);
                continue;
            }
        };
        return Err(wrong(line, problem));
    }
    match betas.last() {
        None => Err(Error::file(
            path,
            "no inverse temperature in it: one a line is expected, from 0 to 1",
        )),
        Some(1.0) => Ok(betas),
        Some(last) => {
            Err(wrong(last_line, format!("the last inverse temperature is {last}, it must be 1")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("betas.txt");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_list(&path)
        };
        assert_eq!(read("# mine\n0\n\n 0.25\n1\n").unwrap(), [0.0, 0.25, 1.0]);
        for (text, told) in [
            ("0\nhalf\n1", "line 2: `half` is not"),
            ("0\n0.5\n0.5\n1", "line 3: 0.5 is not above"),
            ("0.1\n1", "line 1: the first"),
            ("0\n0.9\n", "line 2: the last"),
            ("0\n1.5\n", "line 2: 1.5 is not between"),
            ("0\nNaN\n1", "line 2: NaN is not between"),
            ("# nothing\n", "no inverse temperature"),
        ] {
            let problem = read(text).unwrap_err().to_string();
            assert!(problem.contains("betas.txt: ") && problem.contains(told), "{problem}");
        }
        assert!(
            read_list(&folder.path().join("missing")).unwrap_err().to_string().contains("missing")
        );
    }
}
