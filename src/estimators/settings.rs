//! Estimates of log Z of a fixed model by one method or several: methods, start, shared chains.

use serde::Serialize;

use super::agreement::at_least;
use super::request::check_sizes;
use super::tempered::KeptRun;
use super::{
    Agreement, Asked, Bias, Bound, Candidate, Estimate, Known, Method, Request, ScheduleSettings,
    Shared, Start, Way, automatic, lower_bound,
};
use crate::context::Context;
use crate::engine::{BitMatrix, Engine};
use crate::error::Result;
use crate::model::Parameters;
use crate::model::exact::QUICK_UNITS;
use crate::model::plus_minus::Units;
use crate::tempering::BaseDistribution;

/// How log Z of a fixed model is estimated; the defaults are those of the command.
///
/// ```
/// use ztrack::estimators::{EstimateSettings, Starting};
/// use ztrack::model::test_systems::gaussian_parameters;
///
/// let parameters = gaussian_parameters(12, 6, 0.5, 1);
/// let methods = vec!["exact".parse()?, "rts".parse()?];
/// let settings = EstimateSettings { methods, sweeps: 300, ..EstimateSettings::default() };
/// let found = settings.run(&parameters, Starting::default(), &mut |_step| {})?;
/// let [exact, rts] = &found.estimates[..] else { panic!("two methods") };
/// assert!(rts.trust.is_sound() && (rts.value - exact.value).abs() < 4.0 * rts.std_error);
/// # Ok::<(), ztrack::Error>(())
/// ```
#[derive(Clone, Debug)]
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
    /// Where chains run, and what ends them.
    pub context: Context,
    /// Whether the shared chains are run and kept for the caller in any case.
    pub keep: bool,
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
            context: Context::default(),
            keep: false,
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
    let mut found =
        EstimateSettings::default().run(parameters, Starting::default(), &mut |_| {})?;
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

/// A step of an estimate: the method that comes next, or a result of it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The method.
    pub method: &'a str,
    /// Whether it is at its beginning and does work of its own.
    pub begins: bool,
    /// A result; empty at the beginning.
    pub line: &'a str,
}

impl std::fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { method, line, .. } = self;
        if line.is_empty() { f.write_str(method) } else { write!(f, "{method}: {line}") }
    }
}

/// Knowledge of the model's modes; nothing by default.
#[derive(Clone, Copy, Default)]
pub struct Starting<'a> {
    /// p1(v) if the start is given; a candidate if it is to be found. By default the marginals of the rows, without rows the visible bias.
    pub base: Option<&'a BaseDistribution>,
    /// Whether all methods but `auto` start from `base`.
    pub given: bool,
    /// Whether `base` is more than a guess from the parameters: given, or marginals of the training rows.
    pub informed: bool,
    /// Data rows, [N, M], if there are any.
    pub rows: Option<&'a BitMatrix>,
    /// Further rows, such as held-out ones, used only for the lower bound of log Z.
    pub held_out: Option<&'a BitMatrix>,
    /// States of the model that its chains visited, [N, M], if there are any, such as those of a model file.
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
            marginals: self.base.filter(|_| self.informed),
            rows: self.rows,
            states: self.states,
            bound: self.bound(engine),
            audited: None,
        }
    }
}

impl EstimateSettings {
    /// Estimates log Z of a model by all methods; `tell` gets every step. The shared chains are run at most once.
    ///
    /// # Errors
    /// Settings out of range, a model too large for a method.
    pub fn run(
        &self,
        parameters: &Parameters,
        start: Starting<'_>,
        tell: &mut dyn FnMut(Step<'_>),
    ) -> Result<Estimates> {
        self.context.interruptible(|| {
            let Some(base) = start.base else {
                let base = self.guess(parameters, start.rows)?;
                let informed = start.rows.is_some();
                let start = Starting { base: Some(&base), informed, ..start };
                return self.run_from(parameters, &base, start, tell);
            };
            self.run_from(parameters, base, start, tell)
        })
    }

    /// Marginals of the rows, without rows the visible bias.
    fn guess(&self, parameters: &Parameters, rows: Option<&BitMatrix>) -> Result<BaseDistribution> {
        let (smoothing, variables) = (BaseDistribution::PSEUDO_COUNT, &parameters.variables);
        match rows {
            Some(rows) => BaseDistribution::from_marginals(rows, smoothing, variables),
            None => Start::VisibleBias.base(parameters, Units::Binary, self.seed),
        }
    }

    fn run_from(
        &self,
        parameters: &Parameters,
        base: &BaseDistribution,
        start: Starting<'_>,
        tell: &mut dyn FnMut(Step<'_>),
    ) -> Result<Estimates> {
        let methods = self.methods_for(parameters);
        let engine = parameters.engine(&self.context);
        let engine = engine.as_ref();
        let mut request =
            Request { settings: self, parameters, engine, base, found: None, bound: None };
        let mut how = Vec::new();
        let known = match methods[..] {
            [Method::Exact] => Known::default(),
            _ => start.known(engine),
        };
        let needs_start = self.keep || methods.iter().any(|method| method.needs_start());
        if let Some(temperatures) = self.temperatures.filter(|_| needs_start) {
            // Before the search for a start, which takes a while.
            check_sizes(self.chains.max(2), temperatures, 0.0)?;
        }
        // Curves are those of the path from a product distribution: temperatures of a mixture's path have no meaning of their own.
        if needs_start && !start.given && !self.schedule.needs_product() && !self.keep {
            // --temperatures applies to the methods; the search has its own short annealing and tempering.
            let search = request.automatic(None)?;
            let mut tell = |line: &str| tell(Step { method: "start", begins: false, line });
            let found = search.start(parameters, known, &mut tell)?;
            let (candidates, runs) = (found.candidates.clone(), found.done.clone());
            how.push(Started { methods: "others", candidates, runs });
            request.bound = Some(found.bound);
            request.found = Some(found);
        } else if methods.iter().any(|method| matches!(method.way(), Way::Annealed(_))) {
            request.bound = Some(lower_bound(parameters, known, self.seed));
        }
        tell(Step { method: "tempered chains", begins: needs_start, line: "" });
        let shared = request.shared(&methods)?;
        let (mut estimates, mut skipped) = (Vec::new(), Vec::new());
        let mut bound = request.bound;
        for method in methods {
            let (name, begins) = (method.name(), method.reader().is_none());
            tell(Step { method: name, begins, line: "" });
            let found = if method == Method::Auto {
                let automatic = request.automatic(self.temperatures)?;
                let mut tell = |line: &str| tell(Step { method: name, begins: false, line });
                let report = automatic.run(parameters, known, &mut tell)?;
                bound = Some(report.bound.or(bound));
                let (candidates, runs) = (report.candidates, report.done);
                how.push(Started { methods: "auto", candidates, runs });
                Ok(vec![report.estimate])
            } else {
                request.estimate(method, &shared)
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
        hold_against_bounds(&mut estimates, bound.as_ref(), &shared);
        let agreement = Agreement::of(&estimates);
        agreement.doubt_others(&mut estimates);
        let kept = if let Shared::Kept(run) = shared { Some(run) } else { None };
        Ok(Estimates { estimates, skipped, kept, bound, agreement, how })
    }

    fn methods_for(&self, parameters: &Parameters) -> Vec<Method> {
        let small = parameters.smaller_layer() <= QUICK_UNITS;
        let usual = if small && self.enumerates { Method::Exact } else { Method::Auto };
        let methods = Asked::expand(&self.methods, parameters);
        if methods.is_empty() { vec![usual] } else { methods }
    }

    pub(super) fn asks_for_all(&self) -> bool {
        self.methods.iter().any(|method| !matches!(method, Asked::One(_)))
    }
}

/// Bounds put estimates below them in doubt, and doubts about the shared chains all estimates that read them.
fn hold_against_bounds(estimates: &mut [Estimate], bound: Option<&Bound>, shared: &Shared) {
    let weights = at_least(estimates).unwrap_or(f64::NEG_INFINITY);
    estimates.iter_mut().for_each(|estimate| estimate.doubt_below(weights));
    let Some(bound) = bound else { return };
    let chains = shared.rts().map(|mut chains| {
        chains.refuse_below(bound.value);
        chains.trust
    });
    for estimate in estimates {
        estimate.refuse_below(bound.value);
        if let Some(chains) = chains.as_ref().filter(|_| estimate.method.reader().is_some()) {
            estimate.trust = estimate.trust.clone().and(chains.clone());
        }
    }
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
            base: Some(&base),
            given: true,
            informed: true,
            rows: Some(&rows),
            held_out: Some(&held_out),
            states: Some(&states),
        };
        let bound = start.known(&engine).bound.unwrap();
        assert_eq!(bound.states, Some(512));
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
        let base = BaseDistribution::from_logits(&base).unwrap();
        let start = Starting { base: Some(&base), given: true, ..Starting::default() };
        let names = ["rts", "ti-riemann", "sandwich", "raise"];
        let settings = EstimateSettings {
            methods: names.map(|name| name.parse().unwrap()).to_vec(),
            temperatures: Some(10),
            sweeps: 400,
            ..EstimateSettings::default()
        };
        let found = settings.run(&parameters, start, &mut |_| ()).unwrap();
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
