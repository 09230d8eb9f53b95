//! The gradient of the mean log-likelihood from data and model moments, plain or centered.
//!
//! dW = E_d[(v-mu)(h-lam)'] - E_m[(v-mu)(h-lam)'], dc = E_d v - E_m v - dW lam, db = E_d h - E_m h - dW' mu, with offsets
//! mu, lam = sliding means of the data phase (Melchior, Fischer, Wiskott 2016). Plain is mu = lam = 0.
//!
//! The corrections by lam and mu are the step of W in the parameters c + W lam and b + W' mu, in which the gradient has no corrections. Of
//! gradient ascent it is the same when they are made. A rule that is not linear makes its step in those parameters, and the biases follow
//! the step of W: corrections that Adam scales entry by entry would no longer cancel, and the step could lead downhill.
//!
//! Of units -1 and +1 plain is mu = lam = 1/2, as (v - 1/2)(h - 1/2) = st/4: with dJ, dC, dB the gradient in the couplings and fields,
//! dW = dJ/4, and a step of size eps along the result is one of eps/16 along dJ and of eps/4 along dC and dB.

use rayon::prelude::*;

use super::Moments;
use crate::engine::host::{HiddenTerms, VisibleTerms, centered_row};
use crate::engine::{AS_A_NUMBER, fewest_tasks};
use crate::model::Parameters;
use crate::training::update::Gradient;

/// Rate of the offsets' sliding means.
const RATE: f64 = 0.01;
/// Visible units of one task; sums are taken task by task, so that they do not depend on the number of threads.
const BLOCK: usize = 64;

/// Offsets of centered gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Centering {
    /// mu, shape `[M]`.
    pub visible: Vec<f64>,
    /// lam, shape `[J]`.
    pub hidden: Vec<f64>,
    /// Rate of their sliding means; 0 where they stay.
    rate: f64,
    /// Whether biases are corrected after the step, for rules that are not linear.
    after_step: bool,
}

impl Centering {
    /// Starts from the data's mean and hidden units at 1/2.
    pub fn new(visible_mean: Vec<f64>, n_hidden: usize) -> Self {
        Self { visible: visible_mean, hidden: vec![0.5; n_hidden], rate: RATE, after_step: false }
    }

    /// The plain gradient of units -1 and +1.
    pub fn plus_minus(n_visible: usize, n_hidden: usize) -> Self {
        Self { rate: 0.0, ..Self::new(vec![0.5; n_visible], n_hidden) }
    }

    /// For a rule that is not linear: biases are corrected after its step, not in the gradient.
    pub fn of_nonlinear_rules(self) -> Self {
        Self { after_step: true, ..self }
    }

    /// Makes a step of a rule, after which biases follow the weights where the gradient had no corrections.
    pub(crate) fn step(
        offsets: Option<&Self>,
        parameters: &mut Parameters,
        step: impl FnOnce(&mut Parameters),
    ) {
        let Some(Self { visible: mu, hidden: lam, .. }) = offsets.filter(|it| it.after_step) else {
            return step(parameters);
        };
        let old = parameters.weights.clone();
        step(parameters);
        let mut of_hidden = vec![0.0; lam.len()];
        let rows = parameters.weights.chunks_exact(lam.len()).zip(old.chunks_exact(lam.len()));
        for ((bias, mu), (new, old)) in parameters.visible_bias.iter_mut().zip(mu).zip(rows) {
            let mut along = 0.0;
            for (((new, old), lam), of_hidden) in new.iter().zip(old).zip(lam).zip(&mut of_hidden) {
                let moved = f64::from(new - old);
                along += moved * lam;
                *of_hidden += moved * mu;
            }
            *bias -= along as f32;
        }
        let biases = parameters.hidden_bias.iter_mut().zip(of_hidden);
        biases.for_each(|(bias, along)| *bias -= along as f32);
    }

    /// Moves the offsets towards a batch's data moments.
    pub fn follow(&mut self, data: &Moments) {
        let slide = |offsets: &mut [f64], means: &[f64]| {
            offsets
                .iter_mut()
                .zip(means)
                .for_each(|(offset, mean)| *offset += self.rate * (mean - *offset));
        };
        slide(&mut self.visible, &data.visible);
        slide(&mut self.hidden, &data.hidden);
    }
}

/// The gradient; centered if offsets are given. `weight_decay` times W is to be subtracted by the caller.
pub fn gradient(data: &Moments, model: &Moments, centering: Option<&Centering>) -> Gradient {
    let mut gradient = Gradient::zeros(data.visible.len(), data.hidden.len());
    write_gradient(data, model, centering, &mut gradient);
    gradient
}

/// As [`gradient`], in place of another one: clearing memory for all weights takes as long as the computation.
pub(crate) fn write_gradient(
    data: &Moments,
    model: &Moments,
    centering: Option<&Centering>,
    gradient: &mut Gradient,
) {
    let (m, j) = (data.visible.len(), data.hidden.len());
    let difference =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let mut visible = difference(&data.visible, &model.visible);
    let mut hidden = difference(&data.hidden, &model.hidden);
    let Gradient { weights, visible_bias, hidden_bias, variables, .. } = gradient;
    let squares = variables.squares(m);
    let fewest = fewest_tasks(m * j * AS_A_NUMBER);
    match centering {
        None => {
            let rows = weights.par_chunks_exact_mut(j).enumerate().with_min_len(fewest);
            rows.for_each(|(i, weights)| {
                let rows = data.products.row(i).iter().zip(model.products.row(i));
                weights.iter_mut().zip(rows).for_each(|(w, (d, e))| *w = d - e);
            });
        }
        Some(Centering { visible: mu, hidden: lam, after_step, .. }) => {
            let corrected = !after_step;
            let plain = HiddenTerms { offsets: lam, difference: &hidden.clone() };
            let work = |(block, (weights, visible)): (usize, (&mut [f32], &mut [f64]))| {
                let mut correction = vec![0.0; j];
                let rows = weights.chunks_exact_mut(j).zip(visible);
                for (i, (weights, visible)) in (block * BLOCK..).zip(rows) {
                    if squares[i] {
                        weights.fill(0.0);
                        continue;
                    }
                    let unit = VisibleTerms {
                        data: data.products.row(i),
                        model: model.products.row(i),
                        offset: mu[i],
                        difference: *visible,
                    };
                    let along = centered_row(unit, plain, &mut correction, weights);
                    *visible -= if corrected { along } else { 0.0 };
                }
                correction
            };
            let blocks = weights.par_chunks_mut(BLOCK * j).zip(visible.par_chunks_mut(BLOCK));
            let blocks: Vec<Vec<f64>> = blocks.enumerate().with_min_len(fewest).map(work).collect();
            for correction in blocks.into_iter().filter(|_| corrected) {
                hidden.iter_mut().zip(correction).for_each(|(h, c)| *h -= c);
            }
        }
    }
    let single = |values: &[f64], to: &mut [f32]| {
        to.iter_mut().zip(values).for_each(|(to, x)| *to = *x as f32);
    };
    single(&visible, visible_bias);
    single(&hidden, hidden_bias);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Matrix;
    use crate::model::test_systems::gaussian_parameters;
    use crate::training::update::{Sgd, SgdConfig, UpdateRule};

    fn number(i: usize, salt: usize) -> f64 {
        ((i * 31 + salt * 17) % 97) as f64 / 97.0
    }

    fn moments(m: usize, j: usize, salt: usize) -> Moments {
        let products: Vec<f32> = (0..m * j).map(|i| number(i, salt) as f32).collect();
        Moments {
            visible: (0..m).map(|i| number(i, salt + 1)).collect(),
            hidden: (0..j).map(|i| number(i, salt + 2)).collect(),
            products: Matrix::from_rows(m, j, &products, 0.0),
        }
    }

    /// One step of gradient ascent with weight decay in J, C and B, with the rates of the module's documentation, is one step in W, c and b.
    #[test]
    fn plain_gradients_of_plus_minus_units_are_those_of_their_couplings() {
        let (m, j, rate, decay) = (5, 3, 0.3, 0.2);
        let (data, model) = (moments(m, j, 1), moments(m, j, 5));
        let mut couplings = gaussian_parameters(m, j, 0.7, 2).couplings();
        let mut parameters = couplings.model().unwrap();

        let mut ascent = gradient(&data, &model, Some(&Centering::plus_minus(m, j)));
        ascent.decay(&parameters, decay as f32);
        Sgd::new(SgdConfig::default(), m, j).step(&mut parameters, &ascent, rate);

        let spin = |of: &Moments, i: usize, k: usize| {
            let product = f64::from(of.products.row(i)[k]);
            4.0 * product - 2.0 * of.visible[i] - 2.0 * of.hidden[k] + 1.0
        };
        for i in 0..m {
            for k in 0..j {
                let coupling = &mut couplings.weights[i * j + k];
                let slope = spin(&data, i, k) - spin(&model, i, k) - decay * *coupling;
                *coupling += rate / 16.0 * slope;
            }
            couplings.visible_bias[i] += rate / 2.0 * (data.visible[i] - model.visible[i]);
        }
        for k in 0..j {
            couplings.hidden_bias[k] += rate / 2.0 * (data.hidden[k] - model.hidden[k]);
        }
        let expected = couplings.model().unwrap();
        for (found, expected) in parameters.arrays().iter().zip(expected.arrays()) {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }

    /// Several tasks, the last one shorter, and hidden units that leave a rest of a vector; against the formula in the module's
    /// documentation, one entry at a time.
    #[test]
    fn centered_gradients_are_those_of_the_formula() {
        let (m, j) = (2 * BLOCK + 23, 13);
        let (data, model) = (moments(m, j, 1), moments(m, j, 5));
        let mu: Vec<f64> = (0..m).map(|i| number(i, 8)).collect();
        let lam: Vec<f64> = (0..j).map(|i| number(i, 9)).collect();
        let centering = Centering { hidden: lam.clone(), ..Centering::new(mu.clone(), j) };
        let found = gradient(&data, &model, Some(&centering));
        let [weights, visible, hidden] = found.arrays();
        let of = |moments: &Moments, i: usize, k: usize| {
            let product = f64::from(moments.products.row(i)[k]);
            product - moments.visible[i] * lam[k] - mu[i] * moments.hidden[k]
        };
        let dw = |i: usize, k: usize| of(&data, i, k) - of(&model, i, k);
        let close = |found: f32, expected: f64| {
            assert!((f64::from(found) - expected).abs() < 1e-4, "{found} {expected}");
        };
        for i in 0..m {
            (0..j).for_each(|k| close(weights[i * j + k], dw(i, k)));
            let correction: f64 = (0..j).map(|k| dw(i, k) * lam[k]).sum();
            close(visible[i], data.visible[i] - model.visible[i] - correction);
        }
        for (k, hidden) in hidden.iter().enumerate() {
            let correction: f64 = (0..m).map(|i| dw(i, k) * mu[i]).sum();
            close(*hidden, data.hidden[k] - model.hidden[k] - correction);
        }
    }

    /// Gradient ascent is linear, so it makes the same step in both ways.
    #[test]
    fn biases_can_follow_the_step_of_the_weights() {
        let (m, j) = (BLOCK + 5, 7);
        let (data, model) = (moments(m, j, 1), moments(m, j, 5));
        let offsets = Centering::new((0..m).map(|i| number(i, 8)).collect(), j);
        let moved = |offsets: &Centering| {
            let mut parameters = gaussian_parameters(m, j, 0.5, 3);
            let ascent = gradient(&data, &model, Some(offsets));
            Centering::step(Some(offsets), &mut parameters, |parameters| {
                Sgd::new(SgdConfig::default(), m, j).step(parameters, &ascent, 0.1);
            });
            parameters
        };
        let [before, after] = [offsets.clone(), offsets.of_nonlinear_rules()].map(|it| moved(&it));
        for (before, after) in before.arrays().iter().zip(after.arrays()) {
            for (before, after) in before.iter().zip(after) {
                assert!((before - after).abs() < 1e-5, "{before} {after}");
            }
        }
    }
}
