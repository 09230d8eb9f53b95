//! Models with known log Z, and every estimator's runs on them.

use anyhow::Result;
use rayon::prelude::*;
use ztrack::engine::Host;
use ztrack::estimators::{
    Equilibrium, Estimate, Method, Rts, Sams, WangLandau, exact, raise, sandwich,
};
use ztrack::model::Parameters;
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Prior, SimulatedTempering,
    TemperedChains, Tempering,
};

use crate::CHAINS;
use crate::scores::Score;

/// Estimators that do not read the shared chains: one line each.
const OTHERS: [Other; 4] = [annealed, raise_from_samples, sams, wang_landau];

/// Estimates of a case from a seed.
type Other = fn(&Case, u64) -> Result<Vec<Estimate>>;

/// A model, how its chains are run, and the truth.
pub struct Case {
    pub name: String,
    pub parameters: Parameters,
    pub engine: Host,
    pub base: BaseDistribution,
    pub temperatures: usize,
    pub sweeps: usize,
    pub exact: f64,
}

impl Case {
    /// A model that is enumerated, its chains starting from its visible bias.
    pub fn new(
        name: String,
        parameters: &Parameters,
        temperatures: usize,
        sweeps: usize,
    ) -> Result<Self> {
        Ok(Self {
            name,
            parameters: parameters.clone(),
            engine: Host::new(parameters),
            base: BaseDistribution::from_logits(&parameters.visible_bias)?,
            temperatures,
            sweeps,
            exact: exact(parameters)?.value,
        })
    }

    /// The scores of `runs` seeds, side by side.
    pub fn runs(&self, first_seed: u64, runs: u64) -> Result<Vec<Score>> {
        let seeds = first_seed..first_seed + runs;
        let runs: Vec<Vec<Score>> =
            seeds.into_par_iter().map(|seed| self.run(seed)).collect::<Result<_>>()?;
        Ok(runs.concat())
    }

    /// The scores of every estimator from one seed.
    pub fn run(&self, seed: u64) -> Result<Vec<Score>> {
        let chains = Rts {
            chains: CHAINS,
            sweeps: self.sweeps,
            ladder: Ladder::linear(self.temperatures, &Prior::Uniform)?,
            beta_update: BetaUpdate::Collapsed,
            initial_rounds: InitialRounds::default(),
            seed,
        };
        let shared = chains.sample_and_keep(&self.engine, &self.base)?;
        let mut found: Vec<Estimate> =
            Method::readers().map(|(_, reader)| reader.read(&shared)).collect();
        for other in OTHERS {
            found.extend(other(self, seed)?);
        }
        Ok(found.into_iter().map(|estimate| self.score(seed, estimate)).collect())
    }

    /// One estimate from chains of its own.
    fn tempered(
        &self,
        seed: u64,
        estimate: impl FnOnce(&mut dyn SimulatedTempering) -> ztrack::Result<Estimate>,
    ) -> Result<Vec<Estimate>> {
        let ladder = Ladder::linear(self.temperatures, &Prior::Uniform)?;
        let path = GeometricPath { engine: &self.engine, ladder: &ladder, base: &self.base };
        let visible = self.base.sample(CHAINS, seed, 0);
        let mut chains = TemperedChains::new(visible, self.temperatures, seed);
        let mut chains = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
        Ok(vec![estimate(&mut chains)?])
    }

    fn score(&self, seed: u64, estimate: Estimate) -> Score {
        let error = estimate.value - self.exact;
        Score {
            model: self.name.clone(),
            seed,
            method: estimate.method.name(),
            bias: estimate.bias,
            log_z: estimate.value,
            std_error: estimate.std_error,
            exact: self.exact,
            error,
            z: error / estimate.std_error,
            seconds: estimate.seconds,
            sound: estimate.trust.is_sound(),
        }
    }
}

/// AIS, reverse AIS from exact samples, and Bennett's acceptance ratio between them.
fn annealed(case: &Case, seed: u64) -> Result<Vec<Estimate>> {
    let ladder = Ladder::linear(case.sweeps, &Prior::Uniform)?;
    let path = GeometricPath { engine: &case.engine, ladder: &ladder, base: &case.base };
    let start = Equilibrium::draw(&case.parameters, &case.engine, &case.base, CHAINS, seed)?;
    Ok(sandwich(&path, CHAINS, &start, seed)?.estimates().into())
}

fn raise_from_samples(case: &Case, seed: u64) -> Result<Vec<Estimate>> {
    let ladder = Ladder::linear(case.sweeps, &Prior::Uniform)?;
    let path = GeometricPath { engine: &case.engine, ladder: &ladder, base: &case.base };
    let samples = Equilibrium::draw(&case.parameters, &case.engine, &case.base, CHAINS, seed)?;
    Ok(vec![raise(&path, &samples.visible, seed)?])
}

fn sams(case: &Case, seed: u64) -> Result<Vec<Estimate>> {
    case.tempered(seed, |chains| Sams::new(case.sweeps).run(chains))
}

fn wang_landau(case: &Case, seed: u64) -> Result<Vec<Estimate>> {
    case.tempered(seed, |chains| WangLandau { sweeps: case.sweeps }.run(chains))
}
