//! RBMs whose moments are averages of those of base and model.
//!
//! Knot at beta: E[v], E[h], E[vh'] = (1 - beta) s(0) + beta s(1), reached by centered gradient steps W += rate (s - E_model)
//! with persistent chains (Tieleman 2008), from the knot before. s(0) = (sigma(a), 1/2, sigma(a)/2). s(1) is exact if the
//! smaller layer has at most 20 units, else from tempered chains. Cost: knots x updates sweeps of all chains.

use super::MomentKnots;
use crate::engine::{Engine, Moments};
use crate::engine::{Host, Matrix};
use crate::error::{Error, Result};
use crate::estimators::Equilibrium;
use crate::model::{Parameters, exact};
use crate::numerics::sigmoid;
use crate::tempering::BaseDistribution;
use crate::training::gradient::Particles;

/// Largest smaller layer whose moments are enumerated.
const LARGEST_EXACT: usize = 20;

/// How knots are fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MomentAveraging {
    /// Intermediate RBMs, equally spaced in beta; Grosse et al. use 9.
    pub knots: usize,
    /// Persistent chains.
    pub chains: usize,
    /// Gradient steps, and sweeps, of each knot.
    pub updates: usize,
    /// Rate of the first half of the steps; it falls to a tenth in the second.
    pub rate: f64,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Default for MomentAveraging {
    fn default() -> Self {
        Self { knots: 9, chains: 500, updates: 300, rate: 0.1, seed: 0 }
    }
}

impl MomentAveraging {
    /// Fits all knots of the path from `base` to `target`. Doubts of sampled moments do not apply to estimates along the path, which are
    /// unbiased for any knots.
    ///
    /// # Errors
    /// No chains or knots, or samples of the model that cannot be drawn.
    pub fn fit(&self, base: &BaseDistribution, target: &Parameters) -> Result<MomentKnots> {
        if self.chains < 2 || self.knots == 0 {
            return Err(Error::Invalid(format!(
                "{} knots with {} chains: at least 1 knot and 2 chains are needed",
                self.knots, self.chains
            )));
        }
        let end = self.target_moments(base, target)?;
        let start = base_moments(base, target.n_hidden);
        let mut model = Parameters {
            visible_bias: base.logits().to_vec(),
            ..Parameters::zeros(target.n_visible, target.n_hidden)
        };
        let visible = base.sample(self.chains, self.seed, 1);
        let mut particles = Particles { visible, seed: self.seed, sweeps: 0 };
        let mut between = Vec::new();
        for i in 1..=self.knots {
            let beta = i as f64 / (self.knots + 1) as f64;
            let aim = average(&start, &end, beta);
            for update in 0..self.updates {
                let left = 1.0 - update as f64 / self.updates as f64;
                let engine = Host::new(&model);
                particles.sweep(&engine, 1);
                let found = engine.moments(&particles.visible, None);
                step(&mut model, &aim, &found, self.rate * (2.0 * left).clamp(0.1, 1.0));
            }
            if let Some(name) = model.not_finite() {
                return Err(Error::Diverged(format!(
                    "`{name}` of the knot at beta = {beta} diverged: fit with a lower rate"
                )));
            }
            between.push((beta, model.clone()));
        }
        MomentKnots::new(base, &between, target)
    }

    fn target_moments(&self, base: &BaseDistribution, target: &Parameters) -> Result<Moments> {
        let (m, j) = (target.n_visible, target.n_hidden);
        if m.min(j) <= LARGEST_EXACT {
            let exact::Moments { visible, hidden, products } = exact::moments(target)?;
            let products: Vec<f32> = products.iter().map(|&x| x as f32).collect();
            return Ok(Moments {
                visible,
                hidden,
                products: Matrix::from_rows(m, j, &products, 0.0),
            });
        }
        let engine = Host::new(target);
        let samples = Equilibrium::draw(target, &engine, base, self.chains, self.seed)?;
        Ok(engine.moments(&samples.visible, None))
    }
}

/// Independent units: E[v] = sigma(a), E[h] = 1/2.
fn base_moments(base: &BaseDistribution, n_hidden: usize) -> Moments {
    let visible: Vec<f64> = base.logits().iter().map(|&a| sigmoid(f64::from(a))).collect();
    let mut products = Matrix::filled(visible.len(), n_hidden, 0.0);
    for (i, mean) in visible.iter().enumerate() {
        products.row_mut(i).fill((0.5 * mean) as f32);
    }
    Moments { visible, hidden: vec![0.5; n_hidden], products }
}

fn average(start: &Moments, end: &Moments, beta: f64) -> Moments {
    let mean = |from: &[f64], to: &[f64]| {
        from.iter().zip(to).map(|(from, to)| (1.0 - beta) * from + beta * to).collect()
    };
    let mut products = start.products.clone();
    for (x, to) in products.as_mut_slice().iter_mut().zip(end.products.as_slice()) {
        *x = (1.0 - beta as f32) * *x + beta as f32 * to;
    }
    Moments {
        visible: mean(&start.visible, &end.visible),
        hidden: mean(&start.hidden, &end.hidden),
        products,
    }
}

/// One centered gradient step, offsets at the moments aimed at: dW = rate (Cov_aim - Cov_found about the aim),
/// dc = rate (E v difference) - dW E[h], db = rate (E h difference) - dW' E[v].
fn step(model: &mut Parameters, aim: &Moments, found: &Moments, rate: f64) {
    let j = model.n_hidden;
    let difference = |aim: &[f64], found: &[f64]| {
        aim.iter().zip(found).map(|(a, f)| a - f).collect::<Vec<f64>>()
    };
    let visible = difference(&aim.visible, &found.visible);
    let hidden = difference(&aim.hidden, &found.hidden);
    let mut hidden_change = hidden.clone();
    for (i, weights) in model.weights.chunks_exact_mut(j).enumerate() {
        let mut visible_change = visible[i];
        let rows = aim.products.row(i).iter().zip(found.products.row(i));
        for ((weight, (aim_vh, found_vh)), unit) in weights.iter_mut().zip(rows).zip(0..) {
            let change = f64::from(aim_vh - found_vh)
                - visible[i] * aim.hidden[unit]
                - aim.visible[i] * hidden[unit];
            visible_change -= change * aim.hidden[unit];
            hidden_change[unit] -= change * aim.visible[i];
            *weight += (rate * change) as f32;
        }
        model.visible_bias[i] += (rate * visible_change) as f32;
    }
    for (bias, change) in model.hidden_bias.iter_mut().zip(&hidden_change) {
        *bias += (rate * change) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_systems::gaussian_parameters;

    /// The knots of a fitted path have the required moments, to within the noise of the chains they were fitted with (se of a mean of 500
    /// draws: .022 at most; gradients average several).
    #[test]
    fn fitted_knots_have_the_averaged_moments() {
        let target = gaussian_parameters(10, 6, 0.8, 5);
        let base = BaseDistribution::uniform(10);
        let fit =
            MomentAveraging { knots: 2, updates: 1000, rate: 0.3, ..MomentAveraging::default() };
        let end = fit.target_moments(&base, &target).unwrap();
        let start = base_moments(&base, 6);
        let knots = fit.fit(&base, &target).unwrap();
        let (i, beta) = (2, knots.positions[2]);
        let aim = average(&start, &end, beta);
        let mut particles = Particles { visible: base.sample(20_000, 1, 0), seed: 8, sweeps: 0 };
        particles.sweep(&knots.models[i], 100);
        let found = knots.models[i].moments(&particles.visible, None);
        let worst = |aim: &[f64], found: &[f64]| {
            aim.iter().zip(found).map(|(a, f)| (a - f).abs()).fold(0.0, f64::max)
        };
        let products =
            |m: &Moments| m.products.as_slice().iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let off = [
            worst(&aim.visible, &found.visible),
            worst(&aim.hidden, &found.hidden),
            worst(&products(&aim), &products(&found)),
        ];
        println!("{off:?}");
        assert!(off.iter().all(|off| *off < 0.04), "{off:?}");
        // The base's own moments are far from the target, so the fit changed them.
        assert!(worst(&start.visible, &aim.visible) > 0.15);
    }
}
