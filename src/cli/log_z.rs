//! Options and table of log Z estimates, shared by the commands that need one.

use anyhow::{Context, Result};
use clap::Args;

use super::method::Method;
use crate::error::Error;
use crate::estimators::tempered::{KeptRun, READERS, Reader, TemperedRun, kept_bytes};
use crate::estimators::{Ais, Bias, Estimate, Rts, exact};
use crate::model::Parameters;
use crate::ops::Fused;
use crate::tempering::{
    BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior, annealing_bytes, check_memory,
    tempering_bytes,
};

/// Largest smaller layer that is enumerated unless another method is asked for.
const EXACT_BY_DEFAULT: usize = 20;

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
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub seed: u64,
}

/// The chains that estimators share, run once.
enum Shared {
    NotNeeded,
    Occupancy(TemperedRun),
    Kept(Box<KeptRun>),
}

/// What was found.
pub struct Estimates {
    /// One a method, in the order they were asked for.
    pub estimates: Vec<Estimate>,
    /// The shared chains, where they were kept.
    pub kept: Option<Box<KeptRun>>,
}

impl LogZOptions {
    /// One estimate a method. The shared chains are run at most once; `keep` has them kept for a caller in any case.
    pub fn run(
        &self,
        parameters: &Parameters,
        base: &BaseDistribution,
        keep: bool,
    ) -> Result<Estimates> {
        let mut methods = Method::expand(&self.methods, parameters);
        if methods.is_empty() {
            let small = parameters.n_visible.min(parameters.n_hidden) <= EXACT_BY_DEFAULT;
            methods.push(if small { Method::Exact } else { Method::Rts });
        }
        let ops = Fused::new(parameters);
        let shared = self.shared(&methods, parameters, &ops, base, keep)?;
        let mut estimates = Vec::with_capacity(methods.len());
        for method in methods {
            estimates.push(match method {
                Method::Exact => exact(parameters)?,
                Method::Ais => self.ais(parameters, &ops, base)?,
                shares => (shares.reader())
                    .and_then(|reader| shared.read(reader))
                    .with_context(|| format!("{shares:?} is no estimator by itself"))?,
            });
        }
        let kept = if let Shared::Kept(run) = shared { Some(run) } else { None };
        Ok(Estimates { estimates, kept })
    }

    fn shared(
        &self,
        methods: &[Method],
        parameters: &Parameters,
        ops: &Fused,
        base: &BaseDistribution,
        keep: bool,
    ) -> Result<Shared> {
        let readers: Vec<Reader> = methods.iter().filter_map(|method| method.reader()).collect();
        let keep = keep || readers.iter().any(|reader| matches!(reader, Reader::Kept(_)));
        if readers.is_empty() && !keep {
            return Ok(Shared::NotNeeded);
        }
        let (m, j) = (parameters.n_visible, parameters.n_hidden);
        let temperatures = self.temperatures.unwrap_or(100);
        let mut bytes = tempering_bytes(self.chains, temperatures, m, j);
        // Only sizes of at least 1 can be multiplied; the check refuses others.
        if keep && self.chains.min(self.sweeps).min(temperatures) > 0 {
            bytes += kept_bytes(self.chains, self.sweeps, temperatures);
        }
        self.check(temperatures, bytes)?;
        let rts = Rts {
            chains: self.chains,
            sweeps: self.sweeps,
            ladder: Ladder::linear(temperatures, &Prior::Uniform)?,
            beta_update: BetaUpdate::Collapsed,
            initial_rounds: InitialRounds::default(),
            seed: self.seed,
        };
        Ok(if keep {
            Shared::Kept(Box::new(rts.sample_and_keep(ops, base)?))
        } else {
            Shared::Occupancy(rts.sample(ops, base)?)
        })
    }

    fn ais(
        &self,
        parameters: &Parameters,
        ops: &Fused,
        base: &BaseDistribution,
    ) -> Result<Estimate> {
        let temperatures = self.annealing_temperatures();
        let (m, j) = (parameters.n_visible, parameters.n_hidden);
        self.check(temperatures, annealing_bytes(self.chains, temperatures, m, j))?;
        let Self { chains, seed, .. } = *self;
        Ok(Ais { chains, temperatures, seed }.run(ops, base)?)
    }

    /// Temperatures of an annealing pass, one sweep each: side by side with all others, as many as counted sweeps.
    fn annealing_temperatures(&self) -> usize {
        if self.methods.contains(&Method::All) {
            self.sweeps
        } else {
            self.temperatures.unwrap_or(10_000)
        }
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
        "{:<14} {:>14} {:>10} {:>8} {:<10} {:>10} {:>8}  {}\n",
        "method", "log Z", "std error", "samples", "bias", "sweeps", "seconds", "doubt"
    );
    for estimate in estimates {
        let error = match estimate.std_error {
            0.0 => "-".to_string(),
            error => format!("{error:.6}"),
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
            estimate.doubt.as_deref().unwrap_or("")
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
