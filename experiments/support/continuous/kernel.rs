//! Transitions of one state at a fixed inverse temperature.
//!
//! Hamiltonian Monte Carlo (Neal 2011): momentum ~ N(0, I), leapfrog steps of size eps, accepted with probability
//! min(1, exp(-change of energy)). Random-walk Metropolis: x + eps N(0, I). Cost: one gradient a leapfrog step, or one value.

use super::target::{Densities, TemperedTarget};
use ztrack::engine::random::Stream;

/// Kinds of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransitionKernel {
    /// Hamiltonian Monte Carlo; the step size is the leapfrog's.
    Hamiltonian {
        /// Most leapfrog steps of a transition; their number is drawn from 1 to this, because orbits of a fixed number could close on
        /// themselves.
        leapfrog_steps: usize,
    },
    /// Random-walk Metropolis; the step size is the proposal's standard deviation.
    RandomWalk,
}

/// Workspace for successive transitions of one state.
pub(super) struct Scratch {
    position: Vec<f64>,
    momentum: Vec<f64>,
    gradient: Vec<f64>,
}

impl Scratch {
    pub(super) fn new(dimension: usize) -> Self {
        let zeros = || vec![0.0; dimension];
        Self { position: zeros(), momentum: zeros(), gradient: zeros() }
    }
}

impl TransitionKernel {
    /// Acceptance rate of the fastest movement in high dimension: .651 (Beskos et al. 2013), .234 (Roberts et al. 1997).
    pub fn target_acceptance(self) -> f64 {
        match self {
            TransitionKernel::Hamiltonian { .. } => 0.651,
            TransitionKernel::RandomWalk => 0.234,
        }
    }

    /// One transition of `x` at `beta`; returns the proposal's acceptance probability.
    pub(super) fn step(
        self,
        path: TemperedTarget<'_>,
        beta: f64,
        step: f64,
        (x, densities): (&mut [f64], &mut Densities),
        stream: &mut Stream,
        scratch: &mut Scratch,
    ) -> f64 {
        let Scratch { position, momentum, gradient } = scratch;
        position.copy_from_slice(x);
        let (proposed, kinetic_change) = match self {
            TransitionKernel::RandomWalk => {
                position.iter_mut().for_each(|x| *x += step * stream.normal());
                (path.densities(position), 0.0)
            }
            TransitionKernel::Hamiltonian { leapfrog_steps } => {
                let steps = 1 + (stream.uniform() * leapfrog_steps as f64) as usize;
                momentum.iter_mut().for_each(|p| *p = stream.normal());
                let kinetic = |p: &[f64]| 0.5 * p.iter().map(|p| p * p).sum::<f64>();
                let before = kinetic(momentum);
                path.gradient(beta, position, gradient);
                let mut proposed = *densities;
                for _ in 0..steps {
                    momentum.iter_mut().zip(&*gradient).for_each(|(p, g)| *p += 0.5 * step * g);
                    position.iter_mut().zip(&*momentum).for_each(|(x, p)| *x += step * p);
                    proposed = path.gradient(beta, position, gradient);
                    momentum.iter_mut().zip(&*gradient).for_each(|(p, g)| *p += 0.5 * step * g);
                }
                (proposed, kinetic(momentum) - before)
            }
        };
        // A leapfrog trajectory that diverges has no finite energy: NaN is rejected.
        let log_ratio = proposed.at(beta) - densities.at(beta) - kinetic_change;
        let acceptance = if log_ratio.is_nan() { 0.0 } else { log_ratio.min(0.0).exp() };
        if stream.uniform() < acceptance {
            x.copy_from_slice(position);
            *densities = proposed;
        }
        acceptance
    }
}
