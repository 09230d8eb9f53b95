//! Ising models and spin glasses as RBMs: log f(s) = sum_pairs J_ab s_a s_b + sum_a B_a s_a, s_a in {-1, +1}, T divided out.
//!
//! A bipartite graph of couplings maps directly: one colour is the visible layer, the other the hidden one (MEAN-FIELD,
//! section IV, 3). Any other graph keeps all spins visible and gets one hidden t in {-1, +1} a pair, which decouples it
//! exactly: with cosh 2K = exp(2|J|),
//!
//! ```text
//! exp(J s_a s_b) = exp(-|J|)/2 sum_t exp(K t (s_a + sign(J) s_b)),
//! ```
//!
//! since the sum is 2 cosh 2K where J s_a s_b = |J| and 2 where it is -|J|. In both cases [`ztrack::model::plus_minus`]
//! then turns {-1, +1} into {0, 1}. log Z_spins = log Z of the RBM + its constant.

use std::f64::consts::LN_2;

use ztrack::model::plus_minus::{Converted, Couplings, Units};
#[cfg(test)]
use ztrack::numerics::log_sum_exp;
use ztrack::{Error, Result};

/// Most spins that are enumerated directly.
#[cfg(test)]
pub const MAX_SPINS: usize = 25;

/// Spins with pair couplings and fields, both already divided by the temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct SpinModel {
    couplings: Vec<(usize, usize, f64)>,
    fields: Vec<f64>,
}

impl SpinModel {
    /// From B, shape `[n]`, and pairs (a, b, J_ab); couplings of a pair that is listed twice add up.
    ///
    /// # Errors
    /// Fewer than two spins, a pair that names a spin twice or one that does not exist, or a value that is not finite.
    pub fn new(couplings: Vec<(usize, usize, f64)>, fields: Vec<f64>) -> Result<Self> {
        let n = fields.len();
        if n < 2 {
            return Err(Error::Invalid(format!("{n} spins: a spin model needs at least 2")));
        }
        if let Some((a, b, _)) = couplings.iter().find(|(a, b, _)| a == b || *a >= n || *b >= n) {
            return Err(Error::Invalid(format!(
                "coupling of spins {a} and {b}: two different spins below {n} are needed"
            )));
        }
        if couplings.iter().map(|(_, _, j)| j).chain(&fields).any(|x| !x.is_finite()) {
            return Err(Error::Invalid("a coupling or field is NaN or infinite".into()));
        }
        Ok(Self { couplings, fields })
    }

    /// Number of spins.
    pub fn spins(&self) -> usize {
        self.fields.len()
    }

    /// The RBM whose distribution is that of the spins: of both layers together, or of the visible layer where couplings
    /// had to be decoupled. `units` are those of the RBM.
    ///
    /// # Errors
    /// A parameter overflows f32.
    pub fn to_rbm(&self, units: Units) -> Result<Converted> {
        match self.two_colours() {
            Some(hidden) => self.direct(&hidden).to(units),
            None => {
                let (couplings, log_constant) = self.decoupled();
                let mut rbm = couplings.to(units)?;
                rbm.log_constant += log_constant;
                Ok(rbm)
            }
        }
    }

    /// log Z by enumeration of all spins, nats, to test by. Cost 2^n (degree + 1).
    ///
    /// # Errors
    /// More than [`MAX_SPINS`] spins.
    #[cfg(test)]
    pub fn log_partition(&self) -> Result<f64> {
        /// States between two fresh sums, which keeps rounding errors from adding up.
        const BLOCK: u64 = 1024;
        let n = self.spins();
        if n > MAX_SPINS {
            return Err(Error::TooLarge(format!(
                "{n} spins have 2^{n} states; at most {MAX_SPINS} are enumerated: enumerate the smaller layer of `to_rbm`"
            )));
        }
        let mut neighbours = vec![Vec::new(); n];
        for &(a, b, j) in &self.couplings {
            neighbours[a].push((b, j));
            neighbours[b].push((a, j));
        }
        let (mut total, mut block) = (f64::NEG_INFINITY, Vec::new());
        let (mut s, mut log_f) = (vec![-1.0; n], 0.0);
        for position in 0..1u64 << n {
            if position % BLOCK == 0 {
                // Gray code, from the beginning.
                let state = position ^ position >> 1;
                (0..n).for_each(|a| s[a] = if state >> a & 1 == 1 { 1.0 } else { -1.0 });
                let pairs = self.couplings.iter().map(|&(a, b, j)| j * s[a] * s[b]);
                let fields = self.fields.iter().zip(&s).map(|(field, s)| field * s);
                log_f = pairs.sum::<f64>() + fields.sum::<f64>();
            } else {
                let a = position.trailing_zeros() as usize;
                let inputs = neighbours[a].iter().map(|&(b, j)| j * s[b]).sum::<f64>();
                log_f -= 2.0 * s[a] * (inputs + self.fields[a]);
                s[a] = -s[a];
            }
            block.push(log_f);
            if block.len() as u64 == BLOCK {
                total = log_sum_exp(block.iter().copied().chain([total]));
                block.clear();
            }
        }
        Ok(log_sum_exp(block.into_iter().chain([total])))
    }

    /// Which spins are hidden, so that every coupling joins the layers, both of which have a unit; `None` if there is an
    /// odd cycle.
    fn two_colours(&self) -> Option<Vec<bool>> {
        let n = self.spins();
        let mut neighbours = vec![Vec::new(); n];
        for &(a, b, _) in &self.couplings {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        let mut colour = vec![None; n];
        let mut count = [0, 0];
        for start in 0..n {
            if colour[start].is_some() {
                continue;
            }
            // A new component starts in the smaller layer.
            let mut waiting = vec![(start, count[1] < count[0])];
            while let Some((a, hidden)) = waiting.pop() {
                match colour[a] {
                    Some(known) if known != hidden => return None,
                    Some(_) => {}
                    None => {
                        colour[a] = Some(hidden);
                        count[usize::from(hidden)] += 1;
                        waiting.extend(neighbours[a].iter().map(|&b| (b, !hidden)));
                    }
                }
            }
        }
        colour.into_iter().collect()
    }

    fn direct(&self, hidden: &[bool]) -> Couplings {
        // Place of a spin in its layer.
        let mut count = [0, 0];
        let place: Vec<usize> = hidden
            .iter()
            .map(|&hidden| {
                count[usize::from(hidden)] += 1;
                count[usize::from(hidden)] - 1
            })
            .collect();
        let [n_visible, n_hidden] = count;
        let mut weights = vec![0.0; n_visible * n_hidden];
        for &(a, b, j) in &self.couplings {
            let (v, h) = if hidden[a] { (b, a) } else { (a, b) };
            weights[place[v] * n_hidden + place[h]] += j;
        }
        let bias = |layer: bool| {
            let spins = self.fields.iter().zip(hidden).filter(|(_, hidden)| **hidden == layer);
            spins.map(|(field, _)| *field).collect()
        };
        let (visible_bias, hidden_bias) = (bias(false), bias(true));
        Couplings { n_visible, n_hidden, weights, visible_bias, hidden_bias }
    }

    /// The decoupled model and the constant its log Z lacks.
    fn decoupled(&self) -> (Couplings, f64) {
        let (n_visible, n_hidden) = (self.spins(), self.couplings.len());
        let mut weights = vec![0.0; n_visible * n_hidden];
        let mut factors = 0.0;
        for (h, &(a, b, j)) in self.couplings.iter().enumerate() {
            let k = 0.5 * inverse_cosh_of_exp(2.0 * j.abs());
            weights[a * n_hidden + h] = k;
            weights[b * n_hidden + h] = k.copysign(j);
            factors -= j.abs() + LN_2;
        }
        let (visible_bias, hidden_bias) = (self.fields.clone(), vec![0.0; n_hidden]);
        (Couplings { n_visible, n_hidden, weights, visible_bias, hidden_bias }, factors)
    }
}

/// arcosh(exp(x)) for x >= 0 = x + log(1 + sqrt(1 - exp(-2x))), without overflow.
fn inverse_cosh_of_exp(x: f64) -> f64 {
    x + (-(-2.0 * x).exp_m1()).sqrt().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattices::{ring, square};
    use ztrack::engine::random::{Purpose, Streams};
    use ztrack::model::exact;

    /// The complete graph of Sherrington and Kirkpatrick (1975): every pair of n spins coupled by J_ab from N(0, beta^2/n), no field.
    fn sherrington_kirkpatrick(spins: usize, beta: f64, seed: u64) -> Result<SpinModel> {
        let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(4);
        let scale = beta / (spins as f64).sqrt();
        let pairs = (0..spins).flat_map(|a| (a + 1..spins).map(move |b| (a, b)));
        let couplings = pairs.map(|(a, b)| (a, b, scale * stream.normal())).collect();
        SpinModel::new(couplings, vec![0.0; spins])
    }

    /// Spin glasses whose graphs are bipartite (ring of 10, 4 x 4, chain with a free spin) and not (ring of 9, 3 x 4,
    /// complete). K without its sign fails here.
    #[test]
    fn every_mapping_keeps_log_z() {
        let mut stream = Streams::new(5, Purpose::TestSystem, 1).row(0);
        let mut draw = |n: usize| (0..n).map(|_| 1.5 * stream.normal()).collect::<Vec<f64>>();
        let chain = vec![(0, 1, draw(1)[0]), (1, 2, -0.7)];
        for (model, layers) in [
            (ring(&draw(10), &draw(10)).unwrap(), (5, 5)),
            (ring(&draw(9), &draw(9)).unwrap(), (9, 9)),
            (square(4, 4, &draw(16), &draw(16), &draw(16)).unwrap(), (8, 8)),
            (square(3, 4, &draw(12), &draw(12), &draw(12)).unwrap(), (12, 24)),
            (sherrington_kirkpatrick(12, 1.5, 3).unwrap(), (12, 66)),
            (SpinModel::new(chain, draw(4)).unwrap(), (2, 2)),
        ] {
            let truth = model.log_partition().unwrap();
            let rbm = model.to_rbm(Units::Binary).unwrap();
            assert_eq!((rbm.parameters.n_visible, rbm.parameters.n_hidden), layers);
            let found = exact::log_partition(&rbm.parameters).unwrap() + rbm.log_constant;
            let error = (found - truth).abs();
            assert!(error < rbm.rounding + 1e-9 && rbm.rounding < 1e-4, "{layers:?}: {error}");
        }
    }

    /// Couplings whose K is a fraction with few binary digits, so that nothing is rounded to f32.
    #[test]
    fn a_mapping_without_rounding_is_exact() {
        let j = 0.5 * (1.5f64.cosh()).ln();
        let triangle = vec![(0, 1, j), (1, 2, -j), (0, 2, j)];
        let model = SpinModel::new(triangle, vec![0.25, -0.5, 1.0]).unwrap();
        let rbm = model.to_rbm(Units::Binary).unwrap();
        let found = exact::log_partition(&rbm.parameters).unwrap() + rbm.log_constant;
        assert!((found - model.log_partition().unwrap()).abs() < 1e-9);
        assert!(rbm.rounding < 1e-14);
    }

    #[test]
    fn huge_couplings_do_not_overflow() {
        assert!((inverse_cosh_of_exp(2000.0) - 2000.0 - LN_2).abs() < 1e-9);
        assert_eq!(inverse_cosh_of_exp(0.0), 0.0);
        let triangle = vec![(0, 1, 1e4), (1, 2, -1e4), (0, 2, 1e4)];
        let model = SpinModel::new(triangle, vec![0.0; 3]).unwrap();
        // Six ground states at energy -J (one coupling is always frustrated).
        let truth = 1e4 + 6f64.ln();
        assert!((model.log_partition().unwrap() - truth).abs() < 1e-9);
        let rbm = model.to_rbm(Units::Binary).unwrap();
        let found = exact::log_partition(&rbm.parameters).unwrap() + rbm.log_constant;
        assert!((found - truth).abs() < rbm.rounding + 1e-6, "{found}");
    }

    #[test]
    fn what_is_no_spin_model_is_refused() {
        for (couplings, spins) in [
            (vec![], 1),
            (vec![(0, 0, 1.0)], 2),
            (vec![(0, 2, 1.0)], 2),
            (vec![(0, 1, f64::NAN)], 2),
        ] {
            assert!(SpinModel::new(couplings, vec![0.0; spins]).is_err());
        }
        assert!(SpinModel::new(vec![], vec![0.0; 26]).unwrap().log_partition().is_err());
    }
}
