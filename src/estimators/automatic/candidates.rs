//! Base distributions that can be guessed, each evaluated by a short annealing run.
//!
//! Annealing is unbiased for Z from any start, and by Markov's inequality its estimate exceeds log Z by t nats with probability at most
//! e^-t. A start whose estimate is far above another's has found mass that the other misses. So the highest is chosen, and the states that
//! all of them reached are kept.

use serde::Serialize;

use super::Known;
use super::search::Search;
use crate::engine::random::{Purpose, derived_seed};
use crate::engine::{BitMatrix, Engine};
use crate::error::Result;
use crate::estimators::{FAILURE, Start};
use crate::model::Parameters;
use crate::model::plus_minus::Units;
use crate::numerics::betting_lower_bound;
use crate::tempering::mixture::{MixtureBase, MixturePath, TEMPER, WeightedRows, fit};
use crate::tempering::{BaseDistribution, Keep, Ladder, Prior, TemperedPath, anneal};

/// Chains and temperatures of a short annealing run.
const CHAINS: usize = 50;
const TEMPERATURES: usize = 150;
/// Name of the mixture of all solutions of the mean-field equations.
pub(super) const ALL_SOLUTIONS: &str = "all mean-field solutions";
/// States whose weight is this many nats below the largest have negligible mass and are not fitted.
const FAR_BELOW: f64 = 15.0;
/// Fraction of the states of mean-field solutions in the fit.
const SHARE_OF_SOLUTIONS: f64 = 0.3;
/// Components fitted to known states.
const COMPONENTS: usize = 16;

/// Probability that the bound of one of any number of annealing passes fails, chosen so that all of them hold at once: these probabilities
/// sum to [`FAILURE`].
pub(super) fn failure_of(pass: usize) -> f64 {
    let pass = pass as f64;
    FAILURE / ((pass + 1.0) * (pass + 2.0))
}

/// A start that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// log Z by the short annealing run, nats.
    pub log_z: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Effective number of chains.
    pub effective: f64,
    /// A lower bound of log Z from the weights, nats, that holds with all others of the same search at 99.9 %.
    pub at_least: f64,
}

/// All starts that were tried, and their results.
pub(super) struct Candidates<'a> {
    parameters: &'a Parameters,
    engine: &'a dyn Engine,
    seed: u64,
    list: Vec<Candidate>,
    /// States at beta = 1 of each, with log w + log Z_1.
    reached: Vec<(BitMatrix, Vec<f64>)>,
    gibbs_sweeps: usize,
    /// The mixture of all solutions of the mean-field equations.
    pub all_solutions: Option<MixtureBase>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(parameters: &'a Parameters, engine: &'a dyn Engine, seed: u64) -> Self {
        let (list, reached) = (Vec::new(), Vec::new());
        Self { parameters, engine, seed, list, reached, gibbs_sweeps: 0, all_solutions: None }
    }

    /// Every start that needs no enumeration; modes are searched from the states that each reached.
    pub(super) fn try_all(&mut self, known: Known<'_>, search: &mut Search) -> Result<()> {
        let product = |base: BaseDistribution| MixtureBase::new(vec![base], &[1.0]);
        if let Some(marginals) = known.marginals {
            self.attempt("the given base", &product(marginals.clone())?, search)?;
        }
        if let Some(states) = known.states {
            let states = WeightedRows::alike(states.clone());
            let base = fit(self.parameters, &states, COMPONENTS, self.seed)?;
            self.attempt("known states", &base, search)?;
        }
        for (name, start) in [
            ("visible bias", Start::VisibleBias),
            ("uniform", Start::Uniform),
            ("pseudo-inverse", Start::Pinv),
            ("signs", Start::Signs),
        ] {
            let base = start.base(self.parameters, Units::Binary, self.seed)?;
            self.attempt(name, &product(base)?, search)?;
        }
        search.combine(known, self.seed);
        let all = search.mean_field.large_mixture(self.seed)?;
        if let Some(base) = search.mean_field.mixture()? {
            self.attempt("mean field", &base, search)?;
        }
        // Without sweeps there can be more components.
        if let Some((base, states)) = all {
            self.annealed(ALL_SOLUTIONS, &base, (states, 2))?;
            self.all_solutions = Some(base);
        }
        Ok(())
    }

    /// Anneals, and searches for modes from the states that are reached.
    fn attempt(&mut self, name: &str, base: &MixtureBase, search: &mut Search) -> Result<()> {
        let (visible, log_weights) = self.annealed(name, base, (CHAINS, TEMPERATURES))?;
        search.climb(&visible);
        self.reached.push((visible, log_weights));
        Ok(())
    }

    /// The states of so many chains after so many temperatures, and log w + log Z_1.
    fn annealed(
        &mut self,
        name: &str,
        base: &MixtureBase,
        (chains, temperatures): (usize, usize),
    ) -> Result<(BitMatrix, Vec<f64>)> {
        let ladder = Ladder::linear(temperatures, &Prior::Uniform)?;
        let path = MixturePath { engine: self.engine, ladder: &ladder, base };
        let seed = derived_seed(self.seed, Purpose::Candidate, self.list.len() as u64);
        let annealed = anneal(&path, chains, seed, 0, Keep::Last);
        let mean = annealed.mean_weight(0);
        let log_z = path.log_z_base();
        let weights: Vec<f64> = annealed.final_weights().map(|weight| weight + log_z).collect();
        self.list.push(Candidate {
            name: name.into(),
            log_z: log_z + mean.log_mean,
            std_error: mean.std_error,
            effective: mean.effective,
            at_least: betting_lower_bound(&weights, failure_of(self.list.len())),
        });
        self.gibbs_sweeps += chains * (temperatures - 1);
        Ok((annealed.visible, weights))
    }

    pub(super) fn list(&self) -> &[Candidate] {
        &self.list
    }

    pub(super) fn gibbs_sweeps(&self) -> u64 {
        self.gibbs_sweeps as u64
    }

    /// States that the candidates reached, by their weights, and further states that get a fraction of the weight.
    pub(super) fn rows(&self, further: &BitMatrix) -> WeightedRows {
        let largest = self.reached.iter().flat_map(|(_, w)| w).copied().fold(f64::MIN, f64::max);
        let (mut words, mut weights) = (Vec::new(), Vec::new());
        for (visible, log_weights) in &self.reached {
            for (row, log_weight) in log_weights.iter().enumerate() {
                if *log_weight > largest - FAR_BELOW {
                    words.extend_from_slice(visible.row(row));
                    weights.push((TEMPER * (log_weight - largest)).exp());
                }
            }
        }
        let visible = BitMatrix::from_words(weights.len(), further.columns(), words);
        let reached = match visible {
            Some(visible) => WeightedRows { visible, weights },
            None => WeightedRows::alike(BitMatrix::zeros(0, further.columns())),
        };
        reached.with(further, SHARE_OF_SOLUTIONS)
    }
}
