//! From text and overrides to a checked configuration.

use std::path::Path;

use super::{
    Base, BetaUpdateConfig, Config, GradientConfig, PriorConfig, SmoothingConfig, TemperingConfig,
};
use crate::error::{Error, Result};
use crate::limited::read_text;
use crate::tempering::{BaseDistribution, BetaUpdate, Ladder, Prior};
use crate::tracking::{Settling, Smoothing, TrackerOptions};

/// Pseudo-count of base marginals: every unit keeps a chance to be 0 and 1.
const BASE_SMOOTHING: f64 = 1.0;
/// Largest layers, chains and temperatures accepted; beyond, arithmetic on sizes could overflow.
const LARGEST: usize = 10_000_000;
/// Longest configuration file, in bytes.
const LONGEST: u64 = 1 << 20;
/// Longest override, in bytes.
const LONGEST_SETTING: usize = 1 << 16;
/// Most sections a field of an override may lie in.
const DEEPEST: usize = 16;

impl Config {
    /// Reads a file, applies `key=value` overrides (dotted keys, TOML values), checks everything.
    ///
    /// # Errors
    /// A missing file, a TOML error with its line, an unknown field, a value out of range.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self> {
        let text = read_text(path, LONGEST, "a configuration")?;
        let config = Self::parse(&text, overrides).map_err(|error| match error {
            Error::Invalid(problem) => Error::file(path, problem),
            other => other,
        })?;
        Ok(config)
    }

    /// As [`Config::load`] from text.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str, overrides: &[String]) -> Result<Self> {
        let config = if overrides.is_empty() {
            toml::from_str(text).map_err(|error| Error::Invalid(one_line(&error, text)))?
        } else {
            let mut table = table(text)?;
            for setting in overrides {
                set(&mut table, setting)?;
            }
            let text = table.to_string();
            toml::from_str::<Self>(&text).map_err(|error| {
                Error::Invalid(format!("after --set: {}", error.message().replace('\n', " ")))
            })?
        };
        config.check()?;
        Ok(config)
    }

    /// The configuration as TOML, every default written out.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self)
            .map_err(|error| Error::Invalid(format!("cannot write the configuration: {error}")))
    }

    /// Checks ranges and combinations that do not need the data.
    ///
    /// # Errors
    /// Names the first field that cannot be used.
    pub fn check(&self) -> Result<()> {
        let training = &self.training;
        let (chains, audit) = (self.tempering.chains, &self.audit);
        for (field, value, least) in [
            ("model.hidden", self.model.hidden, 1),
            ("training.batch", training.batch, 1),
            ("tempering.chains", chains, 2),
            ("tempering.temperatures", self.tempering.temperatures.or(2), 2),
            ("tempering.sweeps", self.tempering.sweeps.or(1), 1),
            ("tempering.every", self.tempering.every.or(1) as usize, 1),
            ("tempering.settling.sweeps", self.tempering.settling.sweeps, 0),
            ("tempering.initial_rounds.sweeps", self.tempering.initial_rounds.sweeps, 1),
            ("tempering.initial_rounds.most", self.tempering.initial_rounds.most, 1),
            ("audit.chains", audit.chains, 2),
            ("audit.temperatures", audit.temperatures, 2),
            ("evaluation.every", self.evaluation.every as usize, 1),
            ("checkpoint.every", self.checkpoint.every as usize, 1),
        ] {
            if value < least || value > LARGEST {
                return Err(Error::config(
                    field,
                    format!("{value} is not between {least} and {LARGEST}"),
                ));
            }
        }
        for (field, value) in [
            ("model.weight_scale", self.model.weight_scale),
            ("training.weight_decay", training.weight_decay),
            ("tempering.share", self.tempering.share),
            ("audit.share", audit.share),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::config(field, format!("{value} is not a number of at least 0")));
            }
        }
        match (training.epochs, training.updates) {
            (Some(_), None) | (None, Some(_)) => {}
            _ => {
                return Err(Error::config("training.updates", "give either `updates` or `epochs`"));
            }
        }
        if training.epochs == Some(0) || training.updates == Some(0) {
            return Err(Error::config("training.updates", "a run needs at least one update"));
        }
        if let GradientConfig::Cd { sweeps } | GradientConfig::Pcd { sweeps, .. } =
            training.gradient
            && !(1..=LARGEST).contains(&sweeps)
        {
            return Err(Error::config(
                "training.gradient.sweeps",
                format!("{sweeps} is not at least 1"),
            ));
        }
        let window = self.averaging.window.or(0.0);
        if !(0.0..=1.0).contains(&window) {
            return Err(Error::config("averaging.window", format!("{window} is not in [0, 1]")));
        }
        if self.tempering.every.or(1) > 1
            && matches!(training.gradient, GradientConfig::Tempered {})
        {
            return Err(Error::config(
                "tempering.every",
                "the tempered gradient needs the chains at every update: set it to 1",
            ));
        }
        if let Some(pretraining) = &training.pretraining {
            if !(pretraining.learning_rate > 0.0 && pretraining.learning_rate.is_finite()) {
                let problem = format!("{} is not a positive number", pretraining.learning_rate);
                return Err(Error::config("training.pretraining.learning_rate", problem));
            }
            if pretraining.batch == 0 {
                return Err(Error::config("training.pretraining.batch", "must be at least 1 row"));
            }
        }
        training.learning_rate.check()?;
        training.update.check()?;
        if let Some(stopping) = &training.early_stopping {
            stopping.check()?;
        }
        crate::data::Binarizer::new(self.data.binarization)
            .map_err(|error| Error::config("data.binarization", error.to_string()))?;
        self.tempering.check()
    }
}

impl TemperingConfig {
    fn check(&self) -> Result<()> {
        if let SmoothingConfig::Alpha(alpha) = self.smoothing
            && !(alpha > 0.0 && alpha <= 1.0)
        {
            return Err(Error::config(
                "tempering.smoothing.alpha",
                format!("{alpha} is not in (0, 1]"),
            ));
        }
        if let BetaUpdateConfig::Joint(repeats) = self.beta_update
            && !(1..=255).contains(&repeats)
        {
            let problem = format!("{repeats} repeats are not between 1 and 255");
            return Err(Error::config("tempering.beta_update.joint", problem));
        }
        // A prior of given weights says how many temperatures there are.
        let chosen = match &self.prior {
            PriorConfig::Given(weights) => weights.len(),
            _ => 2,
        };
        self.ladder(chosen).map(|_| ())
    }

    /// The ladder; `chosen`: the number of temperatures where it is left to the program.
    ///
    /// # Errors
    /// Inverse temperatures or prior weights that make none.
    pub fn ladder(&self, chosen: usize) -> Result<Ladder> {
        let prior = match &self.prior {
            PriorConfig::Uniform => Prior::Uniform,
            PriorConfig::Exponential(c) => Prior::Exponential(*c),
            PriorConfig::Given(weights) => Prior::Given(weights.clone()),
        };
        match &self.betas {
            Some(betas) => Ladder::new(betas, &prior),
            None => Ladder::linear(self.temperatures.or(chosen), &prior),
        }
        .map_err(|error| Error::config("tempering", error.to_string()))
    }

    /// The base distribution for `rows` training rows with these numbers of ones in their columns.
    ///
    /// # Errors
    /// Given logits that are not finite or not one per visible unit.
    pub fn base(&self, column_counts: &[u64], rows: usize) -> Result<BaseDistribution> {
        let columns = column_counts.len();
        match &self.base {
            Base::Marginals => {
                BaseDistribution::from_column_counts(column_counts, rows, BASE_SMOOTHING)
            }
            Base::Uniform => Ok(BaseDistribution::uniform(columns)),
            Base::Given(logits) if logits.len() == columns => BaseDistribution::from_logits(logits),
            Base::Given(logits) => Err(Error::config(
                "tempering.base.given",
                format!("{} logits for {columns} visible units", logits.len()),
            )),
        }
    }

    /// How the tracker runs.
    pub fn tracker_options(&self) -> TrackerOptions {
        TrackerOptions {
            smoothing: match self.smoothing {
                SmoothingConfig::Kalman => Smoothing::Kalman,
                SmoothingConfig::Alpha(alpha) => Smoothing::Alpha(alpha),
            },
            sweeps: self.sweeps.or(1),
            weighted: self.weighted.or(false),
            settling: Settling {
                sweeps: self.settling.sweeps,
                most: self.settling.most.or(self.settling.sweeps),
            },
            beta_update: match self.beta_update {
                BetaUpdateConfig::Collapsed => BetaUpdate::Collapsed,
                BetaUpdateConfig::Joint(repeats) => BetaUpdate::Joint { repeats },
            },
            initial_rounds: self.initial_rounds,
        }
    }
}

/// The text as a table for overrides. TOML's own integers end below 2^63; the configuration's seeds do not, and are
/// written as strings beyond.
fn table(text: &str) -> Result<toml::Table> {
    toml::from_str(text).or_else(|_| {
        let problem = |error: toml::de::Error| Error::Invalid(one_line(&error, text));
        let config: Config = toml::from_str(text).map_err(problem)?;
        toml::Table::try_from(&config).map_err(|error| Error::Invalid(error.to_string()))
    })
}

/// Applies one `key=value` override; a value that is not TOML is taken as a string.
fn set(table: &mut toml::Table, setting: &str) -> Result<()> {
    let Some((key, value)) = setting.split_once('=') else {
        return Err(Error::Invalid(format!(
            "--set {setting}: expected key=value, as in training.epochs=5"
        )));
    };
    let (key, value) = (key.trim(), value.trim());
    // TOML after a line end would be dropped without a word.
    if setting.contains('\n') || setting.len() > LONGEST_SETTING {
        return Err(Error::Invalid(format!(
            "--set {setting}: one line of at most {LONGEST_SETTING} bytes is expected"
        )));
    }
    let value = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.into()));
    let mut parts: Vec<&str> = key.split('.').collect();
    // Sections are read by recursion, which ends at the stack's end.
    if parts.len() > DEEPEST {
        return Err(Error::Invalid(format!(
            "--set {setting}: no field lies more than {DEEPEST} sections deep"
        )));
    }
    let last = parts.pop().unwrap_or_default();
    let mut section = table;
    for part in parts {
        let entry =
            section.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::default()));
        section = entry
            .as_table_mut()
            .ok_or_else(|| Error::config(key, format!("`{part}` is a value, not a section")))?;
    }
    // Length may be given either way; the override wins.
    if key == "training.epochs" {
        section.remove("updates");
    } else if key == "training.updates" {
        section.remove("epochs");
    }
    section.insert(last.into(), value);
    Ok(())
}

/// A TOML error in one line, with the line number it points to.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().replace('\n', " ");
    match error.span() {
        Some(span) => {
            let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
            format!("line {line}: {message}")
        }
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        [data]
        source = { name = "bars-and-stripes", side = 3 }
        [model]
        hidden = 4
        [training]
        updates = 10
        batch = 5
        gradient = { kind = "pcd" }
        learning_rate = { initial = 0.1 }
    "#;

    #[test]
    fn every_shipped_configuration_parses_and_survives_a_round_trip() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let config =
                Config::load(&path, &[]).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let again = Config::parse(&config.to_toml().unwrap(), &[]).unwrap();
            assert_eq!(config, again, "{}", path.display());
            count += 1;
        }
        assert!(count >= 5, "{count} configurations");
    }

    #[test]
    fn mistakes_name_line_or_field() {
        for (bad, expected) in [
            (SMALL.replace("hidden = 4", "hiden = 4"), "line 5"),
            (SMALL.replace("hidden = 4", "hidden = 0"), "model.hidden"),
            (SMALL.replace("hidden = 4", "hidden = -4"), "line 5"),
            (SMALL.replace("updates = 10", ""), "training.updates"),
            (SMALL.replace("0.1", "-0.1"), "training.learning_rate.initial"),
            (SMALL.replace("pcd", "pdc"), "line 9"),
            (SMALL.replace("batch = 5", "batch = [[5"), "line"),
        ] {
            let error = Config::parse(&bad, &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn overrides_reach_any_field() {
        let set = |settings: &[&str]| {
            Config::parse(SMALL, &settings.iter().map(|s| (*s).to_string()).collect::<Vec<_>>())
        };
        let config = set(&[
            "seed=7",
            "training.epochs=3",
            "tempering.chains = 50",
            "tempering.smoothing={ alpha = 0.3 }",
            "data.binarization=stochastic",
        ])
        .unwrap();
        assert_eq!((config.seed, config.tempering.chains), (7, 50));
        assert_eq!((config.training.epochs, config.training.updates), (Some(3), None));
        assert_eq!(config.tempering.smoothing, SmoothingConfig::Alpha(0.3));
        for bad in ["seed", "tempering.chians=3", "seed.x=1", "tempering.smoothing={ alpha = 0 }"] {
            assert!(set(&[bad]).is_err(), "{bad}");
        }
    }
}
