//! Input of estimators: a model, its start (a product distribution, or a mixture that was found), and the amount of work.

use std::time::Instant;

use super::tempered::{KeptRun, Reader, TemperedRun, kept_bytes};
use super::{
    Automatic, Bound, Equilibrium, Estimate, EstimateSettings, FoundStart, Method, Way, automatic,
};
use crate::context::Context;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::tempering::mixture::MixturePath;
use crate::tempering::schedules::linear;
use crate::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, SimulatedTempering,
    TemperedChains, TemperedPath, Tempering, annealing_bytes, check_memory, tempering_bytes,
};

/// Temperatures of tempered chains if none are given.
const USUAL: usize = 100;

/// A model to estimate.
pub(super) struct Request<'a> {
    /// Methods and amount of work.
    pub settings: &'a EstimateSettings,
    pub parameters: &'a Parameters,
    pub engine: &'a dyn Engine,
    /// p1(v), if there is no mixture.
    pub base: &'a BaseDistribution,
    /// The mixture that was found, if one was searched for.
    pub found: Option<FoundStart>,
    /// A known lower bound of log Z, if any: samples of chains that miss a part of the model are put in doubt.
    pub bound: Option<Bound>,
}

/// The chains that estimators share, run once.
pub(super) enum Shared {
    NotNeeded,
    Occupancy(Box<TemperedRun>),
    Kept(Box<KeptRun>),
}

impl Request<'_> {
    /// The path along a ladder.
    pub fn along<'b>(&'b self, ladder: &'b Ladder) -> Box<dyn TemperedPath + 'b> {
        match &self.found {
            Some(found) => {
                Box::new(MixturePath { engine: self.engine, ladder, base: &found.mixture })
            }
            None => Box::new(GeometricPath { engine: self.engine, ladder, base: self.base }),
        }
    }

    /// Runs a function on `chains` fresh tempered chains.
    pub fn tempered<T>(
        &self,
        ladder: &Ladder,
        seed: u64,
        run: impl FnOnce(&mut dyn SimulatedTempering) -> T,
    ) -> T {
        let (path, chains) = (self.along(ladder), self.settings.chains);
        let mut states = TemperedChains::new(path.sample_base(chains, seed, 0), ladder.len(), seed);
        let mut tempering = Tempering::new(&*path, &mut states, BetaUpdate::Collapsed);
        if let Some(found) = &self.found {
            let above = found.from_above.rows().min(chains / 2);
            tempering = tempering.with_states_above(found.from_above.select(0..above));
        }
        run(&mut tempering)
    }

    /// The result of a method, or several of its parts.
    pub fn estimate(&self, method: Method, shared: &Shared) -> Result<Vec<Estimate>> {
        let seed = method.seed(self.settings.seed);
        let part = || Error::Invalid(format!("{method} is no estimator by itself"));
        Ok(match method.way() {
            Way::Shared(reader) => vec![shared.read(reader).ok_or_else(part)?],
            Way::Alone(run) => vec![run(self.parameters, seed, self.engine.context())?],
            Way::Adaptive(run) => {
                let ladder = self.ladder(0.0)?;
                vec![self.tempered(&ladder, seed, |chains| run(chains, self.settings.sweeps))?]
            }
            Way::Annealed(run) => {
                let (ladder, spent, seconds) = self.annealed()?;
                let mut found = run(&*self.along(&ladder), self, seed)?;
                for estimate in &mut found {
                    estimate.gibbs_sweeps += spent;
                    estimate.seconds += seconds;
                }
                found
            }
            Way::Search | Way::Part => return Err(part()),
        })
    }

    /// The automatic estimate with so many temperatures, or the usual number.
    pub fn automatic(&self, temperatures: Option<usize>) -> Result<Automatic> {
        let temperatures = temperatures.unwrap_or(automatic::TEMPERATURES);
        self.check(temperatures, 0.0, tempering_bytes)?;
        let EstimateSettings { chains, sweeps, budget, seed, .. } = *self.settings;
        let settings = automatic_settings(chains, temperatures, sweeps, budget, seed)?;
        Ok(Automatic { context: self.settings.context.clone(), ..settings })
    }

    /// The shared chains, with kept states or without, if one of the methods reads them.
    pub fn shared(&self, methods: &[Method]) -> Result<Shared> {
        let EstimateSettings { chains, sweeps, seed, keep, .. } = *self.settings;
        let readers: Vec<Reader> = methods.iter().filter_map(|method| method.reader()).collect();
        let keep = keep || readers.iter().any(|reader| matches!(reader, Reader::Kept(_)));
        if readers.is_empty() && !keep {
            return Ok(Shared::NotNeeded);
        }
        let temperatures = self.temperatures()?;
        // Only sizes of at least 1 can be multiplied; the check refuses others.
        let kept = if keep && chains.min(sweeps).min(temperatures) > 0 {
            kept_bytes(chains, sweeps, temperatures)
        } else {
            0.0
        };
        let rounds = InitialRounds::default();
        self.tempered(&self.ladder(kept)?, seed, |tempered| {
            Ok(if keep {
                Shared::Kept(Box::new(KeptRun::new(tempered, &rounds, sweeps)?))
            } else {
                Shared::Occupancy(Box::new(TemperedRun::new(tempered, &rounds, sweeps)?))
            })
        })
    }

    fn temperatures(&self) -> Result<usize> {
        self.settings.schedule.temperatures(self.settings.temperatures, USUAL)
    }

    /// The ladder of tempered chains, after a check that they and `more` bytes fit in memory.
    fn ladder(&self, more: f64) -> Result<Ladder> {
        self.check(self.temperatures()?, more, tempering_bytes)?;
        Ok(self.settings.schedule.ladder(self, self.settings.temperatures, USUAL)?.0)
    }

    /// The ladder of annealing, and the Gibbs sweeps and seconds spent on planning it.
    fn annealed(&self) -> Result<(Ladder, u64, f64)> {
        // One sweep per temperature, as many as counted sweeps, for comparison with the other methods.
        let (asked, usual) = match self.settings.asks_for_all() {
            true => (None, self.settings.sweeps),
            false => (self.settings.temperatures, 10_000),
        };
        let temperatures = self.settings.schedule.temperatures(asked, usual)?;
        self.check(temperatures, 0.0, annealing_bytes)?;
        let start = Instant::now();
        let (ladder, spent) = self.settings.schedule.ladder(self, asked, usual)?;
        Ok((ladder, spent, start.elapsed().as_secs_f64()))
    }

    /// Refuses no sweeps, and chains that do not fit in memory with `more` bytes.
    fn check(
        &self,
        temperatures: usize,
        more: f64,
        bytes: fn(usize, usize, usize, usize) -> f64,
    ) -> Result<()> {
        if self.settings.sweeps == 0 {
            return Err(Error::Invalid("--sweeps: at least 1 is needed".into()));
        }
        let (chains, p) = (self.settings.chains, self.parameters);
        let bytes = bytes(chains, temperatures, p.n_visible, p.n_hidden);
        check_sizes(chains, temperatures, bytes + more)
    }

    /// Samples of the model for reverse annealing.
    pub fn equilibrium(&self, seed: u64) -> Result<Equilibrium> {
        let (parameters, engine, count) = (self.parameters, self.engine, self.settings.chains);
        let mut samples = match &self.found {
            Some(found) => Equilibrium::draw_from(parameters, engine, found, count, seed)?,
            None => Equilibrium::draw(parameters, engine, self.base, count, seed)?,
        };
        if let Some(bound) = self.bound {
            samples.refuse_below(bound.value);
        }
        Ok(samples)
    }

    /// The product distribution, for methods that need one.
    pub fn product(&self, what: &str) -> Result<&BaseDistribution> {
        if self.found.is_some() {
            return Err(Error::Invalid(format!(
                "{what} starts from a product distribution: name one with --start, such as pinv or visible-bias"
            )));
        }
        Ok(self.base)
    }
}

impl Shared {
    /// The result of a method from the shared chains; `None` if they were not run or not kept for it.
    pub fn read(&self, reader: Reader) -> Option<Estimate> {
        match (self, reader) {
            (Self::Kept(run), reader) => Some(reader.read(run)),
            (Self::Occupancy(run), Reader::Occupancy(method)) => Some(method(run)),
            _ => None,
        }
    }

    /// RTS of the shared chains, whose doubts apply to all methods that read them.
    pub fn rts(&self) -> Option<Estimate> {
        match self {
            Self::NotNeeded => None,
            Self::Occupancy(run) => Some(run.rts()),
            Self::Kept(run) => Some(run.rts()),
        }
    }
}

/// Settings of the automatic estimate, whose chains also give samples.
pub(crate) fn automatic_settings(
    chains: usize,
    temperatures: usize,
    sweeps: usize,
    budget: f64,
    seed: u64,
) -> Result<Automatic> {
    let invalid = |problem| Err(Error::Invalid(problem));
    if chains < 4 {
        return invalid(format!("--chains: at least 4 are needed to find modes, got {chains}"));
    }
    if !(0.0..=f64::MAX).contains(&budget) {
        return invalid(format!("--budget: seconds of at least 0 are needed, got {budget}"));
    }
    let ladder = Automatic::ladder(&linear(temperatures)?)?;
    Ok(Automatic { chains, ladder, sweeps, budget, seed, context: Context::default() })
}

/// Refuses chains and temperatures that are too few or do not fit in memory (`bytes`).
pub(crate) fn check_sizes(chains: usize, temperatures: usize, bytes: f64) -> Result<()> {
    for (option, value) in [("--chains", chains), ("--temperatures", temperatures)] {
        if value < 2 {
            return Err(Error::Invalid(format!("{option}: at least 2 are needed, got {value}")));
        }
    }
    let what = format!("--chains {chains} with {temperatures} temperatures");
    check_memory(bytes, &what).map_err(Error::TooLarge)
}
