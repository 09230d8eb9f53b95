//! A run of tempered chains with the statistics for counting, transition, integration and reweighting estimators.
//!
//! Sweeps are run one at a time. Sums (counts, transitions, slopes) are small; whole states are thinned to at most 10^7 numbers log f_k,
//! and slopes, K x J exponentials per state, are computed for those only. Stronger thinning would cost accuracy: on MNIST 784x10 with 100
//! chains x 1000 sweeps, keeping a fifth increases the standard error of MBAR from .048 to .080.

use std::ops::Deref;

use super::run::TemperedRun;
use super::slopes::SlopeSums;
use crate::error::Result;
use crate::numerics::Table;
use crate::tempering::{InitialRounds, SimulatedTempering, Swept, Transitions};

/// Most kept states, and most numbers log f_k of them.
const MOST_STATES: usize = 100_000;
const MOST_NUMBERS: usize = 10_000_000;
/// Groups of chains with transitions of their own, for errors by leaving one group out; fewer where K is large.
const MOST_GROUPS: usize = 20;
const MOST_TRANSITIONS: usize = 10_000_000;

/// A [`TemperedRun`] with all statistics that estimators read.
#[derive(Clone, Debug)]
pub struct KeptRun {
    /// The run itself.
    pub run: TemperedRun,
    /// Counted sweeps that each chain's state was generated at temperature k, shape [S, K].
    pub counts: Table,
    /// For each group of chains: moves of the inverse temperature from one sweep to the next, counted.
    pub counted_transitions: Vec<Transitions>,
    /// For each group of chains: sum of 1[x generated at j] q(k|x).
    pub transitions: Vec<Transitions>,
    /// Slopes of kept states at the temperature that generated them.
    pub slopes_at: SlopeSums,
    /// Slopes of kept states at all temperatures, weighted by q(k|x).
    pub slopes: SlopeSums,
    /// Thinned states.
    pub states: KeptStates,
}

/// States of all chains at every n-th counted sweep: row i is one of chain i mod S.
#[derive(Clone, Debug, Default)]
pub struct KeptStates {
    /// log f_k(x_i), shape [N, K].
    pub log_f: Table,
    /// Index of the temperature that generated x_i, shape `[N]`.
    pub generated_at: Vec<u32>,
}

/// Sweeps from one kept state to the next.
fn stride(chains: usize, sweeps: usize, temperatures: usize) -> usize {
    let most = MOST_STATES.min(MOST_NUMBERS / temperatures).max(1);
    (chains * sweeps).div_ceil(most).clamp(1, sweeps.max(1))
}

fn groups(chains: usize, temperatures: usize) -> usize {
    MOST_GROUPS.min(MOST_TRANSITIONS / (temperatures * temperatures)).max(2).min(chains)
}

/// Bytes of a [`KeptRun`] in addition to its chains, including reweighting of its states.
pub fn kept_bytes(chains: usize, sweeps: usize, temperatures: usize) -> f64 {
    let kept = chains.saturating_mul(sweeps / stride(chains, sweeps, temperatures)) as f64;
    let k = temperatures as f64;
    // Log f, copied as it grows; slopes of one call, their sums and counts; transitions of both kinds and a copy.
    let tables = 1.5 * kept + 10.0 * chains as f64 + 4.0 * k * groups(chains, temperatures) as f64;
    8.0 * k * tables
}

impl KeptRun {
    /// Runs the chains; `sweeps` (at least 1) are counted.
    ///
    /// # Errors
    /// Fewer than two chains, which give no error bar.
    pub fn new(
        chains: &mut dyn SimulatedTempering,
        initial_rounds: &InitialRounds,
        sweeps: usize,
    ) -> Result<Self> {
        let (n, k) = (chains.chains(), chains.ladder().len());
        let mut notes = Notes {
            stride: stride(n, sweeps, k),
            sweeps: 0,
            before: None,
            counts: Table::zeros(n, k),
            counted_transitions: vec![vec![0.0; k * k]; groups(n, k)],
            transitions: vec![vec![0.0; k * k]; groups(n, k)],
            slopes_at: SlopeSums::new(n, k),
            slopes: SlopeSums::new(n, k),
            states: KeptStates::default(),
        };
        let run =
            TemperedRun::watched(chains, initial_rounds, None, sweeps, 1, &mut |chains, swept| {
                notes.take(chains, swept);
            })?;
        let whole = |groups: Vec<Vec<f64>>| {
            groups.into_iter().filter_map(|sums| Transitions::restore(k, sums)).collect()
        };
        Ok(Self {
            run,
            counts: notes.counts,
            counted_transitions: whole(notes.counted_transitions),
            transitions: whole(notes.transitions),
            slopes_at: notes.slopes_at,
            slopes: notes.slopes,
            states: notes.states,
        })
    }
}

impl Deref for KeptRun {
    type Target = TemperedRun;

    fn deref(&self) -> &TemperedRun {
        &self.run
    }
}

/// Statistics while the chains run.
struct Notes {
    stride: usize,
    sweeps: usize,
    before: Option<Vec<u32>>,
    counts: Table,
    counted_transitions: Vec<Vec<f64>>,
    transitions: Vec<Vec<f64>>,
    slopes_at: SlopeSums,
    slopes: SlopeSums,
    states: KeptStates,
}

impl Notes {
    /// Records the chains after one more sweep, whose occupancies are q(k|x) of the states.
    fn take(&mut self, chains: &dyn SimulatedTempering, swept: &Swept) {
        let (k, groups) = (chains.ladder().len(), self.transitions.len());
        let generated_at = chains.temperatures();
        for (s, (&at, q)) in generated_at.iter().zip(swept.occupancy.rows()).enumerate() {
            let at = at as usize;
            self.counts.row_mut(s)[at] += 1.0;
            let row = &mut self.transitions[s % groups][at * k..][..k];
            row.iter_mut().zip(q).for_each(|(sum, q)| *sum += q);
            if let Some(before) = &self.before {
                self.counted_transitions[s % groups][before[s] as usize * k + at] += 1.0;
            }
        }
        self.before = Some(generated_at.to_vec());
        self.sweeps += 1;
        if self.sweeps.is_multiple_of(self.stride) {
            self.states.log_f.extend(chains.log_f());
            self.states.generated_at.extend_from_slice(generated_at);
            let slopes = chains.slopes();
            for (s, &at) in generated_at.iter().enumerate() {
                let (means, variances) = (slopes.mean.row(s), slopes.variance.row(s));
                for (j, (&mean, &variance)) in means.iter().zip(variances).enumerate() {
                    self.slopes.add(s * k + j, swept.occupancy.row(s)[j], mean, variance);
                    if j == at as usize {
                        self.slopes_at.add(s * k + j, 1.0, mean, variance);
                    }
                }
            }
        }
    }
}
