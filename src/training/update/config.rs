//! The table of update rules and their settings.

use serde::{Deserialize, Serialize};

use super::{Adam, AdamConfig, RmsSpectral, RmsSpectralConfig, Sgd, SgdConfig, Ssd, UpdateRule};
use crate::keys::choice;

choice! {
    /// `[training.update]`: `rule = "sgd" | "adam" | "rmsspectral" | "ssd"` and the rule's own settings.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub enum UpdateRuleConfig by "rule" {
        /// Gradient ascent with momentum.
        Sgd(SgdConfig) = "sgd",
        /// Adam.
        Adam(AdamConfig) = "adam",
        /// RMSspectral.
        RmsSpectral(RmsSpectralConfig) = "rmsspectral",
        /// Stochastic spectral descent.
        Ssd {} = "ssd",
    }
}

impl Default for UpdateRuleConfig {
    fn default() -> Self {
        Self::Sgd(SgdConfig::default())
    }
}

impl UpdateRuleConfig {
    /// The rule for a model of this size. `initial_learning_rate` is the schedule's first value, to which separately given steps (the
    /// biases' in RMSspectral) refer.
    pub fn build(
        &self,
        n_visible: usize,
        n_hidden: usize,
        initial_learning_rate: f64,
    ) -> Box<dyn UpdateRule> {
        match *self {
            Self::Sgd(config) => Box::new(Sgd::new(config, n_visible, n_hidden)),
            Self::Adam(config) => Box::new(Adam::new(config, n_visible, n_hidden)),
            Self::RmsSpectral(config) => {
                Box::new(RmsSpectral::new(config, n_visible, n_hidden, initial_learning_rate))
            }
            Self::Ssd {} => Box::new(Ssd),
        }
    }
}
