//! A long run of tempered chains, and samples bootstrapped from it for every estimator that reads shared chains.

use std::time::Instant;

use indicatif::ProgressBar;
use ztrack::Result;
use ztrack::engine::Engine;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::estimators::tempered::{Group, KeptRun, KeptStates, SlopeSums, TemperedRun};
use ztrack::numerics::Table;
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Occupancy, Prior,
    PseudoPrior, RoundsEnd, SimulatedTempering, Slopes, TemperedChains, Tempering,
};

const CHAINS: usize = 100;
/// Most states that are kept, and most numbers log f_k of them.
const MOST_STATES: usize = 100_000;
const MOST_NUMBERS: usize = 20_000_000;

/// A long run and the states kept of it, with all that an estimator asks of a state.
pub struct Pool {
    ladder: Ladder,
    zeta: Vec<f64>,
    /// log f_k, q(k|x) and slopes of every state, shape [N, K].
    log_f: Table,
    posterior: Table,
    slopes: Slopes,
    /// Temperature that generated the state, shape `[N]`.
    pub generated_at: Vec<u32>,
    /// Counted sweeps of every chain, and those from one kept state to the next.
    pub sweeps: usize,
    pub stride: usize,
    /// What ended the initial rounds.
    pub rounds_end: RoundsEnd,
    /// Round trips in the counted sweeps, all chains together.
    pub round_trips: u64,
    /// RTS of all samples, and its standard error.
    pub whole: (f64, f64),
    /// Wall time.
    pub seconds: f64,
}

impl Pool {
    /// Number of chains.
    pub const CHAINS: usize = CHAINS;
    /// Most steps of the progress bar a run takes.
    pub const STEPS: usize = 100;

    /// Initial rounds, a fifth of the sweeps to settle, then `sweeps` (at least 1) with fixed zeta at K `temperatures`.
    pub fn run(
        engine: &dyn Engine,
        base: &BaseDistribution,
        temperatures: usize,
        sweeps: usize,
        bar: &ProgressBar,
    ) -> Result<Self> {
        let (start, k) = (Instant::now(), temperatures);
        let ladder = Ladder::linear(k, &Prior::Uniform)?;
        let path = GeometricPath { engine, ladder: &ladder, base };
        // A seed of its own for every K: runs with the same random numbers may err alike.
        let seed = k as u64;
        let mut chains = TemperedChains::new(base.sample(CHAINS, seed, 0), k, seed);
        let mut chains = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
        let rounds = InitialRounds::default().run(&mut chains);
        let zeta = rounds.measurement.log_z;
        chains.sweep(&zeta, (sweeps / 5).max(1));
        let most = MOST_STATES.min(MOST_NUMBERS / k);
        let stride = (CHAINS * sweeps).div_ceil(most).min(sweeps);
        let prior = PseudoPrior::new(&ladder, &zeta);
        let mut occupancy = Occupancy::new(CHAINS, k);
        let (mut log_f, mut posterior) = (Table::default(), Table::default());
        let mut slopes = Slopes { mean: Table::default(), variance: Table::default() };
        let (mut generated_at, mut round_trips, looks) = (Vec::new(), 0, sweeps / stride);
        for look in 1..=looks {
            let swept = chains.sweep(&zeta, stride);
            occupancy.add(&swept.occupancy, stride);
            round_trips += swept.round_trips;
            posterior.extend(&prior.posterior(chains.log_f()));
            log_f.extend(chains.log_f());
            generated_at.extend_from_slice(chains.temperatures());
            let Slopes { mean, variance } = chains.slopes();
            slopes.mean.extend(&mean);
            slopes.variance.extend(&variance);
            if look % looks.div_ceil(Self::STEPS) == 0 {
                bar.inc(1);
            }
        }
        let y = occupancy.measure(&ladder, &zeta);
        Ok(Self {
            whole: (y.log_z[k - 1], y.variance[k - 1].sqrt()),
            sweeps: looks * stride,
            rounds_end: rounds.end,
            seconds: start.elapsed().as_secs_f64(),
            ladder,
            zeta,
            log_f,
            posterior,
            slopes,
            generated_at,
            stride,
            round_trips,
        })
    }

    /// `count` states (a multiple of the number of chains) drawn with replacement and dealt out to chains, which are thus
    /// independent, as estimators want them.
    pub fn bootstrap(&self, count: usize, repeat: usize) -> KeptRun {
        let k = self.ladder.len();
        let sweeps = count / CHAINS;
        // Another seed than the run's, whose draws are not to be used again.
        let mut stream = Streams::new(!(k as u64), Purpose::Choice, repeat as u64).row(0);
        let mut states = KeptStates::default();
        let (mut occupancy, mut counts) = (Table::zeros(CHAINS, k), Table::zeros(CHAINS, k));
        let mut slopes = SlopeSums::new(CHAINS, k);
        let mut slopes_at = SlopeSums::new(CHAINS, k);
        for i in 0..CHAINS * sweeps {
            let drawn = (stream.uniform() * self.generated_at.len() as f64) as usize;
            let (chain, entry) = (i % CHAINS, i % CHAINS * k);
            let at = self.generated_at[drawn] as usize;
            states.log_f.extend(&self.log_f.between(drawn, drawn + 1));
            states.generated_at.push(at as u32);
            counts.row_mut(chain)[at] += 1.0;
            let (mean, variance) = (self.slopes.mean.row(drawn), self.slopes.variance.row(drawn));
            slopes_at.add(entry + at, 1.0, mean[at], variance[at]);
            for (j, &q) in self.posterior.row(drawn).iter().enumerate() {
                occupancy.row_mut(chain)[j] += q / sweeps as f64;
                slopes.add(entry + j, q, mean[j], variance[j]);
            }
        }
        let run = TemperedRun {
            ladder: self.ladder.clone(),
            rounds: Vec::new(),
            counted: Group { zeta: self.zeta.clone(), occupancy, sweeps },
            halves: Default::default(),
            log_f: Vec::new(),
            rounds_end: self.rounds_end,
            chains: CHAINS,
            round_trips: self.round_trips,
            gibbs_sweeps: (CHAINS * sweeps) as u64,
            seconds: 0.0,
        };
        let (counted_transitions, transitions) = (Vec::new(), Vec::new());
        KeptRun { run, counts, counted_transitions, transitions, slopes_at, slopes, states }
    }
}
