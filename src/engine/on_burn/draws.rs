//! Counter-based draws on a device.
//!
//! A random number is a hash of two keys of its row, which are made on the host from the row's stream, and of its unit: two rounds of the
//! 32-bit hash "lowbias32" (C. Wellons, "Prospecting for hash functions", 2018), one for each key. Integers of 32 and of 64 bits give the
//! same numbers: only the low 32 bits count, and shifts are masked.

use std::ops::Range;

use burn::tensor::activation::{sigmoid, softmax};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};

use crate::engine::PADDING;
use crate::engine::random::Streams;
use crate::units::Variables;

/// Keys and units have 31 bits: they fit any signed integer of a device.
const POSITIVE: u32 = 0x7FFF_FFFF;
/// Multipliers of the hash, as signed 32-bit numbers.
const MULTIPLIERS: [i32; 2] = [0x7FEB_352D, 0x846C_A68B_u32 as i32];

/// Random numbers for the units of a row.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// A number of each unit, [1, units].
    units: Tensor<2, Int>,
}

impl Layout {
    /// Of these of a row's numbers, one a unit.
    pub fn new(numbers: Range<usize>, device: &Device) -> Self {
        let units = numbers.len();
        let number = |unit: usize| ((unit as u32).wrapping_mul(0x9E37_79B9) & POSITIVE) as i32;
        let numbers: Vec<i32> = numbers.map(number).collect();
        Self { units: Tensor::from_data(TensorData::new(numbers, [1, units]), device) }
    }

    /// Uniform in [0, 1), [rows, units]; row i takes the stream of row `first_row` + i.
    pub fn uniform(&self, rows: usize, streams: Streams, first_row: u32) -> Tensor<2> {
        let ([_, units], device) = (self.units.dims(), self.units.device());
        let (mut first, mut second) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows as u32 {
            let mut stream = streams.row(first_row + row);
            first.push((stream.next_word() & POSITIVE) as i32);
            second.push((stream.next_word() & POSITIVE) as i32);
        }
        let key = |values: Vec<i32>| {
            let keys: Tensor<2, Int> =
                Tensor::from_data(TensorData::new(values, [rows, 1]), &device);
            keys.repeat_dim(1, units)
        };
        let x = mixed(self.units.clone().repeat_dim(0, rows).bitwise_xor(key(first)));
        let x = mixed(x.bitwise_xor(key(second)));
        shifted(x, 8).float() * (1.0 / 16_777_216.0)
    }

    /// Bits with natural parameters `eta`, [rows, units].
    pub fn bits(&self, eta: Tensor<2>, streams: Streams, first_row: u32) -> Tensor<2> {
        let uniform = self.uniform(eta.dims()[0], streams, first_row);
        uniform.lower(sigmoid(eta)).float()
    }
}

/// One round of the hash.
fn mixed(x: Tensor<2, Int>) -> Tensor<2, Int> {
    let [first, second] = MULTIPLIERS;
    let x = multiplied(x.clone().bitwise_xor(shifted(x, 16)), first);
    let x = multiplied(x.clone().bitwise_xor(shifted(x, 15)), second);
    x.clone().bitwise_xor(shifted(x, 16))
}

/// x >> bits of the low 32 bits.
fn shifted(x: Tensor<2, Int>, bits: i32) -> Tensor<2, Int> {
    x.bitwise_right_shift_scalar(bits).bitwise_and_scalar(i32::MAX >> (bits - 1))
}

/// The low 32 bits of a product. In 64 bits it does not overflow.
fn multiplied(x: Tensor<2, Int>, by: i32) -> Tensor<2, Int> {
    let wide = x.dtype() == DType::I64;
    let product = x.mul_scalar(by);
    if wide { product.bitwise_and_scalar(0xFFFF_FFFF_i64) } else { product }
}

/// Whole numbers, such as those of columns.
pub(super) fn list(values: impl IntoIterator<Item = i32>, device: &Device) -> Tensor<1, Int> {
    let values: Vec<i32> = values.into_iter().collect();
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), device)
}

/// Groups of columns of which at most one is set, for draws of all groups at once.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    uniform: Layout,
    /// Most states of a group, Q.
    states: usize,
    /// For each state of each group its column, [groups x Q]: M stands for "no such state", M + 1 for the implicit state.
    columns: Tensor<1, Int>,
    /// For each column its place in that list, `[M]`; any for real variables.
    places: Tensor<1, Int>,
    /// Index of the last state of each group, [1, groups].
    last: Tensor<2>,
}

impl Groups {
    /// `None` where all columns are bits, or real.
    pub fn of(variables: &Variables, n_visible: usize, device: &Device) -> Option<Self> {
        let groups: Vec<_> = variables.of(n_visible).filter(|it| it.real.is_none()).collect();
        if variables.is_bits() || groups.is_empty() {
            return None;
        }
        let states = groups.iter().map(|group| group.states()).max().unwrap_or(1);
        let (mut columns, mut places, mut last) = (Vec::new(), vec![0; n_visible], Vec::new());
        for (g, group) in groups.iter().enumerate() {
            group.range().for_each(|i| places[i] = (g * states + i - group.first) as i32);
            columns.extend(group.range().map(|column| column as i32));
            columns.extend(group.implicit.then_some(n_visible as i32 + 1));
            columns.resize((g + 1) * states, n_visible as i32);
            last.push(group.states() as f32 - 1.0);
        }
        Some(Self {
            uniform: Layout::new(0..groups.len(), device),
            states,
            columns: list(columns, device),
            places: list(places, device),
            last: Tensor::from_data(TensorData::new(last, [1, groups.len()]), device),
        })
    }

    /// One state of every group, from natural parameters [rows, M]: the first whose cumulated probability exceeds a uniform number.
    pub fn draw(&self, eta: Tensor<2>, streams: Streams, first_row: u32) -> Tensor<2> {
        let ([rows, _], device) = (eta.dims(), eta.device());
        let [_, groups] = self.last.dims();
        let none = Tensor::<2>::full([rows, 1], PADDING, &device);
        let implicit = Tensor::<2>::zeros([rows, 1], &device);
        let eta = Tensor::cat(vec![eta, none, implicit], 1).select(1, self.columns.clone());
        let eta: Tensor<3> = eta.reshape([rows, groups, self.states]);
        let cumulated = softmax(eta, 2).cumsum(2);
        let uniform = self.uniform.uniform(rows, streams, first_row);
        let uniform: Tensor<3> = uniform.unsqueeze_dim(2).repeat_dim(2, self.states);
        let below: Tensor<2> = cumulated.lower_equal(uniform).float().sum_dim(2).squeeze_dim(2);
        let chosen = below.min_pair(self.last.clone().repeat_dim(0, rows));
        let chosen: Tensor<3> = chosen.unsqueeze_dim(2).repeat_dim(2, self.states);
        let numbers: Vec<f32> = (0..self.states).map(|state| state as f32).collect();
        let numbers = TensorData::new(numbers, [1, 1, self.states]);
        let numbers = Tensor::<3>::from_data(numbers, &device).repeat_dim(0, rows);
        let set = numbers.repeat_dim(1, groups).equal(chosen).float();
        set.reshape([rows, groups * self.states]).select(1, self.places.clone())
    }
}
