//! A line of a table cut into cells, and what separates them.

use std::borrow::Cow;

use crate::data::Separator;

/// Lines that are read to find the separator.
const LINES: usize = 10;
/// Byte order mark, which some programs write before text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The cells of a record, without the white space and the quotes around them.
pub(super) struct Cells<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
    /// Whether the last cell began with a quote that was not closed.
    pub open: bool,
}

impl<'a> Cells<'a> {
    pub fn of(record: &'a [u8], separator: Separator) -> Self {
        let (record, separator) = match separator {
            Separator::Comma => (record, b','),
            Separator::Semicolon => (record, b';'),
            Separator::Tab => (record, b'\t'),
            // Any white space: white space around the record separates nothing.
            Separator::Space => (record.trim_ascii(), b' '),
        };
        Self { rest: Some(record), separator, open: false }
    }

    fn ends_at(&self, byte: u8) -> bool {
        byte == self.separator || (self.separator == b' ' && byte == b'\t')
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        // A tab that is a separator is not trimmed.
        let separator = self.separator;
        let space = |byte: &u8| byte.is_ascii_whitespace() && *byte != separator;
        let mut rest = self.rest?;
        while rest.first().is_some_and(|byte| space(byte) || (separator == b' ' && *byte == b' ')) {
            rest = &rest[1..];
        }
        let quoted = rest.first() == Some(&b'"');
        let mut inside = false;
        // A doubled quote inside quotes closes and opens again, which comes to the same.
        let end = rest.iter().position(|&byte| {
            inside ^= quoted && byte == b'"';
            self.ends_at(byte) && !inside
        });
        self.open = quoted && inside && end.is_none();
        let cell = rest[..end.unwrap_or(rest.len())].trim_ascii_end();
        self.rest = end.map(|end| &rest[end + 1..]);
        let unquoted = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
        Some(unquoted.map_or(cell, <[u8]>::trim_ascii))
    }
}

/// A cell with a quote where it has two of them, as quoted cells write it.
pub(super) fn unescaped(cell: &[u8]) -> Cow<'_, [u8]> {
    if !cell.windows(2).any(|two| two == b"\"\"") {
        return cell.into();
    }
    let mut previous = false;
    let keep = |byte: &&u8| {
        previous = **byte == b'"' && !previous;
        **byte != b'"' || previous
    };
    cell.iter().filter(keep).copied().collect::<Vec<_>>().into()
}

/// The first records in the first bytes of a table, the last of them perhaps cut off.
pub(super) fn first_records(head: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    head.strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(head)
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .filter(|record| is_record(record))
        .take(LINES)
}

/// Whether a line has cells: blank lines and those that begin with `#` do not.
pub(super) fn is_record(line: &[u8]) -> bool {
    !matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}

/// Whether all cells of a row are empty, as in the last rows of tables that spreadsheets write.
pub(super) fn is_empty_row(record: &[u8], separator: Separator) -> bool {
    Cells::of(record, separator).all(<[u8]>::is_empty)
}

/// The separator of the columns of a table that begins with `head`: one that gives the same number of cells for all of its first lines,
/// else for the first.
pub(super) fn find_separator(head: &[u8]) -> Separator {
    let mut records: Vec<&[u8]> = first_records(head).collect();
    // The last line may go on after the head.
    if records.len() > 1 && !matches!(head.last(), Some(b'\n' | b'\r')) {
        records.pop();
    }
    let cells = |record: &&[u8], separator| Cells::of(record, separator).count();
    let first = |separator| records.first().map_or(0, |record| cells(record, separator));
    let cuts = |&separator: &Separator| first(separator) > 1;
    let alike = |separator: &Separator| {
        cuts(separator) && records.iter().all(|r| cells(r, *separator) == first(*separator))
    };
    let mut all = Separator::ALL.into_iter();
    all.clone().find(alike).or_else(|| all.find(cuts)).unwrap_or(Separator::Comma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_found() {
        for (head, expected) in [
            ("0,1\n1,0\n", Separator::Comma),
            ("a;b\n0;1\n", Separator::Semicolon),
            ("\u{feff}a\tb c\n0\t1\n", Separator::Tab),
            ("0 1 1\n1  0 1\n", Separator::Space),
            ("# by hand\r\n0, 1, 1\r\n1, 0, 1\r\n", Separator::Comma),
            ("0; 1; 1\r1; 0; 1\r", Separator::Semicolon),
            ("\"a,b\";c\n0;1\n", Separator::Semicolon),
            ("0,1,1\n0,1\n", Separator::Comma),
            ("0 1\n1 0\n1", Separator::Space),
            ("0\n1\n", Separator::Comma),
            ("", Separator::Comma),
        ] {
            assert_eq!(find_separator(head.as_bytes()), expected, "{head:?}");
        }
    }

    #[test]
    fn records_are_cut() {
        let cut = |record: &str, separator| {
            let cells = Cells::of(record.as_bytes(), separator);
            cells.map(|cell| String::from_utf8(cell.to_vec()).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(cut(" a,\"b,c\" , ", Separator::Comma), ["a", "b,c", ""]);
        assert_eq!(cut("a\t\t b ", Separator::Tab), ["a", "", "b"]);
        assert_eq!(cut("  a \t b  \"c d\" ", Separator::Space), ["a", "b", "c d"]);
        assert_eq!(cut(";", Separator::Semicolon), ["", ""]);
        let mut open = Cells::of(b"1,\"0", Separator::Comma);
        assert_eq!((open.by_ref().count(), open.open), (2, true));
    }
}
