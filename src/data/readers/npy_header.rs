//! The header of an npy array (NumPy enhancement proposal 1).
//!
//! Parsed by hand because a header is input like any other: it may claim any size or any nesting, and this parser neither allocates nor
//! recurses because of it. [`write`] makes the ones of arrays that this program writes.

use crate::data::Input;

/// First bytes of an npy file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header: one of numbers has a hundred bytes.
const LONGEST: u64 = 1 << 16;

/// Content of the header of an array of numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    pub element: Element,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

/// Type of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub kind: Kind,
    pub size: usize,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Unsigned,
    Signed,
    Float,
}

impl Element {
    /// bool, u8..u64, i8..i64, f32 and f64, in either byte order.
    fn parse(descr: &str) -> Option<Self> {
        let (order, rest) = match descr.as_bytes().first()? {
            b'<' | b'>' | b'|' | b'=' => descr.split_at(1),
            _ => ("<", descr),
        };
        let kind = match rest.get(..1)? {
            "b" if rest == "b1" => Kind::Bool,
            "u" => Kind::Unsigned,
            "i" => Kind::Signed,
            "f" => Kind::Float,
            _ => return None,
        };
        let size = match (kind, &rest[1..]) {
            (Kind::Bool | Kind::Unsigned | Kind::Signed, "1") => 1,
            (Kind::Unsigned | Kind::Signed, "2") => 2,
            (_, "4") => 4,
            (_, "8") => 8,
            _ => return None,
        };
        Some(Self { kind, size, big_endian: order == ">" })
    }

    /// The value of `size` bytes. Integers beyond 2^53 are rounded, which only ever happens to refused values.
    pub fn value(self, bytes: &[u8]) -> f64 {
        let mut word = [0; 8];
        word[..self.size].copy_from_slice(bytes);
        if self.big_endian {
            word[..self.size].reverse();
        }
        let word = u64::from_le_bytes(word);
        let unused = 64 - 8 * self.size as u32;
        match (self.kind, self.size) {
            (Kind::Bool | Kind::Unsigned, _) => word as f64,
            (Kind::Signed, _) => ((word << unused) as i64 >> unused) as f64,
            (Kind::Float, 4) => f64::from(f32::from_bits(word as u32)),
            (Kind::Float, _) => f64::from_bits(word),
        }
    }
}

impl NpyHeader {
    /// Reads the header from the beginning of a stream.
    pub fn read(input: &mut Input<'_>) -> crate::Result<Result<Self, String>> {
        // First up to the length, then as many bytes as it says.
        let start = input.take(MAGIC.len() as u64 + 2)?;
        let version = start.get(MAGIC.len()).copied();
        let length_bytes = if version == Some(1) { 2 } else { 4 };
        let length = input.take(length_bytes)?;
        let claimed = length.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        if claimed > LONGEST {
            return Ok(Err(format!("npy header of {claimed} bytes, {LONGEST} are allowed")));
        }
        let header = input.take(claimed)?;
        let whole = length.len() as u64 == length_bytes && header.len() as u64 == claimed;
        Ok(match version {
            Some(1..=3) if whole => Self::parse(&header),
            Some(1..=3) | None => Err("ends inside the npy header".into()),
            Some(version) => Err(format!("npy format version {version}, expected 1, 2 or 3")),
        })
    }

    /// Parses the text of the header, or returns the problem.
    fn parse(header: &[u8]) -> Result<Self, String> {
        let header = std::str::from_utf8(header).map_err(|_| "npy header is not text")?;
        let field =
            |key| value_of(header, key).ok_or_else(|| format!("npy header has no field `{key}`"));
        let descr = field("descr")?;
        let element = quoted(descr).and_then(Element::parse).ok_or_else(|| {
            let Some(found) = quoted(descr) else {
                return "npy array of named fields: give them as columns of one array of numbers"
                    .into();
            };
            let remedy = match found.contains(['U', 'S', 'O']) {
                true => "write text and objects as a table (CSV)",
                false => "convert it, as .astype(\"float32\") does",
            };
            format!("npy element type '{found:.32}'; bool, integers, f4 and f8 are read: {remedy}")
        })?;
        let order = field("fortran_order")?;
        let fortran_order = order.starts_with("True");
        if !fortran_order && !order.starts_with("False") {
            return Err("npy header field `fortran_order` is neither True nor False".into());
        }
        let shape = field("shape")?;
        let shape = shape.strip_prefix('(').and_then(|shape| shape.split_once(')'));
        let shape = shape.ok_or("npy header field `shape` is not a tuple")?.0;
        let sizes: Option<Vec<usize>> = shape
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            .map(|size| size.parse().ok())
            .collect();
        let shape = sizes.ok_or_else(|| format!("npy shape ({shape}) is not a tuple of sizes"))?;
        Ok(Self { element, fortran_order, shape })
    }

    /// Calls `use_it` with all values that follow, in the order of the file. They must be as many as the shape says; what
    /// `use_it` finds wrong with one of them comes second.
    pub fn values(
        &self,
        input: &mut Input<'_>,
        mut use_it: impl FnMut(f64) -> Result<(), String>,
    ) -> crate::Result<Result<(), String>> {
        let expected = self.bytes();
        let (mut found, mut torn, mut problem) = (0u64, Vec::new(), None);
        input.each(|mut piece| {
            found += piece.len() as u64;
            if expected.is_none_or(|expected| found > expected) || problem.is_some() {
                return Ok(());
            }
            if !torn.is_empty() {
                let missing = (self.element.size - torn.len()).min(piece.len());
                torn.extend_from_slice(&piece[..missing]);
                piece = &piece[missing..];
                if torn.len() == self.element.size {
                    problem = use_it(self.element.value(&torn)).err();
                    torn.clear();
                }
            }
            let whole = piece.chunks_exact(self.element.size);
            torn.extend_from_slice(whole.remainder());
            for bytes in whole {
                if problem.is_none() {
                    problem = use_it(self.element.value(bytes)).err();
                }
            }
            Ok(())
        })?;
        if expected != Some(found) {
            return Ok(Err(format!(
                "npy shape {} of {} bytes each does not fit the {found} bytes of data",
                self.shape_text(),
                self.element.size
            )));
        }
        Ok(problem.map_or(Ok(()), Err))
    }

    /// All values that follow, in the order of the file.
    pub fn numbers(&self, input: &mut Input<'_>) -> crate::Result<Result<Vec<f64>, String>> {
        let mut numbers = Vec::new();
        let found = self.values(input, |value| {
            numbers.push(value);
            Ok(())
        })?;
        Ok(found.map(|()| numbers))
    }

    /// Bytes of data of the shape.
    fn bytes(&self) -> Option<u64> {
        let mut sizes = self.shape.iter().map(|&size| size as u64);
        sizes.try_fold(self.element.size as u64, u64::checked_mul)
    }

    /// The shape in Python's notation.
    pub(crate) fn shape_text(&self) -> String {
        tuple(&self.shape)
    }
}

fn tuple(sizes: &[usize]) -> String {
    let texts: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    format!("({}{})", texts.join(", "), if sizes.len() == 1 { "," } else { "" })
}

/// The header of an array of elements such as `<f8` in C order: 128 bytes for any matrix.
pub(crate) fn write(element: &str, shape: &[usize]) -> Vec<u8> {
    const LENGTH: u16 = 128 - 10;
    let shape = tuple(shape);
    let text = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}");
    let text = format!("{text:<width$}\n", width = usize::from(LENGTH) - 1);
    [MAGIC, b"\x01\x00", &LENGTH.to_le_bytes()[..], text.as_bytes()].concat()
}

/// The text after `'key':`.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    [format!("'{key}'"), format!("\"{key}\"")].iter().find_map(|quoted_key| {
        let rest = &header[header.find(quoted_key)? + quoted_key.len()..];
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    })
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|&quote| quote == '\'' || quote == '"')?;
    text[1..].split_once(quote).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_type_are_read() {
        let value = |descr, bytes: &[u8]| Element::parse(descr).map(|element| element.value(bytes));
        for (descr, bytes, expected) in [
            ("|b1", &[1][..], 1.0),
            ("|u1", &[255], 255.0),
            ("|i1", &[255], -1.0),
            ("<i2", &[254, 255], -2.0),
            (">u2", &[1, 0], 256.0),
            ("<i4", &(-7i32).to_le_bytes(), -7.0),
            (">i8", &(-9i64).to_be_bytes(), -9.0),
            ("<u8", &u64::MAX.to_le_bytes(), u64::MAX as f64),
            ("<f4", &0.25f32.to_le_bytes(), 0.25),
            (">f8", &(-0.75f64).to_be_bytes(), -0.75),
        ] {
            assert_eq!(value(descr, bytes), Some(expected), "{descr}");
        }
        for descr in ["", "<", "<f2", "<c8", "|S3", "<i3", "|O", "<é"] {
            assert_eq!(Element::parse(descr), None, "{descr}");
        }
    }
}
