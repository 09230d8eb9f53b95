//! Starts that can be guessed, each judged by a short annealing run.
//!
//! Annealing is unbiased for Z from any start, and by Markov's inequality its estimate exceeds log Z by t nats with probability
//! e^-t at most: a start whose estimate is far above another's has found mass that the other misses. So the highest wins, and
//! what all of them reached is worth keeping.

use serde::Serialize;

use super::automatic::{Known, Search, stack};
use super::mixture_fit::fit;
use super::starts::Start;
use crate::error::Result;
use crate::model::Parameters;
use crate::model::plus_minus::Units;
use crate::ops::{BitMatrix, Fused};
use crate::tempering::mixture::{MixtureBase, MixturePath};
use crate::tempering::{BaseDistribution, Keep, Ladder, MeanWeight, Prior, anneal};

/// Chains and temperatures of a short annealing run.
const CHAINS: usize = 50;
const TEMPERATURES: usize = 150;
/// Candidates this many nats below the best have missed the mass: what they reached is not fitted.
const FAR_BELOW: f64 = 10.0;
/// Components fitted to the modes alone.
const COMPONENTS: usize = 16;

/// A start that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// What it is.
    pub name: String,
    /// log Z by the short annealing run, nats.
    pub log_z: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Chains that carry the weight.
    pub effective: f64,
}

/// All starts that were tried, and where they led.
pub(super) struct Candidates<'a> {
    parameters: &'a Parameters,
    ops: &'a Fused,
    seed: u64,
    list: Vec<Candidate>,
    /// States at beta = 1 of each, drawn by tempered weights.
    reached: Vec<BitMatrix>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(parameters: &'a Parameters, ops: &'a Fused, seed: u64) -> Self {
        Self { parameters, ops, seed, list: Vec::new(), reached: Vec::new() }
    }

    /// Every start that needs no enumeration; modes are searched from where each led.
    pub(super) fn try_all(&mut self, known: Known<'_>, search: &mut Search) -> Result<()> {
        let product = |base: BaseDistribution| MixtureBase::new(vec![base], &[1.0]);
        if let Some(marginals) = known.marginals {
            self.attempt("data marginals", &product(marginals.clone())?, search)?;
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
        let modes = search.drawn(50, 2, self.seed);
        if modes.rows() > 0 {
            self.attempt("modes", &fit(self.parameters, &modes, COMPONENTS, self.seed)?, search)?;
        }
        Ok(())
    }

    fn attempt(&mut self, name: &str, base: &MixtureBase, search: &mut Search) -> Result<()> {
        let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
        let path = MixturePath { ops: self.ops, ladder: &ladder, base };
        let seed = self.seed ^ ((self.list.len() as u64 + 1) << 32);
        let annealed = anneal(&path, CHAINS, seed, 0, Keep::Last);
        let mean = annealed.mean_weight(0);
        search.climb(&annealed.visible);
        self.list.push(Candidate {
            name: name.into(),
            log_z: path.log_z_base() + mean.log_mean,
            std_error: mean.std_error,
            effective: mean.effective,
        });
        let weights: Vec<f64> = annealed.final_weights().collect();
        self.reached.push(resampled(&annealed.visible, &weights));
        Ok(())
    }

    pub(super) fn list(&self) -> &[Candidate] {
        &self.list
    }

    pub(super) fn into_list(self) -> Vec<Candidate> {
        self.list
    }

    pub(super) fn gibbs_sweeps(&self) -> u64 {
        (self.list.len() * CHAINS * (TEMPERATURES - 1)) as u64
    }

    /// Where the good ones led, and further rows.
    pub(super) fn rows(&self, further: &BitMatrix) -> BitMatrix {
        let best = self.list.iter().map(|c| c.log_z).fold(f64::NEG_INFINITY, f64::max);
        let good = self.list.iter().zip(&self.reached).filter(|(c, _)| c.log_z > best - FAR_BELOW);
        good.fold(further.clone(), |all, (_, rows)| stack(&all, rows))
    }
}

/// As many rows, drawn by weights whose logarithms are scaled down until a third of them is effective: what is rare now may be
/// what the next path makes common.
fn resampled(rows: &BitMatrix, log_weights: &[f64]) -> BitMatrix {
    let n = log_weights.len();
    let scaled = |power: f64| log_weights.iter().map(move |w| power * w);
    let power = (0..20).map(|i| 0.7f64.powi(i));
    let enough = |power: &f64| MeanWeight::of(scaled(*power)).effective > n as f64 / 3.0;
    let power = power.into_iter().find(enough).unwrap_or(0.0);
    let largest = scaled(power).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scaled(power).map(|w| (w - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    // Systematic: row i is taken as often as its share of n says, up to rounding.
    let (mut chosen, mut sum) = (Vec::with_capacity(n), 0.0);
    for (i, weight) in weights.iter().enumerate() {
        sum += weight / total * n as f64;
        while chosen.len() < n && chosen.len() as f64 + 0.5 < sum {
            chosen.push(i);
        }
    }
    rows.select(chosen)
}
