//! Initial rounds: from a first guess of zeta to one with which the chains visit every temperature (RTS 2.4).
//!
//! The paper stops at max |r_k - c_k| < 0.1/K, which holds for uniform r only; for any r the rule is
//! max_k |c_k/r_k - 1| < max(0.1, 3 se_k).

use serde::{Deserialize, Serialize};

use super::{Ladder, Measurement, PseudoPrior, SimulatedTempering};
use crate::keys::section;
use crate::numerics::Table;

/// |log(c_k/r_k)| beyond which a round only shows the sign of the error of zeta_k: the chains crowd at one end of the ladder. No step of
/// log(c_k/r_k) is larger, and temperatures are redrawn before the next round; otherwise all chains would crowd at the other end, and so on
/// (MNIST models from a uniform base: errors of hundreds of nats after 20 rounds). RTS 2.4 redraws in every round; but a chain that is
/// moved to beta = 1 from any temperature falls into the nearest mode, which takes many sweeps to forget (MNIST 784x10 from its visible
/// bias, 200 sweeps: mean z-score -1.5).
pub const CROWDED: f64 = 3.0;

section! {
    /// How initial rounds are run; `[tempering.initial_rounds]` of a configuration.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct InitialRounds {
        /// Sweeps per round.
        sweeps: usize = 50 => size(1).unit("Gibbs sweeps");
        /// Most rounds.
        most: usize = 20 => size(1).unit("rounds");
        /// Start from an annealing pass of the same chains.
        annealed_start: bool = true => example("false");
    }
}

/// Why initial rounds ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundsEnd {
    /// The occupancy agreed with the prior.
    Converged,
    /// The number of rounds was used up.
    Exhausted,
}

/// Result of initial rounds.
#[derive(Clone, Debug)]
pub struct RoundsRecord {
    /// zeta of each round's start and the measured c_k, for figures like RTS Fig. 1.
    pub rounds: Vec<(Vec<f64>, Vec<f64>)>,
    /// C_sk of each round, shape [S, K]: each chain's mean occupancy.
    pub occupancies: Vec<Table>,
    /// The last measurement.
    pub measurement: Measurement,
    /// The reason for their end.
    pub end: RoundsEnd,
}

impl InitialRounds {
    /// Runs rounds; the last measurement's `log_z` is the zeta to continue with.
    pub fn run(&self, chains: &mut dyn SimulatedTempering) -> RoundsRecord {
        let zeta = if self.annealed_start {
            chains.guess_zeta()
        } else {
            vec![chains.log_z_base(); chains.ladder().len()]
        };
        self.run_from(chains, zeta)
    }

    /// Runs rounds from a given zeta.
    pub fn run_from(
        &self,
        chains: &mut dyn SimulatedTempering,
        mut zeta: Vec<f64>,
    ) -> RoundsRecord {
        let (mut rounds, mut occupancies) = (Vec::new(), Vec::new());
        let mut crowded = false;
        loop {
            if crowded {
                chains.redraw_temperatures();
            }
            chains.context().progress().at("initial rounds", rounds.len(), self.most);
            let swept = chains.sweep(&zeta, self.sweeps.max(1));
            let ladder = chains.ladder();
            let measurement = PseudoPrior::new(ladder, &zeta).measure(&swept.occupancy);
            crowded = measurement.occupancy_error(ladder) > CROWDED;
            let converged = measurement
                .occupancy
                .iter()
                .zip(ladder.log_prior())
                .zip(&measurement.variance)
                .all(|((c, log_r), variance)| {
                    (c / log_r.exp() - 1.0).abs() < 0.1f64.max(3.0 * variance.sqrt())
                });
            rounds.push((zeta, measurement.occupancy.clone()));
            occupancies.push(swept.occupancy);
            let ends = rounds.len() >= self.most || chains.context().is_interrupted();
            let end = match (converged, ends) {
                (true, _) => RoundsEnd::Converged,
                (false, true) => RoundsEnd::Exhausted,
                (false, false) => {
                    zeta = next(&measurement, ladder, &rounds[rounds.len() - 1].0);
                    continue;
                }
            };
            return RoundsRecord { rounds, occupancies, measurement, end };
        }
    }
}

/// zeta_k + log(c_k/r_k) - log(c_1/r_1), logarithms cut at +-`CROWDED`.
fn next(measurement: &Measurement, ladder: &Ladder, zeta: &[f64]) -> Vec<f64> {
    let steps: Vec<f64> = (measurement.occupancy.iter().zip(ladder.log_prior()))
        .map(|(c, log_r)| (c.ln() - log_r).clamp(-CROWDED, CROWDED))
        .collect();
    zeta.iter().zip(&steps).map(|(zeta, step)| zeta + step - steps[0]).collect()
}
