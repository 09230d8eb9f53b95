//! RBMs with units in {-1, +1}, turned into the same model with units in {0, 1} plus a constant in log Z.
//!
//! With s = 2v - 1 and t = 2h - 1,
//!
//! ```text
//! c.s + s'Wt + b.t = 2(c - W1).v + 4 v'Wh + 2(b - W'1).h + (1'W1 - c.1 - b.1),
//! ```
//!
//! so the weights become 4W, the biases 2(c - W1) and 2(b - W'1), and log Z_{+-1} = log Z_{01} + 1'W1 - c.1 - b.1
//! (algorithms.md, section 5; MEAN-FIELD leaves it to the reader). States correspond one to one, so that every
//! estimator, start and sampler for {0, 1} units serves both. Cost O(MJ).
//!
//! [`Parameters`] of a model of the kind [`Variables::PLUS_MINUS`] are those of the image in {0, 1} units; log f and log Z have the
//! constant, so they are those of the model itself. [`Couplings`] are its own parameters.

use super::Parameters;
use crate::error::Result;
use crate::units::Variables;

/// What the units of a layer can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// {0, 1}, as everywhere in this library.
    #[default]
    Binary,
    /// {-1, +1}, as in spin models.
    PlusMinus,
}

/// An RBM that stands for another model.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The RBM.
    pub parameters: Parameters,
    /// Add this to its log Z to get the log Z of the model it stands for, nats.
    pub log_constant: f64,
    /// Largest error of log Z that the rounding of parameters to f32 can have made, nats.
    pub rounding: f64,
}

/// The model as it is, or its equivalent in {0, 1} units.
///
/// 4W is exact in f32; a bias is summed in f64 and rounded once, which moves log Z by at most `rounding`.
///
/// # Errors
/// A converted parameter overflows f32.
pub fn to_binary(parameters: &Parameters, units: Units) -> Result<Converted> {
    if units == Units::Binary {
        let parameters = parameters.clone();
        return Ok(Converted { parameters, log_constant: 0.0, rounding: 0.0 });
    }
    Couplings::of_arrays(parameters).to(Units::Binary)
}

/// An RBM with units in {-1, +1} in double precision: c.s + s'Wt + b.t.
#[derive(Clone, Debug, PartialEq)]
pub struct Couplings {
    /// M.
    pub n_visible: usize,
    /// J.
    pub n_hidden: usize,
    /// W, shape [M, J], row-major.
    pub weights: Vec<f64>,
    /// c, shape `[M]`.
    pub visible_bias: Vec<f64>,
    /// b, shape `[J]`.
    pub hidden_bias: Vec<f64>,
}

impl Parameters {
    /// The parameters of a model in its own units: of -1 and +1, J = W/4, C = c/2 + J 1 and B = b/2 + J'1; of other kinds W, c and b.
    pub fn couplings(&self) -> Couplings {
        let mut own = Couplings::of_arrays(self);
        if self.variables.is_plus_minus() {
            own.weights.iter_mut().for_each(|w| *w /= 4.0);
            own.visible_bias.iter_mut().chain(&mut own.hidden_bias).for_each(|x| *x /= 2.0);
            own.shift(1.0);
        }
        own
    }
}

impl Couplings {
    /// The arrays of parameters as they are, in double precision: those of a model with units -1 and +1 that are not yet of this kind.
    pub fn of_arrays(parameters: &Parameters) -> Self {
        let doubles = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let [weights, visible_bias, hidden_bias] = parameters.arrays().map(doubles);
        let Parameters { n_visible, n_hidden, .. } = *parameters;
        Self { n_visible, n_hidden, weights, visible_bias, hidden_bias }
    }

    /// The model with units -1 and +1 that has these parameters.
    ///
    /// # Errors
    /// Arrays of other lengths than [M, J], `[M]` and `[J]`, or a converted parameter that overflows f32.
    pub fn model(&self) -> Result<Parameters> {
        self.to(Units::Binary)?.parameters.of(Variables::PLUS_MINUS)
    }

    /// Adds `sign` times the sums of the weights of each unit to its bias.
    fn shift(&mut self, sign: f64) {
        let rows = self.weights.chunks_exact(self.n_hidden.max(1));
        for (c, row) in self.visible_bias.iter_mut().zip(rows) {
            for (b, w) in self.hidden_bias.iter_mut().zip(row) {
                *c += sign * w;
                *b += sign * w;
            }
        }
    }

    /// The same distribution over the given units, rounded to f32.
    ///
    /// # Errors
    /// A converted parameter overflows f32.
    pub fn to(&self, units: Units) -> Result<Converted> {
        let mut own = self.clone();
        let (mut factors, mut log_constant) = ([1.0, 1.0], 0.0);
        if units == Units::Binary {
            own.shift(-1.0);
            let sum = |values: &[f64]| values.iter().sum::<f64>();
            log_constant = sum(&self.weights) - sum(&self.visible_bias) - sum(&self.hidden_bias);
            factors = [4.0, 2.0];
        }
        // Every unit and pair of units weighs at most once in log f, hence the sum of the parameters' errors bounds it.
        let mut rounding = 0.0;
        let mut scaled = |values: &[f64], factor: f64| -> Vec<f32> {
            let round = |x: &f64| {
                let rounded = (factor * x) as f32;
                rounding += (factor * x - f64::from(rounded)).abs();
                rounded
            };
            values.iter().map(round).collect()
        };
        let weights = scaled(&own.weights, factors[0]);
        let visible = scaled(&own.visible_bias, factors[1]);
        let hidden = scaled(&own.hidden_bias, factors[1]);
        let parameters = Parameters::new(self.n_visible, self.n_hidden, weights, visible, hidden)?;
        Ok(Converted { parameters, log_constant, rounding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;
    use crate::numerics::log_sum_exp;

    /// log Z over {-1, +1} by the definition: every pair of states.
    fn by_definition(p: &Parameters) -> f64 {
        let sign = |state: usize, i: usize| if state >> i & 1 == 1 { 1.0 } else { -1.0 };
        let log_f = |v: usize, h: usize| -> f64 {
            let visible = (0..p.n_visible).map(|i| {
                let x: f64 = (0..p.n_hidden)
                    .map(|j| sign(h, j) * f64::from(p.weights[i * p.n_hidden + j]))
                    .sum();
                sign(v, i) * (x + f64::from(p.visible_bias[i]))
            });
            let hidden = (0..p.n_hidden).map(|j| sign(h, j) * f64::from(p.hidden_bias[j]));
            visible.chain(hidden).sum()
        };
        let states = 0..1usize << (p.n_visible + p.n_hidden);
        let values: Vec<f64> =
            states.map(|s| log_f(s & ((1 << p.n_visible) - 1), s >> p.n_visible)).collect();
        log_sum_exp(values.iter().copied())
    }

    /// On a grid of 1/64 no parameter is rounded, and the conversion is exact to f64 rounding. Visible biases without W1
    /// fail here.
    #[test]
    fn a_conversion_without_rounding_is_exact() {
        for seed in 0..5 {
            let mut p = gaussian_parameters(7, 4, 1.0, seed);
            for x in p.weights.iter_mut().chain(&mut p.visible_bias).chain(&mut p.hidden_bias) {
                *x = (*x * 64.0).round() / 64.0;
            }
            let converted = to_binary(&p, Units::PlusMinus).unwrap();
            assert_eq!(converted.rounding, 0.0);
            let found = log_partition(&converted.parameters).unwrap() + converted.log_constant;
            let error = found - by_definition(&p);
            assert!(error.abs() < 1e-9, "{error}");
        }
    }

    /// A bound that is always zero fails here.
    #[test]
    fn rounding_is_told_and_bounds_the_error() {
        for seed in 0..5 {
            let p = gaussian_parameters(7, 4, 1.0, seed);
            let converted = to_binary(&p, Units::PlusMinus).unwrap();
            let found = log_partition(&converted.parameters).unwrap() + converted.log_constant;
            let error = (found - by_definition(&p)).abs();
            assert!(error < converted.rounding + 1e-9 && converted.rounding < 1e-5, "{error}");
        }
    }

    #[test]
    fn overflow_is_an_error_and_binary_units_stay_as_they_are() {
        let mut p = gaussian_parameters(3, 2, 1.0, 1);
        let same = to_binary(&p, Units::Binary).unwrap();
        assert_eq!((&same.parameters, same.log_constant), (&p, 0.0));
        p.weights[0] = f32::MAX;
        assert!(to_binary(&p, Units::PlusMinus).is_err());
    }
}
