//! Search for the modes of a layer's distribution, and the rigorous lower bound of log Z from every visited state.
//!
//! With the other layer summed out, log f(s) = bias.s + A(x(s)), x = other bias + W's, A = sum of softplus for bits, is convex in s as a
//! function on [0,1]^n. So its linearisation at s is a lower bound, and the state that maximises the linearisation,
//! s' with the largest slope bias_a + sum_i W_ai A'(x)_i of every variable (for bits 1[slope > 0]), is no worse than s (the concave-convex procedure, Yuille and Rangarajan 2003):
//! whole states change at once until nothing changes, then single variables, those that help most first, while one of them helps.
//!
//! log Z >= log sum f(s) over any set of DISTINCT states; all states ever evaluated are kept for it, in f64. Cost: one pass over W per
//! step; n passes over the other layer for the moves of single variables of a state.

pub(super) mod crossover;
mod moves;

use std::collections::HashMap;

use self::moves::{Move, moves};
use super::layer_sum::{dot, log_partition};
use crate::engine::host::math::exp_f64;
use crate::engine::random::{Purpose, Stream, Streams};
use crate::engine::{BitMatrix, Layer, words_per_row};
use crate::model::Parameters;
use crate::numerics::log_sum_exp;
use crate::units::Variables;

/// Most states that are kept for the bound.
const MOST_STATES: usize = 100_000;
/// Most steps of one ascent, which is monotone and usually ends long before.
const MOST_STEPS: usize = 200;
/// Most work on the single flips of one ascent, n x units of the other layer; beyond it, only whole states are flipped.
const LARGEST_SCAN: usize = 50_000;
/// Fractions of units that are on in random starting states.
const DENSITIES: [f64; 7] = [0.5, 0.1, 0.9, 0.3, 0.7, 0.02, 0.98];

/// A maximum of log f over moves of single variables.
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
    /// Constant of log f.
    offset: f64,
    /// Row a: contribution of unit a to x.
    weights: Vec<Vec<f64>>,
    /// What the units of this layer, and those of the other one, stand for.
    own: Variables,
    other: Variables,
    seen: HashMap<Vec<u64>, f64>,
    modes: Vec<Mode>,
}

impl ModeSearch {
    /// Over a layer of a model.
    pub fn new(model: &Parameters, layer: Layer) -> Self {
        let transposed;
        let (parameters, own, other) = match layer {
            Layer::Visible => (model, model.variables.clone(), Variables::BITS),
            Layer::Hidden => {
                transposed = model.transposed();
                (&transposed, Variables::BITS, model.variables.clone())
            }
        };
        let doubles = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        Self {
            bias: doubles(&parameters.visible_bias),
            other_bias: doubles(&parameters.hidden_bias),
            offset: parameters.log_offset(),
            weights: parameters.weights.chunks_exact(parameters.n_hidden).map(doubles).collect(),
            own,
            other,
            seen: HashMap::new(),
            modes: Vec::new(),
        }
    }

    /// Ascends from all units off, all on, and `random` random states.
    pub(crate) fn climb_random(&mut self, random: usize, seed: u64) {
        let streams = Streams::new(seed, Purpose::ModeSearch, 0);
        for row in 0..random + 2 {
            let mut stream = streams.row(row as u32);
            let density = match row {
                0 => 0.0,
                1 => 1.0,
                row => DENSITIES[(row - 2) % DENSITIES.len()],
            };
            let start = self.random_state(density, &mut stream);
            self.ascend(&start);
        }
    }

    /// Units are on with probability `density`; see [`Variables::spread`] for others.
    fn random_state(&self, density: f64, stream: &mut Stream) -> Vec<u64> {
        let means = self.own.spread(self.bias.len(), density);
        let mut state = vec![0; words_per_row(self.bias.len())];
        self.own.draw(&means, || stream.uniform(), &mut state);
        state
    }

    /// Records the states of given rows and ascends from the `most` highest of them, which are returned.
    pub(crate) fn climb_highest(&mut self, rows: &BitMatrix, most: usize) -> BitMatrix {
        let highest = self.highest(rows, most);
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
            let mut linear = value - log_partition(&self.other, x.clone());
            let moves = self.better_moves(&state, &x, linear, value);
            if moves.is_empty() {
                break;
            }
            for change in moves {
                let there = self.moved(&x, change);
                let moved = linear + self.linear_change(change);
                let better = moved + log_partition(&self.other, there.clone());
                if is_higher(better, value) {
                    change.make(&mut state);
                    (x, linear, value) = (there, moved, better);
                }
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

    /// States of the `most` highest modes.
    pub(super) fn states_of_modes(&self, most: usize) -> BitMatrix {
        let modes = self.modes();
        let states: Vec<u64> = modes.into_iter().take(most).flat_map(|mode| mode.state).collect();
        let rows = states.len() / words_per_row(self.bias.len());
        BitMatrix::from_words(rows, self.bias.len(), states)
            .unwrap_or_else(|| BitMatrix::zeros(0, self.bias.len()))
    }

    /// log sum f over all distinct states seen, and their number; -infinity without.
    pub fn bound(&self) -> (f64, usize) {
        let mut values: Vec<f64> = self.seen.values().copied().collect();
        // The sum must not depend on the order of a hash table.
        values.sort_by(f64::total_cmp);
        (log_sum_exp(values.iter().copied()), values.len())
    }

    /// x after a move. Each case is a loop of its own: this is most of a search.
    fn moved(&self, x: &[f64], change: Move) -> Vec<f64> {
        let row = |unit: Option<usize>| unit.map(|unit| x.iter().zip(&self.weights[unit]));
        match (row(change.cleared), row(change.set)) {
            (Some(cleared), Some(set)) => {
                cleared.zip(set).map(|((x, cleared), (_, set))| x + (set - cleared)).collect()
            }
            (Some(cleared), None) => cleared.map(|(x, cleared)| x - cleared).collect(),
            (None, Some(set)) => set.map(|(x, set)| x + set).collect(),
            (None, None) => x.to_vec(),
        }
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
        let value = self.offset + linear + log_partition(&self.other, x.to_vec());
        if self.seen.len() < MOST_STATES {
            self.seen.insert(state.to_vec(), value);
        }
        value
    }

    /// argmax of the linearisation of log f.
    fn linearised(&self, x: &[f64]) -> Vec<u64> {
        let means: Vec<f64> = match self.other.is_bits() {
            true => x.iter().map(|x| 1.0 / (1.0 + exp_f64(-x))).collect(),
            false => self.other.means(x.iter().copied()),
        };
        let slope = |(row, bias): (&Vec<f64>, &f64)| bias + dot(row, &means);
        let slopes: Vec<f64> = self.weights.iter().zip(&self.bias).map(slope).collect();
        let mut state = vec![0; words_per_row(self.bias.len())];
        self.own.likeliest(&slopes, &mut state);
        state
    }

    /// The best move of every variable of which a move raises log f, here `value`, the highest first. `linear`: the part of log f beside
    /// A(x).
    fn better_moves(&mut self, state: &[u64], x: &[f64], linear: f64, value: f64) -> Vec<Move> {
        let units = self.bias.len();
        if units * self.other_bias.len() > LARGEST_SCAN {
            return Vec::new();
        }
        let mut better: Vec<(Move, f64)> = Vec::new();
        for variable in self.own.clone().of(units) {
            let mut best: Option<(Move, f64)> = None;
            for change in moves(&variable, state) {
                let there = linear
                    + self.linear_change(change)
                    + log_partition(&self.other, self.moved(x, change));
                if self.seen.len() < MOST_STATES {
                    let mut neighbour = state.to_vec();
                    change.make(&mut neighbour);
                    self.seen.entry(neighbour).or_insert(there);
                }
                if is_higher(there, best.map_or(value, |(_, best)| best)) {
                    best = Some((change, there));
                }
            }
            better.extend(best);
        }
        better.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        better.into_iter().map(|(change, _)| change).collect()
    }

    /// What a move adds to bias.s.
    fn linear_change(&self, change: Move) -> f64 {
        change.units().map(|(unit, sign)| sign * self.bias[unit]).sum()
    }
}

/// Whether log f is higher by more than a rounding difference.
fn is_higher(there: f64, here: f64) -> bool {
    there > here + 1e-9 * (1.0 + here.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact;
    use crate::model::test_systems::gaussian_parameters;

    /// Once every state of a small layer was evaluated the bound is log Z, and it never exceeds log Z.
    #[test]
    fn the_bound_is_below_log_z_and_reaches_it() {
        for seed in 0..5 {
            let p = gaussian_parameters(9, 6, 2.0, seed);
            // Every other model has categorical variables.
            let variables = if seed % 2 == 0 { "3+,4,2*1+" } else { "" };
            let p = p.of(variables.parse().unwrap()).unwrap();
            let exact = exact::log_partition(&p).unwrap();
            for (layer, units) in [(Layer::Visible, 9), (Layer::Hidden, 6)] {
                let mut search = ModeSearch::new(&p, layer);
                search.climb_random(10, 1);
                let (bound, states) = search.bound();
                assert!(states > 9 && bound < exact + 1e-9, "{bound} {exact}");
                let all = BitMatrix::from_fn(1 << units, units, |r, i| r >> i & 1 == 1);
                let own = &search.own;
                let all = all.select((0..all.rows()).filter(|&row| own.allow(all.row(row))));
                search.note(&all);
                assert!((search.bound().0 - exact).abs() < 1e-9);
            }
        }
    }

    /// log f of a mode is that of its state, and no move of a variable raises it.
    #[test]
    fn ascents_end_where_no_move_helps() {
        for seed in 0..6 {
            let p = gaussian_parameters(24, 15, 1.5, seed);
            let variables = if seed % 2 == 0 { "3+,4,5,2*1+,10*1+" } else { "" };
            let p = p.of(variables.parse().unwrap()).unwrap();
            for layer in [Layer::Visible, Layer::Hidden] {
                let mut search = ModeSearch::new(&p, layer);
                search.climb_random(10, seed);
                for Mode { state, log_f } in search.modes() {
                    let value = |state: &[u64]| {
                        let mut fresh = ModeSearch::new(&p, layer);
                        let x = fresh.inputs(state);
                        fresh.value(state, &x)
                    };
                    assert!((value(&state) - log_f).abs() < 1e-9 * log_f.abs(), "{log_f}");
                    let own = search.own.clone();
                    assert!(own.allow(&state));
                    for change in own.of(search.bias.len()).flat_map(|it| moves(&it, &state)) {
                        let mut there = state.clone();
                        change.make(&mut there);
                        assert!(!is_higher(value(&there), log_f), "{log_f}");
                    }
                }
            }
        }
    }

    /// Both modes of a model that has two, from random starts.
    #[test]
    fn both_modes_are_found() {
        let bias = |n: f32| -0.5 * n + 0.3;
        let p = Parameters::new(20, 12, vec![1.0; 240], vec![bias(12.0); 20], vec![bias(20.0); 12]);
        let mut search = ModeSearch::new(&p.unwrap(), Layer::Visible);
        search.climb_random(20, 3);
        let counts: Vec<u32> =
            search.modes().iter().map(|mode| mode.state[0].count_ones()).collect();
        assert!(counts.contains(&0) && counts.contains(&20), "{counts:?}");
    }
}
