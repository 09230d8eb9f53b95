//! The mixture p1(v) = sum_m pi_m exp(a_m.v - A(a_m)) at inverse temperature 0.

use crate::engine::host::math::exp_f64;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BaseDistribution, BitMatrix, Host, Layer, padded};
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::numerics::{index_at, log_sum_exp};

/// C product distributions with positive weights that sum to 1; sampled exactly, normalised exactly.
#[derive(Clone, Debug)]
pub struct MixtureBase {
    components: Vec<BaseDistribution>,
    /// log pi_m, shape `[C]`.
    log_shares: Vec<f64>,
    /// log p_m(v) = a_m.v - A(a_m) as the inputs of C hidden units.
    densities: Host,
}

impl MixtureBase {
    /// From components of one size and their relative weights.
    ///
    /// # Errors
    /// No component, components of different sizes, or a weight that is not positive and finite.
    pub fn new(components: Vec<BaseDistribution>, shares: &[f64]) -> Result<Self> {
        let total: f64 = shares.iter().sum();
        Self::of_log_shares(components, shares.iter().map(|share| (share / total).ln()).collect())
    }

    /// From components of one size and log pi_m.
    ///
    /// # Errors
    /// As [`MixtureBase::new`].
    pub fn of_log_shares(components: Vec<BaseDistribution>, log_shares: Vec<f64>) -> Result<Self> {
        let n_visible = components.first().map_or(0, |first| first.logits().len());
        let fits = components.iter().all(|base| base.logits().len() == n_visible);
        let positive = log_shares.iter().all(|share| share.is_finite());
        if n_visible == 0 || !fits || !positive || log_shares.len() != components.len() {
            return Err(Error::Mismatch(format!(
                "a mixture of {} components with {} shares: components of one size and a positive share each are needed",
                components.len(),
                log_shares.len()
            )));
        }
        let logits = |i: usize| components.iter().map(move |base| base.logits()[i]);
        let densities = Parameters {
            n_visible,
            n_hidden: components.len(),
            weights: (0..n_visible).flat_map(logits).collect(),
            visible_bias: vec![0.0; n_visible],
            hidden_bias: components
                .iter()
                .map(|base| -base.visible_log_partition() as f32)
                .collect(),
            variables: components[0].variables().clone(),
        };
        Ok(Self { log_shares, densities: Host::new(&densities), components })
    }

    /// Number of components, C.
    pub fn len(&self) -> usize {
        self.components.len()
    }

    /// Never true: a mixture has at least one component.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The components.
    pub fn components(&self) -> &[BaseDistribution] {
        &self.components
    }

    /// log pi_m, shape `[C]`.
    pub fn log_shares(&self) -> &[f64] {
        &self.log_shares
    }

    /// Independent exact samples, one per row.
    pub fn sample(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        let shares: Vec<f64> = self.log_shares.iter().map(|share| share.exp()).collect();
        let last = self.components.len() - 1;
        self.draw(Streams::new(seed, Purpose::ChainStart, step), rows, |_, uniform| {
            index_at(shares.iter().copied(), uniform).unwrap_or(last)
        })
    }

    /// Independent exact samples of the given components, one per row.
    pub(crate) fn sample_of(&self, components: &[usize], seed: u64) -> BitMatrix {
        let streams = Streams::new(seed, Purpose::ChainStart, 0);
        self.draw(streams, components.len(), |row, _| components[row])
    }

    /// A sample a row of the component that is chosen for its index and a uniform number.
    fn draw(
        &self,
        streams: Streams,
        rows: usize,
        component: impl Fn(usize, f64) -> usize,
    ) -> BitMatrix {
        let first = &self.components[0];
        let mut states = first.variables().states(rows, first.logits().len());
        let means: Vec<Vec<f64>> = self.components.iter().map(BaseDistribution::means).collect();
        for row in 0..rows {
            let mut stream = streams.row(row as u32);
            let chosen = component(row, stream.uniform());
            let variables = self.components[chosen].variables();
            variables.draw(&means[chosen], || stream.uniform(), states.row_mut(row));
        }
        states
    }

    /// log p_m(v) of packed rows; `out` [rows, stride of C].
    pub(crate) fn log_densities(&self, visible: &[u64], out: &mut [f32]) {
        self.densities.inputs_of(Layer::Hidden, visible, out);
    }

    /// Number of floats in a row of [`MixtureBase::log_densities`].
    pub(crate) fn stride(&self) -> usize {
        padded(self.len())
    }

    /// out_k += log sum_m pi_m p_m(v)^(1 - beta_k), given log p_m(v); `out` `[K]`, `betas` ascending.
    ///
    /// From beta_k down to beta_{k-1} a term is multiplied by (p_m/p_max)^(beta_k - beta_{k-1}) <= 1, a number that is the same for equal
    /// steps.
    pub(crate) fn add_tempered(&self, log_p: &[f32], betas: &[f64], out: &mut [f64]) {
        const BLOCK: usize = 16;
        let log_p = &log_p[..self.len()];
        let largest = f64::from(log_p.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let mut sums = vec![0.0f64; betas.len()];
        for (log_p, shares) in log_p.chunks(BLOCK).zip(self.log_shares.chunks(BLOCK)) {
            let (mut terms, mut ratios, mut below) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
            for (i, (log_p, share)) in log_p.iter().zip(shares).enumerate() {
                below[i] = f64::from(*log_p) - largest;
                terms[i] = exp_f64(*share);
            }
            let (mut beta, mut step) = (1.0, f64::NAN);
            for (sum, &next) in sums.iter_mut().zip(betas).rev() {
                // Steps of a linear ladder differ by rounding.
                let new = beta - next;
                if (new - step).abs() > 1e-12 || step.is_nan() {
                    step = new;
                    ratios.iter_mut().zip(&below).for_each(|(r, b)| *r = exp_f64(step * b));
                }
                terms.iter_mut().zip(&ratios).for_each(|(term, ratio)| *term *= ratio);
                *sum += terms.iter().sum::<f64>();
                beta = next;
            }
        }
        for ((out, sum), beta) in out.iter_mut().zip(sums).zip(betas) {
            *out += (1.0 - beta) * largest + sum.ln();
        }
    }

    /// Mean and variance over m of log p_m(v) under p(m | v, beta), given log p_m(v).
    pub(crate) fn mean_and_variance(&self, log_p: &[f32], beta: f64) -> (f64, f64) {
        let exponents = || {
            let pairs = log_p.iter().zip(&self.log_shares);
            pairs.map(|(p, share)| (f64::from(*p), share + (1.0 - beta) * f64::from(*p)))
        };
        let total = log_sum_exp(exponents().map(|(_, x)| x));
        let (mut mean, mut square) = (0.0, 0.0);
        exponents().for_each(|(p, x)| mean += (x - total).exp() * p);
        exponents().for_each(|(p, x)| square += (x - total).exp() * (p - mean).powi(2));
        (mean, square)
    }

    /// m drawn from p(m | v, beta) by one uniform number, given log p_m(v). At beta = 0 by the weights alone: there m and v are drawn
    /// together, so a chain can change its component.
    pub(crate) fn choose(&self, log_p: &[f32], beta: f64, uniform: f64) -> usize {
        let exponents = || {
            let pairs = log_p[..self.len()].iter().zip(&self.log_shares);
            let power = if beta > 0.0 { 1.0 - beta } else { 0.0 };
            pairs.map(move |(p, share)| share + power * f64::from(*p))
        };
        let largest = exponents().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = exponents().map(|x| (x - largest).exp()).sum();
        index_at(exponents().map(|x| (x - largest).exp()), uniform * total)
            .unwrap_or(self.len() - 1)
    }
}
