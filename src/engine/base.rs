//! The base distribution p1(v) = exp(a.v - A(a)) at inverse temperature 0; of bits prod_i Bernoulli(sigma(a_i)).

use crate::engine::host::selected_sum;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BitMatrix, Engine, Layer, padded};
use crate::error::{Error, Result};
use crate::units::Variables;

/// Natural parameter of v^2 of a real variable with twice the standard deviation of the training rows.
const BROAD: f32 = -0.125;

/// Independent visible variables with natural parameters a, for bits their logits; sampled exactly, log Z_1 known exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseDistribution {
    logits: Vec<f32>,
    n_visible: usize,
    variables: Variables,
    /// Added to a.v: the constant of units -1 and +1.
    offset: f64,
}

impl BaseDistribution {
    /// Rows that are usually added to every state: each keeps a probability.
    pub const PSEUDO_COUNT: f64 = 1.0;

    /// Of bits, from their logits, shape `[M]`.
    pub fn from_logits(logits: &[f32]) -> Result<Self> {
        if let Some(i) = logits.iter().position(|a| !a.is_finite()) {
            return Err(Error::Invalid(format!("base logit {i} is {}", logits[i])));
        }
        let mut padded_logits = logits.to_vec();
        padded_logits.resize(padded(logits.len()), 0.0);
        let (n_visible, variables) = (logits.len(), Variables::BITS);
        Ok(Self { logits: padded_logits, n_visible, variables, offset: 0.0 })
    }

    /// a_i = 0: every visible state has the same probability.
    pub fn uniform(n_visible: usize) -> Self {
        let variables = Variables::BITS;
        Self { logits: vec![0.0; padded(n_visible)], n_visible, variables, offset: 0.0 }
    }

    /// The same natural parameters of other variables; real ones without a variance get twice the standard deviation of the training rows.
    ///
    /// # Panics
    /// Variables of another number of columns.
    #[must_use]
    pub fn of(self, variables: &Variables) -> Self {
        assert!(variables.fit(self.n_visible), "{variables} has not {} columns", self.n_visible);
        let offset = variables.offset(self.logits());
        let mut logits = self.logits;
        for (first, _) in variables.reals() {
            let square = &mut logits[first + 1];
            *square = if *square < 0.0 { *square } else { BROAD };
        }
        Self { logits, variables: variables.clone(), offset, ..self }
    }

    /// With these probabilities of the columns, none below `least`.
    ///
    /// # Errors
    /// A mean is NaN.
    pub fn from_means(means: Vec<f64>, least: f64, variables: &Variables) -> Result<Self> {
        Ok(Self::from_logits(&variables.logits(means, least))?.of(variables))
    }

    /// From the column counts of N rows of training data, s rows added to every state: of bits a_i = logit((n_i + s)/(N + 2s))
    /// (algorithms.md, section 1).
    pub fn from_marginals(data: &BitMatrix, smoothing: f64, variables: &Variables) -> Result<Self> {
        Self::from_column_counts(&data.column_counts(), data.rows(), smoothing, variables)
    }

    /// The same from the counts n_i, shape `[M]`, and N.
    pub fn from_column_counts(
        counts: &[u64],
        rows: usize,
        smoothing: f64,
        variables: &Variables,
    ) -> Result<Self> {
        let logits = variables.logits_of_counts(counts, rows, smoothing);
        Ok(Self::from_logits(&logits)?.of(variables))
    }

    /// a_i, shape `[M]`.
    pub fn logits(&self) -> &[f32] {
        &self.logits[..self.n_visible]
    }

    /// a_i padded to whole vectors, as the kernels need them.
    pub(crate) fn padded_logits(&self) -> &[f32] {
        &self.logits
    }

    /// What the columns stand for.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// # Errors
    /// A base of other variables than those of the model: log Z along its path would be that of no model.
    pub(crate) fn check_for(&self, engine: &dyn Engine) -> Result<()> {
        let (own, units) = (&self.variables, engine.n_units(Layer::Visible));
        if (own, self.n_visible) == (engine.variables(), units) {
            return Ok(());
        }
        let name = |variables: &Variables, units: usize| match variables.is_bits() {
            true if !variables.is_plus_minus() => format!("{units} bits"),
            _ => format!("variables `{variables}`"),
        };
        Err(Error::Invalid(format!(
            "the base distribution is of {}, the model of {}: make it with the variables of the parameters",
            name(own, self.n_visible),
            name(engine.variables(), units)
        )))
    }

    /// A(a), of bits sum_i softplus(a_i).
    pub(crate) fn visible_log_partition(&self) -> f64 {
        self.variables.log_partition(self.logits().iter().map(|&a| f64::from(a)))
    }

    /// log Z_1 = J log 2 + A(a), exact; of units -1 and +1, sum_i log 2 cosh(a_i/2) in place of A(a).
    pub fn log_partition(&self, n_hidden: usize) -> f64 {
        n_hidden as f64 * std::f64::consts::LN_2 + self.visible_log_partition() + self.offset
    }

    /// The probabilities that columns are set, shape `[M]`.
    pub fn means(&self) -> Vec<f64> {
        self.variables.means(self.logits().iter().map(|&a| f64::from(a)))
    }

    /// a.v for one packed row; of units -1 and +1, (a/2).s.
    pub fn dot(&self, row: &[u64]) -> f64 {
        selected_sum(row, &self.logits)
            + self.variables.dot_of_reals(row, &self.logits)
            + self.offset
    }

    /// [`BaseDistribution::dot`] minus a.v.
    pub(crate) fn offset(&self) -> f64 {
        self.offset
    }

    /// Independent exact samples, one per row.
    pub fn sample(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        let mut states = self.variables.states(rows, self.n_visible);
        let (streams, means) = (Streams::new(seed, Purpose::ChainStart, step), self.means());
        for row in 0..rows {
            let mut stream = streams.row(row as u32);
            self.variables.draw(&means, || stream.uniform(), states.row_mut(row));
        }
        states
    }
}
