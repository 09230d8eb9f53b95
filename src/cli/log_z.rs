//! Options and table of log Z estimates, shared by the commands that need one.

use anyhow::{Context, Result};
use clap::Args;

use super::method::Method;
use super::schedule_options::{Plan, ScheduleOptions};
use crate::error::Error;
use crate::estimators::tempered::{KeptRun, READERS, Reader, TemperedRun, kept_bytes};
use crate::estimators::{
    Automatic, Bias, Equilibrium, Estimate, Known, Rts, Sams, Tap, TapOrder, WangLandau, ais,
    exact, raise, reverse_ais, sandwich,
};
use crate::model::Parameters;
use crate::ops::Fused;
use crate::tempering::{
    AnnealingPath, BaseDistribution, BetaUpdate, InitialRounds, Ladder, Path, RbmTempering,
    TemperedChains, annealing_bytes, check_memory, tempering_bytes,
};
use crate::trust::Trust;

/// Largest smaller layer that is enumerated unless another method is asked for.
const EXACT_BY_DEFAULT: usize = 20;

/// Temperatures of tempered chains where none are asked for.
const USUAL: usize = 100;

/// How log Z is estimated
#[derive(Args)]
#[command(next_help_heading = "Estimate of log Z")]
pub struct LogZOptions {
    /// Estimators, several separated by commas [default: exact up to 20 units in the smaller layer, else rts]
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
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub seed: u64,
    #[command(flatten)]
    schedule: ScheduleOptions,
}

/// The chains that estimators share, run once.
enum Shared {
    NotNeeded,
    Occupancy(TemperedRun),
    Kept(Box<KeptRun>),
}

/// What was found.
pub struct Estimates {
    /// One or more a method, in the order they were asked for.
    pub estimates: Vec<Estimate>,
    /// Methods of `all` this model does not allow, with the reason.
    pub skipped: Vec<String>,
    /// The shared chains, where they were kept.
    pub kept: Option<Box<KeptRun>>,
}

/// A model, and what its estimators start from.
struct Problem<'a> {
    parameters: &'a Parameters,
    ops: &'a Fused,
    base: &'a BaseDistribution,
}

impl LogZOptions {
    /// Estimates of all methods. The shared chains are run at most once; `keep` has them kept for a caller in any case.
    pub fn run(
        &self,
        parameters: &Parameters,
        base: &BaseDistribution,
        keep: bool,
    ) -> Result<Estimates> {
        let mut methods = Method::expand(&self.methods, parameters);
        if methods.is_empty() {
            let small = parameters.n_visible.min(parameters.n_hidden) <= EXACT_BY_DEFAULT;
            methods.push(if small { Method::Exact } else { Method::Auto });
        }
        let problem = Problem { parameters, ops: &Fused::new(parameters), base };
        let shared = self.shared(&methods, &problem, keep)?;
        let (mut estimates, mut skipped) = (Vec::new(), Vec::new());
        for method in methods {
            match self.estimate(method, &problem, &shared) {
                Ok(found) => estimates.extend(found),
                // Whoever asks for everything wants what can be had.
                Err(error) if self.methods.contains(&Method::All) => {
                    skipped.push(format!("{}: {error:#}", method.name()));
                }
                Err(error) => return Err(error),
            }
        }
        let kept = if let Shared::Kept(run) = shared { Some(run) } else { None };
        Ok(Estimates { estimates, skipped, kept })
    }

    fn estimate(
        &self,
        method: Method,
        problem: &Problem<'_>,
        shared: &Shared,
    ) -> Result<Vec<Estimate>> {
        let &Problem { parameters, ops, base } = problem;
        let (chains, seed) = (self.chains, self.seed);
        let equilibrium = || Equilibrium::draw(parameters, ops, base, chains, seed);
        Ok(match method {
            Method::Auto => vec![self.automatic(problem)?],
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
                let path = Path { ops, ladder: &ladder, base };
                let visible = base.sample(chains, seed, 0);
                let mut chains = TemperedChains::new(visible, ladder.len(), seed);
                let mut chains = RbmTempering::new(path, &mut chains, BetaUpdate::Collapsed);
                vec![match method {
                    Method::Sams => Sams::new(self.sweeps).run(&mut chains)?,
                    _ => WangLandau { sweeps: self.sweeps }.run(&mut chains)?,
                }]
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

    fn automatic(&self, problem: &Problem<'_>) -> Result<Estimate> {
        let automatic = Automatic {
            chains: self.chains,
            ladder: Automatic::ladder(self.ladder(problem, 0.0)?.betas())?,
            sweeps: self.sweeps,
            budget: self.budget,
            seed: self.seed,
        };
        let known = Known { marginals: Some(problem.base), rows: None };
        let report = automatic.run(problem.parameters, known, &mut |l| eprintln!("{l}"))?;
        for c in &report.candidates {
            eprintln!("{:?}", c);
        }
        for line in &report.done {
            eprintln!("{line}");
        }
        eprintln!("{:?}", report.bound);
        Ok(report.estimate)
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
        let rts = Rts {
            chains: self.chains,
            sweeps: self.sweeps,
            ladder: self.ladder(problem, kept)?,
            beta_update: BetaUpdate::Collapsed,
            initial_rounds: InitialRounds::default(),
            seed: self.seed,
        };
        Ok(if keep {
            Shared::Kept(Box::new(rts.sample_and_keep(problem.ops, problem.base)?))
        } else {
            Shared::Occupancy(rts.sample(problem.ops, problem.base)?)
        })
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
        estimate: impl FnOnce(&dyn AnnealingPath) -> Result<Vec<Estimate>>,
    ) -> Result<Vec<Estimate>> {
        // One sweep a temperature: side by side with all others, as many as counted sweeps.
        let (asked, usual) = if self.methods.contains(&Method::All) {
            (None, self.sweeps)
        } else {
            (self.temperatures, 10_000)
        };
        let temperatures = self.schedule.temperatures(asked, usual)?;
        let (m, j) = (problem.parameters.n_visible, problem.parameters.n_hidden);
        self.check(temperatures, annealing_bytes(self.chains, temperatures, m, j))?;
        self.schedule.annealed(&self.plan(problem, asked, usual), estimate)
    }

    fn plan<'a>(&self, problem: &Problem<'a>, asked: Option<usize>, usual: usize) -> Plan<'a> {
        let &Problem { parameters, ops, base } = problem;
        Plan { parameters, ops, base, asked, usual, seed: self.seed }
    }

    fn check(&self, temperatures: usize, bytes: f64) -> Result<()> {
        if self.sweeps == 0 {
            return Err(Error::Invalid("--sweeps: at least 1 is needed".into()).into());
        }
        check_sizes(self.chains, temperatures, bytes)
    }
}

impl Shared {
    fn read(&self, reader: Reader) -> Option<Estimate> {
        match (self, reader) {
            (Self::Kept(run), reader) => Some(reader.read(run)),
            (Self::Occupancy(run), Reader::Occupancy(method)) => Some(method(run)),
            _ => None,
        }
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

/// The reasons for doubt; empty where there are none.
pub fn doubts(trust: &Trust) -> String {
    if trust.is_sound() { String::new() } else { trust.to_string() }
}

/// Table of estimates, one line each.
pub fn table(estimates: &[Estimate]) -> String {
    let mut text = format!(
        "{:<14} {:>14} {:>10} {:>8} {:<10} {:>10} {:>8}  {}\n",
        "method", "log Z", "std error", "samples", "bias", "sweeps", "seconds", "doubt"
    );
    for estimate in estimates {
        let error = match estimate.std_error {
            error if error > 0.0 => format!("{error:.6}"),
            // Exact, or without a notion of chance.
            _ => "-".to_string(),
        };
        let samples = estimate.effective_samples.map_or("-".into(), |n| format!("{n:.0}"));
        let bias = match estimate.bias {
            Bias::None => "none",
            Bias::Consistent => "vanishing",
            Bias::Low => "low",
            Bias::High => "high",
            Bias::Biased => "either",
        };
        let line = format!(
            "{:<14} {:>14.6} {error:>10} {samples:>8} {bias:<10} {:>10} {:>8.2}  {}",
            estimate.method,
            estimate.value,
            estimate.gibbs_sweeps,
            estimate.seconds,
            doubts(&estimate.trust)
        );
        text += line.trim_end();
        text += "\n";
    }
    let shares = |estimate: &&Estimate| READERS.iter().any(|(name, _)| *name == estimate.method);
    let sharing: Vec<&str> = estimates.iter().filter(shares).map(|e| e.method).collect();
    if sharing.len() > 1 {
        let sharing = sharing.join(", ");
        text += &format!(
            "\n{sharing} read the same chains, run once: their sweeps and seconds are part of each of these lines.\n"
        );
    }
    text
}
