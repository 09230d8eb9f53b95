//! Tempered chains of a continuous target.
//!
//! One sweep of a chain (x, k): one transition of x at beta_k; then k ~ q(. | x) (RTS Algorithm 1). Right after
//! temperatures were redrawn the drawn k is used for the first transition, as in RTS 2.4.
//!
//! Cost of a sweep: S transitions and S K exponentials.

use rayon::prelude::*;

use super::acceptance::Trial;
use super::kernel::Scratch;
use super::target::{Densities, TemperedTarget};
use super::{LogDensity, TransitionKernel};
use ztrack::engine::host::{choose, softmax};
use ztrack::engine::random::{Purpose, Stream, Streams};
use ztrack::numerics::{Table, log_sum_exp};
use ztrack::tempering::{Ladder, PseudoPrior, RoundTrips, SimulatedTempering, Slopes, Swept};
use ztrack::{Error, Result};

/// Chains in (x, k), and the position of their random streams.
#[derive(Clone)]
pub struct ContinuousTempering<'a> {
    pub(super) path: TemperedTarget<'a>,
    ladder: &'a Ladder,
    pub(super) kernel: TransitionKernel,
    pub(super) step_sizes: Vec<f64>,
    /// x, shape [S, d].
    pub(super) states: Vec<f64>,
    pub(super) densities: Vec<Densities>,
    pub(super) temperatures: Vec<u32>,
    /// The temperatures were drawn uniformly, and not by a transition.
    pub(super) redrawn: bool,
    round_trips: RoundTrips,
    log_f: Table,
    accepted: Vec<(f64, u64)>,
    seed: u64,
    sweeps: u64,
}

impl<'a> ContinuousTempering<'a> {
    /// Chains drawn from the base N(0, base_sd^2 I), with one step size for all inverse temperatures.
    ///
    /// # Errors
    /// No chains, a base or step size that is not positive, or a target that is not finite at the chains' states.
    pub fn new(
        target: &'a dyn LogDensity,
        ladder: &'a Ladder,
        base_sd: f64,
        kernel: TransitionKernel,
        step_size: f64,
        chains: usize,
        seed: u64,
    ) -> Result<Self> {
        if chains == 0 || !(base_sd > 0.0 && base_sd.is_finite()) {
            return Err(Error::Invalid(format!(
                "{chains} chains from a base of standard deviation {base_sd}: at least 1 and a positive one are needed"
            )));
        }
        let k = ladder.len();
        let mut tempering = Self {
            path: TemperedTarget { target, base_sd },
            ladder,
            kernel,
            step_sizes: Vec::new(),
            states: vec![0.0; chains * target.dimension()],
            densities: vec![Densities::default(); chains],
            temperatures: vec![0; chains],
            redrawn: true,
            round_trips: RoundTrips::new(chains),
            log_f: Table::zeros(chains, k),
            accepted: vec![(0.0, 0); k],
            seed,
            sweeps: 0,
        };
        tempering.set_step_sizes(vec![step_size; k])?;
        tempering.start_from_base();
        tempering.redraw_temperatures();
        if tempering.densities.iter().any(|d| !(d.target.is_finite() && d.base.is_finite())) {
            return Err(Error::Invalid(
                "the target's log density is not finite at states of the base: it must be everywhere".into(),
            ));
        }
        Ok(tempering)
    }

    /// x of every chain, shape [S, d].
    pub fn states(&self) -> &[f64] {
        &self.states
    }

    /// Step size at every inverse temperature, shape `[K]`.
    pub fn step_sizes(&self) -> &[f64] {
        &self.step_sizes
    }

    /// Changes the step sizes, shape `[K]`.
    ///
    /// # Errors
    /// Not one positive finite number a temperature.
    pub fn set_step_sizes(&mut self, step_sizes: Vec<f64>) -> Result<()> {
        let good = |step: &f64| *step > 0.0 && step.is_finite();
        if step_sizes.len() != self.ladder.len() || !step_sizes.iter().all(good) {
            return Err(Error::Mismatch(format!(
                "{} step sizes for {} inverse temperatures: one positive number each is needed",
                step_sizes.len(),
                self.ladder.len()
            )));
        }
        self.step_sizes = step_sizes;
        Ok(())
    }

    /// Mean acceptance probability of all sweeps so far at every temperature; NaN where there were none.
    pub fn acceptance(&self) -> Vec<f64> {
        self.accepted.iter().map(|(sum, count)| sum / *count as f64).collect()
    }

    /// One transition of every chain at one fixed temperature, as of an untempered sampler; returns the mean acceptance
    /// probability.
    pub fn step_at(&mut self, temperature: usize) -> f64 {
        let step = self.step_sizes[temperature];
        let trials = self.step_all(|_, _| (temperature, step));
        trials.iter().map(|trial| trial.acceptance).sum::<f64>() / trials.len() as f64
    }

    /// One transition of every chain, at its current temperature and with the step size of that temperature.
    pub(super) fn step_all(
        &mut self,
        choice: impl Fn(usize, &mut Stream) -> (usize, f64) + Sync,
    ) -> Vec<Trial> {
        let d = self.path.target.dimension();
        let task = rows_per_task(self.temperatures.len());
        let streams = Streams::new(self.seed, Purpose::ContinuousChain, self.sweeps);
        let (path, kernel, betas) = (self.path, self.kernel, self.ladder.betas());
        let trials = (
            self.states.par_chunks_mut(task * d),
            self.densities.par_chunks_mut(task),
            self.temperatures.par_chunks_mut(task),
        )
            .into_par_iter()
            .enumerate()
            .flat_map_iter(|(i, (states, densities, temperatures))| {
                let mut scratch = Scratch::new(d);
                let rows = states.chunks_exact_mut(d).zip(densities).zip(temperatures);
                let trials: Vec<Trial> = rows
                    .enumerate()
                    .map(|(s, ((x, densities), at))| {
                        let row = i * task + s;
                        let mut stream = streams.row(row as u32);
                        let (temperature, step) = choice(row, &mut stream);
                        *at = temperature as u32;
                        let beta = betas[temperature];
                        let state = (x, densities);
                        let acceptance =
                            kernel.step(path, beta, step, state, &mut stream, &mut scratch);
                        Trial { temperature, step, acceptance }
                    })
                    .collect();
                trials
            })
            .collect();
        self.sweeps += 1;
        self.redrawn = false;
        trials
    }

    pub(super) fn start_from_base(&mut self) {
        let d = self.path.target.dimension();
        let streams = Streams::new(self.seed, Purpose::ChainStart, self.sweeps);
        let rows = self.states.chunks_exact_mut(d).zip(&mut self.densities);
        for (s, (x, densities)) in rows.enumerate() {
            let mut stream = streams.row(s as u32);
            x.iter_mut().for_each(|x| *x = self.path.base_sd * stream.normal());
            *densities = self.path.densities(x);
        }
    }
}

impl SimulatedTempering for ContinuousTempering<'_> {
    fn ladder(&self) -> &Ladder {
        self.ladder
    }

    fn log_z_base(&self) -> f64 {
        0.0
    }

    fn temperatures(&self) -> &[u32] {
        &self.temperatures
    }

    fn redraw_temperatures(&mut self) {
        let k = self.ladder.len();
        let streams = Streams::new(self.seed, Purpose::Choice, self.sweeps);
        for (chain, temperature) in self.temperatures.iter_mut().enumerate() {
            *temperature = (streams.row(chain as u32).uniform() * k as f64) as u32;
        }
        self.round_trips.forget_directions();
        self.redrawn = true;
    }

    /// One annealing pass from the base (Neal 2001): log w += (beta_k - beta_{k-1}) Delta, then a transition at k.
    fn guess_zeta(&mut self) -> Vec<f64> {
        self.start_from_base();
        let betas = self.ladder.betas();
        let mut log_weights = vec![0.0; self.temperatures.len()];
        let mut zeta = vec![0.0];
        for k in 1..betas.len() {
            let rise = betas[k] - betas[k - 1];
            log_weights.iter_mut().zip(&self.densities).for_each(|(w, d)| *w += rise * d.slope());
            let mean = log_sum_exp(log_weights.iter().copied()) - (log_weights.len() as f64).ln();
            zeta.push(mean);
            let step = self.step_sizes[k];
            self.step_all(|_, _| (k, step));
        }
        zeta
    }

    fn sweep(&mut self, zeta: &[f64], sweeps: usize) -> Swept {
        let (d, k) = (self.path.target.dimension(), self.ladder.len());
        let chains = self.temperatures.len();
        let tilt = PseudoPrior::new(self.ladder, zeta).tilt();
        let task = rows_per_task(chains);
        let mut occupancy = Table::zeros(chains, k);
        let (path, kernel, ladder) = (self.path, self.kernel, self.ladder);
        let (seed, first, redrawn) = (self.seed, self.sweeps, self.redrawn);
        let step_sizes = &self.step_sizes;
        let tallies: Vec<Tally> = (
            self.states.par_chunks_mut(task * d),
            self.densities.par_chunks_mut(task),
            self.temperatures.par_chunks_mut(task),
            self.round_trips.trips_mut().par_chunks_mut(task),
            self.log_f.as_mut_slice().par_chunks_mut(task * k),
            occupancy.as_mut_slice().par_chunks_mut(task * k),
        )
            .into_par_iter()
            .enumerate()
            .map(|(i, (states, densities, temperatures, trips, log_f, occupancy))| {
                let mut scratch = Scratch::new(d);
                let mut tally = Tally::new(k);
                let mut q = vec![0.0; k];
                let rows = states.chunks_exact_mut(d).zip(densities).zip(temperatures);
                let rows = rows.zip(trips).zip(log_f.chunks_exact_mut(k));
                for (s, (row, occupancy)) in rows.zip(occupancy.chunks_exact_mut(k)).enumerate() {
                    let ((((x, densities), temperature), trip), log_f) = row;
                    for sweep in 0..sweeps as u64 {
                        let streams = Streams::new(seed, Purpose::ContinuousChain, first + sweep);
                        let mut stream = streams.row((i * task + s) as u32);
                        if sweep > 0 || !redrawn {
                            if sweep == 0 {
                                fill(log_f, ladder, densities);
                                softmax(log_f, &tilt, &mut q);
                            }
                            *temperature = choose(&q, stream.uniform());
                        }
                        let at = *temperature as usize;
                        let beta = ladder.betas()[at];
                        let state = (&mut *x, &mut *densities);
                        let acceptance = kernel.step(
                            path,
                            beta,
                            step_sizes[at],
                            state,
                            &mut stream,
                            &mut scratch,
                        );
                        tally.accepted[at].0 += acceptance;
                        tally.accepted[at].1 += 1;
                        tally.round_trips += RoundTrips::advance(
                            std::slice::from_mut(trip),
                            (i * task + s) as u32,
                            &[*temperature],
                            k as u32 - 1,
                        );
                        fill(log_f, ladder, densities);
                        softmax(log_f, &tilt, &mut q);
                        occupancy.iter_mut().zip(&q).for_each(|(c, q)| *c += q / sweeps as f64);
                        let row = &mut tally.transitions[at * k..][..k];
                        row.iter_mut().zip(&q).for_each(|(t, q)| *t += q);
                    }
                }
                tally
            })
            .collect();
        self.sweeps += sweeps as u64;
        self.redrawn = false;
        let mut all = Tally::new(k);
        for tally in tallies {
            all.round_trips += tally.round_trips;
            all.transitions.iter_mut().zip(tally.transitions).for_each(|(all, one)| *all += one);
            for (all, one) in self.accepted.iter_mut().zip(tally.accepted) {
                *all = (all.0 + one.0, all.1 + one.1);
            }
        }
        self.round_trips.add(all.round_trips, sweeps);
        Swept { occupancy, transitions: all.transitions, round_trips: all.round_trips }
    }

    fn sweeps_done(&self) -> u64 {
        self.sweeps
    }

    fn log_f(&self) -> &Table {
        &self.log_f
    }

    /// Delta is the same at every temperature, and nothing was summed out.
    fn slopes(&self) -> Slopes {
        let k = self.ladder.len();
        let rows = self.densities.iter().flat_map(|d| std::iter::repeat_n(d.slope(), k));
        let mean = Table::from_numbers(k, rows.collect());
        Slopes { variance: Table::zeros(mean.len(), k), mean }
    }
}

struct Tally {
    transitions: Vec<f64>,
    round_trips: u64,
    accepted: Vec<(f64, u64)>,
}

impl Tally {
    fn new(k: usize) -> Self {
        Self { transitions: vec![0.0; k * k], round_trips: 0, accepted: vec![(0.0, 0); k] }
    }
}

/// Chains of one parallel task, a function of their number alone: tallies are added task by task, so that their sums do not depend on
/// the number of threads.
fn rows_per_task(chains: usize) -> usize {
    chains.div_ceil(8).clamp(50, 256)
}

fn fill(log_f: &mut [f64], ladder: &Ladder, densities: &Densities) {
    log_f.iter_mut().zip(ladder.betas()).for_each(|(log_f, beta)| *log_f = densities.at(*beta));
}
