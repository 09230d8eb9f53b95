//! The base distribution p1(v) = prod_i Bernoulli(sigma(a_i)) at inverse temperature 0.

use crate::error::{Error, Result};
use crate::numerics::{logit, sigmoid, softplus};
use crate::ops::cpu::selected_sum;
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, padded};

/// Independent visible units with logits a_i; sampled exactly, log Z_1 known exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseDistribution {
    logits: Vec<f32>,
    n_visible: usize,
}

impl BaseDistribution {
    /// From given logits, shape `[M]`.
    pub fn from_logits(logits: &[f32]) -> Result<Self> {
        if let Some(i) = logits.iter().position(|a| !a.is_finite()) {
            return Err(Error::Invalid(format!("base logit {i} is {}", logits[i])));
        }
        let mut padded_logits = logits.to_vec();
        padded_logits.resize(padded(logits.len()), 0.0);
        Ok(Self { logits: padded_logits, n_visible: logits.len() })
    }

    /// a_i = 0: every visible state has the same probability.
    pub fn uniform(n_visible: usize) -> Self {
        Self { logits: vec![0.0; padded(n_visible)], n_visible }
    }

    /// a_i = logit((n_i + s)/(N + 2s)) from the column counts of N rows of training data (algorithms.md, section 1).
    pub fn from_marginals(data: &BitMatrix, smoothing: f64) -> Result<Self> {
        Self::from_column_counts(&data.column_counts(), data.rows(), smoothing)
    }

    /// The same from the counts n_i, shape `[M]`, and N.
    pub fn from_column_counts(counts: &[u64], rows: usize, smoothing: f64) -> Result<Self> {
        let rows = rows as f64;
        let logits: Vec<f32> = counts
            .iter()
            .map(|&count| {
                let p = (count as f64 + smoothing) / (rows + 2.0 * smoothing);
                logit(p) as f32
            })
            .collect();
        Self::from_logits(&logits)
    }

    /// a_i, shape `[M]`.
    pub fn logits(&self) -> &[f32] {
        &self.logits[..self.n_visible]
    }

    /// a_i padded to whole vectors, as the kernels need them.
    pub(crate) fn padded_logits(&self) -> &[f32] {
        &self.logits
    }

    /// log Z_1 = J log 2 + sum_i softplus(a_i), exact.
    pub fn log_partition(&self, n_hidden: usize) -> f64 {
        let visible: f64 = self.logits().iter().map(|&a| softplus(f64::from(a))).sum();
        n_hidden as f64 * std::f64::consts::LN_2 + visible
    }

    /// a.v for one packed row.
    pub fn dot(&self, row: &[u64]) -> f64 {
        selected_sum(row, &self.logits)
    }

    /// Independent exact samples, one per row.
    pub fn sample(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        let mut bits = BitMatrix::zeros(rows, self.n_visible);
        let streams = Streams::new(seed, Purpose::ChainStart, step);
        for row in 0..rows {
            let mut stream = streams.row(row as u32);
            for (i, &a) in self.logits().iter().enumerate() {
                bits.set(row, i, stream.uniform() < sigmoid(f64::from(a)));
            }
        }
        bits
    }
}
