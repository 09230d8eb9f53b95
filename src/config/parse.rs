//! From text and overrides to a checked configuration.

use std::path::Path;

use super::document::Places;
use super::recipe::complete;
use super::short_forms::expand;
use super::verify::verify;
use super::{Base, Config, SettlingConfig, TemperingConfig};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::limited::read_text;
use crate::tempering::mixture::{MixtureBase, fit_rows};
use crate::tempering::{BaseDistribution, Ladder, Prior};
use crate::tracking::{Parts, TrackerOptions};
use crate::units::Variables;

/// Longest configuration file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Removes a key that run folders of earlier versions have: it names the kernels that all runs on the host use.
fn forget_kernel(table: &mut toml::Table) {
    if let Some(toml::Value::Table(model)) = table.get_mut("model")
        && model.get("kernel").and_then(toml::Value::as_str) == Some("fused")
    {
        model.remove("kernel");
    }
}

impl Config {
    /// Reads a file, applies `key=value` overrides (dotted keys, TOML values), checks everything.
    ///
    /// # Errors
    /// A missing file; TOML that cannot be read, an unknown key, a value of the wrong kind or out of range, each with its
    /// place.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self> {
        Ok(Self::load_with_places(path, overrides)?.0)
    }

    /// [`Config::load`], with the places of the keys for errors that come later.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn load_with_places(path: &Path, overrides: &[String]) -> Result<(Self, Places)> {
        let text = read_text(path, LONGEST, "a configuration")?;
        Self::parse_named(&text, &path.display().to_string(), overrides)
    }

    /// As [`Config::load`] from text.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str, overrides: &[String]) -> Result<Self> {
        Ok(Self::parse_named(text, "", overrides)?.0)
    }

    /// As [`Config::load_with_places`] from text; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub(crate) fn parse_named(
        text: &str,
        name: &str,
        overrides: &[String],
    ) -> Result<(Self, Places)> {
        Self::completed(Places::read(text, name)?, overrides)
    }

    /// As [`Config::parse`] of values by their dotted keys, later ones over earlier ones.
    ///
    /// # Errors
    /// As [`Config::load`], and those among the values.
    pub(crate) fn of(
        values: Vec<Result<(&'static str, toml::Value)>>,
        overrides: &[String],
    ) -> Result<Self> {
        let (mut table, places) = (toml::Table::new(), Places::default());
        for value in values {
            let (key, value) = value?;
            places.insert(&mut table, key, value)?;
        }
        Ok(Self::completed((table, places), overrides)?.0)
    }

    fn completed(
        (mut table, mut places): (toml::Table, Places),
        overrides: &[String],
    ) -> Result<(Self, Places)> {
        expand(&mut table);
        for setting in overrides {
            places.apply(&mut table, setting)?;
            expand(&mut table);
        }
        forget_kernel(&mut table);
        verify(&table, "", &places)?;
        complete(&mut table);
        // Whatever the table of keys lets through can be read; a test holds it against the sections.
        let config: Self = table.try_into().map_err(|error: toml::de::Error| {
            Error::Invalid(format!("a configuration: {}", error.message().replace('\n', " ")))
        })?;
        config.check().map_err(|error| places.locate(error))?;
        Ok((config, places))
    }

    /// The configuration as TOML, every default written out.
    pub(crate) fn to_toml(&self) -> Result<String> {
        toml::to_string(self)
            .map_err(|error| Error::Encoding(format!("cannot write the configuration: {error}")))
    }
}

impl TemperingConfig {
    /// The ladder; `chosen`: the number of temperatures where it is left to the program.
    ///
    /// # Errors
    /// Inverse temperatures or prior weights that make none.
    pub fn ladder(&self, chosen: usize) -> Result<Ladder> {
        match &self.betas {
            Some(betas) => Ladder::new(betas, &self.prior),
            None => Ladder::linear(self.temperatures.or(chosen), &self.prior),
        }
        .map_err(|error| {
            let key = match (&self.betas, &self.prior) {
                (Some(_), _) => "tempering.betas",
                (None, Prior::Given(_)) => "tempering.prior",
                (None, _) => "tempering.temperatures",
            };
            Error::config(key, error.to_string())
        })
    }

    /// The mixture that a second population of chains starts from, fitted to the training rows [N, M]; `None` where none is asked for.
    ///
    /// # Errors
    /// No rows.
    pub(crate) fn mixture_of(
        &self,
        rows: &BitMatrix,
        variables: &Variables,
        seed: u64,
    ) -> Result<Option<MixtureBase>> {
        (self.mixture > 0).then(|| fit_rows(rows, variables, self.mixture, seed)).transpose()
    }

    /// The base distribution of `variables` for `rows` training rows with these numbers of ones in their columns.
    ///
    /// # Errors
    /// Given logits that are not finite or not one per visible unit.
    pub fn base(
        &self,
        column_counts: &[u64],
        rows: usize,
        variables: &Variables,
    ) -> Result<BaseDistribution> {
        let columns = column_counts.len();
        match &self.base {
            Base::Marginals => BaseDistribution::from_column_counts(
                column_counts,
                rows,
                BaseDistribution::PSEUDO_COUNT,
                variables,
            ),
            Base::Uniform => Ok(BaseDistribution::uniform(columns).of(variables)),
            Base::Given(logits) if logits.len() == columns => {
                Ok(BaseDistribution::from_logits(logits)?.of(variables))
            }
            Base::Given(logits) => Err(Error::config(
                "tempering.base.given",
                format!("{} logits for {columns} visible units", logits.len()),
            )),
        }
    }

    /// How the tracker runs.
    pub(crate) fn tracker_options(&self) -> TrackerOptions {
        TrackerOptions {
            smoothing: self.smoothing,
            sweeps: self.sweeps.or(1),
            weighted: self.weighted.or(false),
            settling: self.settling.or(SettlingConfig::SWEEPS, SettlingConfig::SWEEPS),
            beta_update: self.beta_update,
            initial_rounds: self.initial_rounds,
            without: Parts::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracking::Smoothing;

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
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
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
        assert_eq!(config.tempering.smoothing, Smoothing::Alpha(0.3));
        for bad in ["seed", "tempering.chians=3", "seed.x=1", "tempering.smoothing={ alpha = 0 }"] {
            assert!(set(&[bad]).is_err(), "{bad}");
        }
    }
}
