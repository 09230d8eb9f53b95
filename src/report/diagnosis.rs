//! Diagnosis of a model: new tempered chains on the run's ladder at fixed parameters, several estimators, and samples. Its seed is that of
//! the run, so a report is always the same.

use super::run_files::RunFiles;
use crate::checkpoint::ModelFile;
use crate::engine::random::{Purpose, derived_seed};
use crate::engine::{BitMatrix, Host};
use crate::error::Result;
use crate::estimators::tempered::TemperedRun;
use crate::estimators::{Bound, Equilibrium, Estimate, Known, exact_within, lower_bound, sandwich};
use crate::model::Parameters;
use crate::model::exact::QUICK_UNITS;
use crate::tempering::{
    BetaUpdate, GeometricPath, InitialRounds, Ladder, Prior, TemperedChains, Tempering, Transitions,
};
use crate::training::Trainer;
use crate::training::gradient::Particles;

/// Most chains; more could not be shown.
const CHAINS: usize = 100;
/// Fewest and most sweeps counted.
const SWEEPS: (usize, usize) = (200, 1000);
/// Fewest and most inverse temperatures of annealing.
const ANNEALED: (usize, usize) = (100, 10_000);
/// Samples of a model that is enumerated.
const EXACT_SAMPLES: usize = STATES;
/// States for moments of a model that is not enumerated, and Gibbs sweeps between those of a chain.
const STATES: usize = 5000;
const SPACING: usize = 10;
/// Training rows for a lower bound of log Z.
const BOUND_ROWS: usize = 500;

/// Result of the diagnosis.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The model.
    pub parameters: Parameters,
    /// Inverse temperatures and their prior.
    pub ladder: Ladder,
    /// The chains.
    pub chains: Traces,
    /// Estimates of log Z, and a rigorous bound.
    pub estimates: Vec<Estimate>,
    /// A lower bound of log Z; `None` if log Z is exact.
    pub bound: Option<Bound>,
    /// Samples of the model, one of each chain, shape [N, M], or the reason for their absence.
    pub samples: std::result::Result<BitMatrix, String>,
    /// The samples, and later states of their chains at beta = 1: more rows for moments, which are not independent.
    pub states: BitMatrix,
}

/// S chains at each of a number of sweeps with one pseudo-prior.
#[derive(Clone, Debug)]
pub struct Traces {
    /// Index of the inverse temperature, by chain and sweep.
    pub temperatures: Vec<Vec<f64>>,
    /// log f(v) at beta = 1, by chain and sweep.
    pub log_f: Vec<Vec<f64>>,
    /// Transitions between temperatures.
    pub transitions: Transitions,
    /// Their run.
    pub run: TemperedRun,
}

impl Diagnosis {
    /// Diagnosis of the model that a run shows; `None` without one.
    ///
    /// # Errors
    /// As [`Self::of`], and a model file that cannot be read.
    pub fn of_run(run: &RunFiles, trainer: &Trainer, seconds: f64) -> Result<Option<Self>> {
        let Some(path) = run.model() else { return Ok(None) };
        let parameters = ModelFile::load(path)?.parameters;
        Self::of(trainer, parameters, seconds).map(Some)
    }

    /// Diagnosis of a model of a run in about so many seconds of one typical core.
    ///
    /// # Errors
    /// Settings of the run with fewer than two chains, which its configuration refuses; [`crate::Error::Interrupted`].
    pub fn of(trainer: &Trainer, parameters: Parameters, seconds: f64) -> Result<Self> {
        trainer.context().interruptible(|| Self::within(trainer, parameters, seconds))
    }

    fn within(trainer: &Trainer, parameters: Parameters, seconds: f64) -> Result<Self> {
        let seed = derived_seed(trainer.config().seed, Purpose::Report, 0);
        // The other ranks do not take part in it.
        let context = trainer.context().alone();
        let engine = Host::new(&parameters).within(context.clone());
        let count = trainer.config().tempering.chains.min(CHAINS);
        let ladder = trainer.ladder().clone();
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: trainer.base() };
        let sweep = trainer.seconds_of_sweep(count);
        let affordable = |share: f64| (share * seconds / sweep) as usize;
        let sweeps = affordable(0.4).clamp(SWEEPS.0, SWEEPS.1);
        let default = InitialRounds::default();
        let most = (affordable(1.0) / default.sweeps).clamp(2, default.most);
        let rounds = InitialRounds { most, ..default };
        let chains = Traces::of(path, &rounds, count, sweeps, seed)?;
        let small = parameters.smaller_layer() <= QUICK_UNITS;
        let mut estimates = Vec::new();
        if small {
            estimates.push(exact_within(&parameters, &context)?);
        }
        estimates.push(chains.run.rts());
        let rows = trainer.train_rows();
        let rows = rows.select(0..rows.rows().min(BOUND_ROWS));
        let base = Some(trainer.base());
        let known = Known { marginals: base, rows: Some(&rows), ..Known::default() };
        let bound = (!small).then(|| lower_bound(&parameters, known, seed));
        // Exact samples cost nothing; others need one chain each.
        let wanted = if small { EXACT_SAMPLES } else { count };
        let drawn = Equilibrium::draw(&parameters, &engine, trainer.base(), wanted, seed);
        let samples = match drawn {
            Ok(mut start) => {
                if let Some(bound) = &bound {
                    start.refuse_below(bound.value);
                }
                // Both ways.
                let temperatures = affordable(0.2).clamp(ANNEALED.0, ANNEALED.1);
                let ladder = Ladder::linear(temperatures, &Prior::Uniform)?;
                let path = GeometricPath { ladder: &ladder, ..path };
                let visible = start.visible.clone();
                let start = Equilibrium { visible: visible.select(0..count), ..start };
                estimates.extend(sandwich(&path, count, &start, seed)?.estimates());
                Ok(visible)
            }
            Err(error) => Err(error.to_string()),
        };
        if let Some(bound) = &bound {
            estimates.iter_mut().for_each(|estimate| estimate.refuse_below(bound.value));
        }
        let states = match &samples {
            Ok(samples) if !small => later_states(samples, &engine, seed, affordable(0.1)),
            Ok(samples) => samples.clone(),
            Err(_) => BitMatrix::zeros(0, parameters.n_visible),
        };
        Ok(Self { ladder, chains, estimates, bound, samples, states, parameters })
    }
}

/// Samples, then their states after every [`SPACING`] Gibbs sweeps, of at most so many.
fn later_states(samples: &BitMatrix, engine: &Host, seed: u64, sweeps: usize) -> BitMatrix {
    let rounds = (sweeps / SPACING).min(STATES.div_ceil(samples.rows()));
    let mut particles = Particles { visible: samples.clone(), seed, sweeps: 0 };
    let mut all = vec![samples.clone()];
    for _ in 1..rounds {
        particles.sweep(engine, SPACING);
        all.push(particles.visible.clone());
    }
    let words = all.iter().flat_map(|states| states.words()).copied().collect();
    BitMatrix::from_words(all.len() * samples.rows(), samples.columns(), words)
        .unwrap_or_else(|| samples.clone())
}

impl Traces {
    fn of(
        path: GeometricPath<'_>,
        rounds: &InitialRounds,
        count: usize,
        sweeps: usize,
        seed: u64,
    ) -> Result<Self> {
        let k = path.ladder.len();
        let visible = path.base.sample(count, seed, 0);
        let mut chains = TemperedChains::new(visible, k, seed);
        let mut chains = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
        let mut transitions = Transitions::new(k);
        let (mut temperatures, mut log_f) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let run =
            TemperedRun::watched(&mut chains, rounds, None, sweeps, 1, &mut |chains, swept| {
                transitions.add(&swept.transitions, 1.0);
                let indices = chains.temperatures().iter().map(|k| f64::from(*k));
                temperatures.iter_mut().zip(indices).for_each(|(trace, k)| trace.push(k));
                let at_one = chains.log_f().last_column();
                log_f.iter_mut().zip(at_one).for_each(|(trace, value)| trace.push(value));
            })?;
        Ok(Self { temperatures, log_f, transitions, run })
    }

    /// Number of sweeps.
    pub fn sweeps(&self) -> usize {
        self.log_f.first().map_or(0, Vec::len)
    }

    /// Number of chains.
    pub fn count(&self) -> usize {
        self.log_f.len()
    }
}
