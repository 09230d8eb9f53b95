//! Settings of a tracker before its first update; all but the data have defaults that depend on the size.

use super::LogZTracker;
use super::settings::Settings;
use crate::config::{Automatic, Base, TemperingConfig};
use crate::context::Context;
use crate::data::{Dataset, Values, check_weights, weighted_counts};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::keys::LARGEST;
use crate::tempering::{check_memory, tempering_bytes};
use crate::training::{LEAST_MARGINAL, WINDOW, temperatures};
use crate::units::Variables;

/// Default number of chains of models of at most this many weights, and of larger ones.
const CHAINS: [usize; 2] = [500, 200];
const SMALL: usize = 100_000;

/// Base of the tracker's temperatures, and data for its checks.
#[derive(Clone, Copy, Debug)]
pub enum TrackedData<'a> {
    /// Training rows of the model, [rows, M]. Some thousands are enough.
    Rows(&'a BitMatrix),
    /// Means of the visible units alone, `[M]`, if no rows can be kept: the tracker cannot detect then that it missed a mode of the data.
    Marginals(&'a [f64]),
    /// A data set, which must be binary.
    Dataset(&'a Dataset),
}

impl<'a> From<&'a BitMatrix> for TrackedData<'a> {
    fn from(rows: &'a BitMatrix) -> Self {
        Self::Rows(rows)
    }
}

impl<'a> From<&'a [f64]> for TrackedData<'a> {
    fn from(marginals: &'a [f64]) -> Self {
        Self::Marginals(marginals)
    }
}

impl<'a> From<&'a Dataset> for TrackedData<'a> {
    fn from(dataset: &'a Dataset) -> Self {
        Self::Dataset(dataset)
    }
}

/// Settings of a [`LogZTracker`].
#[derive(Clone, Debug)]
#[must_use]
pub struct LogZTrackerBuilder<'a> {
    data: TrackedData<'a>,
    hidden: usize,
    chains: Option<usize>,
    seed: u64,
    window: f64,
    tempering: TemperingConfig,
    variables: Variables,
    weights: Option<&'a [f64]>,
    context: Context,
}

impl<'a> LogZTrackerBuilder<'a> {
    pub(super) fn new(data: TrackedData<'a>) -> Self {
        let tempering = TemperingConfig::default();
        let (hidden, chains, seed, variables) = (0, None, 0, Variables::BITS);
        let (window, weights) = (WINDOW, None);
        let context = Context::default();
        Self { data, hidden, chains, seed, window, tempering, variables, weights, context }
    }

    /// Number of hidden units, J; required.
    pub fn hidden(self, hidden: usize) -> Self {
        Self { hidden, ..self }
    }

    /// What the columns of the data stand for, as in the parameters that are tracked. Default: bits.
    pub fn variables(self, variables: Variables) -> Self {
        Self { variables, ..self }
    }

    /// The number of rows that each row of the data stands for, `[rows]`, for the base distribution. Default: the weights of a
    /// [`Dataset`], else 1 for all.
    pub fn weights(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// Where the chains run (a [`crate::Device`]), what ends their work, and its progress. Default: the kernels of this machine. A tracker
    /// that is read from bytes or a file runs there, too.
    pub fn within(self, context: impl Into<Context>) -> Self {
        Self { context: context.into(), ..self }
    }

    /// Number of tempered chains, S, at least 2. Default: 500, and 200 for models of more than 100 000 weights. The error bar falls with
    /// its square root.
    pub fn chains(self, chains: usize) -> Self {
        Self { chains: Some(chains), ..self }
    }

    /// Number of inverse temperatures, K, at least 2. Default: 20 to 50, by the size of the smaller layer.
    pub fn temperatures(mut self, temperatures: usize) -> Self {
        self.tempering.temperatures = Automatic::Given(temperatures);
        self
    }

    /// Gibbs sweeps of every chain per step, at least 1. Default: 2.
    pub fn sweeps(mut self, sweeps: usize) -> Self {
        self.tempering.sweeps = Automatic::Given(sweeps);
        self
    }

    /// Tracks the running average of the given parameters over this fraction of the updates so far, in [0, 1]; 0 for none. Default: 0.1, as
    /// in the trainer. All values belong to the average ([`LogZTracker::parameters`]), which changes slowly and is mostly the better model.
    /// Single updates of a large model change log f by several nats, which chains cannot follow (docs/results.md).
    ///
    /// [`LogZTracker::negative_phase`] needs 0.
    pub fn averaging(self, window: f64) -> Self {
        Self { window, ..self }
    }

    /// Updates between steps of the chains, at least 1. Default: 1, and for an average a two hundredth of the updates so far, at most 20.
    /// Larger values make tracking cheaper; if the model changes fast, the error bar grows, and doubts say so.
    pub fn every(mut self, every: u64) -> Self {
        self.tempering.every = Automatic::Given(every);
        self
    }

    /// Fewest and most sweeps at fixed parameters before a value is reported. Default: 60, and up to as many as were run since the last
    /// value, at most 2000, if chains are not equilibrated.
    pub fn settling(mut self, sweeps: usize, most: usize) -> Self {
        self.tempering.settling.sweeps = Automatic::Given(sweeps);
        self.tempering.settling.most = Automatic::Given(most);
        self
    }

    /// Seed of all random streams. Default: 0.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// All settings of `[tempering]` of a configuration; `share` is not used. Later calls change single fields of it.
    pub fn tempering(mut self, tempering: TemperingConfig) -> Self {
        self.chains = Some(tempering.chains);
        self.tempering = tempering;
        self
    }

    /// The tracker, which starts its chains at the first [`LogZTracker::update`].
    ///
    /// # Errors
    /// Data that are empty or not binary, marginals outside [0, 1], settings out of range, more memory than is free.
    pub fn build(self) -> Result<LogZTracker> {
        let (rows, marginals, own) = match self.data {
            TrackedData::Rows(rows) => (Some(rows), None, None),
            TrackedData::Marginals(marginals) => (None, Some(marginals), None),
            TrackedData::Dataset(Dataset { values: Values::Binary(rows), weights, .. }) => {
                (Some(rows), None, weights.as_deref())
            }
            TrackedData::Dataset(Dataset { name, .. }) => {
                return Err(Error::Invalid(format!(
                    "data set `{name}` has grey levels: binarize it before it is tracked"
                )));
            }
        };
        let visible = rows.map_or_else(|| marginals.map_or(0, <[f64]>::len), BitMatrix::columns);
        let shape = (rows.map_or(1, BitMatrix::rows), visible);
        if shape.0 == 0 || shape.1 == 0 {
            return Err(Error::Invalid(format!(
                "no data to track a model of: {} rows of {} columns",
                shape.0, shape.1
            )));
        }
        let variables = &self.variables;
        if !variables.fit(visible) {
            return Err(Error::Mismatch(format!(
                "variables `{variables}` do not have the {visible} columns of the data"
            )));
        }
        rows.map_or(Ok(()), |rows| variables.check(rows, "the data of the tracker"))?;
        let weights = self.weights.or(own);
        weights.map_or(Ok(()), |w| check_weights(w, rows.map_or(0, BitMatrix::rows)))?;
        let mut tempering = self.tempering;
        tempering.chains =
            self.chains.unwrap_or(CHAINS[usize::from(visible * self.hidden > SMALL)]);
        for (name, value, least) in [
            ("hidden", self.hidden, 1),
            ("chains", tempering.chains, 2),
            ("temperatures", tempering.temperatures.or(2), 2),
            ("sweeps", tempering.sweeps.or(1), 1),
            ("every", tempering.every.or(1) as usize, 1),
        ] {
            if !(least..=LARGEST as usize).contains(&value) {
                return Err(Error::Invalid(format!(
                    "`{name}` of a tracker must be between {least} and {LARGEST}, got {value}"
                )));
            }
        }
        if !(0.0..=1.0).contains(&self.window) {
            return Err(Error::Invalid(format!(
                "`averaging` of a tracker is a share between 0 and 1, got {}",
                self.window
            )));
        }
        let ladder = tempering.ladder(temperatures(visible, self.hidden))?;
        let bytes = tempering_bytes(tempering.chains, ladder.len(), visible, self.hidden);
        let what = format!("{} chains and {} temperatures", tempering.chains, ladder.len());
        check_memory(bytes, &what).map_err(Error::TooLarge)?;
        if let Some(marginals) = marginals {
            tempering.base = Base::Given(logits(marginals, variables)?);
        }
        let counts = match (rows, weights) {
            (Some(rows), Some(weights)) => weighted_counts(rows, weights),
            (Some(rows), None) => rows.column_counts(),
            (None, _) => vec![0; visible],
        };
        let base = tempering.base(&counts, shape.0, variables)?;
        let settings =
            Settings { hidden: self.hidden, tempering, seed: self.seed, window: self.window };
        let tracker = LogZTracker::new(settings, ladder, base, rows.cloned());
        Ok(LogZTracker { context: self.context, ..tracker })
    }
}

/// Natural parameters with these marginals.
fn logits(marginals: &[f64], variables: &Variables) -> Result<Vec<f32>> {
    match marginals.iter().enumerate().find(|(_, p)| !(0.0..=1.0).contains(*p)) {
        Some((i, p)) => Err(Error::Invalid(format!("marginal {i} is {p}, not in [0, 1]"))),
        None => Ok(variables.logits(marginals.to_vec(), LEAST_MARGINAL)),
    }
}
