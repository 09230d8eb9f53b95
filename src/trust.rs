//! Whether an error bar can be trusted, and if not, why: the same type for tracked and for estimated values of log Z.

mod doubt;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use doubt::{Doubt, Interface};

/// log Z of a model, nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LogZ {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Whether the value and its error can be trusted, and if not, why.
    pub trust: Trust,
}

/// The diagnostics of an error bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[must_use]
pub struct Trust {
    doubts: Vec<Doubt>,
}

impl Trust {
    /// No doubts.
    pub fn sound() -> Self {
        Self::default()
    }

    /// In doubt if there is a reason, else sound.
    pub fn unless(doubt: Option<Doubt>) -> Self {
        Self { doubts: doubt.into_iter().collect() }
    }

    /// The doubts of both, each name once.
    pub fn and(mut self, other: Self) -> Self {
        for doubt in other.doubts {
            if self.doubts.iter().all(|known| known.name() != doubt.name()) {
                self.doubts.push(doubt);
            }
        }
        self
    }

    /// The same, kept in the words of an interface.
    pub fn kept(&self, at: Interface) -> Self {
        let words = |doubt: &Doubt| Doubt::other(doubt.name(), doubt.text(at));
        Self { doubts: self.doubts.iter().map(words).collect() }
    }

    /// Adds a doubt.
    pub fn doubt(&mut self, doubt: Doubt) {
        self.doubts.push(doubt);
    }

    /// Whether there are no doubts.
    pub fn is_sound(&self) -> bool {
        self.doubts.is_empty()
    }

    /// The doubts, in the order they were found.
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// Whether chains from the marginals of the data contradict those from a mixture by a higher log Z.
    pub fn marginals_find_more(&self) -> bool {
        let more = |doubt: &Doubt| matches!(doubt, Doubt::TrackersDiffer { first, second, .. } if first > second);
        self.doubts.iter().any(more)
    }

    /// The short names of the doubts, joined by spaces; empty if sound.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.doubts.iter().map(Doubt::name).collect();
        names.join(" ")
    }

    /// The doubts in words, in the terms of an interface; empty if sound.
    pub fn text(&self, at: Interface) -> String {
        self.joined(|doubt| doubt.text(at))
    }

    /// What was found, without what to do about it; empty if sound.
    pub fn findings(&self) -> String {
        self.joined(Doubt::finding)
    }

    fn joined(&self, words: impl Fn(&Doubt) -> String) -> String {
        self.doubts.iter().map(words).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&if self.is_sound() { "sound".into() } else { self.text(Interface::Rust) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_until_doubted() {
        let mut trust = Trust::sound();
        assert!(trust.is_sound() && trust.to_string() == "sound" && trust.names().is_empty());
        trust.doubt(Doubt::FewTravelled { crossed: 3, chains: 100 });
        trust.doubt(Doubt::other("movement", "the model runs away"));
        for (first, more) in [(5.0, false), (7.0, true)] {
            let (second, [first_error, second_error]) = (6.0, [0.1; 2]);
            let differ = Doubt::TrackersDiffer { first, first_error, second, second_error };
            assert_eq!(trust.clone().and(Trust::unless(Some(differ))).marginals_find_more(), more);
        }
        let again = Trust::unless(Some(Doubt::other("movement", "again")));
        let trust = trust.and(again);
        assert!(!trust.is_sound());
        assert_eq!(trust.names(), "few-travelled movement");
        let found = "only 3 of 100 chains have been at both ends of the ladder";
        assert_eq!(trust.findings(), format!("{found}; the model runs away"));
        let of = |start| format!("{found}: use more sweeps or use {start}; the model runs away");
        assert_eq!(trust.to_string(), of("another start"));
        assert_eq!(trust.kept(Interface::Command).to_string(), of("another --start"));
    }
}
