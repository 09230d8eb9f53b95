//! Options and table of log Z estimates, shared by the commands that need one.

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;

use super::estimates::EstimateSettings;
use super::method::Asked;
use super::schedule_options::{Plan, ScheduleOptions};
use super::teller::{Hears, Teller};
use crate::collective;
use crate::error::Error;
use crate::estimators::tempered::{KeptRun, Reader, kept_bytes};
use crate::estimators::{
    Agreement, Automatic, Bias, Bound, Candidate, Estimate, Known, Method, Request, Shared, Way,
    automatic, lower_bound,
};
use crate::model::Parameters;
use crate::ops::{BitMatrix, Fused};
use crate::tempering::schedules::linear;
use crate::tempering::{
    BaseDistribution, Ladder, Prior, TemperedPath, annealing_bytes, check_memory, tempering_bytes,
};

/// Largest smaller layer that is enumerated unless another method is asked for.
const EXACT_BY_DEFAULT: usize = 20;

/// Temperatures of tempered chains where none are asked for.
const USUAL: usize = 100;

/// How log Z is estimated
#[derive(Args)]
#[command(next_help_heading = "Estimate of log Z")]
pub struct LogZOptions {
    /// Estimators, several separated by commas [default: exact up to 20 units in the smaller layer, else auto]
    #[arg(long = "method", value_parser = Asked::parser(), value_delimiter = ',', value_name = "METHOD")]
    methods: Vec<Asked>,
    /// Chains
    #[arg(long, default_value_t = 100, value_name = "N")]
    chains: usize,
    /// Inverse temperatures [default: 100 for tempered chains, 10000 for ais, as many as sweeps for the ais of `all`]
    #[arg(long, value_name = "K")]
    temperatures: Option<usize>,
    /// Counted sweeps of every tempered chain
    #[arg(long, default_value_t = 1000, value_name = "N")]
    sweeps: usize,
    /// Work that `auto` may do while its estimate is in doubt, in seconds of one usual core
    #[arg(long, default_value_t = 20.0, value_name = "SECONDS")]
    budget: f64,
    /// Exit with status 3 when the result is in doubt
    #[arg(long)]
    pub strict: bool,
    /// Do not enumerate small models unless `exact` is asked for
    #[arg(long, hide = true)]
    no_exact: bool,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub seed: u64,
    #[command(flatten)]
    schedule: ScheduleOptions,
}

/// What was found.
pub struct Estimates {
    /// One or more a method, in the order they were asked for.
    pub estimates: Vec<Estimate>,
    /// Methods of `all` this model does not allow, with the reason.
    pub skipped: Vec<String>,
    /// The shared chains, where they were kept.
    pub kept: Option<Box<KeptRun>>,
    /// A lower bound of log Z; not looked for where log Z is exact.
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

/// What is known of where the mass lies.
pub struct Starting<'a> {
    /// p1(v) where the start is given, and a candidate where it is to be found.
    pub base: &'a BaseDistribution,
    /// Whether all methods but `auto` start from `base`.
    pub given: bool,
    /// Whether `base` is more than a guess from the parameters: asked for, or marginals of the training rows.
    pub informed: bool,
    /// Data rows, where there are some.
    pub rows: Option<&'a BitMatrix>,
}

impl Starting<'_> {
    fn known(&self) -> Known<'_> {
        Known { marginals: self.informed.then_some(self.base), rows: self.rows }
    }
}

impl LogZOptions {
    /// Estimates of all methods. The shared chains are run at most once; `keep` has them kept for a caller in any case.
    pub fn run(
        &self,
        parameters: &Parameters,
        start: &Starting<'_>,
        keep: bool,
    ) -> Result<Estimates> {
        self.run_telling(parameters, start, keep, &mut Teller::new())
    }

    /// Options that were not parsed from a command line.
    pub fn new(methods: Vec<Asked>, settings: &EstimateSettings) -> Self {
        let &EstimateSettings { chains, temperatures, sweeps, budget, seed, .. } = settings;
        let schedule = ScheduleOptions::default();
        let (strict, no_exact) = (false, false);
        Self { methods, chains, temperatures, sweeps, budget, strict, no_exact, seed, schedule }
    }

    /// As [`Self::run`], with somebody else to tell.
    pub fn run_telling(
        &self,
        parameters: &Parameters,
        start: &Starting<'_>,
        keep: bool,
        tell: &mut dyn Hears,
    ) -> Result<Estimates> {
        let mut methods = Asked::expand(&self.methods, parameters);
        if methods.is_empty() {
            let small = parameters.n_visible.min(parameters.n_hidden) <= EXACT_BY_DEFAULT;
            methods.push(if small && !self.no_exact { Method::Exact } else { Method::Auto });
        }
        let mut problem = Request {
            parameters,
            ops: &Fused::new(parameters).on(collective::current()),
            base: start.base,
            found: None,
            chains: self.chains,
            sweeps: self.sweeps,
            seed: self.seed,
        };
        let mut how = Vec::new();
        let needs_start = keep || methods.iter().any(|method| method.needs_start());
        // Curves are those of the path from a product distribution: temperatures of a mixture's path mean nothing by themselves.
        if needs_start && !start.given && !self.schedule.needs_product() && !keep {
            let found =
                self.automatic(&problem)?.start(parameters, start.known(), &mut |line| {
                    tell.line(line);
                })?;
            let (candidates, runs) = (found.candidates.clone(), found.done.clone());
            how.push(Started { methods: "others", candidates, runs });
            problem.found = Some(found);
        }
        tell.method("tempered chains", needs_start);
        let shared = self.shared(&methods, &problem, keep)?;
        let (mut estimates, mut skipped) = (Vec::new(), Vec::new());
        let mut bound = problem.found.as_ref().map(|found| found.bound);
        for method in methods {
            tell.method(method.name(), method.reader().is_none());
            let found = if method == Method::Auto {
                let known = start.known();
                let automatic = self.automatic(&problem)?;
                let report = automatic.run(parameters, known, &mut |line| tell.line(line))?;
                bound = Some(report.bound);
                let (candidates, runs) = (report.candidates, report.done);
                how.push(Started { methods: "auto", candidates, runs });
                Ok(vec![report.estimate])
            } else {
                self.estimate(method, &problem, &shared)
            };
            match found {
                Ok(found) => estimates.extend(found),
                // Whoever asks for everything wants what can be had.
                Err(error) if self.asks_for_all() => {
                    skipped.push(format!("{method}: {error:#}"));
                }
                Err(error) => return Err(error),
            }
        }
        let exact_alone = estimates.iter().all(|estimate| estimate.bias == Bias::None);
        if bound.is_none() && !exact_alone {
            bound = Some(lower_bound(parameters, start.known(), self.seed));
        }
        if let Some(bound) = &bound {
            estimates.iter_mut().for_each(|estimate| estimate.refuse_below(bound));
        }
        let agreement = Agreement::of(&estimates);
        let kept = if let Shared::Kept(run) = shared { Some(run) } else { None };
        Ok(Estimates { estimates, skipped, kept, bound, agreement, how })
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
        Ok(match method.way() {
            Way::Shared(reader) => {
                let read = shared.read(reader);
                vec![read.with_context(|| format!("{method} is no estimator by itself"))?]
            }
            Way::Annealed(run) => {
                self.annealed(request, |path| Ok(run(path, request, method.seed(self.seed))?))?
            }
            Way::Adaptive(_) => {
                let ladder = self.ladder(request, 0.0)?;
                request.run(method, &ladder, &*request.along(&ladder))?
            }
            _ => {
                let ladder = Ladder::linear(2, &Prior::Uniform)?;
                request.run(method, &ladder, &*request.along(&ladder))?
            }
        })
    }

    fn automatic(&self, problem: &Request<'_>) -> Result<Automatic> {
        let temperatures = self.temperatures.unwrap_or(automatic::TEMPERATURES);
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, tempering_bytes(self.chains, temperatures, m, j))?;
        let Self { chains, sweeps, budget, seed, .. } = *self;
        automatic_settings(chains, temperatures, sweeps, budget, seed)
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
        Ok(problem.shared(&ladder, keep)?)
    }

    /// The ladder of tempered chains, once it is known that they and `more` bytes fit in memory.
    fn ladder(&self, problem: &Request<'_>, more: f64) -> Result<Ladder> {
        let temperatures = self.schedule.temperatures(self.temperatures, USUAL)?;
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, tempering_bytes(self.chains, temperatures, m, j) + more)?;
        Ok(self.schedule.ladder(&self.plan(problem, self.temperatures, USUAL))?.0)
    }

    fn annealed(
        &self,
        problem: &Request<'_>,
        estimate: impl FnOnce(&dyn TemperedPath) -> Result<Vec<Estimate>>,
    ) -> Result<Vec<Estimate>> {
        // One sweep a temperature: side by side with all others, as many as counted sweeps.
        let (asked, usual) =
            if self.asks_for_all() { (None, self.sweeps) } else { (self.temperatures, 10_000) };
        let temperatures = self.schedule.temperatures(asked, usual)?;
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, annealing_bytes(self.chains, temperatures, m, j))?;
        self.schedule.annealed(&self.plan(problem, asked, usual), estimate)
    }

    fn plan<'a>(&self, problem: &'a Request<'a>, asked: Option<usize>, usual: usize) -> Plan<'a> {
        Plan { problem, asked, usual, seed: self.seed }
    }

    fn check(&self, temperatures: usize, bytes: f64) -> Result<()> {
        if self.sweeps == 0 {
            return Err(Error::Invalid("--sweeps: at least 1 is needed".into()).into());
        }
        check_sizes(self.chains, temperatures, bytes)
    }
}

/// Settings of the automatic estimate, whose chains also give samples.
pub fn automatic_settings(
    chains: usize,
    temperatures: usize,
    sweeps: usize,
    budget: f64,
    seed: u64,
) -> Result<Automatic> {
    ensure!(chains >= 4, "--chains: at least 4 are needed to find modes, got {chains}");
    ensure!(
        budget >= 0.0 && budget.is_finite(),
        "--budget: seconds of at least 0 are needed, got {budget}"
    );
    let ladder = Automatic::ladder(&linear(temperatures)?)?;
    Ok(Automatic { chains, ladder, sweeps, budget, seed })
}

/// Refuses chains and temperatures that are too few or do not fit in memory (`bytes`).
pub fn check_sizes(chains: usize, temperatures: usize, bytes: f64) -> Result<()> {
    for (option, value) in [("--chains", chains), ("--temperatures", temperatures)] {
        anyhow::ensure!(value >= 2, "{option}: at least 2 are needed, got {value}");
    }
    let what = format!("--chains {chains} with {temperatures} temperatures");
    check_memory(bytes, &what).map_err(anyhow::Error::msg)
}
