//! A ladder that is refined where few tempered chains pass.
//!
//! Short tempered runs; where the transition matrix of temperatures shows a knot (min conductance below 0.3 of the median,
//! [`Knot::is_narrow`]), the three intervals around the cut are halved; until no knot is left or the ladder is full.
//! Chains keep their states from run to run. Cost: a few hundred sweeps a run.

use crate::engine::Engine;
use crate::error::Result;
use crate::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Knot, Ladder, Prior,
    SimulatedTempering, TemperedChains, Tempering, Transitions,
};

/// How a ladder is refined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Automatic {
    /// Tempered chains, at least 2.
    pub chains: usize,
    /// Sweeps of a run after its initial rounds.
    pub sweeps: usize,
    /// Equally spaced inverse temperatures to begin with, at least 2.
    pub first: usize,
    /// Inverse temperatures at which refining ends.
    pub most: usize,
    /// Seed of all random streams.
    pub seed: u64,
}

/// A refined ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// Inverse temperatures.
    pub betas: Vec<f64>,
    /// beta in the middle of each knot that was refined, and its conductance over the median.
    pub refined: Vec<(f64, f64)>,
    /// Whether there was still a knot when the ladder was full.
    pub knot_left: bool,
    /// Gibbs sweeps of single chains spent.
    pub gibbs_sweeps: u64,
}

impl Automatic {
    /// Refines.
    ///
    /// # Errors
    /// Fewer than two temperatures.
    pub fn run(&self, engine: &dyn Engine, base: &BaseDistribution) -> Result<Refined> {
        let mut betas = super::linear(self.first)?;
        let mut refined = Vec::new();
        let mut visible = base.sample(self.chains, self.seed, 0);
        let mut sweeps = 0;
        loop {
            engine.context().go_on()?;
            let ladder = Ladder::new(&betas, &Prior::Uniform)?;
            let path = GeometricPath { engine, ladder: &ladder, base };
            let mut chains = TemperedChains::new(visible, ladder.len(), self.seed);
            // Streams continue from the end of the last run.
            chains.sweeps = sweeps;
            let mut tempering = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
            let zeta = InitialRounds::default().run(&mut tempering).measurement.log_z;
            let swept = tempering.sweep(&zeta, self.sweeps.max(1));
            let mut transitions = Transitions::new(ladder.len());
            transitions.add(&swept.transitions, 1.0);
            let knot = transitions.knot().filter(Knot::is_narrow);
            // Intervals too short to halve would never fill the ladder.
            let room = betas.len() < self.most && betas.windows(2).all(|w| w[1] - w[0] > 1e-9);
            let Some(knot) = knot.filter(|_| room) else {
                let gibbs_sweeps = tempering.sweeps_done() * self.chains as u64;
                return Ok(Refined { betas, refined, knot_left: knot.is_some(), gibbs_sweeps });
            };
            let middle = 0.5 * (betas[knot.index] + betas[knot.index + 1]);
            refined.push((middle, knot.conductance / knot.median));
            betas = halve_around(&betas, knot.index, self.most);
            (visible, sweeps) = (chains.visible, chains.sweeps);
        }
    }
}

/// Midpoints in the interval after `cut` and its neighbours, the middle one first, up to `most` temperatures.
fn halve_around(betas: &[f64], cut: usize, most: usize) -> Vec<f64> {
    let mut out = betas.to_vec();
    let intervals = [Some(cut), Some(cut + 1), cut.checked_sub(1)].into_iter().flatten();
    let intervals = intervals.filter(|i| i + 1 < betas.len());
    let middles = intervals.map(|i| 0.5 * (betas[i] + betas[i + 1]));
    out.extend(middles.take(most.saturating_sub(betas.len())));
    out.sort_by(f64::total_cmp);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::Parameters;
    use crate::numerics::softplus;

    #[test]
    fn midpoints_go_around_the_cut() {
        let betas = [0.0, 0.25, 0.5, 0.75, 1.0];
        assert_eq!(halve_around(&betas, 1, 99), [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0]);
        assert_eq!(halve_around(&betas, 0, 99), [0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0]);
        assert_eq!(halve_around(&betas, 3, 6), [0.0, 0.25, 0.5, 0.75, 0.875, 1.0]);
    }

    /// Two phases: one hidden unit off and few visible units on, or it and most of them on. They have equal weight at one beta, and chains
    /// cross from one to the other a little above. If the mirrored cut is halved instead, the ladder becomes full with the knot still
    /// there.
    #[test]
    fn the_ladder_is_refined_at_the_knot_until_it_is_gone() {
        let (m, bias) = (14, -21.0);
        let parameters = Parameters::new(m, 1, vec![6.0; m], vec![-3.0; m], vec![bias]).unwrap();
        let engine = Host::new(&parameters);
        let base = BaseDistribution::from_logits(&vec![-3.0; m]).unwrap();
        // log weight of h = 1 over that of h = 0 on the path: beta b + m (softplus(6 beta - 3) - softplus(-3)).
        let balance = |beta: f64| {
            let visible = softplus(6.0 * beta - 3.0) - softplus(-3.0);
            beta * f64::from(bias) + m as f64 * visible
        };
        let crossing = (1..1000).map(|i| f64::from(i) / 1000.0).find(|&beta| balance(beta) > 0.0);
        let crossing = crossing.unwrap();
        for first in [11, 21, 31] {
            let automatic = Automatic { chains: 100, sweeps: 200, first, most: 60, seed: 2 };
            let found = automatic.run(&engine, &base).unwrap();
            println!("crossing {crossing}: {:?}", found.refined);
            assert!(!found.refined.is_empty() && !found.knot_left);
            for (beta, narrowness) in found.refined {
                assert!((-0.05..0.15).contains(&(beta - crossing)) && narrowness < 0.3, "{beta}");
            }
            Ladder::new(&found.betas, &Prior::Uniform).unwrap();
        }
    }
}
