//! The engine on any device of Burn, in tensor operations alone.
//!
//! States are rows of zeros and ones, and of v and v^2 for real variables, in f32 on the device during a call, and packed between calls. Random numbers are made on the
//! device, each a function of (seed, purpose, step, row, unit), so a run on one device gives the same bits every time; they are others
//! than those of the host.

mod draws;
mod reals;
mod states;
mod walker;

use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};
use draws::{Groups, Layout};
use reals::Reals;
use states::{packed, unpacked};
use walker::BurnWalker;

use super::random::Streams;
use super::{
    BitMatrix, Engine, Layer, Matrix, Moments, PADDING, Route, States, SweepStreams, Walker,
};
use crate::context::Context;
use crate::model::{Parameters, Rbm, host};
use crate::units::Variables;

/// Rows of data on the device at a time.
const ROWS: usize = 4096;

/// One RBM on a device of Burn.
#[derive(Clone, Debug)]
pub struct OnBurn {
    rbm: Rbm,
    /// [`Parameters::log_offset`].
    offset: f64,
    variables: Variables,
    device: Device,
    visible_layout: Layout,
    hidden_layout: Layout,
    groups: Option<Groups>,
    reals: Option<Reals>,
    context: Context,
}

impl OnBurn {
    /// Moves the parameters to `device`.
    pub fn new(parameters: &Parameters, device: &Device) -> Self {
        let Parameters { n_visible, n_hidden, variables, .. } = parameters;
        Self {
            rbm: Rbm::from_parameters(parameters, device),
            offset: parameters.log_offset(),
            variables: variables.clone(),
            groups: Groups::of(variables, *n_visible, device),
            reals: Reals::of(variables, *n_visible, device),
            visible_layout: Layout::new(0..*n_visible, device),
            hidden_layout: Layout::new(0..*n_hidden, device),
            device: device.clone(),
            context: Context::none().clone(),
        }
    }

    /// The same, its work ended by a context.
    #[must_use]
    pub fn within(self, context: Context) -> Self {
        Self { context, ..self }
    }

    /// A column [rows, 1].
    fn column(&self, values: &[f32]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len(), 1]), &self.device)
    }

    /// h with natural parameters `eta`, [rows, J]; row i takes the random stream of row `first_row` + i.
    fn draw_hidden(&self, eta: Tensor<2>, streams: Streams, first_row: u32) -> Tensor<2> {
        self.hidden_layout.bits(eta, streams, first_row)
    }

    /// v with natural parameters `eta`, [rows, M].
    fn draw_visible(&self, eta: Tensor<2>, streams: Streams, first_row: u32) -> Tensor<2> {
        let discrete = match (&self.groups, &self.reals) {
            (Some(groups), _) => groups.draw(eta.clone(), streams, first_row),
            (None, Some(_)) => eta.zeros_like(),
            (None, None) => return self.visible_layout.bits(eta, streams, first_row),
        };
        match &self.reals {
            None => discrete,
            Some(reals) => reals.draw(discrete, eta, streams, first_row),
        }
    }

    /// Packed visible states on the device, [rows, M].
    fn unpacked(&self, words: &[u64]) -> Tensor<2> {
        match &self.reals {
            None => unpacked(words, self.rbm.n_visible(), &self.device),
            Some(reals) => reals.unpacked(words),
        }
    }

    /// The reverse.
    fn packed(&self, visible: Tensor<2>, words: &mut [u64]) {
        match &self.reals {
            None => packed(visible, words),
            Some(reals) => reals.packed(visible, words),
        }
    }

    /// c.v, [rows, 1].
    fn visible_dot(&self, visible: Tensor<2>) -> Tensor<2> {
        (visible * self.rbm.visible_bias.val().unsqueeze()).sum_dim(1)
    }

    /// Blocks of rows of a layer on the device.
    fn blocks<'a>(
        &'a self,
        layer: Layer,
        rows: &'a BitMatrix,
    ) -> impl Iterator<Item = Tensor<2>> + 'a {
        (0..rows.rows()).step_by(ROWS).map(move |first| {
            let block = rows.select(first..rows.rows().min(first + ROWS));
            match layer {
                Layer::Visible => self.unpacked(block.words()),
                Layer::Hidden => unpacked(block.words(), rows.columns(), &self.device),
            }
        })
    }
}

/// log(1 + e^x), for any x.
fn softplus(x: Tensor<2>) -> Tensor<2> {
    x.clone().clamp_min(0.0) + x.abs().neg().exp().log1p()
}

impl Engine for OnBurn {
    fn n_units(&self, layer: Layer) -> usize {
        match layer {
            Layer::Visible => self.rbm.n_visible(),
            Layer::Hidden => self.rbm.n_hidden(),
        }
    }

    fn variables(&self) -> &Variables {
        &self.variables
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn load(&mut self, parameters: &Parameters) -> bool {
        let sizes = (self.rbm.n_visible(), self.rbm.n_hidden(), &self.variables);
        let same = sizes == (parameters.n_visible, parameters.n_hidden, &parameters.variables);
        if same {
            self.rbm = Rbm::from_parameters(parameters, &self.device);
            self.offset = parameters.log_offset();
        }
        same
    }

    fn inputs(&self, layer: Layer, given: &BitMatrix) -> Matrix {
        let mut values = Vec::with_capacity(given.rows() * self.n_units(layer));
        for states in self.blocks(layer.other(), given) {
            values.extend(host(match layer {
                Layer::Hidden => self.rbm.hidden_inputs(states),
                Layer::Visible => self.rbm.visible_inputs(states),
            }));
        }
        Matrix::from_rows(given.rows(), self.n_units(layer), &values, PADDING)
    }

    fn log_f(&self, visible: &BitMatrix) -> Vec<f64> {
        let of_block = |v: Tensor<2>| {
            let hidden = softplus(self.rbm.hidden_inputs(v.clone())).sum_dim(1);
            let parts = Tensor::cat(vec![hidden, self.visible_dot(v)], 1);
            let sum =
                |parts: &[f32]| parts.iter().map(|&x| f64::from(x)).sum::<f64>() + self.offset;
            host(parts).chunks_exact(2).map(sum).collect::<Vec<_>>()
        };
        self.blocks(Layer::Visible, visible).flat_map(of_block).collect()
    }

    fn gibbs(&self, visible: &mut BitMatrix, sweeps: usize, seed: u64, step: u64) {
        if visible.rows() == 0 {
            return;
        }
        let mut v = self.unpacked(visible.words());
        for step in step..step + sweeps as u64 {
            let streams = SweepStreams::gibbs(seed, step);
            let h = self.draw_hidden(self.rbm.hidden_inputs(v), streams.hidden, 0);
            v = self.draw_visible(self.rbm.visible_inputs(h), streams.visible, 0);
        }
        self.packed(v, visible.words_mut());
    }

    fn moments(&self, visible: &BitMatrix, weights: Option<&[f64]>) -> Moments {
        let (m, j) = (self.n_units(Layer::Visible), self.n_units(Layer::Hidden));
        let even = vec![1.0 / visible.rows().max(1) as f64; visible.rows()];
        let weights = weights.unwrap_or(&even);
        let mut sums: Option<[Tensor<2>; 3]> = None;
        for (v, weights) in self.blocks(Layer::Visible, visible).zip(weights.chunks(ROWS)) {
            let w = self.column(&weights.iter().map(|&w| w as f32).collect::<Vec<_>>());
            let h = sigmoid(self.rbm.hidden_inputs(v.clone())) * w.clone();
            let products = v.clone().transpose().matmul(h.clone());
            let products = match &self.reals {
                None => products,
                Some(reals) => reals.without_squares(products),
            };
            let block = [(v * w).sum_dim(0), h.sum_dim(0), products];
            sums = Some(match sums {
                None => block,
                Some([v, h, products]) => {
                    let [more_v, more_h, more_products] = block;
                    [v + more_v, h + more_h, products + more_products]
                }
            });
        }
        let Some(sums) = sums else {
            let products = Matrix::filled(m, j, 0.0);
            return Moments { visible: vec![0.0; m], hidden: vec![0.0; j], products };
        };
        // One transfer: each waits for the device.
        let sums = host(Tensor::cat(sums.map(|sum| sum.flatten::<1>(0, 1)).into(), 0));
        let wide = |sum: &[f32]| sum.iter().map(|&x| f64::from(x)).collect();
        Moments {
            visible: wide(&sums[..m]),
            hidden: wide(&sums[m..m + j]),
            products: Matrix::from_rows(m, j, &sums[m + j..], 0.0),
        }
    }

    fn walker<'a>(&'a self, route: Route<'a>, states: States<'a>) -> Box<dyn Walker + 'a> {
        Box::new(BurnWalker::new(self, route, states))
    }
}
