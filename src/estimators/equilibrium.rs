//! Samples of the model at beta = 1: where reverse annealing starts.

use super::FoundStart;
use super::tempered::{TemperedRun, verdict};
use crate::error::{Error, Result};
use crate::model::{Parameters, exact};
use crate::ops::{BitMatrix, RbmOps};
use crate::tempering::mixture::MixturePath;
use crate::tempering::{
    BaseDistribution, BetaUpdate, InitialRounds, Path, Sampler, SimulatedTempering, TemperedChains,
    TemperedPath, Tempering, sampling_ladder,
};
use crate::trust::Trust;

/// Largest smaller layer that is enumerated.
const LARGEST_EXACT: usize = 20;
/// Temperatures and sweeps of tempered chains that draw samples instead, one chain a sample.
const TEMPERATURES: usize = 100;
const MIXTURE_TEMPERATURES: usize = 50;
const BURN_IN: usize = 500;
const SPACING: usize = 20;
const MOST_LOOKS: usize = 1000;

/// Samples of the model, and what they cost.
#[derive(Clone, Debug)]
pub struct Equilibrium {
    /// v, shape [N, M].
    pub visible: BitMatrix,
    /// Gibbs sweeps of single chains spent on them; 0 where they are exact.
    pub gibbs_sweeps: u64,
    /// Whether they are of the whole distribution.
    pub trust: Trust,
}

impl Equilibrium {
    /// As [`Equilibrium::draw`], of chains on the path from a mixture that was found.
    ///
    /// # Errors
    /// As [`Equilibrium::draw`].
    pub fn draw_from(
        parameters: &Parameters,
        ops: &dyn RbmOps,
        found: &FoundStart,
        count: usize,
        seed: u64,
    ) -> Result<Self> {
        if parameters.n_visible.min(parameters.n_hidden) <= LARGEST_EXACT {
            let visible = exact::samples(parameters, count, seed)?;
            return Ok(Self { visible, gibbs_sweeps: 0, trust: Trust::sound() });
        }
        let ladder = sampling_ladder(MIXTURE_TEMPERATURES)?;
        let path = MixturePath { ops, ladder: &ladder, base: &found.mixture };
        let seed = seed ^ 0x5A3D_0000_0000_0000;
        let above = found.from_above.select(0..found.from_above.rows().min(count / 2));
        let start = path.sample_base(count.max(2), seed, 0);
        let mut chains = TemperedChains::new(start, ladder.len(), seed);
        let chains = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
        let mut chains = chains.with_states_above(above);
        let run = TemperedRun::new(&mut chains, &InitialRounds::default(), BURN_IN)?;
        let zeta = run.measurement().log_z;
        let found = chains.take_at_one(&zeta, count, (SPACING, MOST_LOOKS)).map_err(|_| {
            Error::Invalid(
                "chains hardly ever reach beta = 1: use more temperatures or another --start"
                    .into(),
            )
        })?;
        let gibbs_sweeps = chains.sweeps_done() * count as u64;
        Ok(Self { visible: found.visible, gibbs_sweeps, trust: verdict(&run) })
    }

    /// `count` samples: exact and independent where the smaller layer has at most 20 units, else of as many tempered
    /// chains at beta = 1.
    ///
    /// # Errors
    /// Fewer than two samples, or chains that hardly ever come to beta = 1.
    pub fn draw(
        parameters: &Parameters,
        ops: &dyn RbmOps,
        base: &BaseDistribution,
        count: usize,
        seed: u64,
    ) -> Result<Self> {
        if parameters.n_visible.min(parameters.n_hidden) <= LARGEST_EXACT {
            let visible = exact::samples(parameters, count, seed)?;
            return Ok(Self { visible, gibbs_sweeps: 0, trust: Trust::sound() });
        }
        let ladder = sampling_ladder(TEMPERATURES)?;
        // Another seed than that of annealing, whose first guess would otherwise repeat the pass it is compared with.
        let seed = seed ^ 0x5A3D_0000_0000_0000;
        let sampler = Sampler { chains: count, burn_in: BURN_IN, spacing: SPACING, seed };
        let samples = sampler.run(Path { ops, ladder: &ladder, base }, count)?;
        Ok(Self {
            gibbs_sweeps: samples.sweeps * count as u64,
            trust: Trust::unless("samples-not-mixed", samples.doubt()),
            visible: samples.visible,
        })
    }
}
