//! Simulated tempering on the path from a mixture: chains in (v, h, m, k).
//!
//! One sweep: k ~ q(k | v) with h and m summed out; h | v, k; m | v, k; v | h, m, k.

use rayon::prelude::*;

use super::MixturePath;
use crate::ops::cpu::{add_scaled, choose, softmax};
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, Matrix, padded, words_per_row};
use crate::tempering::simulated::hidden_slope;
use crate::tempering::{
    Keep, Ladder, MeanWeight, RoundTrips, SimulatedTempering, Slopes, Swept, Traveller, anneal,
    rows_per_task,
};

/// From this inverse temperature on a state is as good as one of the model, for fits.
const NEAR_ONE: f64 = 0.95;

/// Chains on a path from a mixture.
///
/// [`SimulatedTempering::guess_zeta`] anneals all chains; those of the second population are put back afterwards to the states
/// they were given, at beta = 1.
pub struct MixtureTempering<'a> {
    path: MixturePath<'a>,
    visible: BitMatrix,
    /// States of the last chains, which start at beta = 1; may be without rows.
    from_above: BitMatrix,
    temperatures: Vec<u32>,
    round_trips: RoundTrips,
    inputs: Matrix,
    log_p: Matrix,
    log_f: Vec<f64>,
    known: bool,
    redrawn: bool,
    seed: u64,
    sweeps: u64,
    /// log w of the first annealing pass at beta = 1, all chains.
    annealed_weights: Vec<f64>,
    /// States taken at beta = 1 at the end of each call, packed.
    samples: Vec<u64>,
}

impl<'a> MixtureTempering<'a> {
    /// `chains` chains from the mixture, of which the last ones start from the rows of `from_above` at beta = 1 instead.
    pub fn new(path: MixturePath<'a>, chains: usize, from_above: BitMatrix, seed: u64) -> Self {
        let k = path.ladder.len();
        let mut chains = Self {
            path,
            visible: path.base.sample(chains, seed, 0),
            from_above,
            temperatures: vec![0; chains],
            round_trips: RoundTrips::new(chains),
            inputs: Matrix::filled(chains, path.n_hidden(), 0.0),
            log_p: Matrix::filled(chains, path.base.len(), 0.0),
            log_f: vec![0.0; chains * k],
            known: false,
            redrawn: false,
            seed,
            sweeps: 0,
            annealed_weights: Vec::new(),
            samples: Vec::new(),
        };
        chains.take_from_above();
        chains
    }

    /// At most `most` states at beta near 1, evenly spaced over those found at the end of each call, shape [N, M].
    pub fn samples(&self, most: usize) -> BitMatrix {
        let m = self.path.n_visible();
        let rows = self.samples.len() / words_per_row(m);
        let all = BitMatrix::from_words(rows, m, self.samples.clone());
        let taken = rows.min(most);
        all.map_or_else(
            || BitMatrix::zeros(0, m),
            |all| all.select((0..taken).map(|i| i * rows / taken)),
        )
    }

    /// `count` states at beta = 1 (k = K alone), `spacing` sweeps between two looks; `None` if chains are hardly ever there.
    pub fn take_at_one(&mut self, zeta: &[f64], count: usize, spacing: usize) -> Option<BitMatrix> {
        const MOST_LOOKS: usize = 1000;
        let last = self.path.ladder.len() as u32 - 1;
        let (mut words, mut taken) = (Vec::new(), 0);
        for _ in 0..MOST_LOOKS {
            self.sweep(zeta, spacing.max(1));
            for s in (0..self.temperatures.len()).filter(|&s| self.temperatures[s] == last) {
                if taken < count {
                    words.extend_from_slice(self.visible.row(s));
                    taken += 1;
                }
            }
            if taken == count {
                return BitMatrix::from_words(count, self.path.n_visible(), words);
            }
        }
        None
    }

    /// log Z by the annealing pass that guessed zeta, and its weights' mean; -infinity before.
    pub fn annealed(&self) -> (f64, MeanWeight) {
        let mean = MeanWeight::of(self.annealed_weights.iter().copied());
        (self.path.log_z_base() + mean.log_mean, mean)
    }

    fn take_from_above(&mut self) {
        let (n, above) = (self.temperatures.len(), self.from_above.rows());
        for row in 0..above.min(n) {
            let s = n - above.min(n) + row;
            self.visible.row_mut(s).copy_from_slice(self.from_above.row(row));
            self.temperatures[s] = self.path.ladder.len() as u32 - 1;
        }
        self.known = false;
    }
}

impl SimulatedTempering for MixtureTempering<'_> {
    fn ladder(&self) -> &Ladder {
        self.path.ladder
    }

    fn log_z_base(&self) -> f64 {
        self.path.log_z_base()
    }

    fn temperatures(&self) -> &[u32] {
        &self.temperatures
    }

    fn redraw_temperatures(&mut self) {
        let k = self.path.ladder.len() as f64;
        let streams = Streams::new(self.seed, Purpose::Choice, self.sweeps);
        for (chain, temperature) in self.temperatures.iter_mut().enumerate() {
            *temperature = (streams.row(chain as u32).uniform() * k) as u32;
        }
        self.round_trips.forget();
        self.redrawn = true;
    }

    fn guess_zeta(&mut self) -> Vec<f64> {
        let (n, k) = (self.temperatures.len(), self.path.ladder.len());
        let annealed = anneal(&self.path, n, self.seed, self.sweeps, Keep::All);
        self.sweeps += k as u64;
        self.annealed_weights = annealed.final_weights().collect();
        let log_z_base = self.path.log_z_base();
        let zeta = (0..k).map(|k| log_z_base + annealed.mean_weight(k).log_mean).collect();
        self.visible = annealed.visible;
        self.temperatures.fill(k as u32 - 1);
        self.take_from_above();
        zeta
    }

    fn sweep(&mut self, zeta: &[f64], sweeps: usize) -> Swept {
        let (n, k) = (self.temperatures.len(), self.path.ladder.len());
        let log_prior = self.path.ladder.log_prior();
        let tilt: Vec<f64> = log_prior.iter().zip(zeta).map(|(log_r, zeta)| log_r - zeta).collect();
        let task = rows_per_task(n);
        let mut occupancy = vec![0.0; n * k];
        let sweeper = Sweeper {
            path: self.path,
            tilt: &tilt,
            sweeps,
            known: self.known,
            redrawn: std::mem::take(&mut self.redrawn),
            seed: self.seed,
            step: self.sweeps,
        };
        let tallies: Vec<(Vec<f64>, u64)> = (
            self.visible.words_mut().par_chunks_mut(task * words_per_row(self.path.n_visible())),
            self.temperatures.par_chunks_mut(task),
            self.round_trips.travellers_mut().par_chunks_mut(task),
            self.inputs.as_mut_slice().par_chunks_mut(task * padded(self.path.n_hidden())),
            self.log_p.as_mut_slice().par_chunks_mut(task * self.path.base.stride()),
            self.log_f.par_chunks_mut(task * k),
            occupancy.par_chunks_mut(task * k),
        )
            .into_par_iter()
            .enumerate()
            .map(|(i, (visible, temperatures, travellers, inputs, log_p, log_f, occupancy))| {
                let first = (i * task) as u32;
                sweeper.run(Rows {
                    first,
                    visible,
                    temperatures,
                    travellers,
                    inputs,
                    log_p,
                    log_f,
                    occupancy,
                })
            })
            .collect();
        self.known = true;
        self.sweeps += sweeps as u64;
        for (s, &at) in self.temperatures.iter().enumerate() {
            if self.path.ladder.betas()[at as usize] >= NEAR_ONE {
                self.samples.extend_from_slice(self.visible.row(s));
            }
        }
        let mut swept = Swept { occupancy, transitions: vec![0.0; k * k], round_trips: 0 };
        for (transitions, round_trips) in tallies {
            swept.round_trips += round_trips;
            swept.transitions.iter_mut().zip(&transitions).for_each(|(all, one)| *all += one);
        }
        swept
    }

    fn sweeps_done(&self) -> u64 {
        self.sweeps
    }

    fn log_f(&self) -> &[f64] {
        if self.known { &self.log_f } else { &[] }
    }

    /// E = c.v + sum_j x_j sigma(beta x_j) - E[log p_m(v) | v, beta], V the sum of both variances.
    fn slopes(&self) -> Slopes {
        let k = self.path.ladder.len();
        let n = self.temperatures.len();
        let mut slopes = Slopes { mean: vec![0.0; n * k], variance: vec![0.0; n * k] };
        let (n_hidden, components) = (self.path.n_hidden(), self.path.base.len());
        (slopes.mean.par_chunks_mut(k), slopes.variance.par_chunks_mut(k))
            .into_par_iter()
            .enumerate()
            .for_each(|(s, (mean, variance))| {
                let constant = self.path.ops.visible_dot(self.visible.row(s));
                let x = &self.inputs.row(s)[..n_hidden];
                let log_p = &self.log_p.row(s)[..components];
                for ((mean, variance), &beta) in
                    mean.iter_mut().zip(variance).zip(self.path.ladder.betas())
                {
                    let (slope, spread) = hidden_slope(x, beta as f32);
                    let (base, base_spread) = self.path.base.moments(log_p, beta);
                    *mean = constant + slope - base;
                    *variance = spread + base_spread;
                }
            });
        slopes
    }
}

/// The rows of one task.
struct Rows<'a> {
    first: u32,
    visible: &'a mut [u64],
    temperatures: &'a mut [u32],
    travellers: &'a mut [Traveller],
    inputs: &'a mut [f32],
    log_p: &'a mut [f32],
    log_f: &'a mut [f64],
    occupancy: &'a mut [f64],
}

/// What all tasks share.
struct Sweeper<'a> {
    path: MixturePath<'a>,
    tilt: &'a [f64],
    sweeps: usize,
    known: bool,
    redrawn: bool,
    seed: u64,
    step: u64,
}

impl Sweeper<'_> {
    /// Sums of transitions and round trips; occupancies are those of the states after each sweep.
    fn run(&self, rows: Rows<'_>) -> (Vec<f64>, u64) {
        let (k, betas) = (self.path.ladder.len(), self.path.ladder.betas());
        let chains = rows.temperatures.len();
        let mut scratch = self.path.scratch(chains);
        let (mut transitions, mut round_trips) = (vec![0.0; k * k], 0);
        let mut posterior = vec![0.0; k];
        let mut beta = vec![0.0f32; chains];
        let grid = self.path.ladder.grid();
        if self.known {
            scratch.inputs.as_mut_slice().copy_from_slice(rows.inputs);
            scratch.log_p.as_mut_slice().copy_from_slice(rows.log_p);
        } else {
            self.path.look(rows.visible, &mut scratch);
            let (inputs, log_p) = (scratch.inputs.as_slice(), scratch.log_p.as_slice());
            self.path.log_f(grid, rows.visible, inputs, log_p, rows.log_f);
        }
        for sweep in 0..self.sweeps {
            let step = self.step + sweep as u64;
            let streams = |purpose| Streams::new(self.seed, purpose, step);
            let redrawn = sweep == 0 && self.redrawn;
            let choices = streams(Purpose::TemperedBeta);
            for (s, log_f) in rows.log_f.chunks_exact(k).enumerate() {
                if !redrawn {
                    softmax(log_f, self.tilt, &mut posterior);
                    let uniform = choices.row(rows.first + s as u32).uniform();
                    rows.temperatures[s] = choose(&posterior, uniform);
                }
                beta[s] = betas[rows.temperatures[s] as usize] as f32;
            }
            round_trips +=
                RoundTrips::advance(rows.travellers, rows.first, rows.temperatures, k as u32 - 1);
            let components = streams(Purpose::TemperedComponent);
            self.path.move_rows(
                &mut scratch,
                rows.visible,
                &beta,
                (streams(Purpose::TemperedHidden), streams(Purpose::TemperedVisible)),
                rows.first,
                |s| components.row(rows.first + s as u32).uniform(),
            );
            self.path.look(rows.visible, &mut scratch);
            let (inputs, log_p) = (scratch.inputs.as_slice(), scratch.log_p.as_slice());
            self.path.log_f(grid, rows.visible, inputs, log_p, rows.log_f);
            for (s, log_f) in rows.log_f.chunks_exact(k).enumerate() {
                softmax(log_f, self.tilt, &mut posterior);
                let generated_at = rows.temperatures[s] as usize;
                add_scaled(&posterior, 1.0, &mut rows.occupancy[s * k..][..k]);
                add_scaled(&posterior, 1.0, &mut transitions[generated_at * k..][..k]);
            }
        }
        rows.inputs.copy_from_slice(scratch.inputs.as_slice());
        rows.log_p.copy_from_slice(scratch.log_p.as_slice());
        let scale = 1.0 / self.sweeps as f64;
        rows.occupancy.iter_mut().for_each(|c| *c *= scale);
        (transitions, round_trips)
    }
}
