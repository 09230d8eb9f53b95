//! Whether an error bar can be trusted, and if not, why: the same type for tracked and for estimated values of log Z.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One reason not to trust an error bar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// Short name for columns and counts, kebab-case, as in `few-travelled`.
    pub name: String,
    /// The finding, in words, and what to do about it.
    pub text: String,
}

/// The diagnostics of an error bar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trust {
    doubts: Vec<Doubt>,
}

impl Trust {
    /// No doubts.
    pub fn sound() -> Self {
        Self::default()
    }

    /// In doubt if there is a reason, else sound.
    pub fn unless(name: &str, reason: Option<impl Into<String>>) -> Self {
        let mut trust = Self::sound();
        if let Some(text) = reason {
            trust.doubt(name, text);
        }
        trust
    }

    /// The doubts of both, each name once.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for doubt in other.doubts {
            if self.doubts.iter().all(|known| known.name != doubt.name) {
                self.doubts.push(doubt);
            }
        }
        self
    }

    /// The same with the remedies in the terms of another interface: `words` are pairs of a key or option and its name there.
    #[must_use]
    pub fn reworded(mut self, words: &[(&str, &str)]) -> Self {
        for doubt in &mut self.doubts {
            doubt.text = words
                .iter()
                .fold(std::mem::take(&mut doubt.text), |text, (from, to)| text.replace(from, to));
        }
        self
    }

    /// Adds a doubt.
    pub fn doubt(&mut self, name: &str, text: impl Into<String>) {
        self.doubts.push(Doubt { name: name.into(), text: text.into() });
    }

    /// Whether there are no doubts.
    pub fn is_sound(&self) -> bool {
        self.doubts.is_empty()
    }

    /// The doubts, in the order they were found.
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// The short names of the doubts, joined by spaces; empty if sound.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.doubts.iter().map(|doubt| doubt.name.as_str()).collect();
        names.join(" ")
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_sound() {
            return f.write_str("sound");
        }
        let texts: Vec<&str> = self.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
        f.write_str(&texts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_until_doubted() {
        let mut trust = Trust::sound();
        assert!(trust.is_sound() && trust.to_string() == "sound" && trust.names().is_empty());
        trust.doubt("few-travelled", "3 of 100 chains travelled");
        trust.doubt("movement", "the model runs away");
        assert!(!trust.is_sound());
        assert_eq!(trust.names(), "few-travelled movement");
        let other = trust.clone().reworded(&[("chains", "walkers"), ("model", "network")]);
        assert_eq!(other.to_string(), "3 of 100 walkers travelled; the network runs away");
        assert_eq!(other.names(), trust.names());
        assert_eq!(trust.to_string(), "3 of 100 chains travelled; the model runs away");
    }
}
