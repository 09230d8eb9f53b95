//! Options of a model file that is to be estimated: its units, which layer carries p1, and the guess of p1.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use super::data_options::DataOptions;
use crate::checkpoint::ModelFile;
use crate::estimators::{Estimate, Start};
use crate::model::Parameters;
use crate::model::plus_minus::{Converted, Units, to_binary};
use crate::ops::BitMatrix;
use crate::tempering::BaseDistribution;

/// Guesses of the base distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StartName {
    /// Found by a search for modes and short annealing runs from several starts
    Auto,
    /// All states alike
    Uniform,
    /// The visible bias, hidden units ignored
    VisibleBias,
    /// Marginals of --data
    Marginals,
    /// The model's exact means, at most 25 units in the smaller layer
    MeanField,
    /// Where the energy is stationary, by the pseudo-inverse of the weights
    Pinv,
    /// Mean signs of the inputs from random hidden states
    Signs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UnitsName {
    /// {0, 1}
    Binary,
    /// {-1, +1}
    PlusMinus,
}

/// Where the tempered path starts
#[derive(Args)]
#[command(next_help_heading = "Base distribution")]
pub struct StartOptions {
    /// Base distribution; `auto` tries all that need no enumeration, with the marginals of --data among them [default: auto]
    #[arg(long, value_enum, value_name = "START")]
    start: Option<StartName>,
    /// Exchange the layers (log Z stays the same), so that the hidden units carry the base distribution; worth it where
    /// they are more than the visible ones
    #[arg(long)]
    transpose: bool,
    /// What the model's units are
    #[arg(long, value_enum, default_value = "binary", value_name = "UNITS")]
    units: UnitsName,
}

/// A model in {0, 1} units, ready for any estimator.
pub struct Prepared {
    converted: Converted,
    /// p1(v).
    pub base: BaseDistribution,
    /// What it is, for people.
    pub base_name: String,
    /// Whether it was asked for.
    pub given: bool,
    /// Training rows of the data, where there are some.
    pub rows: Option<BitMatrix>,
}

impl Prepared {
    /// The model to run estimators on.
    pub fn parameters(&self) -> &Parameters {
        &self.converted.parameters
    }

    /// log Z of the model in the file minus that of [`Prepared::parameters`].
    pub fn log_constant(&self) -> f64 {
        self.converted.log_constant
    }

    /// Estimates of the model in the file, from those of [`Prepared::parameters`].
    pub fn restore(&self, mut estimates: Vec<Estimate>) -> Vec<Estimate> {
        estimates.iter_mut().for_each(|estimate| estimate.value += self.log_constant());
        estimates
    }
}

impl StartOptions {
    /// Converts and transposes the model as asked, and guesses the base distribution. Marginals of data are those of
    /// zeros and ones, whatever the units.
    pub fn prepare(
        &self,
        file: ModelFile,
        data: Option<&str>,
        options: &DataOptions,
        seed: u64,
    ) -> Result<Prepared> {
        let parameters =
            if self.transpose { file.parameters.transposed() } else { file.parameters };
        let units = match self.units {
            UnitsName::Binary => Units::Binary,
            UnitsName::PlusMinus => Units::PlusMinus,
        };
        if data.is_some() && self.transpose {
            bail!(
                "--data has the visible units' marginals, which --transpose makes hidden ones: use --start signs instead of --data"
            );
        }
        let given = self.start.filter(|start| *start != StartName::Auto);
        let default = if data.is_some() { StartName::Marginals } else { StartName::VisibleBias };
        let start = given.unwrap_or(default);
        let rows = match data {
            Some(name) => {
                let data = options.load(name, parameters.n_visible, seed)?;
                Some(data.binarized_or_drawn()?)
            }
            None => None,
        };
        let (base, mut base_name) = if start == StartName::Marginals {
            if data.is_none() {
                bail!("--start marginals: name the data with --data");
            }
            options.base(data, &parameters.visible_bias, seed)?
        } else {
            let (start, name) = match start {
                StartName::Uniform => (Start::Uniform, "uniform"),
                StartName::MeanField => (Start::MeanField, "exact means"),
                StartName::Pinv => (Start::Pinv, "pseudo-inverse"),
                StartName::Signs => (Start::Signs, "signs from random hidden states"),
                StartName::VisibleBias | StartName::Marginals | StartName::Auto => {
                    (Start::VisibleBias, "visible bias")
                }
            };
            (start.base(&parameters, units, seed)?, name.to_string())
        };
        if self.transpose {
            base_name += ", layers exchanged";
        }
        let given = given.is_some();
        let converted = to_binary(&parameters, units)?;
        Ok(Prepared { converted, base, base_name, given, rows })
    }
}
