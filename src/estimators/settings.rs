//! Estimates of log Z of a fixed model by one method or several: methods, start, shared chains.

use serde::Serialize;

use super::agreement::at_least;
use super::hears::{Hears, Lines};
use super::schedule::Plan;
use super::tempered::{KeptRun, Reader, kept_bytes};
use super::{
    Agreement, Asked, Automatic, Bias, Bound, Candidate, Estimate, Known, Method, Request,
    ScheduleSettings, Shared, Start, Way, automatic, lower_bound,
};
use crate::collective;
use crate::engine::{BitMatrix, Engine};
use crate::error::{Error, Result};
use crate::model::plus_minus::Units;
use crate::model::{Device, Parameters};
use crate::tempering::schedules::linear;
use crate::tempering::{BaseDistribution, Ladder, annealing_bytes, check_memory, tempering_bytes};

/// Pseudo-count of base marginals, as in the configuration.
const SMOOTHING: f64 = 1.0;

/// Largest smaller layer that is enumerated unless another method is given.
const EXACT_BY_DEFAULT: usize = 20;

/// Temperatures of tempered chains if none are given.
const USUAL: usize = 100;

/// How log Z of a fixed model is estimated; the defaults are those of the command.
///
/// ```
/// use ztrack::estimators::EstimateSettings;
/// use ztrack::model::test_systems::gaussian_parameters;
///
/// let parameters = gaussian_parameters(12, 6, 0.5, 1);
/// let methods = vec!["exact".parse()?, "rts".parse()?];
/// let settings = EstimateSettings { methods, sweeps: 300, ..EstimateSettings::default() };
/// let found = settings.run(&parameters, None, &mut |_line| {})?;
/// let [exact, rts] = &found.estimates[..] else { panic!("two methods") };
/// assert!(rts.trust.is_sound() && (rts.value - exact.value).abs() < 4.0 * rts.std_error);
/// # Ok::<(), ztrack::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EstimateSettings {
    /// The methods, as in `"rts".parse()`; none for exact up to 20 units in the smaller layer, else `auto`.
    pub methods: Vec<Asked>,
    /// Chains.
    pub chains: usize,
    /// Inverse temperatures; `None` for the default of each method.
    pub temperatures: Option<usize>,
    /// Counted sweeps of every tempered chain.
    pub sweeps: usize,
    /// Work that `auto` may do while its estimate is in doubt, in seconds of one typical core.
    pub budget: f64,
    /// Whether small models are enumerated if no method is given.
    pub enumerates: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// How inverse temperatures are chosen.
    pub schedule: ScheduleSettings,
    /// Where chains run.
    pub device: Device,
}

impl Default for EstimateSettings {
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            chains: automatic::CHAINS,
            temperatures: None,
            sweeps: automatic::SWEEPS,
            budget: automatic::BUDGET,
            enumerates: true,
            seed: 0,
            schedule: ScheduleSettings::default(),
            device: Device::default(),
        }
    }
}

/// log Z of a model in nats, with its error bar: enumerated if its smaller layer has at most 20 units, else by the automatic estimate.
///
/// ```
/// use ztrack::model::{exact, test_systems::gaussian_parameters};
///
/// let parameters = gaussian_parameters(16, 8, 0.5, 1);
/// let found = ztrack::log_partition(&parameters)?;
/// assert_eq!(found.value, exact::log_partition(&parameters)?);
/// # Ok::<(), ztrack::Error>(())
/// ```
///
/// # Errors
/// As [`EstimateSettings::run`].
pub fn log_partition(parameters: &Parameters) -> Result<Estimate> {
    let mut found = EstimateSettings::default().run(parameters, None, &mut |_| {})?;
    Ok(found.estimates.swap_remove(0))
}

/// Result of the estimates.
pub struct Estimates {
    /// One or more per method, in the order of the methods.
    pub estimates: Vec<Estimate>,
    /// Methods of `all` this model does not allow, with the reason.
    pub skipped: Vec<String>,
    /// The shared chains, if they were kept.
    pub kept: Option<Box<KeptRun>>,
    /// A lower bound of log Z; not computed if log Z is exact.
    pub bound: Option<Bound>,
    /// How well the estimates agree.
    pub agreement: Agreement,
    /// How starts were found.
    pub how: Vec<Started>,
}

/// How a start was found.
#[derive(Clone, Debug, Serialize)]
pub struct Started {
    /// `auto`, or `others` for the methods that it was found for.
    pub methods: &'static str,
    /// Starts that were tried by annealing.
    pub candidates: Vec<Candidate>,
    /// A line on each run.
    pub runs: Vec<String>,
}

impl Started {
    fn by(methods: &'static str, candidates: Vec<Candidate>, runs: Vec<String>) -> Self {
        Self { methods, candidates, runs }
    }
}

/// Knowledge of the model's modes.
pub struct Starting<'a> {
    /// p1(v) if the start is given; a candidate if it is to be found.
    pub base: &'a BaseDistribution,
    /// Whether all methods but `auto` start from `base`.
    pub given: bool,
    /// Whether `base` is more than a guess from the parameters: given, or marginals of the training rows.
    pub informed: bool,
    /// Data rows, if there are any.
    pub rows: Option<&'a BitMatrix>,
    /// Further rows, such as held-out ones, used only for the lower bound of log Z.
    pub held_out: Option<&'a BitMatrix>,
    /// States of the model that its chains visited, if there are any.
    pub states: Option<&'a BitMatrix>,
}

impl Starting<'_> {
    /// The lower bound of log Z from all rows and states.
    pub(crate) fn bound(&self, engine: &dyn Engine) -> Option<Bound> {
        let given = [self.rows, self.held_out, self.states].into_iter().flatten().cloned();
        let all = given.reduce(|all, more| all.followed_by(&more));
        all.and_then(|all| Bound::of_states(engine, &all))
    }

    fn known(&self, engine: &dyn Engine) -> Known<'_> {
        Known {
            marginals: self.informed.then_some(self.base),
            rows: self.rows,
            states: self.states,
            bound: self.bound(engine),
        }
    }
}

impl EstimateSettings {
    /// Estimates log Z of a model by all methods; `rows`: data, [N, M], which may show its modes; `tell` gets a line after each step.
    ///
    /// # Errors
    /// Settings out of range, a model too large for a method.
    pub fn run(
        &self,
        parameters: &Parameters,
        rows: Option<&BitMatrix>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Estimates> {
        self.run_with(parameters, rows, None, tell)
    }

    /// The same; `states`: states of the model that its chains visited, [N, M], such as those of a model file.
    ///
    /// # Errors
    /// As [`EstimateSettings::run`].
    pub fn run_with(
        &self,
        parameters: &Parameters,
        rows: Option<&BitMatrix>,
        states: Option<&BitMatrix>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Estimates> {
        let base = match rows {
            Some(rows) => BaseDistribution::from_marginals(rows, SMOOTHING, &parameters.variables)?,
            None => Start::VisibleBias.base(parameters, Units::Binary, self.seed)?,
        };
        let (informed, held_out) = (rows.is_some(), None);
        let start = Starting { base: &base, given: false, informed, rows, held_out, states };
        self.run_from(parameters, &start, false, &mut Lines::new(tell))
    }

    /// The same from a start. The shared chains are run at most once; `keep` keeps them for the caller in any case.
    ///
    /// # Errors
    /// As [`EstimateSettings::run`].
    pub fn run_from(
        &self,
        parameters: &Parameters,
        start: &Starting<'_>,
        keep: bool,
        tell: &mut dyn Hears,
    ) -> Result<Estimates> {
        let methods = self.methods_for(parameters);
        let engine = self.device.engine(parameters, collective::current());
        let engine = engine.as_ref();
        let Self { chains, sweeps, seed, .. } = *self;
        let base = start.base;
        let mut problem =
            Request { parameters, engine, base, found: None, bound: None, chains, sweeps, seed };
        let mut how = Vec::new();
        let known = match methods[..] {
            [Method::Exact] => Known::default(),
            _ => start.known(engine),
        };
        let needs_start = keep || methods.iter().any(|method| method.needs_start());
        // Curves are those of the path from a product distribution: temperatures of a mixture's path have no meaning of their own.
        if needs_start && !start.given && !self.schedule.needs_product() && !keep {
            // --temperatures applies to the methods; the search has its own short annealing and tempering.
            let search = self.automatic(&problem, None)?;
            let found = search.start(parameters, known, &mut |line| {
                tell.line(line);
            })?;
            how.push(Started::by("others", found.candidates.clone(), found.done.clone()));
            problem.bound = Some(found.bound);
            problem.found = Some(found);
        } else if methods.iter().any(|method| matches!(method.way(), Way::Annealed(_))) {
            problem.bound = Some(lower_bound(parameters, known, self.seed));
        }
        tell.method("tempered chains", needs_start);
        let shared = self.shared(&methods, &problem, keep)?;
        let (mut estimates, mut skipped) = (Vec::new(), Vec::new());
        let mut bound = problem.bound;
        for method in methods {
            tell.method(method.name(), method.reader().is_none());
            let found = if method == Method::Auto {
                let automatic = self.automatic(&problem, self.temperatures)?;
                let report = automatic.run(parameters, known, &mut |line| tell.line(line))?;
                bound = Some(report.bound.or(bound));
                how.push(Started::by("auto", report.candidates, report.done));
                Ok(vec![report.estimate])
            } else {
                self.estimate(method, &problem, &shared)
            };
            match found {
                Ok(found) => estimates.extend(found),
                // With `all`, methods that the model does not allow are skipped.
                Err(error) if self.asks_for_all() => skipped.push(format!("{method}: {error}")),
                Err(error) => return Err(error),
            }
        }
        if bound.is_none() && estimates.iter().any(|estimate| estimate.bias != Bias::None) {
            bound = Some(lower_bound(parameters, known, self.seed));
        }
        let weights = at_least(&estimates).unwrap_or(f64::NEG_INFINITY);
        estimates.iter_mut().for_each(|estimate| estimate.doubt_below(weights));
        if let Some(bound) = &bound {
            let chains = shared.rts().map(|mut chains| {
                chains.refuse_below(bound.value);
                chains.trust
            });
            for estimate in &mut estimates {
                estimate.refuse_below(bound.value);
                if let Some(chains) = chains.as_ref().filter(|_| estimate.method.reader().is_some())
                {
                    estimate.trust = estimate.trust.clone().and(chains.clone());
                }
            }
        }
        let agreement = Agreement::of(&estimates);
        let kept = if let Shared::Kept(run) = shared { Some(run) } else { None };
        Ok(Estimates { estimates, skipped, kept, bound, agreement, how })
    }

    fn methods_for(&self, parameters: &Parameters) -> Vec<Method> {
        let small = parameters.n_visible.min(parameters.n_hidden) <= EXACT_BY_DEFAULT;
        let usual = if small && self.enumerates { Method::Exact } else { Method::Auto };
        let methods = Asked::expand(&self.methods, parameters);
        if methods.is_empty() { vec![usual] } else { methods }
    }

    fn asks_for_all(&self) -> bool {
        self.methods.iter().any(|method| !matches!(method, Asked::One(_)))
    }

    fn estimate(
        &self,
        method: Method,
        request: &Request<'_>,
        shared: &Shared,
    ) -> Result<Vec<Estimate>> {
        let seed = method.seed(self.seed);
        let part = || Error::Invalid(format!("{method} is no estimator by itself"));
        Ok(match method.way() {
            Way::Shared(reader) => vec![shared.read(reader).ok_or_else(part)?],
            Way::Alone(run) => vec![run(request.parameters, seed)?],
            Way::Adaptive(run) => {
                let ladder = self.ladder(request, 0.0)?;
                vec![request.tempered(&ladder, seed, |chains| run(chains, self.sweeps))?]
            }
            Way::Annealed(run) => {
                let (ladder, spent, seconds) = self.annealed(request)?;
                let mut found = run(&*request.along(&ladder), request, seed)?;
                for estimate in &mut found {
                    estimate.gibbs_sweeps += spent;
                    estimate.seconds += seconds;
                }
                found
            }
            Way::Search | Way::Part => return Err(part()),
        })
    }

    fn automatic(&self, problem: &Request<'_>, temperatures: Option<usize>) -> Result<Automatic> {
        let temperatures = temperatures.unwrap_or(automatic::TEMPERATURES);
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, tempering_bytes(self.chains, temperatures, m, j))?;
        let Self { chains, sweeps, budget, seed, .. } = *self;
        let settings = automatic_settings(chains, temperatures, sweeps, budget, seed)?;
        Ok(Automatic { device: self.device.clone(), ..settings })
    }

    fn shared(&self, methods: &[Method], problem: &Request<'_>, keep: bool) -> Result<Shared> {
        let readers: Vec<Reader> = methods.iter().filter_map(|method| method.reader()).collect();
        let keep = keep || readers.iter().any(|reader| matches!(reader, Reader::Kept(_)));
        if readers.is_empty() && !keep {
            return Ok(Shared::NotNeeded);
        }
        let temperatures = self.schedule.temperatures(self.temperatures, USUAL)?;
        // Only sizes of at least 1 can be multiplied; the check refuses others.
        let kept = if keep && self.chains.min(self.sweeps).min(temperatures) > 0 {
            kept_bytes(self.chains, self.sweeps, temperatures)
        } else {
            0.0
        };
        let ladder = self.ladder(problem, kept)?;
        problem.shared(&ladder, keep)
    }

    /// The ladder of tempered chains, after a check that they and `more` bytes fit in memory.
    fn ladder(&self, problem: &Request<'_>, more: f64) -> Result<Ladder> {
        let temperatures = self.schedule.temperatures(self.temperatures, USUAL)?;
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, tempering_bytes(self.chains, temperatures, m, j) + more)?;
        Ok(self.schedule.ladder(&self.plan(problem, self.temperatures, USUAL))?.0)
    }

    /// The ladder of annealing, and the Gibbs sweeps and seconds spent on planning it.
    fn annealed(&self, problem: &Request<'_>) -> Result<(Ladder, u64, f64)> {
        // One sweep per temperature, as many as counted sweeps, for comparison with the other methods.
        let (asked, usual) =
            if self.asks_for_all() { (None, self.sweeps) } else { (self.temperatures, 10_000) };
        let temperatures = self.schedule.temperatures(asked, usual)?;
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, annealing_bytes(self.chains, temperatures, m, j))?;
        let start = std::time::Instant::now();
        let (ladder, spent) = self.schedule.ladder(&self.plan(problem, asked, usual))?;
        Ok((ladder, spent, start.elapsed().as_secs_f64()))
    }

    fn plan<'a>(&self, problem: &'a Request<'a>, asked: Option<usize>, usual: usize) -> Plan<'a> {
        Plan { problem, asked, usual, seed: self.seed }
    }

    fn check(&self, temperatures: usize, bytes: f64) -> Result<()> {
        if self.sweeps == 0 {
            return Err(Error::Invalid("--sweeps: at least 1 is needed".into()));
        }
        check_sizes(self.chains, temperatures, bytes)
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
    Ok(Automatic { chains, ladder, sweeps, budget, seed, device: Device::default() })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;

    /// All rows and states count, each once, whatever their source: the sum over all states of a layer is Z.
    #[test]
    fn rows_of_every_kind_make_the_bound() {
        let parameters = gaussian_parameters(9, 6, 2.0, 1);
        let engine = Host::new(&parameters);
        let of =
            |from: usize, to| BitMatrix::from_fn(to - from, 9, |r, i| (from + r) >> i & 1 == 1);
        let (rows, held_out, states) = (of(0, 300), of(200, 400), of(350, 512));
        let base = BaseDistribution::uniform(9);
        let start = Starting {
            base: &base,
            given: true,
            informed: true,
            rows: Some(&rows),
            held_out: Some(&held_out),
            states: Some(&states),
        };
        let bound = start.known(&engine).bound.unwrap();
        assert_eq!(bound.states, 512);
        assert!((bound.value - log_partition(&parameters).unwrap()).abs() < 1e-4, "{bound:?}");
    }

    /// Two modes of equal weight, only one of which is in the start, and units whose free energy is too high with ten temperatures: methods
    /// that read the chains or their samples may end above the bound and still miss a mode.
    #[test]
    fn rows_inherit_the_doubts_of_what_they_read() {
        let (modes, more, bias) = (22, 12, -6.6);
        let visible: Vec<f32> =
            (0..modes + more).map(|i| if i < modes { bias } else { 8.0 }).collect();
        let base: Vec<f32> = visible.iter().map(|c| c.min(0.0)).collect();
        let weights = (0..(modes + more) * modes)
            .map(|i| if i < modes * modes { 0.6 } else { 0.0 })
            .collect();
        let parameters =
            Parameters::new(modes + more, modes, weights, visible, vec![bias; modes]).unwrap();
        let start = Starting {
            base: &BaseDistribution::from_logits(&base).unwrap(),
            given: true,
            informed: false,
            rows: None,
            held_out: None,
            states: None,
        };
        let names = ["rts", "ti-riemann", "sandwich", "raise"];
        let settings = EstimateSettings {
            methods: names.map(|name| name.parse().unwrap()).to_vec(),
            temperatures: Some(10),
            sweeps: 400,
            ..EstimateSettings::default()
        };
        let mut tell = |_: &str| ();
        let found = settings.run_from(&parameters, &start, false, &mut Lines::new(&mut tell));
        let found = found.unwrap();
        let bound = found.bound.unwrap().value;
        let row = |method| found.estimates.iter().find(|e| e.method == method).unwrap();
        for above in [Method::TiRiemann, Method::Raise] {
            assert!(row(above).value > bound + 0.1, "{:?}", row(above));
        }
        // AIS reads neither chains nor samples.
        let below =
            |e: &&Estimate| e.method != Method::Ais && !e.trust.names().contains("below-bound");
        let untold: Vec<_> =
            found.estimates.iter().filter(below).map(|e| e.method.name()).collect();
        assert!(untold.is_empty(), "{untold:?} of {:#?}", found.estimates);
        assert!(!found.agreement.sound && found.agreement.use_method.is_none());
    }
}
