//! Real variables on a device: their two columns hold v and v^2, so products, dot products and moments are those of other columns.

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::draws::{Layout, list};
use super::states::{packed, unpacked};
use crate::engine::random::Streams;
use crate::engine::words_per_row;
use crate::model::host;
use crate::units::{Real, Variables};

/// The real variables of the visible layer, R of M columns.
#[derive(Clone, Debug)]
pub(super) struct Reals {
    reals: Vec<(usize, Real)>,
    /// The columns of v and those of v^2, `[R]` each.
    columns: [Tensor<1, Int>; 2],
    /// Of rows of bits, v and v^2, [rows, M + 2 R], the number that each column takes, `[M]`.
    sources: Tensor<1, Int>,
    /// 1 for bits, 0 for v and v^2, [1, M].
    bits: Tensor<2>,
    /// 0 for v^2, else 1, [M, 1].
    weighted: Tensor<2>,
    /// Two random numbers of each.
    uniform: Layout,
    /// Words of a packed row.
    words: usize,
}

impl Reals {
    /// `None` where no variable is real.
    pub fn of(variables: &Variables, n_visible: usize, device: &Device) -> Option<Self> {
        let reals: Vec<(usize, Real)> = variables.reals().collect();
        let (m, r) = (n_visible, reals.len());
        let mut sources: Vec<i32> = (0..m as i32).collect();
        let (mut bits, mut weighted) = (vec![1.0f32; m], vec![1.0f32; m]);
        for (n, (first, _)) in reals.iter().enumerate() {
            (sources[*first], sources[first + 1]) = ((m + n) as i32, (m + r + n) as i32);
            bits[*first..first + 2].fill(0.0);
            weighted[first + 1] = 0.0;
        }
        let columns = [0, 1].map(|of| list(reals.iter().map(|it| (it.0 + of) as i32), device));
        (r > 0).then(|| Self {
            columns,
            sources: list(sources, device),
            bits: Tensor::from_data(TensorData::new(bits, [1, m]), device),
            weighted: Tensor::from_data(TensorData::new(weighted, [m, 1]), device),
            // Groups take the numbers below M.
            uniform: Layout::new(m..m + 2 * r, device),
            words: variables.words(m),
            reals,
        })
    }

    /// Rows of all columns, of which `bits` has the discrete ones, [rows, M], and v [rows, R].
    fn joined(&self, bits: Tensor<2>, v: Tensor<2>) -> Tensor<2> {
        Tensor::cat(vec![bits, v.clone(), v.clone() * v], 1).select(1, self.sources.clone())
    }

    /// v ~ N(eta_1/(-2 eta_2), 1/(-2 eta_2)) of natural parameters [rows, M], by Box and Muller; `bits` as drawn.
    pub fn draw(
        &self,
        bits: Tensor<2>,
        eta: Tensor<2>,
        streams: Streams,
        first_row: u32,
    ) -> Tensor<2> {
        let (rows, r) = (eta.dims()[0], self.reals.len());
        let [linear, square] = self.columns.clone().map(|of| eta.clone().select(1, of));
        let uniform = self.uniform.uniform(rows, streams, first_row);
        let radius = ((uniform.clone().narrow(1, 0, r).neg() + 1.0).log() * -2.0).sqrt();
        let normal = radius * (uniform.narrow(1, r, r) * std::f32::consts::TAU).cos();
        let variance = square.recip() * -0.5;
        let v = linear * variance.clone() + normal * variance.sqrt();
        self.joined(bits, v)
    }

    /// Packed rows as rows of numbers, [rows, M].
    pub fn unpacked(&self, words: &[u64]) -> Tensor<2> {
        let ([_, m], device) = (self.bits.dims(), self.bits.device());
        let rows = words.chunks_exact(self.words);
        let heads: Vec<u64> =
            rows.clone().flat_map(|row| &row[..words_per_row(m)]).copied().collect();
        let values = rows.flat_map(|row| self.reals.iter().map(|(_, real)| real.value(row)));
        let shape = [words.len() / self.words, self.reals.len()];
        let v = Tensor::from_data(TensorData::new(values.collect::<Vec<f32>>(), shape), &device);
        self.joined(unpacked(&heads, m, &device), v)
    }

    /// The reverse.
    pub fn packed(&self, states: Tensor<2>, words: &mut [u64]) {
        let ([_, m], rows) = (self.bits.dims(), states.dims()[0]);
        let values = host(states.clone().select(1, self.columns[0].clone()));
        let mut heads = vec![0; rows * words_per_row(m)];
        packed(states * self.bits.clone(), &mut heads);
        let rows = words.chunks_exact_mut(self.words).zip(heads.chunks_exact(words_per_row(m)));
        for ((row, head), values) in rows.zip(values.chunks_exact(self.reals.len())) {
            row[..head.len()].copy_from_slice(head);
            self.reals.iter().zip(values).for_each(|((_, real), v)| real.set(row, *v));
        }
    }

    /// E[v h'] with zeros in the rows of squares, which have no weights.
    pub fn without_squares(&self, products: Tensor<2>) -> Tensor<2> {
        products * self.weighted.clone()
    }
}
