//! One run of tempered chains, shared by any number of estimators.
//!
//! Initial rounds find zeta, a fifth of the sweeps is burn-in, then `sweeps` are counted with zeta fixed (RTS Algorithm 1). This file keeps
//! occupancies only, O(S K) memory; [`super::KeptRun`] keeps more.

use std::time::Instant;

use super::super::estimate::with_rounding;
use super::super::{Estimate, Method, at_least_two_chains};
use super::verdict::verdict;
use crate::error::Result;
use crate::numerics::Table;
use crate::tempering::{
    InitialRounds, Ladder, Measurement, Occupancy, PseudoPrior, RoundsEnd, SimulatedTempering,
    Swept,
};
use crate::trust::Trust;

/// Burn-in sweeps as a fraction of the counted ones: after the last round chains are spread according to the earlier zeta.
const BURN_IN: usize = 5;
/// Sweeps of one call if no observer reads in between.
pub(super) const STRETCH: usize = 20;
/// Fewest and most records of the free energy, about, if there are enough sweeps, and most values of all chains.
const LOOKS: (usize, usize) = (8, 200);
const MOST_VALUES: usize = 100_000;

/// Occupancies of tempered chains, and the cost of the run.
#[derive(Clone, Debug)]
pub struct TemperedRun {
    /// beta_k and r_k.
    pub ladder: Ladder,
    /// One for each pseudo-prior: those of the initial rounds in their order.
    pub rounds: Vec<Group>,
    /// The counted sweeps.
    pub counted: Group,
    /// C_s1 and C_sK of each chain, shape [S, 2], in the first and in the second half of the counted sweeps; empty if those were too few to
    /// be halved.
    pub halves: [Table; 2],
    /// log f(v), minus the free energy, of each chain's state at evenly spaced times, shape [S, times].
    pub log_f: Vec<Vec<f64>>,
    /// End of the initial rounds.
    pub rounds_end: RoundsEnd,
    /// Number of chains, S.
    pub chains: usize,
    /// Round trips 1 -> K -> 1 in the counted sweeps, all chains together.
    pub round_trips: u64,
    /// Sweeps of single chains, initial rounds included.
    pub gibbs_sweeps: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// Sweeps under one pseudo-prior.
#[derive(Clone, Debug)]
pub struct Group {
    /// zeta_k, shape `[K]`; zeta_1 = log Z_1.
    pub zeta: Vec<f64>,
    /// C_sk: each chain's mean of q(k|x), shape [S, K].
    pub occupancy: Table,
    /// Number of sweeps.
    pub sweeps: usize,
}

impl TemperedRun {
    /// Runs the chains; `sweeps` (at least 1) are counted.
    ///
    /// # Errors
    /// Fewer than two chains, which give no error bar.
    pub fn new(
        chains: &mut dyn SimulatedTempering,
        initial_rounds: &InitialRounds,
        sweeps: usize,
    ) -> Result<Self> {
        Self::watched(chains, initial_rounds, None, sweeps, STRETCH, &mut |_, _| ())
    }

    /// [`TemperedRun::new`] with a call of `look` after every `stretch` counted sweeps; `zeta`: of an earlier run, from which rounds
    /// continue with the current chains.
    pub(crate) fn watched(
        chains: &mut dyn SimulatedTempering,
        initial_rounds: &InitialRounds,
        zeta: Option<Vec<f64>>,
        sweeps: usize,
        stretch: usize,
        look: &mut dyn FnMut(&dyn SimulatedTempering, &Swept),
    ) -> Result<Self> {
        let start = Instant::now();
        let (n, k, sweeps) = (chains.chains(), chains.ladder().len(), sweeps.max(1));
        at_least_two_chains(n)?;
        let before = chains.sweeps_done();
        let record = match zeta {
            Some(zeta) => initial_rounds.run_from(chains, zeta),
            None => initial_rounds.run(chains),
        };
        let zeta = record.measurement.log_z;
        chains.sweep(&zeta, (sweeps / BURN_IN).max(1));
        let stretch = stretch.min((sweeps / 2).max(1));
        let between_looks = sweeps.div_ceil((MOST_VALUES / n).clamp(LOOKS.0, LOOKS.1));
        let (mut counts, mut done) = (Counts::new(n, k), 0);
        while done < sweeps {
            chains.context().go_on()?;
            // No block crosses the middle.
            let half = usize::from(2 * done >= sweeps);
            let end = if half == 0 { sweeps.div_ceil(2) } else { sweeps };
            let stretch = stretch.min(end - done);
            let swept = chains.sweep(&zeta, stretch);
            counts.add(&swept, stretch, half);
            if (done + stretch) / between_looks > done / between_looks {
                counts.look(chains.log_f());
            }
            done += stretch;
            chains.context().progress().at_log_z("sweeps", done, sweeps, || {
                let so_far = counts.occupancy.measure(chains.ladder(), &zeta);
                so_far.log_z.last().copied().unwrap_or(f64::NAN)
            });
            look(&*chains, &swept);
        }
        let Counts { occupancy, halves, log_f, round_trips } = counts;
        let rounds = record.rounds.into_iter().zip(record.occupancies);
        let round = |((zeta, _), occupancy)| {
            let sweeps = initial_rounds.sweeps.max(1);
            Group { zeta, occupancy, sweeps }
        };
        Ok(Self {
            ladder: chains.ladder().clone(),
            rounds: rounds.map(round).collect(),
            counted: Group { zeta, occupancy: occupancy.means(), sweeps },
            halves,
            log_f,
            rounds_end: record.end,
            chains: n,
            round_trips,
            gibbs_sweeps: (chains.sweeps_done() - before) * n as u64,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// log Z_k at every temperature by RTS (eq. 12).
    pub fn measurement(&self) -> Measurement {
        let Group { zeta, occupancy, .. } = &self.counted;
        PseudoPrior::new(&self.ladder, zeta).measure(occupancy)
    }

    /// An estimate by a method from this run since `start`. The run's own doubt comes first, then the method's.
    pub(in super::super) fn estimate(
        &self,
        method: Method,
        start: Instant,
        (value, std_error): (f64, f64),
        trust: Trust,
    ) -> Estimate {
        Estimate {
            // A round trip makes a chain forget its start.
            effective_samples: Some(self.round_trips as f64),
            gibbs_sweeps: self.gibbs_sweeps,
            seconds: self.seconds + start.elapsed().as_secs_f64(),
            trust: verdict(self).and(trust),
            ..Estimate::new(method, value, with_rounding(std_error, value))
        }
        .checked()
    }
}

/// Statistics of the chains while they are counted.
struct Counts {
    occupancy: Occupancy,
    halves: [Table; 2],
    log_f: Vec<Vec<f64>>,
    round_trips: u64,
}

impl Counts {
    fn new(chains: usize, temperatures: usize) -> Self {
        Self {
            occupancy: Occupancy::new(chains, temperatures),
            halves: [Table::zeros(chains, 2), Table::zeros(chains, 2)],
            log_f: vec![Vec::new(); chains],
            round_trips: 0,
        }
    }

    /// Adds so many sweeps of the first or the second half.
    fn add(&mut self, swept: &Swept, sweeps: usize, half: usize) {
        self.occupancy.add(&swept.occupancy, sweeps);
        for (sums, row) in self.halves[half].rows_mut().zip(swept.occupancy.rows()) {
            sums[0] += sweeps as f64 * row[0];
            sums[1] += sweeps as f64 * row[row.len() - 1];
        }
        self.round_trips += swept.round_trips;
    }

    /// Records log f(v) of the current states.
    fn look(&mut self, log_f: &Table) {
        let traces = self.log_f.iter_mut().zip(log_f.last_column());
        traces.for_each(|(trace, value)| trace.push(value));
    }
}
