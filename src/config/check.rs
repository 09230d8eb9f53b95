//! Bounds of single keys, and combinations that do not need the data.

use toml::Table;

use super::document::Places;
use super::verify::verify;
use super::{Config, GradientConfig};
use crate::error::{Error, Result};
use crate::tempering::Prior;
use crate::training::EarlyStoppingConfig;

impl Config {
    /// Whether log Z is tracked during training; else it is estimated after the last update.
    pub fn is_tracked(&self) -> bool {
        self.tempering.share > 0.0
    }

    /// Checks bounds, and combinations that do not need the data.
    ///
    /// # Errors
    /// Names the first field that cannot be used.
    pub fn check(&self) -> Result<()> {
        let table = Table::try_from(self).map_err(|error| {
            Error::Invalid(format!("a configuration that TOML cannot hold: {error}"))
        })?;
        verify(&table, "", &Places::default())?;
        let (training, tempering) = (&self.training, &self.tempering);
        if training.epochs.is_some() == training.updates.is_some() {
            return Err(Error::config("training.updates", "give either `updates` or `epochs`"));
        }
        if tempering.every.or(1) > 1 && matches!(training.gradient, GradientConfig::Tempered {}) {
            return Err(Error::config(
                "tempering.every",
                "the tempered gradient needs the chains at every update: set it to 1",
            ));
        }
        if !self.is_tracked() {
            let needs = match (&training.gradient, training.early_stopping) {
                (GradientConfig::Tempered {}, _) => {
                    Some("the tempered gradient needs the chains: take another training.gradient")
                }
                (_, Some(_)) => Some(
                    "early stopping needs log-likelihoods during training: set training.early_stopping=false, and training.epochs",
                ),
                _ => None,
            };
            if let Some(needs) = needs {
                return Err(Error::config(
                    "tempering.share",
                    format!("0 is no tracking, and {needs}"),
                ));
            }
        }
        if self.data.similarity.is_some() && self.data.weights.is_some() {
            let problem = "rows have weights by data.similarity too: leave out one of the two";
            return Err(Error::config("data.weights", problem));
        }
        // A prior of given weights says how many temperatures there are.
        let chosen = match &tempering.prior {
            Prior::Given(weights) => weights.len(),
            _ => 2,
        };
        tempering.ladder(chosen).map(|_| ())
    }
}

impl EarlyStoppingConfig {
    /// Checks bounds, for settings that are in no configuration.
    ///
    /// # Errors
    /// Names the first field that cannot be used.
    pub fn check(&self) -> Result<()> {
        let table = Table::try_from(self)
            .map_err(|error| Error::Invalid(format!("settings that TOML cannot hold: {error}")))?;
        verify(&table, "training.early_stopping", &Places::default())
    }
}
