//! Search for the modes of a layer's distribution, and the rigorous lower bound of log Z from every visited state.
//!
//! With the other layer summed out, log f(s) = bias.s + sum_i softplus(x_i(s)), x = other bias + W's, is convex in s as a
//! function on [0,1]^n. So its linearisation at s is a lower bound, and the state that maximises the linearisation,
//! s'_a = 1[bias_a + sum_i W_ai sigma(x_i) > 0], is no worse than s (the concave-convex procedure, Yuille and Rangarajan 2003):
//! whole states are flipped at once until nothing changes, then single units while one of them helps.
//!
//! log Z >= log sum f(s) over any set of DISTINCT states; all states ever evaluated are kept for it, in f64. Cost: one pass over W per
//! step; n passes over the other layer for the single flips of a state.

use std::collections::HashMap;

use crate::model::Parameters;
use crate::numerics::{log_sum_exp, sigmoid};
use crate::ops::cpu::math::exp_f64;
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, words_per_row};

/// Most states that are kept for the bound.
const MOST_STATES: usize = 100_000;
/// Most steps of one ascent, which is monotone and usually ends long before.
const MOST_STEPS: usize = 200;
/// Most work on the single flips of one ascent, n x units of the other layer; beyond it, only whole states are flipped.
const LARGEST_SCAN: usize = 50_000;
/// Fractions of units that are on in random starting states.
const DENSITIES: [f64; 7] = [0.5, 0.1, 0.9, 0.3, 0.7, 0.02, 0.98];

/// A maximum of log f over single flips.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// The state, packed.
    pub state: Vec<u64>,
    /// log f, nats.
    pub log_f: f64,
}

/// States of one layer evaluated so far.
pub struct ModeSearch {
    bias: Vec<f64>,
    other_bias: Vec<f64>,
    /// Row a: contribution of unit a to x.
    weights: Vec<Vec<f64>>,
    seen: HashMap<Vec<u64>, f64>,
    modes: Vec<Mode>,
}

impl ModeSearch {
    /// Over the visible layer; over the hidden one of the transposed parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let doubles = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        Self {
            bias: doubles(&parameters.visible_bias),
            other_bias: doubles(&parameters.hidden_bias),
            weights: parameters.weights.chunks_exact(parameters.n_hidden).map(doubles).collect(),
            seen: HashMap::new(),
            modes: Vec::new(),
        }
    }

    /// Ascends from all units off, all on, and `random` random states.
    pub fn from_random(&mut self, random: usize, seed: u64) {
        let n = self.bias.len();
        let streams = Streams::new(seed, Purpose::ModeSearch, 0);
        for row in 0..random + 2 {
            let mut stream = streams.row(row as u32);
            let density = match row {
                0 => 0.0,
                1 => 1.0,
                row => DENSITIES[(row - 2) % DENSITIES.len()],
            };
            let start = BitMatrix::from_fn(1, n, |_, _| stream.uniform() < density);
            self.ascend(start.row(0));
        }
    }

    /// Evaluates the state that turns each unit of the other layer on most, the units with positive weights to it, and ascends from the
    /// `most` highest of these, which are returned: a pattern that only a few of many units favour is not visible in an average over units.
    pub fn from_units(&mut self, most: usize) -> BitMatrix {
        let (units, others) = (self.bias.len(), self.other_bias.len());
        let preferred =
            BitMatrix::from_fn(others, units, |other, unit| self.weights[unit][other] > 0.0);
        let highest = self.highest(&preferred, most);
        self.from_rows(&highest);
        highest
    }

    /// Records the states of given rows; returns the `most` highest of them.
    pub fn highest(&mut self, rows: &BitMatrix, most: usize) -> BitMatrix {
        let mut ranked: Vec<(f64, usize)> = Vec::new();
        for row in 0..rows.rows() {
            let x = self.inputs(rows.row(row));
            ranked.push((self.value(rows.row(row), &x), row));
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.select(ranked.into_iter().take(most).map(|(_, row)| row))
    }

    /// Ascends from every row.
    pub fn from_rows(&mut self, rows: &BitMatrix) {
        (0..rows.rows()).for_each(|row| {
            self.ascend(rows.row(row));
        });
    }

    /// Records the states of given rows without ascending.
    pub fn note(&mut self, rows: &BitMatrix) {
        self.highest(rows, 0);
    }

    /// The mode reached from a state.
    pub fn ascend(&mut self, start: &[u64]) -> f64 {
        let mut state = start.to_vec();
        let mut x = self.inputs(&state);
        let mut value = self.value(&state, &x);
        for _ in 0..MOST_STEPS {
            let next = self.linearised(&x);
            if next != state {
                let there = self.inputs(&next);
                let better = self.value(&next, &there);
                if better > value {
                    (state, x, value) = (next, there, better);
                    continue;
                }
            }
            match self.best_flip(&state, &x, value) {
                Some((unit, better)) => {
                    let sign = if state[unit / 64] >> (unit % 64) & 1 == 1 { -1.0 } else { 1.0 };
                    state[unit / 64] ^= 1 << (unit % 64);
                    x.iter_mut().zip(&self.weights[unit]).for_each(|(x, w)| *x += sign * w);
                    value = better;
                }
                None => break,
            }
        }
        if self.modes.iter().all(|mode| mode.state != state) {
            self.modes.push(Mode { state, log_f: value });
        }
        value
    }

    /// All modes found, the highest first.
    pub fn modes(&self) -> Vec<Mode> {
        let mut modes = self.modes.clone();
        modes.sort_by(|a, b| b.log_f.total_cmp(&a.log_f).then_with(|| a.state.cmp(&b.state)));
        modes
    }

    /// log sum f over all distinct states seen, and their number; -infinity without.
    pub fn bound(&self) -> (f64, usize) {
        let mut values: Vec<f64> = self.seen.values().copied().collect();
        // The sum must not depend on the order of a hash table.
        values.sort_by(f64::total_cmp);
        (log_sum_exp(values.iter().copied()), values.len())
    }

    /// Means of the other layer given a state, sigma(x).
    pub fn other_means(&self, state: &[u64]) -> Vec<f64> {
        self.inputs(state).into_iter().map(sigmoid).collect()
    }

    fn inputs(&self, state: &[u64]) -> Vec<f64> {
        let mut x = self.other_bias.clone();
        for (unit, row) in self.weights.iter().enumerate() {
            if state[unit / 64] >> (unit % 64) & 1 == 1 {
                x.iter_mut().zip(row).for_each(|(x, w)| *x += w);
            }
        }
        x
    }

    fn value(&mut self, state: &[u64], x: &[f64]) -> f64 {
        if let Some(&value) = self.seen.get(state) {
            return value;
        }
        let on = |unit: &usize| state[unit / 64] >> (unit % 64) & 1 == 1;
        let linear: f64 = (0..self.bias.len()).filter(on).map(|unit| self.bias[unit]).sum();
        let value = linear + softplus_sum(x.iter().copied());
        if self.seen.len() < MOST_STATES {
            self.seen.insert(state.to_vec(), value);
        }
        value
    }

    /// argmax of the linearisation of log f.
    fn linearised(&self, x: &[f64]) -> Vec<u64> {
        let means: Vec<f64> = x.iter().map(|x| 1.0 / (1.0 + exp_f64(-x))).collect();
        let mut state = vec![0; words_per_row(self.bias.len())];
        for (unit, (row, bias)) in self.weights.iter().zip(&self.bias).enumerate() {
            let slope = bias + row.iter().zip(&means).map(|(w, m)| w * m).sum::<f64>();
            if slope > 0.0 {
                state[unit / 64] |= 1 << (unit % 64);
            }
        }
        state
    }

    /// The single flip that raises log f most, if any does.
    fn best_flip(&mut self, state: &[u64], x: &[f64], value: f64) -> Option<(usize, f64)> {
        if self.bias.len() * self.other_bias.len() > LARGEST_SCAN {
            return None;
        }
        let linear = value - softplus_sum(x.iter().copied());
        let mut best = None;
        for unit in 0..self.bias.len() {
            let on = state[unit / 64] >> (unit % 64) & 1 == 1;
            let sign = if on { -1.0 } else { 1.0 };
            let row = &self.weights[unit];
            let sum = softplus_sum(x.iter().zip(row).map(|(x, w)| x + sign * w));
            let there = linear + sign * self.bias[unit] + sum;
            if self.seen.len() < MOST_STATES {
                let mut neighbour = state.to_vec();
                neighbour[unit / 64] ^= 1 << (unit % 64);
                self.seen.entry(neighbour).or_insert(there);
            }
            // A rounding difference is not an improvement.
            if there > best.map_or(value + 1e-9 * (1.0 + value.abs()), |(_, best)| best) {
                best = Some((unit, there));
            }
        }
        best
    }
}

/// sum_i log(1 + exp x_i) = sum max(x, 0) + log prod (1 + exp(-|x|)): one logarithm for 512 factors of at most 2.
fn softplus_sum(x: impl Iterator<Item = f64>) -> f64 {
    let (mut linear, mut logarithms, mut product, mut factors) = (0.0, 0.0, 1.0f64, 0);
    for x in x {
        linear += x.max(0.0);
        product *= 1.0 + exp_f64(-x.abs());
        factors += 1;
        if factors == 512 {
            logarithms += product.ln();
            (product, factors) = (1.0, 0);
        }
    }
    linear + logarithms + product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;

    /// Once every state of a small layer was evaluated the bound is log Z, and it never exceeds log Z.
    #[test]
    fn the_bound_is_below_log_z_and_reaches_it() {
        for seed in 0..5 {
            let p = gaussian_parameters(9, 6, 2.0, seed);
            let exact = log_partition(&p).unwrap();
            for p in [p.clone(), p.transposed()] {
                let mut search = ModeSearch::new(&p);
                search.from_random(10, 1);
                let (bound, states) = search.bound();
                assert!(states > 9 && bound < exact + 1e-9, "{bound} {exact}");
                let all = BitMatrix::from_fn(1 << p.n_visible, p.n_visible, |r, i| r >> i & 1 == 1);
                search.note(&all);
                assert!((search.bound().0 - exact).abs() < 1e-9);
            }
        }
    }

    /// Both modes of a model that has two, from random starts.
    #[test]
    fn both_modes_are_found() {
        let bias = |n: f32| -0.5 * n + 0.3;
        let p = Parameters::new(20, 12, vec![1.0; 240], vec![bias(12.0); 20], vec![bias(20.0); 12]);
        let mut search = ModeSearch::new(&p.unwrap());
        search.from_random(20, 3);
        let counts: Vec<u32> =
            search.modes().iter().map(|mode| mode.state[0].count_ones()).collect();
        assert!(counts.contains(&0) && counts.contains(&20), "{counts:?}");
    }
}
