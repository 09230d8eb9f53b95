//! Runs of tempered chains from a sequence of mixtures, each fitted to the states that earlier runs reached.

use super::candidates::{ALL_SOLUTIONS, Candidates, failure_of};
use super::choice::{Choice, Kind};
use super::judgement::{Evidence, judge};
use super::results::Results;
use super::search::Search;
use super::{Automatic, Bound, Candidate, Known};
use crate::engine::random::{Purpose, derived_seed};
use crate::engine::{BitMatrix, Engine};
use crate::error::{Error, Result};
use crate::estimators::Estimate;
use crate::estimators::tempered::TemperedRun;
use crate::model::Parameters;
use crate::tempering::mixture::{MixtureBase, MixturePath, WeightedRows};
use crate::tempering::{
    AtOne, BetaUpdate, InitialRounds, SimulatedTempering, TemperedChains, TemperedPath, Tempering,
};
use crate::trust::Doubt;

/// Most mean-field solutions from which states are drawn.
const MOST_SOLUTIONS: usize = 50;
/// Most fitted components of a mixture.
const MOST_COMPONENTS: usize = 16;
/// Most rows a mixture is fitted to.
const MOST_ROWS: usize = 400;
/// Most states of a run from which modes are searched.
const CLIMBS: usize = 50;
/// Sweeps of one call, after which states at beta = 1 are collected.
const STRETCH: usize = 20;
/// Most sweeps between two samples of a chain, if the number is not given.
const SPACING: usize = 100;
/// States at this inverse temperature or above are used as states of the model in fits.
const NEAR_ONE: f64 = 0.95;
/// Fraction of states of mean-field solutions in later fits.
const SHARE_OF_SOLUTIONS: f64 = 0.2;

/// Knowledge after some runs.
pub(super) struct Exploration<'a> {
    settings: &'a Automatic,
    parameters: &'a Parameters,
    engine: &'a dyn Engine,
    search: Search,
    /// States of the model, and rows of data, which a trained model resembles: they show modes that chains reach rarely.
    known: Option<BitMatrix>,
    found: Candidates<'a>,
    pool: WeightedRows,
    kinds: Vec<Kind>,
    choice: Choice,
    last: Option<LastRun>,
    /// A lower bound of log Z from the weights of all annealing passes, and the number of these.
    at_least: f64,
    passes: usize,
    results: Results,
    runs: u64,
    gibbs_sweeps: u64,
    /// Components of the last run's base.
    components: usize,
    /// Seconds of one typical core that the runs took.
    pub(super) spent: f64,
}

/// States of the chains at the end of the last run.
struct LastRun {
    kind: usize,
    base: MixtureBase,
    chains: TemperedChains,
    /// zeta_k that its sweeps found, shape [K].
    zeta: Vec<f64>,
    /// Counted sweeps of every chain.
    sweeps: usize,
    /// The last so many chains started at beta = 1.
    above: usize,
    /// Whether the next run of this kind, directly after this one, continues with these chains, so that they forget their initial modes: if
    /// only time is missing, or if the base would be the same anyway. A run of another kind in between may have found states that only new
    /// chains start from.
    goes_on: bool,
}

impl<'a> Exploration<'a> {
    /// Searches for modes and tries all starts.
    pub(super) fn new(
        settings: &'a Automatic,
        parameters: &'a Parameters,
        engine: &'a dyn Engine,
        known: Known<'_>,
    ) -> Result<Self> {
        known.marginals.map_or(Ok(()), |marginals| marginals.check_for(engine))?;
        for (rows, name) in [(known.rows, "rows"), (known.states, "states")] {
            rows.map_or(Ok(()), |rows| parameters.variables.check(rows, name))?;
        }
        let mut search = Search::new(parameters, known, settings.seed, &settings.context);
        let mut found = Candidates::new(parameters, engine, settings.seed);
        let pool = match (known.states, known.audited) {
            (Some(states), Some(_)) => WeightedRows::alike(states.clone()),
            _ => {
                found.try_all(known, &mut search)?;
                found.rows(&search.mean_field.drawn(MOST_SOLUTIONS, 2, settings.seed))
            }
        };
        let marginals = known.marginals.map(|base| MixtureBase::new(vec![base.clone()], &[1.0]));
        let given = [
            ("the given base", marginals.transpose()?),
            ("mean field", search.mean_field.mixture()?),
        ];
        let mut kinds: Vec<Kind> = given
            .into_iter()
            .filter_map(|(name, base)| Some(Kind::Given(name, base?.into())))
            .collect();
        kinds.extend([Kind::Fitted(MOST_COMPONENTS), Kind::Fitted(1)]);
        Ok(Self {
            settings,
            parameters,
            engine,
            search,
            known: match (known.states, known.rows) {
                (Some(states), Some(rows)) => Some(states.followed_by(rows)),
                (states, rows) => states.or(rows).cloned(),
            },
            gibbs_sweeps: found.gibbs_sweeps(),
            at_least: found.list().iter().map(|c| c.at_least).fold(f64::NEG_INFINITY, f64::max),
            passes: found.list().len(),
            found,
            pool,
            choice: Choice::of(kinds.len()),
            kinds,
            last: None,
            results: Results::default(),
            runs: 0,
            components: MOST_COMPONENTS,
            spent: 0.0,
        })
    }

    /// Number of kinds of starts.
    pub(super) fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// The current mixture to start from.
    pub(super) fn mixture(&mut self) -> Result<MixtureBase> {
        let kind = self.next_kind();
        match &self.last {
            Some(run) if run.goes_on && run.kind == kind => Ok(run.base.clone()),
            _ => self.new_mixture(kind),
        }
    }

    fn next_kind(&mut self) -> usize {
        match &self.last {
            // A mixture that was fitted for these chains is kept while they only need time.
            Some(LastRun { kind, goes_on: true, .. })
                if matches!(self.kinds[*kind], Kind::Fitted(_)) =>
            {
                *kind
            }
            _ => self.choice.next(),
        }
    }

    fn new_mixture(&self, kind: usize) -> Result<MixtureBase> {
        self.kinds[kind].base(self.parameters, &self.pool, self.seed())
    }

    /// States at beta = 1 for `count` chains: from mean-field solutions, from those that earlier runs reached, and a third from the known
    /// states.
    pub(super) fn states_above(&self, count: usize) -> BitMatrix {
        let modes = self.search.mean_field.drawn(MOST_SOLUTIONS, 1, self.seed());
        let Some(known) = &self.known else { return from_above(&modes, &self.pool, count) };
        let known = known.spread(count / 3);
        from_above(&modes, &self.pool, count - known.rows()).followed_by(&known)
    }

    /// Another run, and a line that describes it.
    pub(super) fn run(&mut self, sweeps: usize) -> Result<(Estimate, String)> {
        let (kind, settings, seed) = (self.next_kind(), self.settings, self.seed());
        let ladder = &settings.ladder;
        let goes_on = |run: &LastRun| run.goes_on && run.kind == kind;
        let before = self.last.take().filter(goes_on);
        let base = match &before {
            Some(run) => run.base.clone(),
            None => self.new_mixture(kind)?,
        };
        let path = MixturePath { engine: self.engine, ladder, base: &base };
        let (mut states, zeta, above) = match before {
            Some(LastRun { chains, zeta, above, .. }) => (chains, Some(zeta), above),
            None => {
                let start = path.sample_base(settings.chains, seed, 0);
                let above = self.states_above(settings.chains / 2).rows();
                (TemperedChains::new(start, ladder.len(), seed), None, above)
            }
        };
        let mut chains = Tempering::new(path, &mut states, BetaUpdate::Collapsed)
            .with_states_above(self.states_above(above))
            .sampling_from(NEAR_ONE);
        let rounds = InitialRounds::default();
        let run =
            TemperedRun::watched(&mut chains, &rounds, zeta, sweeps, STRETCH, &mut |_, _| ())?;
        let samples = chains.samples(MOST_ROWS);
        let climbing = samples.select(0..samples.rows().min(CLIMBS));
        self.search.note(&climbing);
        self.search.relax(&climbing);
        // Chains that continue have no annealing pass of their own.
        self.at_least = self.at_least.max(chains.annealed_at_least(failure_of(self.passes)));
        self.passes += 1;
        let evidence = Evidence {
            run: &run,
            above,
            at_least: self.at_least,
            bound: self.search.bound().value,
        };
        let (mut estimate, line) = judge(&evidence);
        self.results.take(&mut estimate, sweeps);
        self.choice.tell(kind, run.round_trips as f64 / run.chains as f64, sweeps);
        self.components = base.len();
        self.spent += self.cost(run.gibbs_sweeps);
        self.gibbs_sweeps += run.gibbs_sweeps;
        estimate.gibbs_sweeps = self.gibbs_sweeps;
        // Annealing finds more than chains do: they may miss solutions that are no components of their base.
        let contradicts = |doubt: &Doubt| matches!(doubt, Doubt::AnnealingAbove { .. });
        if sweeps >= settings.sweeps
            && estimate.trust.doubts().iter().any(contradicts)
            && let Some(base) = self.found.all_solutions.take()
        {
            self.components = base.len();
            self.kinds.push(Kind::Given(ALL_SOLUTIONS, base.into()));
            self.choice.add();
        }
        // Chains that move without reaching both ends need time, others need another start.
        let mut doubts = estimate.trust.doubts().iter();
        let slow = doubts.all(|doubt| matches!(doubt, Doubt::FewTravelled { .. }));
        // Short runs only locate the mass.
        let goes_on =
            sweeps >= settings.sweeps && (slow || matches!(self.kinds[kind], Kind::Given(..)));
        self.pool = WeightedRows::alike(samples).with(
            &self.search.mean_field.drawn(MOST_SOLUTIONS, 1, self.seed()),
            SHARE_OF_SOLUTIONS,
        );
        drop(chains);
        let zeta = run.measurement().log_z;
        self.last = Some(LastRun { kind, base, chains: states, zeta, sweeps, above, goes_on });
        self.runs += 1;
        Ok((estimate, format!("{}, {line}", self.kinds[kind])))
    }

    /// The estimate of the last run with the results of all, see [`Results::pooled`].
    pub(super) fn pooled(&self, estimate: Estimate) -> Estimate {
        self.results.pooled(estimate, self.at_least)
    }

    /// `count` samples by the chains of the last run, `spacing` sweeps between two samples of one chain; without it, as many as
    /// make all samples cost what the counted sweeps of that run did, and at most [`SPACING`].
    ///
    /// # Errors
    /// Chains that hardly ever reach beta = 1.
    pub(super) fn take_at_one(&mut self, count: usize, spacing: Option<usize>) -> Result<AtOne> {
        let ladder = &self.settings.ladder;
        let Some(LastRun { base, chains, zeta, sweeps, .. }) = &mut self.last else {
            return Err(Error::Invalid("no run has left chains to sample".into()));
        };
        let at_one = ladder.log_prior().last().map_or(0.0, |log_r| log_r.exp());
        let states = at_one * (*sweeps * chains.len()) as f64;
        let spacing = spacing.unwrap_or(((states / count as f64) as usize).min(SPACING)).max(1);
        let path = MixturePath { engine: self.engine, ladder, base };
        let mut chains = Tempering::new(path, chains, BetaUpdate::Collapsed);
        let before = chains.sweeps_done();
        let found = chains.take_at_one(zeta, count, spacing)?;
        self.gibbs_sweeps += (chains.sweeps_done() - before) * self.settings.chains as u64;
        Ok(found)
    }

    /// The bound so far.
    pub(super) fn bound(&self) -> Bound {
        self.search.bound()
    }

    /// A lower bound of log Z from the weights of all annealing passes so far, nats, which holds with a probability of 99.9 %.
    pub(super) fn at_least(&self) -> f64 {
        self.at_least
    }

    /// The starts that were tried.
    pub(super) fn candidates(&self) -> &[Candidate] {
        self.found.list()
    }

    /// Sweeps of single chains so far.
    pub(super) fn gibbs_sweeps(&self) -> u64 {
        self.gibbs_sweeps
    }

    /// Seconds of one typical core for sweeps of single chains.
    pub(super) fn cost(&self, gibbs_sweeps: u64) -> f64 {
        let (m, j) = (self.parameters.n_visible as f64, self.parameters.n_hidden as f64);
        let (k, c) = (self.settings.ladder.len() as f64, self.components as f64);
        let nanoseconds =
            0.003 * m * (2.0 * j + c) + 1.5 * (m + j) + k * (0.05 * j + 0.4 * c + 15.0);
        1e-9 * nanoseconds * gibbs_sweeps as f64
    }

    fn seed(&self) -> u64 {
        derived_seed(self.settings.seed, Purpose::Exploration, self.runs)
    }
}

/// `count` rows, half drawn at modes and half from the states that earlier runs reached; all of one kind if there are none of the other.
fn from_above(modes: &BitMatrix, reached: &WeightedRows, count: usize) -> BitMatrix {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::test_systems::{gaussian_parameters, independent, islands};
    use crate::tempering::BaseDistribution;
    use crate::tempering::mixture::BROAD_COMPONENTS;

    /// Modes that chains reach rarely are among them.
    #[test]
    fn a_third_of_the_chains_at_one_start_from_rows_and_states() {
        let parameters = gaussian_parameters(12, 8, 0.5, 3);
        let engine = Host::new(&parameters);
        let settings = Automatic { chains: 10, ..Automatic::new(1).unwrap() };
        let rows = BitMatrix::from_fn(30, 12, |row, unit| row >> (unit % 5) & 1 == 1);
        let states = BitMatrix::from_fn(30, 12, |row, _| row % 2 == 1);
        for (given, from) in [([true, false], 0..30), ([false, true], 30..60), ([true; 2], 0..60)] {
            let known = Known {
                rows: Some(&rows).filter(|_| given[0]),
                states: Some(&states).filter(|_| given[1]),
                ..Known::default()
            };
            let exploration = Exploration::new(&settings, &parameters, &engine, known).unwrap();
            let above = exploration.states_above(12);
            let all = rows.followed_by(&states);
            let known: Vec<&[u64]> = from.map(|row| all.row(row)).collect();
            assert_eq!(above.rows(), 12);
            assert!((8..12).all(|row| known.contains(&above.row(row))));
        }
    }

    /// Two independent groups of four states have 25 solutions of the mean-field equations, so the base has all of them.
    #[test]
    fn few_solutions_are_all_components() {
        let states = [1, 2].map(|seed| islands(50, (4, 1), -2.0..0.0, seed));
        let parts = [states[0].clone(), states[1].clone(), gaussian_parameters(40, 13, 0.4, 3)];
        let parameters = independent(&parts, 4).unwrap().parameters;
        let (engine, settings) = (Host::new(&parameters), Automatic::new(1).unwrap());
        let known = Known::default();
        let exploration = Exploration::new(&settings, &parameters, &engine, known).unwrap();
        let base = exploration.kinds[0].base(&parameters, &exploration.pool, 1).unwrap();
        assert_eq!(
            (exploration.kinds[0].to_string().as_str(), base.len()),
            ("mean field", 25 + BROAD_COMPONENTS)
        );
    }

    /// From the marginals after a run that was not a short one; from a fitted mixture that only needs time.
    #[test]
    fn chains_go_on_where_the_base_stays() {
        let parameters = gaussian_parameters(12, 8, 0.5, 3);
        let (engine, marginals) = (Host::new(&parameters), BaseDistribution::uniform(12));
        let known = Known { marginals: Some(&marginals), ..Known::default() };
        for (kind, sweeps, go_on) in [(0, 40, true), (0, 41, false), (2, 41, false)] {
            let settings = Automatic { chains: 10, sweeps, ..Automatic::new(1).unwrap() };
            let mut exploration = Exploration::new(&settings, &parameters, &engine, known).unwrap();
            exploration.kinds = vec![exploration.kinds[kind].clone()];
            exploration.choice = Choice::of(1);
            let mut run = || {
                exploration.run(40).unwrap();
                exploration.last.as_ref().unwrap().chains.sweeps
            };
            let (first, second) = (run(), run());
            assert_eq!(second > first + 40, go_on, "{first} {second}");
            // As if a run of another kind had come between.
            exploration.kinds.push(exploration.kinds[0].clone());
            exploration.last.as_mut().unwrap().kind = 1;
            exploration.run(40).unwrap();
            let third = exploration.last.as_ref().unwrap().chains.sweeps;
            assert!(third <= second.min(first + 40), "new chains: {third}");
        }
    }
}
