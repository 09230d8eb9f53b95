//! What a model says of rows with missing cells: the probability of the given ones, and the distribution of the others.
//!
//! Each row has a [`Conditional`] model of its own. It is enumerated where its smaller layer has at most 16 units; else tempered chains run
//! along the path from a mixture of its mean-field solutions, one chain a draw.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::Equilibrium;
use super::automatic::quick_start;
use crate::context::Context;
use crate::engine::random::{Purpose, Streams, derived_seed};
use crate::engine::{BitMatrix, Engine, Host, Layer};
use crate::error::{Error, Result};
use crate::model::{Conditional, Parameters, exact};
use crate::tempering::BaseDistribution;
use crate::trust::Trust;
use crate::units::Variables;

/// Largest smaller layer that is enumerated: beyond it chains take less time, and there are many rows.
const LARGEST_EXACT: usize = 16;
/// Fewest chains of a row that is not enumerated.
const CHAINS: usize = 100;
/// Temperatures and sweeps of these chains: less than of a whole model, because the given cells leave few modes, and there are many rows.
const WORK: (usize, usize) = (30, 200);

/// What is asked of rows with missing cells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Completing<'a> {
    /// Distribution of the visible variables that chains start from too, such as training marginals.
    pub base: Option<&'a BaseDistribution>,
    /// Whether [`Completion::means`] are wanted.
    pub means: bool,
    /// Number of draws of every row.
    pub draws: usize,
    /// Seed of all random numbers.
    pub seed: u64,
    /// What ends the work and shows its progress, if there is something.
    pub context: Option<&'a Context>,
}

/// A row with its missing cells filled in.
#[derive(Clone, Debug)]
pub struct Completion {
    /// log of the sum of f over all states of the missing cells, nats: minus log Z, the log-likelihood of the given cells.
    pub log_f: f64,
    /// Its standard error; 0 by enumeration.
    pub std_error: f64,
    /// Probability that each visible unit is on, given the given cells, shape `[M]`; empty if not asked for.
    pub means: Vec<f64>,
    /// Draws of the whole row, shape [draws, M].
    pub draws: BitMatrix,
    /// Whether chains represent all of the distribution.
    pub trust: Trust,
}

impl Completing<'_> {
    /// Completes every row, [N, M]; `missing`: its missing cells, [N, M]. What `rows` has there is not read.
    ///
    /// ```
    /// use ztrack::engine::BitMatrix;
    /// use ztrack::estimators::Completing;
    /// use ztrack::model::{exact, test_systems::gaussian_parameters};
    ///
    /// let model = gaussian_parameters(12, 5, 1.0, 1);
    /// let rows = BitMatrix::from_fn(3, 12, |row, i| (row + i) % 3 == 0);
    /// let missing = BitMatrix::from_fn(3, 12, |row, i| i < 2 * row);
    /// let asked = Completing { means: true, ..Completing::default() };
    /// let found = asked.run(&model, &rows, &missing)?;
    /// let log_z = exact::log_partition(&model)?;
    /// assert!(found[1].log_f - log_z < 0.0 && found[1].std_error == 0.0);
    /// assert!(found[2].means[0] > 0.0 && found[2].means[0] < 1.0 && found[2].means[11] == 0.0);
    /// # Ok::<(), ztrack::Error>(())
    /// ```
    ///
    /// # Errors
    /// Matrices of other shapes, and a categorical variable that is missing in part.
    pub fn run(
        &self,
        parameters: &Parameters,
        rows: &BitMatrix,
        missing: &BitMatrix,
    ) -> Result<Vec<Completion>> {
        let shape = (rows.rows(), parameters.n_visible);
        for found in [rows, missing].map(|it| (it.rows(), it.columns())) {
            if found != shape {
                return Err(Error::Mismatch(format!(
                    "rows and missing cells are {} x {} and {} x {}, the model has {} visible units",
                    rows.rows(),
                    rows.columns(),
                    missing.rows(),
                    missing.columns(),
                    shape.1
                )));
            }
        }
        let conditional = |row: usize| {
            let model = parameters.conditional(rows.row(row), missing.row(row));
            let named = |error| Error::Invalid(format!("row {}: {error}", row + 1));
            match missing.row(row).iter().all(|word| *word == 0) {
                true => Ok(None),
                false => model.map(Some).map_err(named),
            }
        };
        let variables = &parameters.variables;
        let (shown, done) = (self.context().progress().alone(), AtomicUsize::new(0));
        let complete = |row: usize| {
            self.context().go_on()?;
            let found = match conditional(row)? {
                None => self.given(parameters, rows, row),
                Some(model) if model.parameters.smaller_layer() <= LARGEST_EXACT => {
                    self.exact((&model, variables), rows, row)
                }
                Some(model) => self.by_chains((&model, variables), rows, row),
            };
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            shown.at("rows with missing cells", done, shape.0);
            found
        };
        let rows = (0..shape.0).into_par_iter().with_max_len(1);
        self.context().interruptible(|| rows.map(complete).collect())
    }

    fn context(&self) -> &Context {
        self.context.unwrap_or_else(|| Context::none())
    }

    /// A row without missing cells.
    fn given(&self, parameters: &Parameters, rows: &BitMatrix, row: usize) -> Result<Completion> {
        let log_f = exact::log_weights(parameters, &rows.select([row]))?[0];
        let variables = &parameters.variables;
        let means = if self.means { given(variables, rows, row) } else { Vec::new() };
        let draws = rows.select(std::iter::repeat_n(row, self.draws));
        Ok(Completion { log_f, std_error: 0.0, means, draws, trust: Trust::sound() })
    }

    fn exact(&self, of: Of<'_>, rows: &BitMatrix, row: usize) -> Result<Completion> {
        let model = of.0;
        let parameters = &model.parameters;
        let log_f = model.log_constant + exact::log_partition(parameters)?;
        let open = if self.means { exact::moments(parameters)?.visible } else { Vec::new() };
        let draws = match self.draws {
            0 => BitMatrix::zeros(0, model.columns.len()),
            draws => exact::samples(parameters, draws, self.seed_of(row))?,
        };
        let (means, draws) = self.whole(of, rows, row, &open, &draws);
        Ok(Completion { log_f, std_error: 0.0, means, draws, trust: Trust::sound() })
    }

    fn by_chains(&self, of: Of<'_>, rows: &BitMatrix, row: usize) -> Result<Completion> {
        let model = of.0;
        let parameters = &model.parameters;
        let variables = &parameters.variables;
        let product = |base: &BaseDistribution| {
            let logits: Vec<f32> = model.columns.iter().map(|&i| base.logits()[i]).collect();
            Ok::<_, Error>(BaseDistribution::from_logits(&logits)?.of(variables))
        };
        let base = self.base.map(product).transpose()?;
        let (chains, seed) = (self.draws.max(CHAINS), self.seed_of(row));
        let (base, bound) = quick_start(parameters, base, seed, self.context())?;
        let engine = Host::new(parameters).within(self.context().clone());
        let mut found = Equilibrium::by_mixture_path(&engine, &base, WORK, chains, seed)?;
        bound.iter().for_each(|bound| found.refuse_below(bound.value));
        let log_z =
            found.chains.take().ok_or_else(|| Error::Invalid("chains without log Z".into()))?;
        let open = if self.means { means(&engine, &found.visible, seed) } else { Vec::new() };
        // Spread over all chains, whose states are in the order in which they were taken.
        let draws = found.visible.select((0..self.draws).map(|i| i * chains / self.draws));
        let (means, draws) = self.whole(of, rows, row, &open, &draws);
        let log_f = model.log_constant + log_z.value;
        let trust = found.trust.and(log_z.trust);
        Ok(Completion { log_f, std_error: log_z.std_error, means, draws, trust })
    }

    /// Means and draws of all columns, from those of the open ones.
    fn whole(
        &self,
        (model, variables): Of<'_>,
        rows: &BitMatrix,
        row: usize,
        open: &[f64],
        drawn: &BitMatrix,
    ) -> (Vec<f64>, BitMatrix) {
        let mut means = if self.means { given(variables, rows, row) } else { Vec::new() };
        model.columns.iter().zip(open).for_each(|(&i, mean)| means[i] = *mean);
        let mut draws = rows.select(std::iter::repeat_n(row, drawn.rows()));
        (0..drawn.rows()).for_each(|draw| model.fill(draws.row_mut(draw), variables, drawn, draw));
        (means, draws)
    }

    fn seed_of(&self, row: usize) -> u64 {
        derived_seed(self.seed, Purpose::Completion, row as u64)
    }
}

/// A model of the open variables, and all variables.
type Of<'a> = (&'a Conditional, &'a Variables);

/// Means of a row that is given: its bits, and v and v^2 of real variables.
fn given(variables: &Variables, rows: &BitMatrix, row: usize) -> Vec<f64> {
    let mut means = vec![0.0; rows.columns()];
    variables.statistics(rows.row(row), rows.columns(), |i, t| means[i] = t);
    means
}

/// Means of the visible units over samples of them, [N, M]: of `E[v | h]` with h drawn given each sample, which has a smaller error than the
/// mean of the samples.
fn means(engine: &Host, samples: &BitMatrix, seed: u64) -> Vec<f64> {
    let (rows, streams) = (samples.rows(), Streams::new(seed, Purpose::SampleHidden, 0));
    let eta = engine.inputs(Layer::Visible, &engine.hidden_states(samples, streams, 0));
    let mut sums = vec![0.0; engine.n_units(Layer::Visible)];
    for row in 0..rows {
        let means = engine.variables().means(eta.row(row).iter().map(|&x| f64::from(x)));
        sums.iter_mut().zip(means).for_each(|(sum, mean)| *sum += mean / rows as f64);
    }
    sums
}
