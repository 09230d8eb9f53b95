//! Step sizes adapted to the inverse temperature, in burn-in only (RTS App. E).
//!
//! 1. At beta = 0, then at beta = 1: stochastic approximation of the step size with the target acceptance; these are the
//!    largest and the smallest step size.
//! 2. Chains go up and down the ladder, one temperature a sweep, with step sizes drawn log-uniformly between the two.
//! 3. The acceptance model of eq. 35 is fitted to these trials; its solution for the target acceptance is the step size.
//!
//! The paper does not say how step 2's states are drawn: slow passes keep them near equilibrium at every temperature,
//! without any pseudo-prior. Its trials are 0 or 1; here they are acceptance probabilities, which are less noisy.

use super::ContinuousTempering;
use super::acceptance::AcceptanceModel;
use ztrack::Result;
use ztrack::engine::random::Stream;
use ztrack::tempering::SimulatedTempering;

/// Transitions at either end.
const AT_ENDS: usize = 200;
/// Trials at every temperature.
const TRIALS: usize = 100;

/// Which step size each inverse temperature gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepSizes {
    /// One of its own.
    Adaptive,
    /// The average of those, for all (the paper's comparison).
    Fixed,
}

impl ContinuousTempering<'_> {
    /// Finds step sizes and starts again: the chains are drawn from the base again, and the sweeps are counted.
    ///
    /// # Errors
    /// A step size that is 0 or infinite, as for a target with a singular point.
    pub fn adapt(&mut self, rule: StepSizes) -> Result<()> {
        let k = self.step_sizes.len();
        let hot = self.step_size_at(0, self.path.base_sd);
        let cold = self.step_size_at(k - 1, hot);
        let range = (hot.min(cold), hot.max(cold));
        let chains = self.temperatures.len();
        let sweeps = (TRIALS * k).div_ceil(chains).max(2 * k);
        let mut trials = Vec::with_capacity(chains * sweeps);
        let cycle = 2 * k;
        // The first half of the passes is burn-in.
        for sweep in 0..2 * sweeps {
            let found = self.step_all(|chain, stream: &mut Stream| {
                let phase = (sweep + chain * cycle / chains) % cycle;
                let step = range.0 * (range.1 / range.0).powf(stream.uniform());
                (phase.min(cycle - 1 - phase), step)
            });
            if sweep >= sweeps {
                trials.extend(found);
            }
        }
        let model = AcceptanceModel::fit(&trials, k, range);
        let mut step_sizes = model.step_sizes(self.kernel.target_acceptance());
        if rule == StepSizes::Fixed {
            let mean = step_sizes.iter().sum::<f64>() / k as f64;
            step_sizes.fill(mean);
        }
        self.set_step_sizes(step_sizes)?;
        self.start_from_base();
        self.redraw_temperatures();
        Ok(())
    }

    /// Robbins-Monro on the logarithm, averaged over the second half (Polyak and Juditsky 1992).
    fn step_size_at(&mut self, temperature: usize, start: f64) -> f64 {
        let target = self.kernel.target_acceptance();
        let (mut log_step, mut sum) = (start.ln(), 0.0);
        for t in 0..AT_ENDS {
            let step = log_step.exp();
            let trials = self.step_all(|_, _| (temperature, step));
            let n = trials.len() as f64;
            let acceptance = trials.iter().map(|trial| trial.acceptance).sum::<f64>() / n;
            log_step += 2.0 * (acceptance - target) / (1.0 + t as f64).powf(0.6);
            if t >= AT_ENDS / 2 {
                sum += log_step;
            }
        }
        (sum / (AT_ENDS - AT_ENDS / 2) as f64).exp()
    }
}
