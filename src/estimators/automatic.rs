//! log Z without being told where the model's mass lies: what `ztrack estimate` runs by default.
//!
//! 1. Modes of both layers are searched ([`super::ModeSearch`]); every state seen adds to a lower bound of log Z.
//! 2. Candidate starts are annealed for a short time each ([`super::start_auto`]). What they reach, and states drawn at the modes,
//!    are the rows a mixture of product distributions is fitted to ([`super::mixture_fit`]).
//! 3. RTS runs on the path from that mixture ([`crate::tempering::mixture`]), half of its chains from the mixture, half from the modes at
//!    beta = 1, and is judged ([`super::judgement`]).
//! 4. In doubt, the mixture is fitted again to what the chains found at beta = 1 and the run repeated with twice the sweeps,
//!    until nothing is in doubt or the budget is used up.

use std::time::Instant;

use serde::Serialize;

use super::judgement::{Evidence, judge};
use super::mixture_fit::{Rows, fit};
use super::start_auto::{Candidate, Candidates};
use super::tempered::{Mixing, TemperedRun};
use super::{Estimate, ModeSearch, at_least_one_sweep, at_least_two_chains};
use crate::error::Result;
use crate::model::Parameters;
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, Fused, words_per_row};
use crate::tempering::mixture::{MixtureBase, MixturePath, MixtureTempering};
use crate::tempering::schedules::linear;
use crate::tempering::{BaseDistribution, InitialRounds, Ladder, Prior};

/// Chains, inverse temperatures, sweeps and seconds unless told otherwise.
pub const CHAINS: usize = 100;
pub const TEMPERATURES: usize = 50;
pub const SWEEPS: usize = 1000;
pub const BUDGET: f64 = 20.0;
/// Prior of beta = 0 and beta = 1 in units of the others'.
const SHARE_OF_ENDS: f64 = 5.0;
/// Random starts of the mode search in each layer.
const RANDOM_STARTS: usize = 64;
/// Most modes that states are drawn at.
const MOST_MODES: usize = 50;
/// Fitted components of a mixture: many lead straight to separate modes, one lets chains move between modes that are not.
const COMPONENTS: [usize; 2] = [16, 1];
/// Most rows a mixture is fitted to.
const MOST_ROWS: usize = 400;
/// The first run, which only looks where the mass lies, has so many times fewer sweeps.
const EXPLORING: usize = 5;
/// Round trips a chain and 1000 sweeps below which either kind is worth another try.
const SLOW: f64 = 0.02;
/// Doubts that longer runs on the same path may remove.
const SLOWNESS: [&str; 1] = ["few-travelled"];
/// Share of states drawn at the modes in later fits.
const SHARE_OF_MODES: f64 = 0.2;
/// Most states of a run from which modes are searched.
const CLIMBS: usize = 50;
/// Sweeps of a call, after which states at beta = 1 are taken.
const STRETCH: usize = 20;

/// Settings of the automatic estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Automatic {
    /// Number of chains, S.
    pub chains: usize,
    /// Inverse temperatures and their prior.
    pub ladder: Ladder,
    /// Counted sweeps of the first run.
    pub sweeps: usize,
    /// Work that may be done while the estimate is in doubt, in seconds of one usual core. It is counted in operations, not by
    /// the clock, so that the same seed gives the same result.
    pub budget: f64,
    /// Seed of all random streams.
    pub seed: u64,
}

/// What is known of a model beside its parameters.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// A product distribution near the model, such as the data's marginals.
    pub marginals: Option<&'a BaseDistribution>,
    /// Data rows, shape [N, M].
    pub rows: Option<&'a BitMatrix>,
}

/// A lower bound of log Z that holds for sure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bound {
    /// log sum f over distinct states of one layer, nats.
    pub value: f64,
    /// Number of states.
    pub states: usize,
}

/// The estimate and how it came about.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// log Z.
    pub estimate: Estimate,
    /// The lower bound.
    pub bound: Bound,
    /// Starts that were tried by annealing.
    pub candidates: Vec<Candidate>,
    /// What was done, one line a run.
    pub done: Vec<String>,
}

impl Automatic {
    /// What the command does unless told otherwise.
    ///
    /// # Errors
    /// None in practice: the ladder is a valid one.
    pub fn new(seed: u64) -> Result<Self> {
        let betas = linear(TEMPERATURES)?;
        let ladder = Self::ladder(&betas)?;
        Ok(Self { chains: CHAINS, ladder, sweeps: SWEEPS, budget: BUDGET, seed })
    }

    /// Inverse temperatures whose ends get more than their share of the sweeps: at beta = 0 chains change their component, and at
    /// both ends log Z is measured.
    ///
    /// # Errors
    /// Fewer than two inverse temperatures, or not ascending from 0 to 1.
    pub fn ladder(betas: &[f64]) -> Result<Ladder> {
        let mut weights = vec![1.0; betas.len()];
        let last = betas.len().saturating_sub(1);
        for (k, weight) in weights.iter_mut().enumerate() {
            if k == 0 || k == last {
                *weight = SHARE_OF_ENDS;
            }
        }
        Ladder::new(betas, &Prior::Given(weights))
    }

    /// Runs until the estimate is sound or the budget is used up.
    ///
    /// # Errors
    /// Fewer than four chains, no sweeps, or a matrix without singular values.
    pub fn run(&self, parameters: &Parameters, known: Known<'_>) -> Result<Report> {
        at_least_two_chains(self.chains / 2)?;
        at_least_one_sweep(self.sweeps)?;
        let start = Instant::now();
        let ops = Fused::new(parameters);
        let mut search = Search::new(parameters, known, self.seed);
        let mut found = Candidates::new(parameters, &ops, self.seed);
        found.try_all(known, &mut search)?;
        let mut pool = found.rows(&search.drawn(MOST_MODES, 2, self.seed));
        let mut done = Vec::new();
        let mut kinds = Kinds::default();
        let mut kept = None;
        let mut sweeps = (self.sweeps / EXPLORING).max(1);
        let mut spent = 0.0;
        let mut gibbs_sweeps = found.gibbs_sweeps();
        loop {
            let attempt = done.len() as u64;
            let seed = self.seed ^ ((attempt + 1) << 40);
            let (kind, base) = match kept.take() {
                Some(kept) => kept,
                None => {
                    let kind = kinds.next();
                    (kind, fit(parameters, &pool, COMPONENTS[kind], seed)?)
                }
            };
            let path = MixturePath { ops: &ops, ladder: &self.ladder, base: &base };
            let above = from_above(&search.drawn(MOST_MODES, 1, seed), &pool, self.chains / 2);
            let above_count = above.rows();
            let mut chains = MixtureTempering::new(path, self.chains, above, seed);
            let rounds = InitialRounds::default();
            let run = TemperedRun::watched(&mut chains, &rounds, sweeps, STRETCH, &mut |_, _| ())?;
            let samples = chains.samples(MOST_ROWS);
            search.note(&samples.select((0..samples.rows()).take(CLIMBS)));
            gibbs_sweeps += run.gibbs_sweeps;
            let evidence = Evidence {
                run: &run,
                above: above_count,
                annealed: chains.annealed(),
                candidates: found.list(),
                bound: search.bound().value,
            };
            let (mut estimate, line) = judge(&evidence);
            spent += self.cost(parameters, &base, run.gibbs_sweeps);
            if std::env::var("DBG").is_ok() { eprintln!("{} sweeps, {:.2} s, cost {:.2}, rounds {}", run.gibbs_sweeps, run.seconds, self.cost(parameters, &base, run.gibbs_sweeps), run.rounds.len()); }
            done.push(line);
            kinds.tell(kind, &Mixing::of(&run), sweeps);
            let exploring = attempt + 1 < COMPONENTS.len() as u64;
            sweeps = if exploring { sweeps } else { (2 * sweeps).max(self.sweeps) };
            let next = 2.5 * self.cost(parameters, &base, (self.chains * sweeps) as u64);
            let over = !exploring && (estimate.trust.is_sound() || spent + next > self.budget);
            if over {
                estimate.gibbs_sweeps = gibbs_sweeps;
                estimate.seconds = start.elapsed().as_secs_f64();
                let bound = search.bound();
                return Ok(Report { estimate, bound, candidates: found.into_list(), done });
            }
            // Chains that travel without going all the way need time, others another start.
            let travels = estimate.trust.doubts().iter().all(|doubt| SLOWNESS.contains(&&*doubt.name));
            if travels && !exploring {
                kept = Some((kind, base));
            }
            pool = Rows::alike(samples).with(&search.drawn(MOST_MODES, 1, seed), SHARE_OF_MODES);
        }
    }

    /// Seconds of one usual core that sweeps of single chains take.
    fn cost(&self, parameters: &Parameters, base: &MixtureBase, gibbs_sweeps: u64) -> f64 {
        let (m, j) = (parameters.n_visible as f64, parameters.n_hidden as f64);
        let (k, c) = (self.ladder.len() as f64, base.len() as f64);
        let nanoseconds =
            0.003 * m * (2.0 * j + c) + 1.5 * (m + j) + k * (0.05 * j + 0.4 * c + 15.0);
        1e-9 * nanoseconds * gibbs_sweeps as f64
    }
}

/// The searches in both layers.
pub(super) struct Search {
    hidden: ModeSearch,
    visible: ModeSearch,
    n_visible: usize,
}

impl Search {
    fn new(parameters: &Parameters, known: Known<'_>, seed: u64) -> Self {
        let mut search = Self {
            hidden: ModeSearch::new(&parameters.transposed()),
            visible: ModeSearch::new(parameters),
            n_visible: parameters.n_visible,
        };
        search.hidden.from_random(RANDOM_STARTS, seed);
        search.visible.from_random(RANDOM_STARTS / 4, seed);
        if let Some(rows) = known.rows {
            let some = rows.select((0..rows.rows()).take(MOST_ROWS));
            search.visible.note(&some);
            search.climb(&some);
        }
        search
    }

    /// Ascends in the hidden layer from visible rows.
    pub(super) fn climb(&mut self, visible: &BitMatrix) {
        for row in 0..visible.rows() {
            let means = self.visible.other_means(visible.row(row));
            let mut hidden = vec![0; words_per_row(means.len())];
            for (unit, _) in means.iter().enumerate().filter(|(_, mean)| **mean > 0.5) {
                hidden[unit / 64] |= 1 << (unit % 64);
            }
            self.hidden.ascend(&hidden);
        }
    }

    /// Visible states drawn at the highest modes, `each` a mode: v ~ p(v | h).
    pub(super) fn drawn(&self, modes: usize, each: usize, seed: u64) -> BitMatrix {
        let modes: Vec<_> = self.hidden.modes().into_iter().take(modes).collect();
        let streams = Streams::new(seed, Purpose::ModeSearch, 1);
        let mut rows = BitMatrix::zeros(modes.len() * each, self.n_visible);
        for (m, mode) in modes.iter().enumerate() {
            let means = self.hidden.other_means(&mode.state);
            for row in m * each..(m + 1) * each {
                let mut stream = streams.row(row as u32);
                means.iter().enumerate().for_each(|(i, mean)| {
                    rows.set(row, i, stream.uniform() < *mean);
                });
            }
        }
        rows
    }

    fn note(&mut self, visible: &BitMatrix) {
        self.visible.note(visible);
        self.climb(visible);
    }

    fn bound(&self) -> Bound {
        let of = |(value, states)| Bound { value, states };
        let (hidden, visible) = (of(self.hidden.bound()), of(self.visible.bound()));
        if hidden.value > visible.value { hidden } else { visible }
    }
}

/// `count` rows: as many drawn at modes as states that earlier runs reached; all of one where there are none of the other.
fn from_above(modes: &BitMatrix, reached: &Rows, count: usize) -> BitMatrix {
    let (m, r) = (modes.rows(), reached.visible.rows());
    let row = |i: usize| {
        let (own, at) = (i.is_multiple_of(2), i / 2);
        if m > 0 && (own || r == 0) {
            modes.row(at % m)
        } else {
            // Spread over all of them, the latest first.
            reached.visible.row(r - 1 - (at * r / count.max(1)) % r)
        }
    };
    let words = (0..count).flat_map(row).copied().collect();
    BitMatrix::from_words(count, modes.columns(), words)
        .unwrap_or_else(|| BitMatrix::zeros(0, modes.columns()))
}

/// Which number of components comes next: each is tried once, then the one whose chains travelled fastest, unless none did.
#[derive(Default)]
struct Kinds {
    /// Most round trips a chain and 1000 sweeps in a run of each kind.
    speeds: Vec<f64>,
    last: usize,
}

impl Kinds {
    fn next(&mut self) -> usize {
        if self.speeds.len() < COMPONENTS.len() {
            self.last = self.speeds.len();
        } else {
            let fastest = |a: &usize, b: &usize| self.speeds[*a].total_cmp(&self.speeds[*b]);
            let best = (0..COMPONENTS.len()).max_by(fastest).unwrap_or(0);
            self.last = if self.speeds[best] < SLOW { 1 - self.last } else { best };
        }
        self.last
    }

    fn tell(&mut self, kind: usize, mixing: &Mixing, sweeps: usize) {
        let speed = mixing.round_trips * 1000.0 / sweeps as f64;
        if let Some(best) = self.speeds.get_mut(kind) {
            *best = best.max(speed);
        } else {
            self.speeds.push(speed);
        }
    }
}
