//! Whether an error bar is to be believed, and why not: one verdict for tracked and for estimated values of log Z.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One reason not to believe an error bar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// Short name for columns and counts, kebab-case, as in `few-travelled`.
    pub name: String,
    /// What was found, in words, and what to do about it.
    pub text: String,
}

/// The verdict on an error bar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trust {
    doubts: Vec<Doubt>,
}

impl Trust {
    /// Nothing speaks against the error bar.
    pub fn sound() -> Self {
        Self::default()
    }

    /// In doubt where there is a reason, else sound.
    pub fn unless(name: &str, reason: Option<impl Into<String>>) -> Self {
        let mut trust = Self::sound();
        if let Some(text) = reason {
            trust.doubt(name, text);
        }
        trust
    }

    /// The reasons of both, each name once: the same finding reached on two ways is told once.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for doubt in other.doubts {
            if self.doubts.iter().all(|known| known.name != doubt.name) {
                self.doubts.push(doubt);
            }
        }
        self
    }

    /// The same with what to change named as another interface names it: `words` are pairs of a key or option and its name there.
    #[must_use]
    pub fn reworded(mut self, words: &[(&str, &str)]) -> Self {
        for doubt in &mut self.doubts {
            doubt.text = words
                .iter()
                .fold(std::mem::take(&mut doubt.text), |text, (from, to)| text.replace(from, to));
        }
        self
    }

    /// Adds a reason for doubt.
    pub fn doubt(&mut self, name: &str, text: impl Into<String>) {
        self.doubts.push(Doubt { name: name.into(), text: text.into() });
    }

    /// Whether there is no reason for doubt.
    pub fn is_sound(&self) -> bool {
        self.doubts.is_empty()
    }

    /// The reasons, in the order they were found.
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// The short names of the reasons, joined by spaces; empty where sound.
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
