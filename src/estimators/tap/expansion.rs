//! The expansion of log Z in powers of W, its stationarity equations and its value.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use crate::model::Parameters;
use crate::numerics::{entropy, sigmoid};

/// Order of the expansion in W.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TapOrder {
    /// Mean field without reaction.
    Naive,
    /// The Onsager reaction term, known as TAP.
    Second,
    /// One more order.
    Third,
}

/// W, W^2 and W^3 as far as needed, both ways round, with their factors.
pub(super) struct Expansion {
    pub(super) powers: Vec<Mat<f64>>,
    pub(super) transposed: Vec<Mat<f64>>,
    pub(super) c: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// Constant of log f.
    offset: f64,
}

impl Expansion {
    pub(super) fn new(parameters: &Parameters, order: TapOrder) -> Self {
        let Parameters { visible_bias, hidden_bias, .. } = parameters;
        let orders =
            1 + [TapOrder::Second, TapOrder::Third].iter().filter(|o| **o <= order).count();
        let w = parameters.weight_matrix();
        let power = |p: i32| Mat::from_fn(w.nrows(), w.ncols(), |i, j| w[(i, j)].powi(p));
        let powers: Vec<Mat<f64>> = (1..=orders as i32).map(power).collect();
        let transposed = powers.iter().map(|w| w.transpose().to_owned()).collect();
        let doubles = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect();
        let (c, b) = (doubles(visible_bias), doubles(hidden_bias));
        Self { powers, transposed, c, b, offset: parameters.log_offset() }
    }

    /// sigma of the stationarity equation: new means of a layer, given the other's (`from`) and its own old ones.
    pub(super) fn means(
        &self,
        powers: &[Mat<f64>],
        from: &Mat<f64>,
        old: &Mat<f64>,
        bias: &[f64],
    ) -> Mat<f64> {
        let inputs: Vec<Mat<f64>> =
            powers.iter().zip(MOMENTS).map(|(w, moment)| product(w, from, moment)).collect();
        Mat::from_fn(old.nrows(), old.ncols(), |i, c| {
            let (m, mut x) = (old[(i, c)], bias[i]);
            for (order, input) in inputs.iter().enumerate() {
                x += input[(i, c)]
                    * match order {
                        0 => 1.0,
                        1 => 0.5 - m,
                        _ => 2.0 / 3.0 * (0.5 - 3.0 * (m - m * m)),
                    };
            }
            sigmoid(x)
        })
    }

    /// The approximation of log Z at every column.
    pub(super) fn values(&self, visible: &Mat<f64>, hidden: &Mat<f64>) -> Vec<f64> {
        const FACTORS: [f64; 3] = [1.0, 0.5, 2.0 / 3.0];
        let inputs: Vec<Mat<f64>> =
            self.powers.iter().zip(MOMENTS).map(|(w, moment)| product(w, hidden, moment)).collect();
        let layer = |means: &Mat<f64>, bias: &[f64], c: usize| -> f64 {
            means.col(c).iter().zip(bias).map(|(&m, bias)| entropy(m) + bias * m).sum()
        };
        (0..visible.ncols())
            .map(|c| {
                let pairs: f64 = inputs
                    .iter()
                    .zip(MOMENTS)
                    .zip(FACTORS)
                    .map(|((input, moment), factor)| {
                        let terms = visible.col(c).iter().zip(input.col(c).iter());
                        factor * terms.map(|(&m, x)| moment(m) * x).sum::<f64>()
                    })
                    .sum();
                layer(visible, &self.c, c) + layer(hidden, &self.b, c) + pairs + self.offset
            })
            .collect()
    }
}

/// What the first, second and third power of W multiply: m, m - m^2, (m - m^2)(1/2 - m).
const MOMENTS: [fn(f64) -> f64; 3] = [|m| m, |m| m - m * m, |m| (m - m * m) * (0.5 - m)];

/// W moment(m) for every column of m.
fn product(w: &Mat<f64>, means: &Mat<f64>, moment: fn(f64) -> f64) -> Mat<f64> {
    let moments = Mat::from_fn(means.nrows(), means.ncols(), |i, c| moment(means[(i, c)]));
    let mut out = Mat::zeros(w.nrows(), means.ncols());
    matmul(&mut out, Accum::Replace, w, &moments, 1.0, Par::Seq);
    out
}
