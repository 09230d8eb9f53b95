//! Runs until all diagnostics pass, or the budget is used up.

use std::time::Instant;

use serde::Serialize;

use super::exploration::Exploration;
use super::{Automatic, Bound, Candidate, Known, annealed_samples};
use crate::engine::{BitMatrix, Engine};
use crate::error::{Error, Result};
use crate::estimators::{Estimate, at_least_one_sweep};
use crate::model::Parameters;
use crate::numerics::MOST_ERRORS;
use crate::tempering::AtOne;
use crate::tempering::mixture::MixtureBase;
use crate::trust::{Doubt, Trust};

/// The first runs, which only locate the mass, have fewer sweeps by this factor.
const EXPLORING: usize = 5;

/// Shares of the budget: for chains from known states, before all starts are tried, and for annealing where chains are in doubt.
const QUICK: f64 = 0.2;
const ANNEALING: f64 = 0.5;

/// The estimate and how it was computed.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// log Z.
    pub estimate: Estimate,
    /// The lower bound.
    pub bound: Bound,
    /// Starts that were tried by annealing.
    pub candidates: Vec<Candidate>,
    /// A line on each run.
    pub done: Vec<String>,
}

/// A start for other estimators.
#[derive(Clone, Debug)]
pub struct FoundStart {
    /// The base of paths.
    pub mixture: MixtureBase,
    /// States at beta = 1 for the second population of chains, shape [S/2, M].
    pub from_above: BitMatrix,
    /// The lower bound.
    pub bound: Bound,
    /// Starts that were tried by annealing.
    pub candidates: Vec<Candidate>,
    /// Sweeps of single chains spent.
    pub gibbs_sweeps: u64,
    /// A line on each run.
    pub done: Vec<String>,
}

impl Automatic {
    /// Runs until the estimate is sound or the budget is used up; `tell` gets a line after each step.
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
        let engine = parameters.engine(&self.context);
        self.context.interruptible(|| {
            let (mut exploration, mut done) =
                self.explore(parameters, engine.as_ref(), known, tell)?;
            let budget = self.budget;
            let mut estimate = self.until_sound(&mut exploration, budget, &mut done, tell)?;
            estimate.seconds = start.elapsed().as_secs_f64();
            Ok(Report {
                estimate,
                bound: exploration.bound(),
                candidates: exploration.candidates().to_vec(),
                done,
            })
        })
    }

    /// `count` states at beta = 1, the sweeps of single chains spent, the diagnostics, and whether the states are annealed ones. They are of the chains if their estimate is sound, else
    /// from annealing if its weights can be trusted, else of the last chains within the budget, whose doubts are those of the samples. Where
    /// log Z is known, chains and annealing have to find it, and annealing that does is sound. `spacing` sweeps between two samples of a
    /// chain, by default at most 100 and at most as many as double the cost of the chains' check.
    pub(in super::super) fn sample(
        &self,
        parameters: &Parameters,
        known: Known<'_>,
        (count, spacing): (usize, Option<usize>),
        tell: &mut dyn FnMut(&str),
    ) -> Result<(AtOne, u64, Trust, bool)> {
        let engine = parameters.engine(&self.context);
        let (mut exploration, mut done) = self.explore(parameters, engine.as_ref(), known, tell)?;
        let quick = known.audited.filter(|_| known.states.is_some());
        let budget = if quick.is_some() { QUICK * self.budget } else { self.budget };
        let found = self.until_sound(&mut exploration, budget, &mut done, tell)?;
        let confirmed = |value: f64, std_error: f64| {
            quick.is_none_or(|(log_z, error)| {
                (value - log_z).abs() <= MOST_ERRORS * std_error.hypot(error)
            })
        };
        let mut trust = found.trust;
        let sound = trust.is_sound() && confirmed(found.value, found.std_error);
        if !sound && let Some(base) = known.marginals {
            tell("chains are in doubt: annealing from the marginals");
            let each = exploration.cost(annealed_samples::TEMPERATURES as u64);
            let asked = annealed_samples::Asked {
                count,
                spacing,
                affordable: (ANNEALING * self.budget / each) as usize,
                bound: exploration.bound().value.max(exploration.at_least()),
                seed: self.seed,
            };
            let drawn = annealed_samples::draw(engine.as_ref(), base, &asked)?;
            if let Some(drawn) = drawn.filter(|it| confirmed(it.log_z.0, it.log_z.1)) {
                match quick {
                    Some(_) => trust = Trust::sound(),
                    // Annealing may miss what the chains missed as well, so the doubts stay.
                    None => trust.doubt(Doubt::Annealed {}),
                }
                let sweeps = exploration.gibbs_sweeps() + drawn.sweeps;
                return Ok((drawn.taken, sweeps, trust, true));
            }
        }
        if !sound && quick.is_some() {
            tell("neither finds the known log Z: all starts are tried");
            let known = Known { audited: None, ..known };
            return self.sample(parameters, known, (count, spacing), tell);
        }
        let taken = exploration.take_at_one(count, spacing)?;
        Ok((taken, exploration.gibbs_sweeps(), trust, false))
    }

    /// Runs, each with twice the sweeps of the last, until one is sound.
    fn until_sound(
        &self,
        exploration: &mut Exploration<'_>,
        budget: f64,
        done: &mut Vec<String>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Estimate> {
        let mut sweeps = self.sweeps;
        loop {
            let (estimate, line) = exploration.run(sweeps)?;
            tell(&line);
            done.push(line);
            sweeps *= 2;
            let next = 1.5 * exploration.cost((self.chains * sweeps) as u64);
            if estimate.trust.is_sound() || exploration.spent + next > budget {
                return Ok(exploration.pooled(estimate));
            }
        }
    }

    /// A start for other estimators: the mixture of the first run, without that run.
    ///
    /// # Errors
    /// As [`Automatic::run`].
    pub fn start(
        &self,
        parameters: &Parameters,
        known: Known<'_>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<FoundStart> {
        let engine = parameters.engine(&self.context);
        let (mut exploration, done) = self.explore(parameters, engine.as_ref(), known, tell)?;
        Ok(FoundStart {
            mixture: exploration.mixture()?,
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
        engine: &'a dyn Engine,
        known: Known<'_>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(Exploration<'a>, Vec<String>)> {
        if self.chains < 4 || self.budget.is_nan() || self.budget < 0.0 {
            return Err(Error::Invalid(format!(
                "{} chains and a budget of {} s: at least 4 chains and 0 s are needed",
                self.chains, self.budget
            )));
        }
        at_least_one_sweep(self.sweeps)?;
        let mut exploration = Exploration::new(self, parameters, engine, known)?;
        let best = exploration.candidates().iter().max_by(|a, b| a.log_z.total_cmp(&b.log_z));
        if let Some(best) = best {
            tell(&format!("best start so far: {}, annealing gives {:.2}", best.name, best.log_z));
        }
        let mut done = Vec::new();
        for _ in 0..exploration.kinds() {
            let (_, line) = exploration.run((self.sweeps / EXPLORING).max(1))?;
            tell(&line);
            done.push(line);
        }
        Ok((exploration, done))
    }
}
