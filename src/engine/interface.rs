//! What all algorithms ask of a model, wherever its states live.
//!
//! An engine holds the parameters of one RBM in its place: [`super::Host`] in memory of this machine, for its kernels, [`super::OnBurn`] on
//! any device of Burn. States enter and leave as packed bits, a thirty-second of their size as f32. What is done to many of them, for
//! many sweeps, happens in the engine; tables [S, K], numbers `[S]` and moments come back.

use super::random::{Purpose, Streams};
use super::{BaseDistribution, BetaGrid, BitMatrix, Draw, Matrix, MixtureBase};
use crate::context::Context;
use crate::model::Parameters;
use crate::units::Variables;

/// One of the two layers of an RBM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The M visible units.
    Visible,
    /// The J hidden units.
    Hidden,
}

impl Layer {
    /// The other layer.
    pub fn other(self) -> Self {
        match self {
            Self::Visible => Self::Hidden,
            Self::Hidden => Self::Visible,
        }
    }
}

/// One RBM with fixed parameters, in the place where its states are computed.
///
/// Results for a row do not depend on the other rows. On [`super::Host`] they have the same bits for any number of threads and ranks; an
/// engine elsewhere gives the same distributions and its own bits.
pub trait Engine: Send + Sync {
    /// Number of units of a layer.
    fn n_units(&self, layer: Layer) -> usize;

    /// What the visible columns stand for.
    fn variables(&self) -> &Variables;

    /// What it was made in: the ranks that divide the work on rows, the flag that ends it, its progress.
    fn context(&self) -> &Context {
        Context::none()
    }

    /// Replaces the parameters without new memory; `false`, without a change, if that is not possible.
    fn load(&mut self, parameters: &Parameters) -> bool;

    /// Pre-activations of `layer` given states of the other one, [rows, units]: x = b + v'W for hidden, c + Wh for visible units.
    fn inputs(&self, layer: Layer, given: &BitMatrix) -> Matrix;

    /// A hidden state drawn from each row of `visible` at beta = 1; row s uses stream `first_row + s`.
    fn hidden_states(&self, visible: &BitMatrix, streams: Streams, first_row: u32) -> BitMatrix {
        let (rows, n_units) = (visible.rows(), self.n_units(Layer::Hidden));
        let inputs = self.inputs(Layer::Hidden, visible);
        let (inputs, beta) = (inputs.as_slice(), &vec![1.0; rows][..]);
        let mut hidden = BitMatrix::zeros(rows, n_units);
        let draw = Draw { n_units, inputs, beta, base: None, streams, first_row };
        draw.bits(hidden.words_mut());
        hidden
    }

    /// log f(v) = c.v + sum_j softplus(x_j) of each row, nats.
    fn log_f(&self, visible: &BitMatrix) -> Vec<f64>;

    /// `sweeps` Gibbs sweeps h | v, v | h at beta = 1 of all rows; the first one takes the random streams of `step`.
    fn gibbs(&self, visible: &mut BitMatrix, sweeps: usize, seed: u64, step: u64);

    /// `E[v]`, `E[h]`, `E[vh']` over rows, hidden units at their means; `weights` sum to 1 (1/n each without).
    fn moments(&self, visible: &BitMatrix, weights: Option<&[f64]>) -> Moments;

    /// The same, given the [`Walker`]'s cached values of these rows.
    fn moments_of_cached(
        &self,
        visible: &BitMatrix,
        _cached: Matrix,
        weights: Option<&[f64]>,
    ) -> Moments {
        self.moments(visible, weights)
    }

    /// Chains on the path from a base distribution to the model.
    fn walker<'a>(&'a self, route: Route<'a>, states: States<'a>) -> Box<dyn Walker + 'a>;

    /// Number of f32 values that a walker caches for a state; at least 1.
    fn cached(&self) -> usize {
        1
    }

    /// Whether a walker takes all rows: elsewhere than in a cache of this machine, small tasks only cost calls.
    fn takes_all_rows(&self) -> bool {
        true
    }
}

/// First moments of both layers and their products.
#[derive(Clone, Debug)]
pub struct Moments {
    /// `E[v]`, shape `[M]`.
    pub visible: Vec<f64>,
    /// `E[h]`, shape `[J]`.
    pub hidden: Vec<f64>,
    /// `E[vh']`, shape [M, J].
    pub products: Matrix,
}

/// The densities between a base distribution and the model:
/// log f_k(v) = beta_k c.v + sum_j softplus(beta_k x_j(v)) + log sum_m pi_m exp((1 - beta_k) log p_m(v)).
#[derive(Clone, Copy)]
pub struct Route<'a> {
    /// All inverse temperatures.
    pub grid: &'a BetaGrid,
    /// The distribution at beta = 0.
    pub base: Base<'a>,
}

/// A distribution at beta = 0.
#[derive(Clone, Copy)]
pub enum Base<'a> {
    /// Independent variables, a.v in place of log p(v).
    Product(&'a BaseDistribution),
    /// A mixture of those.
    Mixture(&'a MixtureBase),
}

impl Base<'_> {
    /// log Z_1 of a model with `n_hidden` hidden units, exact.
    pub fn log_partition(self, n_hidden: usize) -> f64 {
        match self {
            Self::Product(base) => base.log_partition(n_hidden),
            Self::Mixture(_) => n_hidden as f64 * std::f64::consts::LN_2,
        }
    }

    /// Independent exact samples, one per row.
    pub fn sample(self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        match self {
            Self::Product(base) => base.sample(rows, seed, step),
            Self::Mixture(base) => base.sample(rows, seed, step),
        }
    }
}

impl<'a> From<&'a BaseDistribution> for Base<'a> {
    fn from(base: &'a BaseDistribution) -> Self {
        Self::Product(base)
    }
}

impl<'a> From<&'a MixtureBase> for Base<'a> {
    fn from(base: &'a MixtureBase) -> Self {
        Self::Mixture(base)
    }
}

/// Rows of chains that a walker moves.
pub struct States<'a> {
    /// v, packed; a walker that keeps them elsewhere returns them by [`Walker::store`].
    pub visible: &'a mut [u64],
    /// [`Engine::cached`] numbers per row, rounded up to whole panels ([`super::padded`]), in the walker's own order.
    pub cached: &'a mut [f32],
    /// Number of the first row: row i takes the random stream of row `first_row` + i.
    pub first_row: u32,
    /// Whether the cached values are of these states.
    pub known: bool,
}

/// Some chains moving along a path.
pub trait Walker {
    /// log f_k(v) of each row at the temperatures k of `at`, different and ascending; `out` [rows, length of `at`].
    fn log_f(&mut self, at: &[usize], out: &mut [f64]);

    /// One sweep of every row, which leaves f_k(v) invariant at its own k of `at`, `[rows]`.
    fn sweep(&mut self, at: &[u32], streams: &SweepStreams);

    /// Writes the states and the cached values back to [`States`] after the last sweep.
    fn store(&mut self) {}

    /// d/dbeta log f_beta(v) at every temperature, and its own derivative; both [rows, K]. NaN if the path has none.
    fn slopes(&mut self, mean: &mut [f64], variance: &mut [f64]) {
        mean.fill(f64::NAN);
        variance.fill(f64::NAN);
    }

    /// The two halves of a sweep, for paths with hidden units on which log f(v, h) is linear in beta.
    fn halves(&mut self) -> Option<&mut dyn Halves> {
        None
    }
}

/// The halves of a sweep, between which the inverse temperature can be redrawn by the hidden units as well.
pub trait Halves {
    /// h | v at each row's k of `at`.
    fn draw_hidden(&mut self, at: &[u32], streams: &SweepStreams);

    /// d/dbeta log f_beta(v, h) of each row, `[rows]`.
    fn slopes_of_both(&mut self, out: &mut [f64]);

    /// v | h at each row's k of `at`.
    fn draw_visible(&mut self, at: &[u32], streams: &SweepStreams);
}

/// The random streams of one sweep; streams of different kinds of sweeps, and of different steps, are independent.
#[derive(Clone, Copy)]
pub struct SweepStreams {
    /// For the variables between v and the next v.
    pub hidden: Streams,
    /// For v.
    pub visible: Streams,
    /// For other draws of a sweep, such as a component of a mixture.
    pub component: Streams,
}

impl SweepStreams {
    /// Of tempered chains.
    pub fn tempered(seed: u64, step: u64) -> Self {
        use Purpose::{TemperedComponent, TemperedHidden, TemperedVisible};
        Self::new(seed, step, [TemperedHidden, TemperedVisible, TemperedComponent])
    }

    /// Of annealing upwards.
    pub(crate) fn ascending(seed: u64, step: u64) -> Self {
        use Purpose::{AnnealedComponent, AnnealedHidden, AnnealedVisible};
        Self::new(seed, step, [AnnealedHidden, AnnealedVisible, AnnealedComponent])
    }

    /// Of annealing downwards.
    pub(crate) fn descending(seed: u64, step: u64) -> Self {
        use Purpose::{DescendingComponent, DescendingHidden, DescendingVisible};
        Self::new(seed, step, [DescendingHidden, DescendingVisible, DescendingComponent])
    }

    /// Of Gibbs chains at beta = 1, which have no components.
    pub(crate) fn gibbs(seed: u64, step: u64) -> Self {
        use Purpose::{ParticleHidden, ParticleVisible};
        Self::new(seed, step, [ParticleHidden, ParticleVisible, ParticleHidden])
    }

    fn new(seed: u64, step: u64, purposes: [Purpose; 3]) -> Self {
        let [hidden, visible, component] =
            purposes.map(|purpose| Streams::new(seed, purpose, step));
        Self { hidden, visible, component }
    }
}
