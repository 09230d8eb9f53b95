//! Potts models on a ring or a torus: exact log Z by transfer matrices, and the same models as RBMs.

use ztrack::units::Variables;
use ztrack::{Parameters, Result};

/// A model of `length` rows of `width` variables with `states` states each, periodic in both directions; a ring where `width` is 1.
/// log p = coupling x (number of neighbours in the same state) - log Z.
#[derive(Clone, Copy)]
pub struct Potts {
    pub width: usize,
    pub length: usize,
    pub states: usize,
    pub coupling: f64,
}

impl Potts {
    /// Number of variables.
    pub fn sites(&self) -> usize {
        self.width * self.length
    }

    /// The neighbours after a site: to the right, and below. Sides of 2 have two bonds between the same sites.
    pub fn neighbours(&self, site: usize) -> impl Iterator<Item = usize> {
        let (row, column) = (site / self.width, site % self.width);
        let right = (self.width > 1).then_some(row * self.width + (column + 1) % self.width);
        let below = (row + 1) % self.length * self.width + column;
        right.into_iter().chain([below])
    }

    /// log Z, nats: the logarithm of the trace of the transfer matrix to the power `length`. Cost: states^(3 width).
    pub fn log_partition(&self) -> f64 {
        let size = self.states.pow(self.width as u32);
        let digit = |row: usize, i: usize| row / self.states.pow(i as u32) % self.states;
        let along = |row: usize| -> f64 {
            let same = |i: &usize| digit(row, *i) == digit(row, (i + 1) % self.width);
            (0..self.width).filter(same).count() as f64 * f64::from(u8::from(self.width > 1))
        };
        let between =
            |a: usize, b: usize| (0..self.width).filter(|i| digit(a, *i) == digit(b, *i)).count();
        let entry = |i: usize| {
            let (a, b) = (i / size, i % size);
            (self.coupling * ((along(a) + along(b)) / 2.0 + between(a, b) as f64)).exp()
        };
        let factor: Vec<f64> = (0..size * size).map(entry).collect();
        let (mut power, mut log_scale) = (factor.clone(), 0.0);
        for _ in 1..self.length {
            let largest = power.iter().fold(0.0_f64, |most, x| most.max(*x));
            log_scale += largest.ln();
            let scaled: Vec<f64> = power.iter().map(|x| x / largest).collect();
            power.fill(0.0);
            for (row, scaled) in power.chunks_mut(size).zip(scaled.chunks(size)) {
                for (x, factors) in scaled.iter().zip(factor.chunks(size)) {
                    row.iter_mut().zip(factors).for_each(|(sum, f)| *sum += x * f);
                }
            }
        }
        let trace: f64 = (0..size).map(|i| power[i * size + i]).sum();
        trace.ln() + log_scale
    }

    /// The RBM with this distribution of its visible units, one hidden unit for each bond and state, and its log Z. With weights w to this
    /// state of both ends and bias -w, softplus adds 2 log cosh(w/2) = coupling where both are set, beyond what is linear.
    pub fn rbm(&self) -> Result<(Parameters, f64)> {
        let q = self.states;
        let weight = 2.0 * (self.coupling / 2.0).exp().acosh();
        let (none, linear) = ((-weight).exp().ln_1p(), 2f64.ln() - (-weight).exp().ln_1p());
        let bonds: Vec<(usize, usize)> = (0..self.sites())
            .flat_map(|site| self.neighbours(site).map(move |other| (site, other)))
            .collect();
        let (columns, hidden) = (self.sites() * q, bonds.len() * q);
        let (mut weights, mut bias) = (vec![0.0f32; columns * hidden], vec![0.0f32; columns]);
        for (bond, (a, b)) in bonds.iter().enumerate() {
            for state in 0..q {
                for site in [a, b] {
                    weights[(site * q + state) * hidden + bond * q + state] = weight as f32;
                    bias[site * q + state] -= linear as f32;
                }
            }
        }
        let model = Parameters::new(columns, hidden, weights, bias, vec![-weight as f32; hidden])?;
        let variables = Variables::new((0..self.sites()).map(|_| (q, false)))?;
        let log_z = self.log_partition() + hidden as f64 * none;
        Ok((model.of(variables)?, log_z))
    }
}
