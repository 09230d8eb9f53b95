//! Chains on a path, on a device: states stay there from sweep to sweep.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Tensor, TensorData};

use super::draws::list;
use super::{OnBurn, softplus};
use crate::engine::{
    Base, BaseDistribution, Halves, MixtureBase, Route, States, SweepStreams, Walker,
};
use crate::model::host;

/// Most numbers of a tensor [rows, J, temperatures].
const NUMBERS: usize = 1 << 22;

pub(super) struct BurnWalker<'a> {
    engine: &'a OnBurn,
    route: Route<'a>,
    states: States<'a>,
    base: OnDevice,
    rows: usize,
    /// v, [rows, M].
    visible: Tensor<2>,
    /// x(v), [rows, J]; `None` unless it is of the current states.
    inputs: Option<Tensor<2>>,
    /// h, [rows, J], after the first half of a sweep.
    hidden: Option<Tensor<2>>,
    /// log p_m(v) of a mixture's components on the host, [rows, C]; empty unless they are of the current states.
    log_p: Vec<f32>,
    moved: bool,
}

/// The components of the base distribution.
struct OnDevice {
    /// a_m, [C, M].
    logits: Tensor<2>,
    /// -A(a_m), [1, C].
    constants: Tensor<2>,
}

impl OnDevice {
    fn new(base: Base<'_>, engine: &OnBurn) -> Self {
        let components: &[BaseDistribution] = match base {
            Base::Product(base) => std::slice::from_ref(base),
            Base::Mixture(base) => base.components(),
        };
        let (c, m) = (components.len(), engine.rbm.n_visible());
        let logits = components.iter().flat_map(|base| base.logits().iter().copied()).collect();
        let constants = components.iter().map(|base| -base.visible_log_partition() as f32);
        let tensor = |values: Vec<f32>, shape| {
            Tensor::from_data(TensorData::new(values, shape), &engine.device)
        };
        Self { logits: tensor(logits, [c, m]), constants: tensor(constants.collect(), [1, c]) }
    }
}

impl<'a> BurnWalker<'a> {
    pub fn new(engine: &'a OnBurn, route: Route<'a>, states: States<'a>) -> Self {
        let visible = engine.unpacked(states.visible);
        let rows = visible.dims()[0];
        let base = OnDevice::new(route.base, engine);
        let (inputs, hidden, log_p) = (None, None, Vec::new());
        Self { engine, route, states, base, rows, visible, inputs, hidden, log_p, moved: false }
    }

    fn inputs(&mut self) -> Tensor<2> {
        let Self { engine, visible, inputs, .. } = self;
        inputs.get_or_insert_with(|| engine.rbm.hidden_inputs(visible.clone())).clone()
    }

    /// beta_k of each row, [rows, 1].
    fn beta(&self, at: &[u32]) -> Tensor<2> {
        let betas = self.route.grid.betas();
        self.engine.column(&at.iter().map(|&k| betas[k as usize] as f32).collect::<Vec<_>>())
    }

    /// c.v and a.v of each row, with the constants of units -1 and +1; a.v is 0 for a mixture.
    fn linear(&self) -> Vec<[f64; 2]> {
        let offset = match self.route.base {
            Base::Product(base) => base.offset(),
            Base::Mixture(_) => 0.0,
        };
        let model = self.engine.visible_dot(self.visible.clone());
        let base = match self.route.base {
            Base::Product(_) => self.visible.clone().matmul(self.base.logits.clone().transpose()),
            Base::Mixture(_) => model.zeros_like(),
        };
        let both = host(Tensor::cat(vec![model, base], 1));
        let wide =
            |pair: &[f32]| [f64::from(pair[0]) + self.engine.offset, f64::from(pair[1]) + offset];
        both.chunks_exact(2).map(wide).collect()
    }

    /// log p_m(v) of the components, in the layout of [`MixtureBase`].
    fn densities(&mut self, base: &MixtureBase) -> &[f32] {
        if self.log_p.is_empty() {
            let OnDevice { logits, constants } = &self.base;
            let log_p = self.visible.clone().matmul(logits.clone().transpose());
            let log_p = host(log_p + constants.clone().repeat_dim(0, self.rows));
            self.log_p = vec![0.0; self.rows * base.stride()];
            let rows = self.log_p.chunks_exact_mut(base.stride());
            for (row, log_p) in rows.zip(log_p.chunks_exact(base.len())) {
                row[..base.len()].copy_from_slice(log_p);
            }
        }
        &self.log_p
    }

    /// Adds to `out`, [rows, betas], sums over hidden units of `term`(x, beta) of tensors [rows, J x betas].
    fn add_sums(
        &mut self,
        betas: &[f64],
        out: &mut [f64],
        term: impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
    ) {
        let (x, rows, hidden) = (self.inputs(), self.rows, self.engine.rbm.n_hidden());
        let most = (NUMBERS / (rows * hidden).max(1)).max(1);
        for (block, some) in betas.chunks(most).enumerate() {
            let n = some.len();
            // [rows x betas, J]: the sum runs over adjacent numbers.
            let repeated: Tensor<3> = x.clone().unsqueeze_dim(1).repeat_dim(1, n);
            let repeated: Tensor<2> = repeated.reshape([rows * n, hidden]);
            let beta: Vec<f32> = (0..rows).flat_map(|_| some.iter().map(|&b| b as f32)).collect();
            let sums = host(term(repeated, self.engine.column(&beta)).sum_dim(1));
            for (out, sums) in out.chunks_exact_mut(betas.len()).zip(sums.chunks_exact(n)) {
                let out = &mut out[block * most..][..n];
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out += f64::from(*sum));
            }
        }
    }

    /// The states have changed.
    fn set_visible(&mut self, eta: Tensor<2>, streams: &SweepStreams) {
        let first_row = self.states.first_row;
        self.visible = self.engine.draw_visible(eta, streams.visible, first_row);
        (self.inputs, self.moved) = (None, true);
        self.log_p.clear();
    }

    /// a_m of each row: m chosen by p(m | v, beta) for a mixture.
    fn base_of_rows(&mut self, at: &[u32], streams: &SweepStreams) -> Tensor<2> {
        let Base::Mixture(base) = self.route.base else {
            return self.base.logits.clone().repeat_dim(0, self.rows);
        };
        let (engine, betas, first_row) =
            (self.engine, self.route.grid.betas(), self.states.first_row);
        let log_p = self.densities(base).chunks_exact(base.stride());
        let choose = |((s, log_p), &k): ((usize, &[f32]), &u32)| {
            let uniform = streams.component.row(first_row + s as u32).uniform();
            base.choose(log_p, betas[k as usize], uniform) as i32
        };
        let chosen = list(log_p.enumerate().zip(at).map(choose), &engine.device);
        self.base.logits.clone().select(0, chosen)
    }
}

impl Walker for BurnWalker<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        let grid = self.route.grid.at(at);
        out.fill(0.0);
        self.add_sums(grid.betas(), out, |x, beta| softplus(x * beta));
        let linear = self.linear();
        for ([model, base], out) in linear.into_iter().zip(out.chunks_exact_mut(at.len())) {
            for (value, beta) in out.iter_mut().zip(grid.betas()) {
                *value += beta * model + (1.0 - beta) * base;
            }
        }
        if let Base::Mixture(base) = self.route.base {
            let log_p = self.densities(base).chunks_exact(base.stride());
            for (log_p, out) in log_p.zip(out.chunks_exact_mut(at.len())) {
                base.add_tempered(log_p, grid.betas(), out);
            }
        }
    }

    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        self.draw_hidden(at, streams);
        self.draw_visible(at, streams);
    }

    fn store(&mut self) {
        if self.moved {
            self.engine.packed(self.visible.clone(), self.states.visible);
        }
    }

    /// As on the host: E = c.v + sum_j x_j sigma(beta x_j) - a.v or the mean of log p_m, and the variances.
    fn slopes(&mut self, mean: &mut [f64], variance: &mut [f64]) {
        let betas = self.route.grid.betas();
        mean.fill(0.0);
        variance.fill(0.0);
        self.add_sums(betas, mean, |x, beta| sigmoid(x.clone() * beta) * x);
        self.add_sums(betas, variance, |x, beta| {
            let sigma = sigmoid(x.clone() * beta);
            x.clone() * x * sigma.clone() * (sigma.neg() + 1.0)
        });
        let linear = self.linear();
        for ([model, base], mean) in linear.into_iter().zip(mean.chunks_exact_mut(betas.len())) {
            mean.iter_mut().for_each(|mean| *mean += model - base);
        }
        if let Base::Mixture(base) = self.route.base {
            let log_p = self.densities(base).chunks_exact(base.stride());
            let out =
                mean.chunks_exact_mut(betas.len()).zip(variance.chunks_exact_mut(betas.len()));
            for (log_p, (mean, variance)) in log_p.zip(out) {
                for ((mean, variance), &beta) in mean.iter_mut().zip(variance).zip(betas) {
                    let (of_base, spread) = base.mean_and_variance(&log_p[..base.len()], beta);
                    (*mean, *variance) = (*mean - of_base, *variance + spread);
                }
            }
        }
    }

    fn halves(&mut self) -> Option<&mut dyn Halves> {
        matches!(self.route.base, Base::Product(_)).then_some(self)
    }
}

impl Halves for BurnWalker<'_> {
    fn draw_hidden(&mut self, at: &[u32], streams: &SweepStreams) {
        let eta = self.inputs() * self.beta(at);
        self.hidden = Some(self.engine.draw_hidden(eta, streams.hidden, self.states.first_row));
    }

    fn slopes_of_both(&mut self, out: &mut [f64]) {
        let Some(hidden) = self.hidden.clone() else { return out.fill(f64::NAN) };
        let of_hidden = host((hidden * self.inputs()).sum_dim(1));
        let linear = self.linear();
        for ((out, x), [model, base]) in out.iter_mut().zip(of_hidden).zip(linear) {
            *out = model - base + f64::from(x);
        }
    }

    fn draw_visible(&mut self, at: &[u32], streams: &SweepStreams) {
        let Some(hidden) = self.hidden.clone() else { return };
        let base = self.base_of_rows(at, streams);
        let beta = self.beta(at);
        let model = self.engine.rbm.visible_inputs(hidden) * beta.clone();
        self.set_visible(model + base * (beta.neg() + 1.0), streams);
    }
}
