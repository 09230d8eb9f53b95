//! Sweeps of the chains of one task, and their statistics.

use super::BetaUpdate;
use super::path::TemperedPath;
use super::round_trips::{RoundTrips, Trip};
use crate::engine::host::{add_scaled, choose, softmax, softmax_of_line};
use crate::engine::random::{Purpose, Streams};
use crate::engine::{Halves, States, SweepStreams, Walker};

/// Common inputs of all tasks.
pub(super) struct Sweeper<'a> {
    pub path: &'a dyn TemperedPath,
    /// All temperatures.
    pub all: &'a [usize],
    pub tilt: &'a [f64],
    pub update: BetaUpdate,
    pub sweeps: usize,
    /// Whether cached values and log f_k of the states are valid.
    pub known: bool,
    /// Whether the first sweep uses the temperatures without redrawing them.
    pub redrawn: bool,
    pub seed: u64,
    /// Step of the first sweep's random streams.
    pub step: u64,
}

/// Values of the chains of a task beside their states.
pub(super) struct Task<'a> {
    /// Its first chain.
    pub first: u32,
    pub temperatures: &'a mut [u32],
    pub trips: &'a mut [Trip],
    pub log_f: &'a mut [f64],
    pub occupancy: &'a mut [f64],
    pub posterior: &'a mut [f64],
    /// Sum over the chains of the task, [K, K].
    pub transitions: &'a mut [f64],
    /// Completed round trips of all its chains together.
    pub round_trips: &'a mut u64,
}

impl Sweeper<'_> {
    pub fn run(&self, states: States<'_>, mut task: Task<'_>) {
        let mut walker = self.path.walker(states);
        for sweep in 0..self.sweeps {
            if self.path.context().is_interrupted() {
                break;
            }
            match (self.update, walker.halves()) {
                (BetaUpdate::Joint(repeats), Some(halves)) => {
                    self.joint(sweep, repeats.max(1), halves, &mut task);
                }
                _ => self.collapsed(sweep, &mut *walker, &mut task),
            }
        }
        walker.log_f(self.all, task.log_f);
        walker.store();
        let (k, scale) = (self.all.len(), 1.0 / self.sweeps as f64);
        for s in 0..task.temperatures.len() {
            softmax(&task.log_f[s * k..][..k], self.tilt, &mut task.posterior[s * k..][..k]);
            task.note(s, task.temperatures[s], 1.0);
            task.occupancy[s * k..][..k].iter_mut().for_each(|c| *c *= scale);
        }
    }

    /// k ~ q(k | v), then a sweep at k. The statistics are those of the state before it, from the previous sweep.
    fn collapsed(&self, sweep: usize, walker: &mut dyn Walker, task: &mut Task<'_>) {
        let (k, step) = (self.all.len(), self.step + sweep as u64);
        if sweep > 0 || !self.known {
            walker.log_f(self.all, task.log_f);
        }
        let choices = Streams::new(self.seed, Purpose::TemperedBeta, step);
        for s in 0..task.temperatures.len() {
            softmax(&task.log_f[s * k..][..k], self.tilt, &mut task.posterior[s * k..][..k]);
            if sweep > 0 {
                task.note(s, task.temperatures[s], 1.0);
            }
            self.choose(sweep, s, choices, task);
        }
        task.advance(k);
        walker.sweep(task.temperatures, &SweepStreams::tempered(self.seed, step));
    }

    /// h | v, k, then k ~ q(k | v, h), `repeats` times; then v | h, k.
    fn joint(&self, sweep: usize, repeats: usize, walker: &mut dyn Halves, task: &mut Task<'_>) {
        let (k, step) = (self.all.len(), self.step + sweep as u64);
        let betas = self.path.ladder().betas();
        let scale = 1.0 / repeats as f64;
        let generated_at = task.temperatures.to_vec();
        let mut slopes = vec![0.0; generated_at.len()];
        for repeat in 0..repeats {
            // Streams of repeats lie side by side in the step's high range.
            let step = step + ((repeat as u64) << 48);
            walker.draw_hidden(task.temperatures, &SweepStreams::tempered(self.seed, step));
            walker.slopes_of_both(&mut slopes);
            let choices = Streams::new(self.seed, Purpose::TemperedBeta, step);
            for (s, (&generated_at, &slope)) in generated_at.iter().zip(&slopes).enumerate() {
                softmax_of_line(slope, betas, self.tilt, &mut task.posterior[s * k..][..k]);
                if sweep > 0 {
                    task.note(s, generated_at, scale);
                }
                self.choose(sweep, s, choices, task);
            }
        }
        task.advance(k);
        // h was drawn at the previous k; (v | h, k) needs no redraw: h and k are one joint state.
        walker.draw_visible(task.temperatures, &SweepStreams::tempered(self.seed, step));
    }

    /// k ~ q, unless the temperatures were just redrawn and are used for this sweep.
    fn choose(&self, sweep: usize, s: usize, choices: Streams, task: &mut Task<'_>) {
        if sweep > 0 || !self.redrawn {
            let k = self.all.len();
            let uniform = choices.row(task.first + s as u32).uniform();
            task.temperatures[s] = choose(&task.posterior[s * k..][..k], uniform);
        }
    }
}

impl Task<'_> {
    /// Adds q of chain `s`, whose state was generated at a temperature, to its occupancy and to the transitions.
    fn note(&mut self, s: usize, generated_at: u32, weight: f64) {
        let k = self.posterior.len() / self.temperatures.len();
        let q = &self.posterior[s * k..][..k];
        add_scaled(q, weight, &mut self.occupancy[s * k..][..k]);
        add_scaled(q, weight, &mut self.transitions[generated_at as usize * k..][..k]);
    }

    fn advance(&mut self, k: usize) {
        *self.round_trips +=
            RoundTrips::advance(self.trips, self.first, self.temperatures, k as u32 - 1);
    }
}
