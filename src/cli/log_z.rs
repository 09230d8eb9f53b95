//! Options and table of log Z estimates, shared by the commands that need one.

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;

use super::method::Method;
use super::problem::{Problem, Shared};
use super::schedule_options::{Plan, ScheduleOptions};
use super::teller::Teller;
use crate::error::Error;
use crate::estimators::tempered::{KeptRun, Reader, kept_bytes};
use crate::estimators::{
    Agreement, Automatic, Bias, Bound, Candidate, Estimate, Known, Sams, Tap, TapOrder, WangLandau,
    ais, automatic, exact, lower_bound, raise, reverse_ais, sandwich,
};
use crate::model::Parameters;
use crate::ops::{BitMatrix, Fused};
use crate::tempering::schedules::linear;
use crate::tempering::{
    BaseDistribution, Ladder, TemperedPath, annealing_bytes, check_memory, tempering_bytes,
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
    #[arg(long = "method", value_enum, value_delimiter = ',', value_name = "METHOD")]
    methods: Vec<Method>,
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
        let mut methods = Method::expand(&self.methods, parameters);
        if methods.is_empty() {
            let small = parameters.n_visible.min(parameters.n_hidden) <= EXACT_BY_DEFAULT;
            methods.push(if small && !self.no_exact { Method::Exact } else { Method::Auto });
        }
        let mut tell = Teller::new();
        let mut problem =
            Problem { parameters, ops: &Fused::new(parameters), base: start.base, found: None };
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
            tell.method(&method.name(), method.reader().is_none());
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
                    skipped.push(format!("{}: {error:#}", method.name()));
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
        self.methods.iter().any(|method| matches!(method, Method::All | Method::Everything))
    }

    fn estimate(
        &self,
        method: Method,
        problem: &Problem<'_>,
        shared: &Shared,
    ) -> Result<Vec<Estimate>> {
        let &Problem { parameters, .. } = problem;
        // Methods share no random numbers: what one errs by tells nothing of another.
        let (chains, seed) = (self.chains, method.seed(self.seed));
        let equilibrium = || problem.equilibrium(chains, seed);
        Ok(match method {
            Method::Exact => vec![exact(parameters)?],
            Method::Ais => self.annealed(problem, |path| Ok(vec![ais(path, chains, seed)?]))?,
            Method::ReverseAis => {
                self.annealed(problem, |path| Ok(vec![reverse_ais(path, &equilibrium()?, seed)?]))?
            }
            Method::Raise => self.annealed(problem, |path| {
                let start = equilibrium()?;
                let mut found = raise(path, &start.visible, seed)?;
                found.gibbs_sweeps += start.gibbs_sweeps;
                Ok(vec![found])
            })?,
            Method::Sandwich => self.annealed(problem, |path| {
                Ok(sandwich(path, chains, &equilibrium()?, seed)?.estimates().into())
            })?,
            Method::Sams | Method::WangLandau => {
                let ladder = self.ladder(problem, 0.0)?;
                vec![problem.tempered(&ladder, chains, seed, |chains| match method {
                    Method::Sams => Sams::new(self.sweeps).run(chains),
                    _ => WangLandau { sweeps: self.sweeps }.run(chains),
                })?]
            }
            Method::TapNaive => tap(TapOrder::Naive, seed, parameters)?,
            Method::TapSecond => tap(TapOrder::Second, seed, parameters)?,
            Method::TapThird => tap(TapOrder::Third, seed, parameters)?,
            shares => vec![
                (shares.reader())
                    .and_then(|reader| shared.read(reader))
                    .with_context(|| format!("{} is no estimator by itself", shares.name()))?,
            ],
        })
    }

    fn automatic(&self, problem: &Problem<'_>) -> Result<Automatic> {
        let temperatures = self.temperatures.unwrap_or(automatic::TEMPERATURES);
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, tempering_bytes(self.chains, temperatures, m, j))?;
        ensure!(self.chains >= 4, "--chains: auto needs at least 4, got {}", self.chains);
        ensure!(
            self.budget >= 0.0 && self.budget.is_finite(),
            "--budget: seconds of at least 0 are needed, got {}",
            self.budget
        );
        Ok(Automatic {
            chains: self.chains,
            ladder: Automatic::ladder(&linear(temperatures)?)?,
            sweeps: self.sweeps,
            budget: self.budget,
            seed: self.seed,
        })
    }

    fn shared(&self, methods: &[Method], problem: &Problem<'_>, keep: bool) -> Result<Shared> {
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
        problem.shared(&ladder, (self.chains, self.sweeps), self.seed, keep)
    }

    /// The ladder of tempered chains, once it is known that they and `more` bytes fit in memory.
    fn ladder(&self, problem: &Problem<'_>, more: f64) -> Result<Ladder> {
        let temperatures = self.schedule.temperatures(self.temperatures, USUAL)?;
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, tempering_bytes(self.chains, temperatures, m, j) + more)?;
        Ok(self.schedule.ladder(&self.plan(problem, self.temperatures, USUAL))?.0)
    }

    fn annealed(
        &self,
        problem: &Problem<'_>,
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

    fn plan<'a>(&self, problem: &'a Problem<'a>, asked: Option<usize>, usual: usize) -> Plan<'a> {
        Plan { problem, asked, usual, seed: self.seed }
    }

    fn check(&self, temperatures: usize, bytes: f64) -> Result<()> {
        if self.sweeps == 0 {
            return Err(Error::Invalid("--sweeps: at least 1 is needed".into()).into());
        }
        check_sizes(self.chains, temperatures, bytes)
    }
}

fn tap(order: TapOrder, seed: u64, parameters: &Parameters) -> Result<Vec<Estimate>> {
    Ok(vec![Tap { order, seed, ..Tap::default() }.run(parameters)?])
}

/// Refuses chains and temperatures that are too few or do not fit in memory (`bytes`).
pub fn check_sizes(chains: usize, temperatures: usize, bytes: f64) -> Result<()> {
    for (option, value) in [("--chains", chains), ("--temperatures", temperatures)] {
        anyhow::ensure!(value >= 2, "{option}: at least 2 are needed, got {value}");
    }
    let what = format!("--chains {chains} with {temperatures} temperatures");
    check_memory(bytes, &what).map_err(anyhow::Error::msg)
}
