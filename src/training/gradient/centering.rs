//! The gradient of the mean log-likelihood from data and model moments, plain or centered.
//!
//! dW = E_d[(v-mu)(h-lam)'] - E_m[(v-mu)(h-lam)'], dc = E_d v - E_m v - dW lam, db = E_d h - E_m h - dW' mu, with offsets
//! mu, lam = sliding means of the data phase (Melchior, Fischer, Wiskott 2016). Plain is mu = lam = 0.

use burn::tensor::{Device, Tensor, TensorData};

use super::Moments;
use crate::training::update::Gradient;

/// Rate of the offsets' sliding means.
const RATE: f64 = 0.01;

/// Offsets of centered gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Centering {
    /// mu, shape `[M]`.
    pub visible: Vec<f64>,
    /// lam, shape `[J]`.
    pub hidden: Vec<f64>,
}

impl Centering {
    /// Starts from the data's mean and hidden units at 1/2.
    pub fn new(visible_mean: Vec<f64>, n_hidden: usize) -> Self {
        Self { visible: visible_mean, hidden: vec![0.5; n_hidden] }
    }

    /// Moves the offsets towards a batch's data moments.
    pub fn follow(&mut self, data: &Moments) {
        let slide = |offsets: &mut [f64], means: &[f64]| {
            offsets
                .iter_mut()
                .zip(means)
                .for_each(|(offset, mean)| *offset += RATE * (mean - *offset));
        };
        slide(&mut self.visible, &data.visible);
        slide(&mut self.hidden, &data.hidden);
    }
}

/// The gradient on `device`; centered if offsets are given. `weight_decay` times W is to be subtracted by the caller.
pub fn gradient(
    data: &Moments,
    model: &Moments,
    centering: Option<&Centering>,
    device: &Device,
) -> Gradient {
    let (m, j) = (data.visible.len(), data.hidden.len());
    let difference =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let mut visible = difference(&data.visible, &model.visible);
    let mut hidden = difference(&data.hidden, &model.hidden);
    let mut weights = Vec::with_capacity(m * j);
    match centering {
        None => {
            for i in 0..m {
                let rows = data.products.row(i).iter().zip(model.products.row(i));
                weights.extend(rows.map(|(d, e)| d - e));
            }
        }
        Some(Centering { visible: mu, hidden: lam }) => {
            let mut hidden_correction = vec![0.0; j];
            let (plain_visible, plain_hidden) = (visible.clone(), hidden.clone());
            for i in 0..m {
                let mut visible_correction = 0.0;
                let rows = data.products.row(i).iter().zip(model.products.row(i));
                for (col, (d, e)) in rows.enumerate() {
                    let w =
                        f64::from(d - e) - plain_visible[i] * lam[col] - mu[i] * plain_hidden[col];
                    visible_correction += w * lam[col];
                    hidden_correction[col] += w * mu[i];
                    weights.push(w as f32);
                }
                visible[i] -= visible_correction;
            }
            hidden.iter_mut().zip(hidden_correction).for_each(|(h, correction)| *h -= correction);
        }
    }
    let vector = |values: Vec<f64>| {
        let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        let shape = [values.len()];
        Tensor::<1>::from_data(TensorData::new(values, shape), device)
    };
    Gradient {
        weights: Tensor::from_data(TensorData::new(weights, [m, j]), device),
        visible_bias: vector(visible),
        hidden_bias: vector(hidden),
    }
}
