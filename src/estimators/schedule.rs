//! Inverse temperatures.

use std::path::PathBuf;

use super::Request;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::{Error, Result};
use crate::tempering::schedules::{
    Automatic, BinnedLinear, SALAKHUTDINOV_MURRAY, SlopeVariance, decelerate, geometric, linear,
    read_list, resample, salakhutdinov_murray,
};
use crate::tempering::{Keep, Ladder, Prior, anneal};

/// Chains and temperatures of the short pass for VAROPT, as in its paper.
const SURVEY_CHAINS: usize = 100;
const SURVEY_TEMPERATURES: usize = 1000;
/// Chains and knots of the moments for GMS13, as in SCHEDULES.
const MOMENT_CHAINS: usize = 1000;
const KNOTS: usize = 10;
/// Smallest positive inverse temperature of the geometric schedule.
const GEOMETRIC_FIRST: f64 = 1e-3;
/// A ladder of at least this many temperatures is one for annealing.
const MANY: usize = 1000;
/// Chains, sweeps and largest ladder of the runs that look for knots.
const KNOT_CHAINS: usize = 100;
const KNOT_SWEEPS: usize = 200;
const KNOT_TEMPERATURES: usize = 100;

/// How the inverse temperatures of a ladder are chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Schedule {
    /// Equal steps.
    #[default]
    Linear,
    /// Those of Salakhutdinov and Murray (2008), or another number of them in these proportions.
    SalakhutdinovMurray,
    /// Equal ratios.
    Geometric,
    /// Equal steps of the integral of the square root of the slope's variance.
    Varopt,
    /// Linear between knots, by the moments of a short pass (Grosse, Maddison and Salakhutdinov 2013).
    Gms13,
    /// Linear between knots that tempered chains find.
    Automatic,
    /// From a file, one per line.
    List(PathBuf),
}

/// The choice of inverse temperatures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScheduleSettings {
    /// Inverse temperatures.
    pub schedule: Schedule,
    /// Longest step of beta allowed; the others are stretched.
    pub deceleration: Option<f64>,
}

impl ScheduleSettings {
    /// Whether the start must be a product distribution.
    pub(super) fn needs_product(&self) -> bool {
        self.schedule == Schedule::Automatic
    }

    /// Number of temperatures the ladder will have.
    pub(super) fn temperatures(&self, asked: Option<usize>, usual: usize) -> Result<usize> {
        Ok(match (&self.schedule, asked) {
            (Schedule::List(path), asked) => {
                let listed = read_list(path)?.len();
                let differs = asked.is_some_and(|asked| asked != listed);
                if differs {
                    return Err(Error::Mismatch(format!(
                        "--temperatures: {} lists {listed} of them: leave this option out",
                        path.display()
                    )));
                }
                listed
            }
            (_, Some(asked)) => asked,
            (Schedule::SalakhutdinovMurray, None) if usual >= MANY => SALAKHUTDINOV_MURRAY,
            (_, None) => usual,
        })
    }

    /// The ladder for a request, with as many temperatures as `asked`, else as `usual`; and the Gibbs sweeps spent on planning it.
    pub(super) fn ladder(
        &self,
        request: &Request<'_>,
        asked: Option<usize>,
        usual: usize,
    ) -> Result<(Ladder, u64)> {
        let temperatures = self.temperatures(asked, usual)?;
        let (mut spent, seed) = (0, request.settings.seed);
        let betas = match &self.schedule {
            Schedule::Linear => linear(temperatures)?,
            Schedule::SalakhutdinovMurray => salakhutdinov_murray(temperatures)?,
            Schedule::Geometric => geometric(temperatures, GEOMETRIC_FIRST)?,
            Schedule::List(file) => read_list(file)?,
            Schedule::Varopt => {
                spent = (SURVEY_CHAINS * SURVEY_TEMPERATURES) as u64;
                let ladder = Ladder::linear(SURVEY_TEMPERATURES, &Prior::Uniform)?;
                let seed = derived_seed(seed, Purpose::Schedule, 1);
                let path = request.along(&ladder);
                SlopeVariance::from_annealing(&*path, SURVEY_CHAINS, seed).schedule(temperatures)?
            }
            Schedule::Gms13 => {
                spent = (MOMENT_CHAINS * SURVEY_TEMPERATURES) as u64;
                let ladder = Ladder::linear(SURVEY_TEMPERATURES, &Prior::Uniform)?;
                let seed = derived_seed(seed, Purpose::Schedule, 0);
                let path = request.along(&ladder);
                let annealed = anneal(&*path, MOMENT_CHAINS, seed, 0, Keep::All);
                BinnedLinear::from_annealed(&annealed, &ladder, KNOTS)?.schedule(temperatures)?
            }
            Schedule::Automatic => {
                let most = temperatures.clamp(2, KNOT_TEMPERATURES);
                let refined = Automatic {
                    chains: KNOT_CHAINS,
                    sweeps: KNOT_SWEEPS,
                    first: most.div_ceil(2).max(2),
                    most,
                    seed,
                }
                .run(request.engine, request.product("--schedule automatic")?)?;
                spent = refined.gibbs_sweeps;
                resample(&refined.betas, temperatures)?
            }
        };
        let betas = match self.deceleration {
            Some(longest) => decelerate(&betas, longest)?,
            None => betas,
        };
        Ok((Ladder::new(&betas, &Prior::Uniform)?, spent))
    }
}
