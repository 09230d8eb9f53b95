//! Rigorous lower bounds of log Z: sums over distinct states.
//!
//! log Z >= log sum over any distinct v of f(v), and the same over distinct h of f(h) = e^(b.h + A(c + W h)).
//! Hidden states drawn from data and from the gradient's particles represent whole modes of the model, so with few hidden units the second
//! bound is close to log Z. A tracked value below it has missed a mode.

use std::collections::HashSet;

use rayon::prelude::*;

use super::known_share::KnownShare;
use super::settle::Samples;
use crate::context::Parts;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{
    BitMatrix, Draw, Engine, Host, Layer, Matrix, for_each_set_bit, rows_per_task, words_per_row,
};
use crate::model::Parameters;
use crate::numerics::{index_at, log_sum_exp};
use crate::tempering::{GeometricPath, TemperedPath};

/// Distinct hidden states of a model and log f(h) of each, largest first.
pub struct HiddenStates {
    hidden: BitMatrix,
    log_f: Vec<f64>,
    /// The same states, for look-ups.
    known: HashSet<Vec<u64>>,
}

impl HiddenStates {
    /// One hidden state drawn from each row of `visible`, [rows, M].
    pub fn of(
        parameters: &Parameters,
        engine: &dyn Engine,
        visible: &BitMatrix,
        streams: Streams,
    ) -> Self {
        let hidden = drawn(engine, visible, streams);
        let mut known = HashSet::with_capacity(hidden.rows());
        let distinct =
            hidden.select((0..hidden.rows()).filter(|&row| known.insert(hidden.row(row).to_vec())));
        let values = hidden_log_f(parameters, engine, &distinct);
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        Self {
            log_f: order.iter().map(|&row| values[row]).collect(),
            hidden: distinct.select(order),
            known,
        }
    }

    /// The fraction of the model's mass in these states, estimated from samples of the model.
    pub(super) fn share(
        &self,
        engine: &dyn Engine,
        samples: &Samples,
        streams: Streams,
    ) -> KnownShare {
        let hidden = drawn(engine, &samples.visible, streams);
        let known = (0..hidden.rows()).map(|row| self.known.contains(hidden.row(row)));
        KnownShare::new(self.bound(), samples.with(known), samples.correlation)
    }

    /// Logarithm of the sum of f(h), a lower bound of log Z.
    pub fn bound(&self) -> f64 {
        log_sum_exp(self.log_f.iter().copied())
    }

    /// log f_k(h) of the most probable states at every inverse temperature of a path of this model, [K, states]:
    /// beta_k b.h + A(beta_k (c + W h) + (1 - beta_k) a).
    pub(super) fn along(&self, path: GeometricPath<'_>) -> Vec<Vec<f64>> {
        let rows = self.log_f.len().min(MOST_STATES);
        let n_visible = path.n_visible();
        let inputs = self.visible_inputs(path, &(0..rows).collect::<Vec<_>>());
        let visible_part = |x: &[f32], beta: f64| -> f64 {
            let logits = x[..n_visible].iter().zip(path.base.logits());
            let eta = logits.map(|(x, a)| beta * f64::from(*x) + (1.0 - beta) * f64::from(*a));
            let offset = (1.0 - beta) * path.base.offset();
            path.base.variables().log_partition(eta) + offset
        };
        // b.h is log f(h) without the visible units.
        let hidden_part: Vec<f64> =
            (0..rows).map(|row| self.log_f[row] - visible_part(inputs.row(row), 1.0)).collect();
        let at = |&beta: &f64| -> Vec<f64> {
            let value = |row: usize| beta * hidden_part[row] + visible_part(inputs.row(row), beta);
            (0..rows).into_par_iter().map(value).collect()
        };
        path.ladder.betas().iter().map(at).collect()
    }

    /// One visible state for each temperature k of `temperatures`, `[S]`: from a hidden state chosen in proportion to f_k(h),
    /// `along`, [K, states]. Samples of f_k, if it has no other modes.
    pub(super) fn draw(
        &self,
        path: GeometricPath<'_>,
        along: &[Vec<f64>],
        temperatures: &[u32],
        seed: u64,
        step: u64,
    ) -> BitMatrix {
        let streams = Streams::new(seed, Purpose::KnownModes, step);
        let choose = |(row, &k): (usize, &u32)| {
            let log_f = &along[k as usize];
            let total = log_sum_exp(log_f.iter().copied());
            let weights = log_f.iter().map(|log_f| (log_f - total).exp());
            index_at(weights, streams.row(row as u32).uniform()).unwrap_or(0)
        };
        let chosen: Vec<usize> = temperatures.iter().enumerate().map(choose).collect();
        let inputs = self.visible_inputs(path, &chosen);
        let betas = path.ladder.betas();
        let beta: Vec<f32> = temperatures.iter().map(|&k| betas[k as usize] as f32).collect();
        let variables = path.engine.variables();
        let mut visible = variables.states(chosen.len(), path.n_visible());
        let draw = Draw {
            n_units: path.n_visible(),
            inputs: inputs.as_slice(),
            beta: &beta,
            base: Some(path.base.padded_logits()),
            streams: Streams::new(seed, Purpose::KnownModes, step + 1),
            first_row: 0,
        };
        draw.columns(variables, visible.words_mut());
        visible
    }

    fn visible_inputs(&self, path: GeometricPath<'_>, states: &[usize]) -> Matrix {
        let hidden = self.hidden.select(states.iter().copied());
        path.engine.inputs(Layer::Visible, &hidden)
    }
}

/// log f(h) = b.h + A(c + W h) of hidden states, [N, J].
fn hidden_log_f(parameters: &Parameters, engine: &dyn Engine, hidden: &BitMatrix) -> Vec<f64> {
    // With the layers exchanged, hidden states are visible ones; for bits that is faster.
    if parameters.variables.is_bits() {
        return Host::new(&parameters.transposed()).log_f(hidden);
    }
    let n_visible = parameters.n_visible;
    let inputs = engine.inputs(Layer::Visible, hidden);
    let value = |row: usize| {
        let eta = inputs.row(row)[..n_visible].iter().map(|x| f64::from(*x));
        let mut linear = 0.0;
        for_each_set_bit(hidden.row(row), |j| linear += f64::from(parameters.hidden_bias[j]));
        linear + parameters.variables.log_partition(eta)
    };
    (0..hidden.rows()).into_par_iter().map(value).collect()
}

/// A hidden state drawn from each row of `visible`.
fn drawn(engine: &dyn Engine, visible: &BitMatrix, streams: Streams) -> BitMatrix {
    let (rows, n_hidden) = (visible.rows(), engine.n_units(Layer::Hidden));
    let mut hidden = BitMatrix::zeros(rows, n_hidden);
    let parts = Parts::new(engine.context(), rows, rows_per_task(rows));
    let own = parts.own();
    parts.share(|| {
        let states = engine.hidden_states(&visible.select(own.clone()), streams, own.start as u32);
        parts.of(hidden.words_mut(), words_per_row(n_hidden)).copy_from_slice(states.words());
    });
    parts.gather([parts.rows(hidden.words_mut(), words_per_row(n_hidden))]);
    hidden
}

/// Hidden states for bounds at other temperatures.
const MOST_STATES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact::{log_partition, log_partition_at, log_probabilities_of_visible};
    use crate::model::test_systems::{gaussian_parameters, total_variation};
    use crate::tempering::{BaseDistribution, Ladder, Prior};
    use crate::tracking::likelihood::over_distinct;

    #[test]
    fn bounds_lie_below_and_reach_log_z_where_all_states_are_there() {
        let parameters = gaussian_parameters(9, 5, 1.5, 2);
        let exact = log_partition(&parameters).unwrap();
        let engine = Host::new(&parameters);
        let all = BitMatrix::from_fn(512, 9, |row, i| row >> i & 1 == 1);
        let twice = all.select((0..512).chain(0..512));
        assert!((over_distinct(&twice, &engine.log_f(&twice)) - exact).abs() < 1e-4);
        let some = all.select([3, 3, 77, 500]);
        assert!(over_distinct(&some, &engine.log_f(&some)) < exact);
        // 512 draws out of 32 hidden states.
        let states = |rows| {
            HiddenStates::of(&parameters, &engine, rows, Streams::new(1, Purpose::BoundHidden, 0))
        };
        let (known, few) = (states(&all), states(&some));
        assert!(known.bound() < exact + 1e-4 && known.bound() > exact - 0.5, "{exact}");
        assert!(few.bound() < known.bound());
    }

    #[test]
    fn bounds_hold_along_the_path_and_draws_follow_the_model() {
        let parameters = gaussian_parameters(9, 5, 1.5, 2);
        let engine = Host::new(&parameters);
        let all = BitMatrix::from_fn(4096, 9, |row, i| row >> i & 1 == 1);
        let states =
            HiddenStates::of(&parameters, &engine, &all, Streams::new(1, Purpose::BoundHidden, 0));
        assert_eq!(states.log_f.len(), 32, "every hidden state was drawn");
        let logits: Vec<f32> = (0..9).map(|i| 0.2 * i as f32 - 0.7).collect();
        let base = BaseDistribution::from_logits(&logits).unwrap();
        let ladder = Ladder::linear(5, &Prior::Uniform).unwrap();
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let logits: Vec<f64> = logits.iter().map(|&a| f64::from(a)).collect();
        let along = states.along(path);
        for (log_f, &beta) in along.iter().zip(ladder.betas()) {
            let bound = log_sum_exp(log_f.iter().copied());
            let exact = log_partition_at(&parameters, &logits, beta).unwrap();
            assert!((bound - exact).abs() < 1e-4, "beta {beta}: {bound} {exact}");
        }
        let n = 20_000;
        let drawn = states.draw(path, &along, &vec![4; n], 1, 0);
        let exact = log_probabilities_of_visible(&parameters).unwrap();
        let exact: Vec<f64> = exact.into_iter().map(f64::exp).collect();
        let distance = total_variation((0..n).map(|row| drawn.row(row)[0] as usize), &exact);
        assert!(distance < 1.3, "{distance}");
    }
}
