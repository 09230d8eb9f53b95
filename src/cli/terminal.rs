//! External text (names, file content, server answers), escaped for a terminal.
//!
//! A terminal interprets escape sequences from any source: a file name could move the cursor, change colours or answer in the user's place.

use std::ffi::OsString;
use std::fmt::Write as _;

use crate::record::markup::reorders;
use crate::report::quoted;

/// Longest word without white space that is shown in full; longer ones are shortened in the middle.
const LONGEST_TOKEN: usize = 1000;
/// Characters of either end of a long word.
const SHOWN: usize = 100;
/// Longest message.
const LONGEST: usize = 8000;

/// Control characters, except line ends, as `\u{1b}`. So are the marks that reorder text, with which a name can look like another.
pub fn escaped(text: &str) -> String {
    escaped_as(text, |safe, character| safe.extend(character.escape_unicode()))
}

/// JSON with control characters and marks inside its strings escaped: JSON allows them, but a terminal would interpret them.
pub fn escaped_json(json: &str) -> String {
    escaped_as(json, |safe, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    })
}

fn escaped_as(text: &str, escape: impl Fn(&mut String, char)) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\n' || !is_unsafe(character) {
            safe.push(character);
        } else {
            escape(&mut safe, character);
        }
    }
    safe
}

/// [`escaped`] for messages: long words and long messages are shortened too.
pub fn message(text: &str) -> String {
    let mut shown = String::new();
    for piece in text.split_inclusive(char::is_whitespace) {
        let length = piece.chars().count();
        if length <= LONGEST_TOKEN {
            shown += piece;
        } else {
            shown.extend(piece.chars().take(SHOWN));
            let _ = write!(shown, "... ({length} characters) ...");
            shown.extend(piece.chars().skip(length - SHOWN));
        }
        if shown.len() > LONGEST {
            shown = shown.chars().take(LONGEST).collect();
            shown += " ...";
            break;
        }
    }
    escaped(&shown)
}

/// A command with its arguments quoted for a shell, if needed.
pub fn command_line(parts: impl IntoIterator<Item = OsString>) -> String {
    parts.into_iter().map(|part| quoted(&part)).collect::<Vec<_>>().join(" ")
}

fn is_unsafe(character: char) -> bool {
    character.is_control() || reorders(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_obeys_gets_through() {
        let bad = "a\u{1b}[31m\u{0}\u{7}\u{9b}\r\t\u{202e}b\né";
        let safe = escaped(bad);
        assert_eq!(safe, "a\\u{1b}[31m\\u{0}\\u{7}\\u{9b}\\u{d}\\u{9}\\u{202e}b\né");
        assert_eq!(message(bad), safe);
        let json = serde_json::to_string(&format!("{bad}\u{7f}")).unwrap();
        let safe = escaped_json(&json);
        assert!(!safe.contains(is_unsafe));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), format!("{bad}\u{7f}"));
    }

    #[test]
    fn arguments_are_quoted_where_a_shell_would_read_them() {
        let quoted = |text: &str| quoted(std::ffi::OsStr::new(text));
        assert_eq!(quoted("runs/dna-2"), "runs/dna-2");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("my runs/$x"), "'my runs/$x'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn long_tokens_and_messages_are_cut() {
        let long = format!("error: `{}` is no number", "x".repeat(60_000_000));
        let shown = message(&long);
        assert!(shown.len() < 500 && shown.contains("(60000003 characters)"), "{shown}");
        assert!(shown.ends_with("is no number"));
        assert!(message(&"word ".repeat(100_000)).len() < LONGEST + 10);
    }
}
