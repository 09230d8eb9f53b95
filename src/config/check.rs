//! Bounds of single keys, and combinations that do not need the data.

use toml::Table;

use super::document::Places;
use super::verify::verify;
use super::{Config, GradientConfig, Kernel};
use crate::error::{Error, Result};
use crate::tempering::Prior;

impl Kernel {
    /// `burn`: whether this build has Burn.
    pub(super) fn check(self, burn: bool) -> Result<()> {
        if self == Self::Host || burn {
            return Ok(());
        }
        let problem = "\"composed\" computes with Burn's tensors: build with the feature `burn`";
        Err(Error::config("model.kernel", problem))
    }
}

impl Config {
    /// Checks bounds, and combinations that do not need the data.
    ///
    /// # Errors
    /// Names the first field that cannot be used.
    pub fn check(&self) -> Result<()> {
        let table = Table::try_from(self).map_err(|error| {
            Error::Invalid(format!("a configuration that TOML cannot hold: {error}"))
        })?;
        verify(&table, &Places::default())?;
        self.model.kernel.check(cfg!(feature = "burn"))?;
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
        // A prior of given weights says how many temperatures there are.
        let chosen = match &tempering.prior {
            Prior::Given(weights) => weights.len(),
            _ => 2,
        };
        tempering.ladder(chosen).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_is_refused_where_burn_is_not() {
        assert!(Kernel::Composed.check(true).is_ok() && Kernel::Host.check(false).is_ok());
        let error = Kernel::Composed.check(false).unwrap_err().to_string();
        assert!(error.contains("model.kernel") && error.contains("feature `burn`"), "{error}");
    }
}
