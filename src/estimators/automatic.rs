//! log Z without being told where the model's mass lies: what `ztrack estimate` runs by default.
//!
//! 1. Modes of both layers are searched ([`super::ModeSearch`]); every state seen adds to a lower bound of log Z.
//! 2. Candidate starts are annealed for a short time each. What they reach, and states drawn at the modes, are the rows a mixture
//!    of product distributions is fitted to.
//! 3. RTS runs on the path from that mixture ([`crate::tempering::mixture`]), half of its chains from the mixture, half from the modes at
//!    beta = 1, and is judged: chain by chain, the two halves against each other, against all annealing runs and the bound.
//! 4. Two short runs only look where the mass lies. In doubt, the mixture is fitted again to what the chains found at beta = 1
//!    and the run repeated with twice the sweeps, until nothing is in doubt or the budget is used up.

use std::time::Instant;

use serde::Serialize;

use super::exploration::{COMPONENTS, Exploration};
use super::{Candidate, Estimate, at_least_one_sweep, at_least_two_chains};
use crate::collective;
use crate::error::Result;
use crate::model::Parameters;
use crate::ops::{BitMatrix, Fused};
use crate::tempering::mixture::MixtureBase;
use crate::tempering::schedules::linear;
use crate::tempering::{BaseDistribution, Ladder, Prior};

/// Chains, inverse temperatures, sweeps and seconds unless told otherwise.
pub const CHAINS: usize = 100;
pub const TEMPERATURES: usize = 50;
pub const SWEEPS: usize = 1000;
pub const BUDGET: f64 = 20.0;
/// Prior of beta = 0 and beta = 1 in units of the others'.
const SHARE_OF_ENDS: f64 = 5.0;
/// The first runs, which only look where the mass lies, have so many times fewer sweeps.
const EXPLORING: usize = 5;

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

/// A start found for other estimators.
#[derive(Clone, Debug)]
pub struct FoundStart {
    /// Where paths start.
    pub mixture: MixtureBase,
    /// States at beta = 1 for the second population of chains, shape [S/2, M].
    pub from_above: BitMatrix,
    /// The lower bound.
    pub bound: Bound,
    /// Starts that were tried by annealing.
    pub candidates: Vec<Candidate>,
    /// Sweeps of single chains spent.
    pub gibbs_sweeps: u64,
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

    /// Runs until the estimate is sound or the budget is used up; `tell` hears a line after each step.
    ///
    /// # Errors
    /// Fewer than four chains, no sweeps, or a matrix without singular values.
    pub fn run(
        &self,
        parameters: &Parameters,
        known: Known<'_>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Report> {
        let start = Instant::now();
        let ops = Fused::new(parameters).on(collective::current());
        let (mut exploration, mut done) = self.explore(parameters, &ops, known, tell)?;
        let mut sweeps = self.sweeps;
        loop {
            let (mut estimate, line) = exploration.run(sweeps)?;
            tell(&line);
            done.push(line);
            sweeps *= 2;
            let next = 1.5 * exploration.cost((self.chains * sweeps) as u64);
            if estimate.trust.is_sound() || exploration.spent + next > self.budget {
                estimate.seconds = start.elapsed().as_secs_f64();
                return Ok(Report {
                    estimate,
                    bound: exploration.bound(),
                    candidates: exploration.candidates().to_vec(),
                    done,
                });
            }
        }
    }

    /// A start for other estimators: the mixture that the first run would have, without that run.
    ///
    /// # Errors
    /// As [`Automatic::run`].
    pub fn start(
        &self,
        parameters: &Parameters,
        known: Known<'_>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<FoundStart> {
        let ops = Fused::new(parameters).on(collective::current());
        let (mut exploration, done) = self.explore(parameters, &ops, known, tell)?;
        Ok(FoundStart {
            mixture: exploration.mixture()?.1,
            from_above: exploration.states_above(self.chains / 2),
            bound: exploration.bound(),
            candidates: exploration.candidates().to_vec(),
            gibbs_sweeps: exploration.gibbs_sweeps(),
            done,
        })
    }

    /// Candidates, and a short run of each kind of mixture.
    fn explore<'a>(
        &'a self,
        parameters: &'a Parameters,
        ops: &'a Fused,
        known: Known<'_>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(Exploration<'a>, Vec<String>)> {
        at_least_two_chains(self.chains / 2)?;
        at_least_one_sweep(self.sweeps)?;
        let mut exploration = Exploration::new(self, parameters, ops, known)?;
        let best = exploration.candidates().iter().max_by(|a, b| a.log_z.total_cmp(&b.log_z));
        if let Some(best) = best {
            tell(&format!("best start so far: {}, annealing gives {:.2}", best.name, best.log_z));
        }
        let mut done = Vec::new();
        for _ in COMPONENTS {
            let (_, line) = exploration.run((self.sweeps / EXPLORING).max(1))?;
            tell(&line);
            done.push(line);
        }
        Ok((exploration, done))
    }
}
