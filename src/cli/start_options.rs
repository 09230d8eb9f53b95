//! Options for a model that is estimated: its units, the layer of p1, and the guess of p1.

use std::path::Path;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use super::data_options::{Data, DataOptions};
use super::model_options::Model;
use super::output::tell;
use crate::engine::BitMatrix;
use crate::estimators::Start;
use crate::model::Parameters;
use crate::model::plus_minus::{Couplings, Units};
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
    /// Marginals of --data or of the model's run, else those in the model file
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
    /// What the model's units are, where the file does not say it [default: binary]
    #[arg(long, value_enum, value_name = "UNITS")]
    units: Option<UnitsName>,
}

/// A model that is ready for any estimator.
pub struct Prepared {
    /// The model to run estimators on.
    pub parameters: Parameters,
    /// p1(v).
    pub base: BaseDistribution,
    /// Its description.
    pub base_name: String,
    /// Whether it was given by an option.
    pub given: bool,
    /// Whether it was given or comes from training rows.
    pub informed: bool,
    /// Training rows of the data, if there are any.
    pub rows: Option<BitMatrix>,
    /// Its other rows.
    pub held_out: Option<BitMatrix>,
    /// States in the model file.
    pub states: Option<BitMatrix>,
}

impl StartOptions {
    /// Converts and transposes the model as requested, and guesses the base distribution. Marginals of data are those of zeros and ones,
    /// for any units.
    pub fn prepare(
        &self,
        model: &Model,
        data: Option<&str>,
        options: &DataOptions,
        seed: u64,
    ) -> Result<Prepared> {
        if data.is_some() && self.transpose {
            bail!(
                "--data has the visible units' marginals, which --transpose makes hidden ones: use --start signs instead of --data"
            );
        }
        let in_file = &model.file.parameters;
        let spins = match (self.units, in_file.variables.is_plus_minus()) {
            (Some(UnitsName::Binary), true) => {
                bail!("--units binary: the model file says that its units are -1 and +1")
            }
            (units, known) => known || units == Some(UnitsName::PlusMinus),
        };
        if self.transpose && !in_file.variables.is_bits() {
            bail!(
                "--transpose: hidden units are bits: a model with categorical or real variables has no transpose"
            );
        }
        let in_file = match spins && !in_file.variables.is_plus_minus() {
            true => Couplings::of_arrays(in_file).model()?,
            false => in_file.clone(),
        };
        let given = self.start.filter(|start| *start != StartName::Auto);
        // Marginals in the file are those of visible units, like those of data.
        let stored = model.file.trained_on.as_ref().filter(|_| !self.transpose);
        let data = match (data, &model.run) {
            (Some(name), _) => Some(options.load(name, model, seed, false)?),
            (None, Some(run)) if !self.transpose => of_run(run, model, options, seed),
            (None, _) => None,
        };
        let marginals = data.is_some() || stored.is_some();
        let default = if marginals { StartName::Marginals } else { StartName::VisibleBias };
        let start = given.unwrap_or(default);
        let rows = data.as_ref().map(Data::binarized_or_drawn).transpose()?;
        let held_out = data.as_ref().map(Data::all_held_out).transpose()?.flatten();
        let parameters = if self.transpose { in_file.transposed() } else { in_file };
        let (base, mut base_name) = match (start, data.as_ref().zip(rows.as_ref()), stored) {
            (StartName::Marginals, Some((data, rows)), _) => (
                data.base(rows)?.of(&parameters.variables),
                format!("marginals of {}", data.splits.train.name),
            ),
            (StartName::Marginals, None, Some(stored)) => (
                stored.base(BaseDistribution::PSEUDO_COUNT, &parameters.variables)?,
                format!("marginals of {}, in the model file", stored.data),
            ),
            (StartName::Marginals, None, None) => {
                bail!("--start marginals: name the data with --data")
            }
            (start, ..) => {
                let (start, name) = start.of_parameters();
                let base = match spins {
                    // A start from the parameters is one from the couplings.
                    true => {
                        let own = parameters.couplings().to(Units::PlusMinus)?.parameters;
                        start.base(&own, Units::PlusMinus, seed)?
                    }
                    false => start.base(&parameters, Units::Binary, seed)?,
                };
                (base.of(&parameters.variables), name.to_string())
            }
        };
        if self.transpose {
            base_name += ", layers exchanged";
        }
        let (given, informed) = (given.is_some(), given.is_some() || marginals);
        let states = model.file.states.clone().filter(|_| !self.transpose);
        Ok(Prepared { parameters, base, base_name, given, informed, rows, held_out, states })
    }
}

/// The data of the run that the model is from; prints a line if they cannot be read.
fn of_run(run: &Path, model: &Model, options: &DataOptions, seed: u64) -> Option<Data> {
    let loaded = options.load(&run.to_string_lossy(), model, seed, false);
    loaded
        .inspect_err(|error| {
            let rest = match &model.file.trained_on {
                Some(_) => "their marginals in the model file are used",
                None => "the estimate continues without them",
            };
            let error = format!("{error:#}").replace('\n', " ");
            tell(&format!("warning: the rows of the run cannot be read: {rest} ({error})"));
        })
        .ok()
}

impl StartName {
    /// A start from the parameters alone, and its name.
    fn of_parameters(self) -> (Start, &'static str) {
        match self {
            Self::Uniform => (Start::Uniform, "uniform"),
            Self::MeanField => (Start::MeanField, "exact means"),
            Self::Pinv => (Start::Pinv, "pseudo-inverse"),
            Self::Signs => (Start::Signs, "signs from random hidden states"),
            Self::VisibleBias | Self::Marginals | Self::Auto => {
                (Start::VisibleBias, "visible bias")
            }
        }
    }
}
