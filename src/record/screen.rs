//! Lines at the bottom of a terminal that are drawn repeatedly, with permanent lines above them.
//!
//! The cursor stays behind the last character. A terminal that shows `^C` there when a signal is typed shows it on a line that the next
//! drawing clears; at the end of a full line it would start a new line, and an old line would remain.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use console::Term;

use super::StandardStream;
use crate::context::progress::lock;

/// Draws what is shown at intervals, on a thread of its own, until `draw` says that it has ended. Without a thread, what is shown is drawn
/// only when it changes.
pub(crate) fn redraw<T: Send + 'static>(
    shown: &Arc<Mutex<T>>,
    interval: Duration,
    draw: impl Fn(&mut T) -> bool + Send + 'static,
) {
    let shown = Arc::clone(shown);
    let _ = std::thread::Builder::new().name("display".into()).spawn(move || {
        loop {
            std::thread::sleep(interval);
            if draw(&mut lock(&shown)) {
                break;
            }
        }
    });
}

/// What stands out on a terminal, with the numbers of its colours: beginnings of lines, and verdicts.
const LINES: [(&str, u8); 2] = [("error:", 31), ("warning:", 33)];
const VERDICTS: [(&str, u8); 2] = [("sound: its checks passed", 32), ("in doubt", 33)];

/// Text with errors, warnings and verdicts in colour, if the stream is a terminal that has colours and `NO_COLOR` is not set.
pub(crate) fn for_terminal(stream: StandardStream, text: &str) -> String {
    let term = match stream {
        StandardStream::Output => Term::stdout(),
        StandardStream::Error => Term::stderr(),
    };
    if term.features().colors_supported() { coloured(text) } else { text.to_string() }
}

fn coloured(text: &str) -> String {
    let colour = |word: &str, number: u8| format!("\u{1b}[{number}m{word}\u{1b}[0m");
    let line = |line: &str| {
        let begins =
            |&(word, number): &(&str, u8)| Some(colour(word, number) + line.strip_prefix(word)?);
        let line = LINES.iter().find_map(begins).unwrap_or_else(|| line.to_string());
        VERDICTS
            .iter()
            .fold(line, |line, &(word, number)| line.replace(word, &colour(word, number)))
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The bottom of standard error.
pub(crate) struct Screen {
    term: Term,
    /// Characters of the lines that are drawn.
    drawn: Vec<usize>,
}

impl Screen {
    /// Nothing drawn.
    pub(crate) fn new() -> Self {
        Self { term: Term::buffered_stderr(), drawn: Vec::new() }
    }

    /// Columns to write in: the last one is left free, where some terminals begin a new line.
    pub(crate) fn width(&self) -> usize {
        usize::from(self.term.size().1).saturating_sub(1).max(20)
    }

    /// Draws lines of at most [`Screen::width`] characters in place of the last ones; `above` stays. A closed terminal is not an error.
    pub(crate) fn draw(&mut self, above: &[String], lines: &[String]) {
        if self.drawn.is_empty() && above.is_empty() && lines.is_empty() {
            return;
        }
        let rows = usize::from(self.term.size().0).saturating_sub(1).max(1);
        let lines = &lines[..lines.len().min(rows)];
        let columns = usize::from(self.term.size().1).max(1);
        // A window that became narrower has wrapped the drawn lines.
        let drawn: usize = self.drawn.iter().map(|length| length.div_ceil(columns).max(1)).sum();
        let mut text = above.iter().map(|line| format!("{line}\n")).collect::<String>();
        text += &lines.join("\n");
        let text = for_terminal(StandardStream::Error, &text);
        let _ = self
            .term
            .move_cursor_up(drawn.saturating_sub(1))
            .and_then(|()| self.term.write_str("\r"))
            .and_then(|()| self.term.clear_to_end_of_screen())
            .and_then(|()| self.term.write_str(&text))
            .and_then(|()| StandardStream::Error.wait())
            .and_then(|()| self.term.flush());
        self.drawn = lines.iter().map(|line| line.chars().count()).collect();
    }

    /// Leaves the drawn lines, with the cursor on a line below them.
    pub(crate) fn leave(&mut self) {
        if !self.drawn.is_empty() {
            let _ = self.term.write_str("\n").and_then(|()| self.term.flush());
            self.drawn.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_stand_out_have_colours() {
        let text = "warning: a warning: b\nlog Z = 1, in doubt:\nlog Z = 1 (auto), sound: its checks passed\n";
        let expected = "\u{1b}[33mwarning:\u{1b}[0m a warning: b\nlog Z = 1, \u{1b}[33min doubt\u{1b}[0m:\nlog Z = 1 (auto), \u{1b}[32msound: its checks passed\u{1b}[0m\n";
        assert_eq!(coloured(text), expected);
        assert_eq!(coloured("nothing"), "nothing");
    }
}
