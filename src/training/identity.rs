//! Identity of a run: its configuration and its rows. A resume must be a continuation of the same run.
//!
//! With rows of another split, held-out rows could become training rows, and no later number would show it. So a checkpoint has the
//! configuration and a checksum of the rows of every part, and a resume compares them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::checkpoint::{StateReader, StateWriter};
use crate::config::Config;
use crate::context::Device;
use crate::data::{Splits, checksum, sha256_hex};
use crate::error::{Error, Result};

/// Keys that may change on a resume, with all keys below them: length, stopping, evaluation, audits, checkpoints.
const MAY_CHANGE: [&str; 7] = [
    "training.updates",
    "training.epochs",
    "training.early_stopping",
    "evaluation",
    "audit",
    "checkpoint",
    "data.folder",
];
/// May change if the rows stay the same, because a file may have moved.
const MAY_MOVE: &str = "data.source";
/// The key that no run can change.
const SIZE: &str = "`model.hidden`";
/// Its name in a state.
const NAME: &str = "identity";
/// The weights of the training rows, beside the parts.
const WEIGHTS: &str = "weighted training";
/// Characters of a value shown in a message.
const SHOWN: usize = 80;

/// What to do about changes that a resume does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// An error that shows both values.
    Refused,
    /// Allowed; the run records it.
    Forced,
}

/// SHA-256 by the name of a part of the rows, as `ztrack data describe` prints it.
pub type Sums = BTreeMap<String, String>;

/// Configuration and rows at the start of a run, and the changes that were forced later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The configuration as TOML.
    config: String,
    /// Of the rows of each part, and of the weights of the training rows.
    rows: Sums,
    /// The device that computes: another one draws other numbers.
    #[serde(default = "host")]
    device: String,
    /// Changes that were allowed by force, in words.
    forced: Vec<String>,
    /// Records that were lost before a forced resume, by their file.
    lost: BTreeMap<String, u64>,
}

impl Identity {
    /// The identity of a run that starts. Cost: one pass over the cells.
    ///
    /// # Errors
    /// A configuration that cannot be written as TOML.
    pub fn new(config: &Config, splits: &Splits, device: &Device) -> Result<Self> {
        Ok(Self {
            config: config.to_toml()?,
            rows: sums(splits),
            device: device.to_string(),
            forced: Vec::new(),
            lost: BTreeMap::new(),
        })
    }

    /// That of the run whose state this is.
    ///
    /// # Errors
    /// A state without one.
    pub fn read(state: &StateReader) -> Result<Self> {
        state.json(NAME)
    }

    /// Stores it in a state.
    pub fn write(&self, state: &mut StateWriter) {
        state.json(NAME, self);
    }

    /// SHA-256 of the rows of each part: training, validation, test.
    pub fn rows(&self) -> &Sums {
        &self.rows
    }

    /// Changes that were allowed by force so far.
    pub fn forced(&self) -> &[String] {
        &self.forced
    }

    /// Records a change that was forced upon the run.
    pub fn force(&mut self, notice: String) {
        self.forced.push(notice);
    }

    /// Records known to be lost from a log.
    pub fn lost(&self, log: &str) -> u64 {
        self.lost.get(log).copied().unwrap_or(0)
    }

    /// Sets how many records are lost from a log.
    pub fn lose(&mut self, log: &str, records: u64) {
        self.lost.insert(log.into(), records);
    }

    /// This identity as that of a run resumed from a checkpoint with the identity `saved`.
    ///
    /// # Errors
    /// Changes that are not allowed, each with both values.
    pub fn after(mut self, saved: Self, changes: Changes) -> Result<Self> {
        let found = self.changes_since(&saved)?;
        if changes == Changes::Refused && !found.is_empty() {
            // Arrays of another size cannot be read.
            let fits = !found.iter().any(|change| change.contains(SIZE));
            let force = if fits { ", or allow this with --force" } else { "" };
            return Err(Error::Mismatch(format!(
                "{}: resume with the settings and rows of the checkpoint, start a new run{force}",
                found.join("; ")
            )));
        }
        self.forced = saved.forced;
        self.forced.extend(found);
        self.lost = saved.lost;
        Ok(self)
    }

    fn changes_since(&self, saved: &Self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let (before, now) = (fields(&as_read(&saved.config)?)?, fields(&self.config)?);
        if self.device != saved.device {
            found.push(format!(
                "the device was {} at the checkpoint and is {} now (--device)",
                saved.device, self.device
            ));
        }
        let same_rows = self.rows == saved.rows;
        for field in before.keys().chain(now.keys().filter(|field| !before.contains_key(*field))) {
            let within = |section: &&str| {
                field
                    .strip_prefix(*section)
                    .is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'.', ..]))
            };
            let allowed = MAY_CHANGE.iter().any(&within) || (same_rows && within(&MAY_MOVE));
            if !allowed && before.get(field) != now.get(field) {
                let value = |fields: &BTreeMap<String, String>| match fields.get(field) {
                    Some(value) => value.chars().take(SHOWN).collect(),
                    None => "nothing".to_string(),
                };
                found.push(format!(
                    "configuration field `{field}` was {} at the checkpoint and is {} now",
                    value(&before),
                    value(&now)
                ));
            }
        }
        found.extend(other_rows(&saved.rows, &self.rows));
        Ok(found)
    }
}

/// SHA-256 of the rows of each part and of the weights of the training rows.
fn sums(splits: &Splits) -> Sums {
    let rows = splits.parts().map(|(name, part)| (name.into(), checksum(part)));
    let weights = splits.train.weights.as_ref().map(|weights| {
        let bytes: Vec<u8> = weights.iter().flat_map(|weight| weight.to_le_bytes()).collect();
        (WEIGHTS.into(), sha256_hex([&bytes[..]]))
    });
    rows.chain(weights).collect()
}

/// Which parts differ, in words.
fn other_rows<'a>(saved: &'a Sums, now: &'a Sums) -> impl Iterator<Item = String> + 'a {
    let sum = |sums: &Sums, part: &str| match sums.get(part) {
        Some(sum) => format!("SHA-256 {sum:.16}..."),
        None => "none".to_string(),
    };
    let differ = move |part: &&str| now.get(*part) != saved.get(*part);
    ["training", "validation", "test", WEIGHTS].into_iter().filter(differ).map(move |part| {
        format!(
            "the {part} rows are not those of the checkpoint (then {}, now {})",
            sum(saved, part),
            sum(now, part)
        )
    })
}

/// Refuses rows that are not those whose sums a run stored: a file was changed, or another one has its name.
///
/// # Errors
/// Parts that differ.
pub fn refuse_other_rows(saved: &Sums, splits: &Splits) -> Result<()> {
    let found: Vec<String> = other_rows(saved, &sums(splits)).collect();
    if found.is_empty() { Ok(()) } else { Err(Error::Mismatch(found.join("; "))) }
}

fn host() -> String {
    Device::Host.to_string()
}

/// A configuration as this version reads and writes it: with the defaults of keys that an earlier one did not have.
fn as_read(config: &str) -> Result<String> {
    let read = Config::parse(config, &[]).and_then(|config| config.to_toml());
    read.map_err(|error| Error::Invalid(format!("configuration of the checkpoint: {error}")))
}

/// Dotted names of all values of a configuration in TOML, with the values as TOML.
///
/// # Errors
/// Text that is no TOML.
pub fn fields(config: &str) -> Result<BTreeMap<String, String>> {
    let table: toml::Table = toml::from_str(config)
        .map_err(|error| Error::Invalid(format!("configuration of the checkpoint: {error}")))?;
    let mut fields = BTreeMap::new();
    let mut sections = vec![(String::new(), table)];
    while let Some((prefix, table)) = sections.pop() {
        for (name, value) in table {
            let name = format!("{prefix}{name}");
            match value {
                toml::Value::Table(table) => sections.push((name + ".", table)),
                value => drop(fields.insert(name, value.to_string())),
            }
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{SplitOptions, load};

    const CONFIG: &str = r#"
        [data]
        source = { name = "bars-and-stripes", side = 3, rows = 50, noise = 0.1 }
        validation_fraction = 0.2
        [model]
        hidden = 4
        [training]
        updates = 10
        batch = 5
        gradient = { kind = "pcd" }
        learning_rate = { initial = 0.1 }
    "#;

    fn identity(settings: &[&str]) -> Identity {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let config = Config::parse(CONFIG, &settings).unwrap();
        let data = &config.data;
        let options = SplitOptions {
            validation_fraction: data.validation_fraction,
            test_fraction: data.test_fraction,
            seed: data.split_seed,
        };
        let splits = load(&data.source, &options, std::path::Path::new("")).unwrap();
        Identity::new(&config, &splits, &Device::Host).unwrap()
    }

    #[test]
    fn length_stopping_evaluation_audits_and_checkpoints_may_change() {
        let started = identity(&[]);
        for setting in [
            "training.updates=20",
            "training.epochs=3",
            "training.early_stopping={ patience = 3 }",
            "evaluation.every=7",
            "evaluation.images_every=0",
            "audit.every=3",
            "audit={ chains = 10, temperatures = 20 }",
            "checkpoint.every=2",
            "data.folder=elsewhere",
        ] {
            let resumed = identity(&[setting]).after(started.clone(), Changes::Refused);
            assert_eq!(resumed.unwrap().forced(), [""; 0], "{setting}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_both_values_or_noted_for_good() {
        for (setting, expected) in [
            ("seed=9", "`seed` was 0 at the checkpoint and is 9 now"),
            ("data.split_seed=9", "the validation rows are not those"),
            ("data.validation_fraction=0.4", "`data.validation_fraction` was 0.2"),
            ("data.test_fraction=0.2", "the test rows are not those of the checkpoint (then none"),
            ("data.source.rows=40", "`data.source.rows` was 50"),
            ("data.binarization=stochastic", "data.binarization"),
            ("model.weight_scale=0.1", "model.weight_scale"),
            ("training.batch=6", "`training.batch` was 5"),
            ("training.weight_decay=0.1", "training.weight_decay"),
            ("training.learning_rate.initial=0.2", "training.learning_rate.initial"),
            ("tempering.smoothing={ alpha = 0.2 }", "tempering.smoothing.alpha` was nothing"),
            ("tempering.sweeps=6", "tempering.sweeps"),
        ] {
            let (started, now) = (identity(&[]), identity(&[setting]));
            let error = now.clone().after(started.clone(), Changes::Refused).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(expected) && error.contains("--force"), "{setting}: {error}");
            let forced = now.clone().after(started, Changes::Forced).unwrap();
            assert!(forced.forced().iter().any(|notice| notice.contains(expected)));
            // Back again is a change of what the run goes on from.
            let back = identity(&[]).after(forced.clone(), Changes::Refused).unwrap_err();
            assert!(back.to_string().contains("at the checkpoint and is"), "{back}");
            let later = now.after(forced.clone(), Changes::Refused).unwrap();
            assert_eq!(later.forced(), forced.forced(), "kept without a second word");
        }
    }

    #[test]
    fn the_same_rows_may_come_from_elsewhere() {
        let started = identity(&[]);
        let mut moved = started.clone();
        moved.config = moved.config.replace("noise = 0.1", "noise = 0.10001");
        assert_ne!(moved.config, started.config);
        assert!(moved.after(started, Changes::Refused).is_ok());
    }

    #[test]
    fn states_of_earlier_versions_and_of_another_device() {
        let now = identity(&[]);
        let earlier = |kernel: &str| {
            let config = now.config.replace("unseen = false\n", "");
            let kernel = format!("[model]\nkernel = \"{kernel}\"");
            Identity { config: config.replace("[model]", &kernel), ..now.clone() }
        };
        assert!(earlier("fused").config.len() < now.config.len() + 12, "unseen is written");
        assert!(now.clone().after(earlier("fused"), Changes::Refused).is_ok());
        assert!(now.clone().after(earlier("composed"), Changes::Refused).is_err());
        let elsewhere = Identity { device: "another".into(), ..now.clone() };
        let error = now.clone().after(elsewhere.clone(), Changes::Refused).unwrap_err().to_string();
        assert!(error.contains("the device was another") && error.contains("--device"), "{error}");
        assert_eq!(now.after(elsewhere, Changes::Forced).unwrap().forced().len(), 1);
    }
}
