//! Options and table of log Z estimates, shared by the commands that need one.

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::schedule_options::{Plan, ScheduleOptions};
use crate::error::Error;
use crate::estimators::{Estimate, Rts, ais, exact};
use crate::model::Parameters;
use crate::model::exact::MAX_UNITS;
use crate::ops::Fused;
use crate::tempering::{
    BaseDistribution, BetaUpdate, InitialRounds, annealing_bytes, check_memory, tempering_bytes,
};

/// Largest smaller layer that is enumerated unless another method is asked for.
const EXACT_BY_DEFAULT: usize = 20;

/// Estimators of log Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// Enumeration of the smaller layer, at most 25 units
    Exact,
    /// Rao-Blackwellized tempered sampling
    Rts,
    /// Annealed importance sampling
    Ais,
    /// All of them that the model allows
    All,
}

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
    /// Inverse temperatures [default: 100 for rts, 10000 for ais]
    #[arg(long, value_name = "K")]
    temperatures: Option<usize>,
    /// Sweeps of every chain (rts)
    #[arg(long, default_value_t = 1000, value_name = "N")]
    sweeps: usize,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub seed: u64,
    #[command(flatten)]
    schedule: ScheduleOptions,
}

impl LogZOptions {
    /// One estimate a method, in the order they were asked for.
    pub fn run(&self, parameters: &Parameters, base: &BaseDistribution) -> Result<Vec<Estimate>> {
        let smaller = parameters.n_visible.min(parameters.n_hidden);
        let mut methods = Vec::new();
        for &method in &self.methods {
            match method {
                Method::All => {
                    methods.extend((smaller <= MAX_UNITS).then_some(Method::Exact));
                    methods.extend([Method::Rts, Method::Ais]);
                }
                one => methods.push(one),
            }
        }
        if methods.is_empty() {
            let small = smaller <= EXACT_BY_DEFAULT;
            methods.push(if small { Method::Exact } else { Method::Rts });
        }
        let ops = Fused::new(parameters);
        let (m, j) = (parameters.n_visible, parameters.n_hidden);
        let (asked, seed) = (self.temperatures, self.seed);
        let plan = |usual| Plan { parameters, ops: &ops, base, asked, usual, seed };
        methods
            .into_iter()
            .map(|method| match method {
                Method::Exact => Ok(exact(parameters)?),
                Method::Ais => {
                    let temperatures = self.schedule.temperatures(asked, 10_000)?;
                    self.check(temperatures, annealing_bytes(self.chains, temperatures, m, j))?;
                    self.schedule.annealed(&plan(10_000), |path| ais(path, self.chains, seed))
                }
                Method::Rts | Method::All => {
                    let temperatures = self.schedule.temperatures(asked, 100)?;
                    self.check(temperatures, tempering_bytes(self.chains, temperatures, m, j))?;
                    let (ladder, _) = self.schedule.ladder(&plan(100))?;
                    let rts = Rts {
                        chains: self.chains,
                        sweeps: self.sweeps,
                        ladder,
                        beta_update: BetaUpdate::Collapsed,
                        initial_rounds: InitialRounds::default(),
                        seed: self.seed,
                    };
                    Ok(rts.run(&ops, base)?)
                }
            })
            .collect()
    }

    fn check(&self, temperatures: usize, bytes: f64) -> Result<()> {
        if self.sweeps == 0 {
            return Err(Error::Invalid("--sweeps: at least 1 is needed".into()).into());
        }
        check_sizes(self.chains, temperatures, bytes)
    }
}

/// Refuses chains and temperatures that are too few or do not fit in memory (`bytes`).
pub fn check_sizes(chains: usize, temperatures: usize, bytes: f64) -> Result<()> {
    for (option, value) in [("--chains", chains), ("--temperatures", temperatures)] {
        anyhow::ensure!(value >= 2, "{option}: at least 2 are needed, got {value}");
    }
    let what = format!("--chains {chains} with {temperatures} temperatures");
    check_memory(bytes, &what).map_err(anyhow::Error::msg)
}

/// Table of estimates, one line each.
pub fn table(estimates: &[Estimate]) -> String {
    let mut text = format!(
        "{:<10} {:>16} {:>12} {:>12} {:>9}  {}\n",
        "method", "log Z", "std error", "sweeps", "seconds", "doubt"
    );
    for estimate in estimates {
        let error = match estimate.std_error {
            0.0 => "-".to_string(),
            error => format!("{error:.6}"),
        };
        let line = format!(
            "{:<10} {:>16.6} {error:>12} {:>12} {:>9.2}  {}",
            estimate.method,
            estimate.value,
            estimate.gibbs_sweeps,
            estimate.seconds,
            estimate.doubt.as_deref().unwrap_or("")
        );
        text += line.trim_end();
        text += "\n";
    }
    text
}
