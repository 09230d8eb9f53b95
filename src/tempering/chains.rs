//! Persistent tempered chains: their state, and Gibbs sweeps in (v, h, k).
//!
//! One sweep of a chain (v, k): k ~ q(. | v); h ~ Bernoulli(sigma(beta_k x(v)));
//! v ~ Bernoulli(sigma(beta_k (Wh + c) + (1 - beta_k) a)) (RTS Algorithm 1; algorithms.md, section 1).

use rayon::prelude::*;

use super::path::rows_per_task;
use super::round_trips::{RoundTrips, Traveller};
use super::weights::{effective_number, normalised, systematic};
use super::{Evaluated, Path};
use crate::interrupt;
use crate::ops::cpu::{add_scaled, choose, selected_sum, softmax, softmax_of_line};
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, Draw, Layer, Matrix, padded, words_per_row};

/// How the inverse temperature of a chain is redrawn; both are valid Gibbs updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BetaUpdate {
    /// k ~ q(k | v), hidden units summed out. Worth four times the sweeps of `Joint` (algorithms.md, section 1).
    Collapsed,
    /// k ~ q(k | v, h), one scalar per chain, repeated with fresh h on the same pre-activations.
    Joint {
        /// Number of (h, k) draws per sweep, at least 1.
        repeats: usize,
    },
}

/// States of S chains, and the position of their random streams.
#[derive(Clone, Debug, PartialEq)]
pub struct TemperedChains {
    /// v, shape [S, M].
    pub visible: BitMatrix,
    /// Index k of each chain's inverse temperature.
    pub temperatures: Vec<u32>,
    /// log-weight of each chain, shape `[S]`; all equal unless chains are weighted.
    pub log_weights: Vec<f64>,
    /// Journeys so far.
    pub round_trips: RoundTrips,
    /// Seed of the chains' random streams.
    pub seed: u64,
    /// Sweeps done so far: the step of the random streams.
    pub sweeps: u64,
    /// Whether temperatures were just redrawn: then the drawn k serves the next sweep (RTS 2.4).
    pub redrawn: bool,
}

/// What a number of sweeps left behind.
#[derive(Clone, Debug)]
pub struct SweepRecord {
    /// C_sk: mean over the measurements of q(k|v), shape [S, K].
    pub occupancy: Vec<f64>,
    /// sum of 1[v generated at j] q(k|v), shape [K, K].
    pub transitions: Vec<f64>,
    /// The final states' pre-activations and log f_k.
    pub last: Evaluated,
    /// q(k|v) of the final states, collapsed, shape [S, K].
    pub posterior: Vec<f64>,
    /// Round trips 1 -> K -> 1 completed in these sweeps, all chains together.
    pub round_trips: u64,
    /// Number of sweeps.
    pub sweeps: usize,
}

impl TemperedChains {
    /// Chains with given visible states, and inverse temperatures drawn uniformly.
    pub fn new(visible: BitMatrix, temperatures: usize, seed: u64) -> Self {
        let chains = visible.rows();
        let mut chains = Self {
            visible,
            temperatures: vec![0; chains],
            log_weights: vec![0.0; chains],
            round_trips: RoundTrips::new(chains),
            seed,
            sweeps: 0,
            redrawn: true,
        };
        chains.redraw_temperatures(temperatures);
        // The first k goes by v: states from the base distribution belong at beta = 0, not where they were put.
        Self { redrawn: false, ..chains }
    }

    /// Chains with given visible states at beta = 1, from where their first sweep starts.
    pub fn at_one(visible: BitMatrix, temperatures: usize, seed: u64) -> Self {
        let mut chains = Self::new(visible, temperatures, seed);
        chains.temperatures.fill(temperatures as u32 - 1);
        Self { redrawn: true, ..chains }
    }

    /// Number of chains, S.
    pub fn len(&self) -> usize {
        self.temperatures.len()
    }

    /// True without chains.
    pub fn is_empty(&self) -> bool {
        self.temperatures.is_empty()
    }

    /// Draws every chain's inverse temperature uniformly (RTS 2.4, between initial rounds). The next sweep takes them as they
    /// are: drawn anew from states that the last pseudo-prior left somewhere, they would all go the same way.
    pub fn redraw_temperatures(&mut self, temperatures: usize) {
        let streams = Streams::new(self.seed, Purpose::Choice, self.sweeps);
        for (chain, k) in self.temperatures.iter_mut().enumerate() {
            *k = (streams.row(chain as u32).uniform() * temperatures as f64) as u32;
        }
        self.round_trips.forget_directions();
        self.redrawn = true;
    }

    /// Forgets journeys and weights, for states that are put where they are.
    pub fn forget(&mut self) {
        self.round_trips.forget();
        self.log_weights.fill(0.0);
    }

    /// w_s, normalised to sum 1, shape `[S]`.
    pub fn weights(&self) -> Vec<f64> {
        normalised(&self.log_weights)
    }

    /// Multiplies the chains' weights by exp(`steps`), shape `[S]`. Where fewer than half of the chains are left to count,
    /// they are resampled: chains of large weight take the places of those of small weight, and all weigh the same.
    /// Returns whether they were.
    pub fn reweigh(&mut self, steps: &[f64]) -> bool {
        self.log_weights.iter_mut().zip(steps).for_each(|(weight, step)| *weight += step);
        let weights = self.weights();
        if effective_number(&weights) >= 0.5 * self.len() as f64 {
            return false;
        }
        let u = Streams::new(self.seed, Purpose::Resampling, self.sweeps).row(0).uniform();
        let from = systematic(&weights, self.len(), u);
        self.visible = self.visible.select(from.iter().copied());
        self.temperatures = from.iter().map(|&s| self.temperatures[s]).collect();
        self.round_trips.resample(&from);
        self.log_weights.fill(0.0);
        true
    }

    /// `sweeps` (at least 1) Gibbs sweeps of all chains with pseudo-prior `zeta` `[K]`.
    ///
    /// `start`: the states' pre-activations and log f_k under this path, if they are known already; the joint update does
    /// not look at log f_k. The statistics are taken after each sweep, never of the state a call starts from, which may
    /// belong to other parameters.
    pub fn sweep(
        &mut self,
        path: Path<'_>,
        zeta: &[f64],
        update: BetaUpdate,
        sweeps: usize,
        start: Option<Evaluated>,
    ) -> SweepRecord {
        let (chains, k) = (self.len(), path.ladder.len());
        let known = start.is_some();
        let mut last = start.unwrap_or_else(|| Evaluated {
            inputs: Matrix::filled(chains, path.n_hidden(), 0.0),
            log_f: vec![0.0; chains * k],
        });
        last.log_f.resize(chains * k, 0.0);
        let mut occupancy = vec![0.0; chains * k];
        let mut posterior = vec![0.0; chains * k];
        let tilt: Vec<f64> =
            path.ladder.log_prior().iter().zip(zeta).map(|(log_r, zeta)| log_r - zeta).collect();
        let task = rows_per_task(chains);
        let shared = Sweeper {
            path,
            tilt: &tilt,
            update,
            sweeps,
            known,
            redrawn: std::mem::take(&mut self.redrawn),
            seed: self.seed,
            step: self.sweeps,
        };
        let tallies: Vec<Tally> = (
            self.visible.words_mut().par_chunks_mut(task * words_per_row(path.n_visible())),
            self.temperatures.par_chunks_mut(task),
            self.round_trips.travellers_mut().par_chunks_mut(task),
            last.inputs.as_mut_slice().par_chunks_mut(task * padded(path.n_hidden())),
            last.log_f.par_chunks_mut(task * k),
            occupancy.par_chunks_mut(task * k),
            posterior.par_chunks_mut(task * k),
        )
            .into_par_iter()
            .enumerate()
            .map(|(i, (visible, temperatures, travellers, inputs, log_f, occupancy, posterior))| {
                let rows = Rows {
                    first: (i * task) as u32,
                    visible,
                    temperatures,
                    travellers,
                    inputs,
                    log_f,
                    occupancy,
                    posterior,
                };
                shared.run(rows)
            })
            .collect();
        self.sweeps += sweeps as u64;
        let mut transitions = vec![0.0; k * k];
        let mut round_trips = 0;
        for tally in tallies {
            round_trips += tally.round_trips;
            transitions.iter_mut().zip(&tally.transitions).for_each(|(all, one)| *all += one);
        }
        self.round_trips.add(round_trips, sweeps);
        SweepRecord { occupancy, transitions, last, posterior, round_trips, sweeps }
    }
}

/// The rows of one task.
struct Rows<'a> {
    first: u32,
    visible: &'a mut [u64],
    temperatures: &'a mut [u32],
    travellers: &'a mut [Traveller],
    inputs: &'a mut [f32],
    log_f: &'a mut [f64],
    occupancy: &'a mut [f64],
    posterior: &'a mut [f64],
}

struct Tally {
    transitions: Vec<f64>,
    round_trips: u64,
}

/// What all tasks share.
struct Sweeper<'a> {
    path: Path<'a>,
    tilt: &'a [f64],
    update: BetaUpdate,
    sweeps: usize,
    known: bool,
    redrawn: bool,
    seed: u64,
    step: u64,
}

impl Sweeper<'_> {
    fn run(&self, rows: Rows<'_>) -> Tally {
        let Path { ops, ladder, base } = self.path;
        let k = ladder.len();
        let (n_visible, n_hidden) = (self.path.n_visible(), self.path.n_hidden());
        let chains = rows.temperatures.len();
        let mut tally = Tally { transitions: vec![0.0; k * k], round_trips: 0 };
        let mut hidden = BitMatrix::zeros(chains, n_hidden);
        let mut visible_inputs = Matrix::filled(chains, n_visible, 0.0);
        let mut beta = vec![0.0f32; chains];
        for sweep in 0..self.sweeps {
            interrupt::point();
            let step = self.step + sweep as u64;
            let streams = |purpose| Streams::new(self.seed, purpose, step);
            let fresh = sweep > 0 || !self.known;
            let redrawn = sweep == 0 && self.redrawn;
            if fresh {
                ops.inputs(Layer::Hidden, rows.visible, rows.inputs);
            }
            match self.update {
                BetaUpdate::Collapsed => {
                    if fresh {
                        self.path.log_f(rows.visible, rows.inputs, rows.log_f);
                    }
                    for (s, log_f) in rows.log_f.chunks_exact(k).enumerate() {
                        let q = &mut rows.posterior[s * k..][..k];
                        softmax(log_f, self.tilt, q);
                        if sweep > 0 {
                            let generated_at = rows.temperatures[s] as usize;
                            add_scaled(q, 1.0, &mut rows.occupancy[s * k..][..k]);
                            add_scaled(q, 1.0, &mut tally.transitions[generated_at * k..][..k]);
                        }
                        if !redrawn {
                            let streams = streams(Purpose::TemperedBeta);
                            let u = streams.row(rows.first + s as u32).uniform();
                            rows.temperatures[s] = choose(q, u);
                        }
                    }
                    self.set_betas(rows.temperatures, &mut beta);
                    let streams = streams(Purpose::TemperedHidden);
                    ops.draw(
                        &Draw {
                            n_units: n_hidden,
                            inputs: rows.inputs,
                            beta: &beta,
                            base: None,
                            streams,
                            first_row: rows.first,
                        },
                        hidden.words_mut(),
                    );
                }
                BetaUpdate::Joint { repeats } => {
                    let repeats = repeats.max(1);
                    let scale = 1.0 / repeats as f64;
                    let generated_at = rows.temperatures.to_vec();
                    let of_visible: Vec<f64> = rows
                        .visible
                        .chunks_exact(words_per_row(n_visible))
                        .map(|v| ops.visible_dot(v) - base.dot(v))
                        .collect();
                    for repeat in 0..repeats {
                        // Streams of repeats lie side by side in the step's high range.
                        let repeated = |purpose| {
                            Streams::new(self.seed, purpose, step + ((repeat as u64) << 48))
                        };
                        self.set_betas(rows.temperatures, &mut beta);
                        let draws = repeated(Purpose::TemperedHidden);
                        ops.draw(
                            &Draw {
                                n_units: n_hidden,
                                inputs: rows.inputs,
                                beta: &beta,
                                base: None,
                                streams: draws,
                                first_row: rows.first,
                            },
                            hidden.words_mut(),
                        );
                        for (s, &generated_at) in generated_at.iter().enumerate() {
                            let x = &rows.inputs[s * padded(n_hidden)..][..padded(n_hidden)];
                            let delta = of_visible[s] + selected_sum(hidden.row(s), x);
                            let q = &mut rows.posterior[s * k..][..k];
                            softmax_of_line(delta, ladder.betas(), self.tilt, q);
                            if sweep > 0 {
                                let row = generated_at as usize * k;
                                add_scaled(q, scale, &mut rows.occupancy[s * k..][..k]);
                                add_scaled(q, scale, &mut tally.transitions[row..][..k]);
                            }
                            if !redrawn {
                                let streams = repeated(Purpose::TemperedBeta);
                                let u = streams.row(rows.first + s as u32).uniform();
                                rows.temperatures[s] = choose(q, u);
                            }
                        }
                    }
                    // h was drawn at the previous k; (v | h, k) needs no redraw: h and k are one joint state.
                    self.set_betas(rows.temperatures, &mut beta);
                }
            }
            tally.round_trips +=
                RoundTrips::advance(rows.travellers, rows.first, rows.temperatures, k as u32 - 1);
            ops.inputs(Layer::Visible, hidden.words(), visible_inputs.as_mut_slice());
            ops.draw(
                &Draw {
                    n_units: n_visible,
                    inputs: visible_inputs.as_slice(),
                    beta: &beta,
                    base: Some(base.padded_logits()),
                    streams: streams(Purpose::TemperedVisible),
                    first_row: rows.first,
                },
                rows.visible,
            );
        }
        ops.inputs(Layer::Hidden, rows.visible, rows.inputs);
        self.path.log_f(rows.visible, rows.inputs, rows.log_f);
        let scale = 1.0 / self.sweeps as f64;
        for (s, log_f) in rows.log_f.chunks_exact(k).enumerate() {
            let q = &mut rows.posterior[s * k..][..k];
            softmax(log_f, self.tilt, q);
            let occupancy = &mut rows.occupancy[s * k..][..k];
            add_scaled(q, 1.0, occupancy);
            occupancy.iter_mut().for_each(|c| *c *= scale);
            let generated_at = rows.temperatures[s] as usize;
            add_scaled(q, 1.0, &mut tally.transitions[generated_at * k..][..k]);
        }
        tally
    }

    fn set_betas(&self, temperatures: &[u32], beta: &mut [f32]) {
        let betas = self.path.ladder.betas();
        for (beta, &k) in beta.iter_mut().zip(temperatures) {
            *beta = betas[k as usize] as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_systems::gaussian_parameters;
    use crate::ops::Fused;
    use crate::tempering::{BaseDistribution, Ladder, Prior};

    #[test]
    fn redrawn_temperatures_serve_the_next_sweep_and_no_other() {
        let ops = Fused::new(&gaussian_parameters(12, 8, 0.5, 1));
        let (k, base) = (10, BaseDistribution::uniform(12));
        let ladder = Ladder::linear(k, &Prior::Uniform).unwrap();
        let path = Path { ops: &ops, ladder: &ladder, base: &base };
        for update in [BetaUpdate::Collapsed, BetaUpdate::Joint { repeats: 2 }] {
            let mut chains = TemperedChains::new(base.sample(200, 1, 0), k, 1);
            for redrawn in [false, true] {
                let drawn = chains.temperatures.clone();
                chains.sweep(path, &vec![0.0; k], update, 1, None);
                assert_eq!(chains.temperatures == drawn, redrawn);
                chains.sweep(path, &vec![0.0; k], update, 1, None);
                assert_ne!(chains.temperatures, drawn);
                chains.redraw_temperatures(k);
            }
        }
    }
}
