//! Exact first and second moments: `E[v]`, `E[h]`, `E[vh']`, the gradient of log Z with respect to c, b and W.

use rayon::prelude::*;

use super::enumeration::{BLOCK, Enumeration};
use super::log_partition;
use crate::error::Result;
use crate::model::Parameters;

/// States of less probability are left out of the means of the other layer: all 2^25 of them add up to at most 3e-11.
const NEGLIGIBLE: f64 = 1e-18;

/// Expectations under the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// `E[v]`, shape `[M]`.
    pub visible: Vec<f64>,
    /// `E[h]`, shape `[J]`.
    pub hidden: Vec<f64>,
    /// E[v h'], shape [M, J], row-major.
    pub products: Vec<f64>,
}

/// Moments by enumeration of the smaller layer; about six times the cost of [`log_partition`].
///
/// # Errors
/// The smaller layer has more than [`super::MAX_UNITS`] units.
pub fn moments(parameters: &Parameters) -> Result<Moments> {
    let log_z = log_partition(parameters)?;
    let enumeration = Enumeration::of_smaller(parameters, &vec![0.0; parameters.n_visible], 1.0);
    let pieces: Vec<Sums> = enumeration
        .pieces()
        .into_par_iter()
        .map(|piece| {
            let mut sums = Sums::zeros(&enumeration);
            let mut start = piece.start;
            while start < piece.end {
                let end = piece.end.min((start / BLOCK + 1) * BLOCK);
                sums.add_block(&enumeration, start..end, log_z);
                start = end;
            }
            sums
        })
        .collect();
    let mut total = Sums::zeros(&enumeration);
    pieces.iter().for_each(|piece| total.add(piece));

    let Sums { enumerated, other, products } = total;
    let n_visible = parameters.n_visible;
    Ok(if parameters.enumerates_visible() {
        Moments { visible: enumerated, hidden: other, products: products.concat() }
    } else {
        let products =
            (0..n_visible).flat_map(|i| products.iter().map(move |row| row[i])).collect();
        Moments { visible: other, hidden: enumerated, products }
    })
}

/// Sums of p(s) s, p(s) E[other | s] and their products.
struct Sums {
    enumerated: Vec<f64>,
    other: Vec<f64>,
    products: Vec<Vec<f64>>,
}

impl Sums {
    fn zeros(enumeration: &Enumeration) -> Self {
        let (n, m) = (enumeration.bias.len(), enumeration.n_other);
        Self { enumerated: vec![0.0; n], other: vec![0.0; m], products: vec![vec![0.0; m]; n] }
    }

    fn add(&mut self, rhs: &Self) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(x, y)| *x += y);
        add(&mut self.enumerated, &rhs.enumerated);
        add(&mut self.other, &rhs.other);
        self.products.iter_mut().zip(&rhs.products).for_each(|(to, from)| add(to, from));
    }

    /// One block between fresh starts, in O(m) a state instead of O(n m): with the running totals T of p(s) E[other|s],
    /// unit a gathers T(when it goes off) - T(when it came on).
    fn add_block(&mut self, enumeration: &Enumeration, block: std::ops::Range<u64>, log_z: f64) {
        let mut total = vec![0.0; enumeration.n_other];
        let mut mass = 0.0;
        let mut state = 0;
        enumeration.walk(block, |visit| {
            state = visit.state;
            if let Some(unit) = visit.flipped {
                let sign = if state >> unit & 1 == 1 { -1.0 } else { 1.0 };
                self.gather(unit, sign, mass, &total);
            }
            let p = (visit.log_f - log_z).exp();
            mass += p;
            if p > NEGLIGIBLE {
                visit.for_each_probability(|i, q| total[i] += p * q);
            }
        });
        for unit in (0..enumeration.bias.len()).filter(|unit| state >> unit & 1 == 1) {
            self.gather(unit, 1.0, mass, &total);
        }
        self.other.iter_mut().zip(&total).for_each(|(x, t)| *x += t);
    }

    fn gather(&mut self, unit: usize, sign: f64, mass: f64, total: &[f64]) {
        self.enumerated[unit] += sign * mass;
        self.products[unit].iter_mut().zip(total).for_each(|(x, t)| *x += sign * t);
    }
}
