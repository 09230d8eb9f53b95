//! Ranges and combinations that do not need the data.

use super::{
    BetaUpdateConfig, Config, GradientConfig, Kernel, PriorConfig, SmoothingConfig, TemperingConfig,
};
use crate::error::{Error, Result};

/// Largest layers, chains and temperatures accepted; beyond, arithmetic on sizes could overflow.
const LARGEST: usize = 10_000_000;

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
    /// Checks ranges and combinations that do not need the data.
    ///
    /// # Errors
    /// Names the first field that cannot be used.
    pub fn check(&self) -> Result<()> {
        self.check_sizes()?;
        self.check_length()?;
        self.model.kernel.check(cfg!(feature = "burn"))?;
        let training = &self.training;
        for (field, value) in [
            ("model.weight_scale", self.model.weight_scale),
            ("training.weight_decay", training.weight_decay),
            ("tempering.share", self.tempering.share),
            ("audit.share", self.audit.share),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::config(field, format!("{value} is not a number of at least 0")));
            }
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
        training.learning_rate.check().map_err(|e| e.within("training.learning_rate"))?;
        training.update.check().map_err(|e| e.within("training.update"))?;
        if let Some(stopping) = &training.early_stopping {
            stopping.check().map_err(|e| e.within("training.early_stopping"))?;
        }
        if self.data.similarity.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            let problem = "a fraction above 0 and at most 1 is expected";
            return Err(Error::config("data.similarity", problem));
        }
        if self.data.similarity.is_some() && self.data.weights.is_some() {
            let problem = "rows have weights by data.similarity too: leave out one of the two";
            return Err(Error::config("data.weights", problem));
        }
        crate::data::Binarizer::new(self.data.binarization)
            .map_err(|error| Error::config("data.binarization", error.to_string()))?;
        self.tempering.check()
    }

    fn check_sizes(&self) -> Result<()> {
        let training = &self.training;
        let (chains, audit) = (self.tempering.chains, &self.audit);
        for (field, value, least) in [
            ("model.hidden", self.model.hidden, 1),
            ("training.batch", training.batch, 1),
            ("tempering.chains", chains, 2),
            ("tempering.temperatures", self.tempering.temperatures.or(2), 2),
            ("tempering.sweeps", self.tempering.sweeps.or(1), 1),
            ("tempering.every", self.tempering.every.or(1) as usize, 1),
            ("tempering.settling.sweeps", self.tempering.settling.sweeps.or(0), 0),
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
        if let GradientConfig::Cd { sweeps } | GradientConfig::Pcd { sweeps, .. } =
            training.gradient
            && !(1..=LARGEST).contains(&sweeps)
        {
            return Err(Error::config(
                "training.gradient.sweeps",
                format!("{sweeps} is not at least 1"),
            ));
        }
        Ok(())
    }

    fn check_length(&self) -> Result<()> {
        let training = &self.training;
        match (training.epochs, training.updates) {
            (Some(_), None) | (None, Some(_)) => {}
            _ => {
                return Err(Error::config("training.updates", "give either `updates` or `epochs`"));
            }
        }
        if training.epochs == Some(0) || training.updates == Some(0) {
            return Err(Error::config("training.updates", "a run needs at least one update"));
        }
        Ok(())
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
