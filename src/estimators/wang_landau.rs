//! Wang-Landau on the temperatures (Wang and Landau 2001), ended by the 1/t rule of Belardinelli and Pereyra (2007).
//!
//! zeta_k += gamma q_k/r_k, renormalised to zeta_1; gamma starts at min(1, S min r_k) and is halved each time the histogram is flat
//! (min_k c_k/r_k > .8), until 1/t is larger, which it then follows. Halving forever would freeze zeta at its current error, because the
//! sum of all gains would be finite.
//!
//! The weight of early sweeps, taken far from the solution, decays only as 1/t: the method is noisier than SAMS, and biased at any
//! practical length.

use super::stochastic_approximation::Recursion;
use super::{Bias, Estimate, Method, at_least_one_sweep};
use crate::error::Result;
use crate::tempering::SimulatedTempering;
use crate::trust::{Doubt, Trust};

/// Smallest fraction of a temperature's prior in a flat histogram.
const FLAT: f64 = 0.8;

/// Settings of Wang-Landau.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WangLandau {
    /// Sweeps of every chain.
    pub sweeps: usize,
}

impl WangLandau {
    /// Runs all sweeps.
    ///
    /// # Errors
    /// Fewer than two chains, or no sweeps.
    pub fn run(&self, chains: &mut dyn SimulatedTempering) -> Result<Estimate> {
        at_least_one_sweep(self.sweeps)?;
        let mut recursion = Recursion::new(chains)?;
        let mut gamma = recursion.largest_gain();
        let mut halving = true;
        for t in 1..=self.sweeps {
            recursion.context().go_on()?;
            recursion.context().progress().at("sweeps", t, self.sweeps);
            let last = 1.0 / t as f64;
            recursion.step(gamma);
            if !halving {
                gamma = last;
            } else if recursion.flatness() > FLAT {
                gamma /= 2.0;
                // 1/t starts high, so it can take over only once it is small.
                if last <= recursion.largest_gain() && gamma <= last {
                    (gamma, halving) = (last, false);
                }
                recursion.forget_histogram();
            }
        }
        let doubt = halving.then_some(Doubt::GainHalved {});
        Ok(Estimate {
            bias: Bias::Biased,
            ..recursion.finish(Method::WangLandau, Trust::unless(doubt))
        })
    }
}
