//! Simulated tempering of chains of binary states along any path.

use super::{
    BetaUpdate, Evaluated, Keep, Ladder, SimulatedTempering, Slopes, SweepRecord, Swept,
    TemperedChains, TemperedPath, anneal,
};
use crate::context::Context;
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::numerics::{Table, betting_lower_bound};

/// Factor on the expected time after which the search for states at beta = 1 ends,
const PATIENCE: f64 = 20.0;
/// and a number of further tries, for small counts.
const LOOKS: f64 = 50.0;

/// Tempered chains along a path.
pub struct Tempering<'a, P> {
    path: P,
    chains: &'a mut TemperedChains,
    update: BetaUpdate,
    last: Evaluated,
    /// Whether `last` is of the chains' states.
    known: bool,
    /// States of the last chains, which start at beta = 1 after the annealing pass; may have no rows.
    from_above: BitMatrix,
    /// log w of that pass at beta = 1, all chains.
    annealed_weights: Vec<f64>,
    /// States at this inverse temperature or above are collected in `samples` at the end of each call.
    near_one: f64,
    /// Packed.
    samples: Vec<u64>,
}

/// States at beta = 1, and their origin.
pub struct AtOne {
    /// v, shape [N, M].
    pub visible: BitMatrix,
    /// Different chains they come from.
    pub chains_used: usize,
}

impl<'a, P: TemperedPath> Tempering<'a, P> {
    /// Chains that move along `path`.
    pub fn new(path: P, chains: &'a mut TemperedChains, update: BetaUpdate) -> Self {
        Self {
            from_above: BitMatrix::zeros(0, path.n_visible()),
            last: Evaluated::nothing(),
            known: false,
            annealed_weights: Vec::new(),
            near_one: f64::INFINITY,
            samples: Vec::new(),
            path,
            chains,
            update,
        }
    }

    /// A second population: after [`SimulatedTempering::guess_zeta`] the last chains, one per row, start from these states at beta = 1
    /// instead of those of the annealing pass.
    #[must_use]
    pub(crate) fn with_states_above(self, from_above: BitMatrix) -> Self {
        Self { from_above, ..self }
    }

    /// Collects the states of chains at inverse temperatures of at least `near_one` at the end of each call; see [`Tempering::samples`].
    #[must_use]
    pub(crate) fn sampling_from(self, near_one: f64) -> Self {
        Self { near_one, ..self }
    }

    /// At most `most` of the collected states, evenly spaced over all, shape [N, M].
    pub fn samples(&self, most: usize) -> BitMatrix {
        let m = self.path.n_visible();
        let rows = self.samples.len() / self.chains.visible.words_per_row();
        let all = BitMatrix::from_words(rows, m, self.samples.clone());
        all.map_or_else(|| BitMatrix::zeros(0, m), |all| all.spread(most))
    }

    /// `count` states at beta = 1 (k = K alone), `spacing` sweeps between two tries.
    ///
    /// # Errors
    /// Chains that reach beta = 1 much less often than the prior requires.
    pub(crate) fn take_at_one(
        &mut self,
        zeta: &[f64],
        count: usize,
        spacing: usize,
    ) -> Result<AtOne> {
        let ladder = self.path.ladder();
        let last = ladder.len() as u32 - 1;
        let expected = ladder.log_prior()[last as usize].exp() * self.chains.len() as f64;
        let looks = (PATIENCE * (count as f64 / expected + LOOKS)) as usize;
        let (mut words, mut taken) = (Vec::new(), 0);
        let mut used = vec![false; self.chains.len()];
        for _ in 0..looks {
            self.path.context().go_on()?;
            self.path.context().progress().at("samples", taken, count);
            self.sweep(zeta, spacing.max(1));
            let at_one = (0..used.len()).filter(|&s| self.chains.temperatures[s] == last);
            for s in at_one.take(count - taken) {
                words.extend_from_slice(self.chains.visible.row(s));
                used[s] = true;
                taken += 1;
            }
            if taken == count {
                break;
            }
        }
        let chains_used = used.iter().filter(|used| **used).count();
        match BitMatrix::from_words(taken, self.path.n_visible(), words) {
            Some(visible) if taken == count => Ok(AtOne { visible, chains_used }),
            _ => Err(Error::NotMixed(format!(
                "only {taken} of {count} samples after {looks} looks at {} chains: they hardly ever come to beta = 1; more temperatures or another start would help",
                used.len()
            ))),
        }
    }

    /// A lower bound of log Z from the weights of the annealing pass that guessed zeta, which fails with at most this probability;
    /// -infinity without such a pass.
    pub(crate) fn annealed_at_least(&self, failure: f64) -> f64 {
        self.path.log_z_base() + betting_lower_bound(&self.annealed_weights, failure)
    }

    fn take_from_above(&mut self) {
        let (n, above) = (self.chains.len(), self.from_above.rows());
        for row in 0..above.min(n) {
            let s = n - above.min(n) + row;
            self.chains.visible.row_mut(s).copy_from_slice(self.from_above.row(row));
        }
    }
}

impl<P: TemperedPath> SimulatedTempering for Tempering<'_, P> {
    fn ladder(&self) -> &Ladder {
        self.path.ladder()
    }

    fn context(&self) -> &Context {
        self.path.context()
    }

    fn log_z_base(&self) -> f64 {
        self.path.log_z_base()
    }

    fn temperatures(&self) -> &[u32] {
        &self.chains.temperatures
    }

    fn redraw_temperatures(&mut self) {
        self.chains.redraw_temperatures(self.path.ladder().len());
    }

    /// An annealing pass of the chains: biased low, but close enough for rounds to start with chains at all temperatures.
    fn guess_zeta(&mut self) -> Vec<f64> {
        let (chains, k) = (&mut *self.chains, self.path.ladder().len());
        let annealed = anneal(&self.path, chains.len(), chains.seed, chains.sweeps, Keep::All);
        chains.sweeps += k as u64;
        self.annealed_weights = annealed.final_weights().collect();
        let log_z_base = self.path.log_z_base();
        let zeta = (0..k).map(|k| log_z_base + annealed.mean_weight(k).log_mean).collect();
        chains.visible = annealed.visible;
        self.known = false;
        self.take_from_above();
        zeta
    }

    fn sweep(&mut self, zeta: &[f64], sweeps: usize) -> Swept {
        let known = std::mem::replace(&mut self.known, true);
        let known = known.then(|| std::mem::replace(&mut self.last, Evaluated::nothing()));
        let SweepRecord { occupancy, transitions, round_trips, last, .. } =
            self.chains.sweep(&self.path, zeta, self.update, sweeps, known);
        self.last = last;
        if self.near_one <= 1.0 {
            let betas = self.path.ladder().betas();
            for (s, &at) in self.chains.temperatures.iter().enumerate() {
                if betas[at as usize] >= self.near_one {
                    self.samples.extend_from_slice(self.chains.visible.row(s));
                }
            }
        }
        Swept { occupancy, transitions, round_trips }
    }

    fn sweeps_done(&self) -> u64 {
        self.chains.sweeps
    }

    fn log_f(&self) -> &Table {
        &self.last.log_f
    }

    fn slopes(&self) -> Slopes {
        self.path.slopes(&self.chains.visible)
    }
}
