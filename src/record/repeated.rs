//! Notices in the terminal: each kind once in full, then counted.

use std::collections::BTreeMap;

use super::Notice;
use super::notice::Level;

/// A line to show.
#[derive(Debug)]
pub(super) struct Line {
    pub level: Level,
    pub text: String,
}

/// The notices of each kind so far.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    kinds: BTreeMap<&'static str, Kept>,
}

#[derive(Debug)]
struct Kept {
    /// The last one.
    last: Notice,
    /// Update of the first one.
    since: u64,
    count: u64,
    /// The last count that was shown.
    shown: u64,
}

impl Repeated {
    /// The line for a notice: in full for the first of its kind, a count for the 10th, the 100th and so on.
    pub(super) fn line(&mut self, notice: &Notice, update: u64) -> Option<Line> {
        let first = || Kept { last: notice.clone(), since: update, count: 0, shown: 0 };
        let kept = self.kinds.entry(notice.kind()).or_insert_with(first);
        kept.count += 1;
        kept.last = notice.clone();
        if kept.count > 1 && kept.count < 10 * kept.shown {
            return None;
        }
        kept.shown = kept.count;
        let text = if kept.count == 1 { notice.text() } else { kept.again() };
        Some(Line { level: notice.level(), text: format!("update {update}: {text}") })
    }

    /// The counts that were not shown yet.
    pub(super) fn rest(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        for kept in self.kinds.values_mut() {
            if kept.count > kept.shown {
                kept.shown = kept.count;
                lines.push(Line { level: kept.last.level(), text: kept.again() });
            }
        }
        lines
    }
}

impl Kept {
    /// What the last one found, in short, and how often there was one.
    fn again(&self) -> String {
        let Self { last, count, since, .. } = self;
        let (kind, text) = (last.kind(), last.text());
        let found = text.split([':', ';']).next().unwrap_or(kind);
        format!("{found} ({kind}, {count} times since update {since})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_shown_once_and_then_counted() {
        let mut repeated = Repeated::default();
        let (missed, few) =
            (Notice::ModeMissed, Notice::FewEffectiveChains { effective: 5.0, chains: 100 });
        let first = repeated.line(&few, 600).unwrap();
        assert_eq!(first.text, format!("update 600: {}", few.text()));
        assert!(repeated.line(&missed, 650).unwrap().text.contains("missed a mode"));
        let lines: Vec<_> =
            (1..133).filter_map(|i| repeated.line(&few, 600 + i)).map(|line| line.text).collect();
        assert_eq!(
            lines,
            [
                "update 609: only 5 of 100 chains carry the gradient (few-effective-chains, 10 times since update 600)",
                "update 699: only 5 of 100 chains carry the gradient (few-effective-chains, 100 times since update 600)"
            ]
        );
        let rest = repeated.rest();
        assert_eq!(rest.len(), 1);
        assert!(
            rest[0].text.ends_with("gradient (few-effective-chains, 133 times since update 600)"),
            "{rest:?}"
        );
        assert_eq!(rest[0].level, Level::Warning);
        assert!(repeated.rest().is_empty());
    }
}
