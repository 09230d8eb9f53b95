//! The path from a base distribution to an RBM, computed by the model's engine.
//!
//! log f_k(v) = beta_k c.v + (1 - beta_k) a.v + sum_j softplus(beta_k x_j(v)) from a product: the JOINT f(v, h) is tempered, so that
//! every temperature can be block-Gibbs sampled (algorithms.md, section 1). From a mixture: [`super::mixture`].

use super::{Ladder, TemperedPath};
use crate::context::Context;
use crate::engine::{
    Base, BaseDistribution, BitMatrix, Engine, Layer, MixtureBase, Route, States, Walker,
};

/// One model's path from a base of kind `B`.
pub struct ModelPath<'a, B> {
    /// The model.
    pub engine: &'a dyn Engine,
    /// beta_k and r_k.
    pub ladder: &'a Ladder,
    /// p1(v).
    pub base: &'a B,
}

/// The path from a product distribution.
pub type GeometricPath<'a> = ModelPath<'a, BaseDistribution>;
/// The path from a mixture of products.
pub type MixturePath<'a> = ModelPath<'a, MixtureBase>;

impl<B> Copy for ModelPath<'_, B> {}

impl<B> Clone for ModelPath<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, B> ModelPath<'a, B>
where
    &'a B: Into<Base<'a>>,
{
    /// Number of hidden units, J.
    pub fn n_hidden(&self) -> usize {
        self.engine.n_units(Layer::Hidden)
    }

    fn base(&self) -> Base<'a> {
        self.base.into()
    }
}

impl<'p, B: Sync> TemperedPath for ModelPath<'p, B>
where
    &'p B: Into<Base<'p>>,
{
    fn ladder(&self) -> &Ladder {
        self.ladder
    }

    fn n_visible(&self) -> usize {
        self.engine.n_units(Layer::Visible)
    }

    fn log_z_base(&self) -> f64 {
        self.base().log_partition(self.n_hidden())
    }

    fn context(&self) -> &Context {
        self.engine.context()
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        self.base().sample(rows, seed, step)
    }

    fn cached(&self) -> usize {
        self.engine.cached()
    }

    fn takes_all_rows(&self) -> bool {
        self.engine.takes_all_rows()
    }

    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        self.engine.walker(Route { grid: self.ladder.grid(), base: self.base() }, states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::Prior;

    /// Units in another order give the same model: log f of states in that order is equal, to the precision of an f32 sum in another order;
    /// with the layers exchanged log Z is the same.
    #[test]
    fn the_order_of_units_and_of_layers_means_nothing() {
        let (m, j) = (70, 9);
        let parameters = gaussian_parameters(m, j, 0.4, 7);
        let mut permuted = parameters.clone();
        let from = |i: usize| (i * 11 + 3) % m;
        let logits: Vec<f32> = (0..m).map(|i| 0.1 * (i % 7) as f32 - 0.3).collect();
        let permuted_logits: Vec<f32> = (0..m).map(|i| logits[from(i)]).collect();
        for i in 0..m {
            permuted.visible_bias[i] = parameters.visible_bias[from(i)];
            let row = parameters.weights[from(i) * j..][..j].to_vec();
            permuted.weights[i * j..][..j].copy_from_slice(&row);
        }
        let ladder = Ladder::linear(5, &Prior::Uniform).unwrap();
        let bases = [&logits, &permuted_logits].map(|l| BaseDistribution::from_logits(l).unwrap());
        let visible = bases[0].sample(20, 1, 0);
        let moved = BitMatrix::from_fn(20, m, |row, i| {
            visible.row(row)[from(i) / 64] >> (from(i) % 64) & 1 == 1
        });
        let log_f = |parameters, base, visible: &BitMatrix| {
            GeometricPath { engine: &Host::new(parameters), ladder: &ladder, base }
                .evaluate(visible)
                .log_f
        };
        let one = log_f(&parameters, &bases[0], &visible);
        let other = log_f(&permuted, &bases[1], &moved);
        for (one, other) in one.as_slice().iter().zip(other.as_slice()) {
            assert!((one - other).abs() < 1e-4, "{one} {other}");
        }
        let log_z =
            [&parameters, &permuted, &parameters.transposed()].map(|p| log_partition(p).unwrap());
        assert!(log_z.iter().all(|other| (other - log_z[0]).abs() < 1e-9), "{log_z:?}");
    }
}
