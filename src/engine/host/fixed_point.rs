//! A dense matrix as whole numbers of 32 bits, with a scale for each column: w_ij is scale_j q_ij up to half a scale.
//!
//! The states are bits, so a product with the matrix is a sum of whole numbers, which is exact: it does not depend on the order of its
//! terms, and so not on threads, ranks, shapes of tables or instruction sets. The scale of a column is the largest of
//! 1. sum_i |w_ij| / 2^31, so that no sum of its numbers overflows, in any order, and
//! 2. max_i |w_ij| / 2^23, but at most 2^-20: numbers of 24 bits are three planes of 8 bits for matrix units
//!    ([`super::planes`]). Where that would leave steps of more than 2^-20 (a millionth of a nat), numbers have 32 bits.
//!
//! A column whose scale would be above 2^-15, because of a weight of tens of thousands, is summed in f64 instead, in the order of the units:
//! the other weights of such a unit would be lost in its steps.
//!
//! The result x = start + scale sum is rounded three times; its error is at most half a scale for each set bit, and 2^-22 of the terms.

use super::InstructionSet;
use super::instruction_set::for_every_instruction_set;
use super::panels::Panels;
use super::planes::Planes;
use crate::engine::{AS_A_NUMBER, PANEL, Workers, padded};

/// Largest sum of absolute numbers of a column: 2^31 less 2^24, more than rounding of the sum and of the numbers can add.
const LARGEST_SUM: f32 = 2_130_706_432.0;
/// Units from which on rounding could add more.
const MANY: usize = 1 << 16;
/// Largest number of 24 bits, less what rounding can add.
const LARGEST: f32 = 8_388_606.0;
/// Largest scale of numbers of 24 bits.
const COARSE: f32 = 1.0 / (1 << 20) as f32;
/// Largest scale of all: sums of |w| up to 65 000.
const COARSEST: f32 = 1.0 / (1 << 15) as f32;
/// Smallest scale: its inverse is finite.
const SMALLEST: f32 = 1e-37;

/// A matrix of shape [units, columns].
#[derive(Clone, Debug)]
pub struct FixedPoint {
    units: usize,
    columns: usize,
    set: InstructionSet,
    /// Scale of each column and what its values are multiplied by, padded; 0 beyond the columns.
    pub(super) scale: Vec<f32>,
    inverse: Vec<f32>,
    /// Whether a column has numbers of more than 24 bits, padded.
    long: Vec<bool>,
    pub(super) layout: Layout,
    /// Columns that are summed in f64, with their values, [units]: those of a coarse scale, and those that are not finite.
    pub(super) in_floats: Vec<(usize, Vec<f32>)>,
}

/// How the whole numbers lie.
#[derive(Clone, Debug)]
pub enum Layout {
    /// For look-up tables and sums of rows.
    Panels(Panels),
    /// For matrix units.
    Planes(Planes),
}

impl FixedPoint {
    /// All zeros, in the layout of the fastest product of this instruction set.
    pub fn zeros(units: usize, columns: usize, set: InstructionSet) -> Self {
        let layout = match set.has_tiles() {
            true => Layout::Planes(Planes::zeros(units, columns)),
            false => Layout::Panels(Panels::zeros(units, columns)),
        };
        Self::in_layout(units, columns, set, layout)
    }

    /// The same in planes, whatever the instruction set.
    #[cfg(test)]
    pub fn in_planes(units: usize, columns: usize) -> Self {
        let layout = Layout::Planes(Planes::zeros(units, columns));
        Self::in_layout(units, columns, InstructionSet::Portable, layout)
    }

    fn in_layout(units: usize, columns: usize, set: InstructionSet, layout: Layout) -> Self {
        let (scale, inverse) = (vec![0.0; padded(columns)], vec![0.0; padded(columns)]);
        let long = vec![false; padded(columns)];
        Self { units, columns, set, scale, inverse, long, layout, in_floats: Vec::new() }
    }

    /// Takes values of shape [units, columns], rows `stride` apart, with the sizes of its columns.
    pub fn copy(&mut self, values: &[f32], stride: usize, sizes: &Sizes) {
        let units = self.units;
        self.find_scales(sizes, |j| (0..units).map(|i| values[i * stride + j]).collect());
        match &mut self.layout {
            Layout::Panels(panels) => panels.copy(self.set, values, stride, &self.inverse),
            Layout::Planes(planes) => {
                planes.copy(self.set, values, stride, &self.inverse, &self.long);
            }
        }
    }

    /// Takes the transpose of tight values of shape [columns, units], with the sizes of their rows.
    pub fn copy_transposed(&mut self, values: &[f32], sizes: &Sizes) {
        let units = self.units;
        self.find_scales(sizes, |j| values[j * units..][..units].to_vec());
        match &mut self.layout {
            Layout::Panels(panels) => panels.copy_transposed(self.set, values, &self.inverse),
            Layout::Planes(planes) => {
                planes.copy_transposed(self.set, values, &self.inverse, &self.long);
            }
        }
    }

    fn find_scales(&mut self, sizes: &Sizes, values_of: impl Fn(usize) -> Vec<f32>) {
        self.in_floats.clear();
        for (column, (most, sum)) in sizes.most.iter().zip(&sizes.sum).enumerate() {
            let (scale, inverse) = scale_of(*most, *sum, self.units);
            if scale.is_nan() || scale > COARSEST {
                self.in_floats.push((column, values_of(column)));
            }
            self.scale[column] = scale;
            self.inverse[column] = inverse;
            self.long[column] = most * inverse > LARGEST + 1.0;
        }
    }

    /// Number of rows of the matrix.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Number of columns of the matrix.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

/// Fewest panels of a task of a thread that lays out a matrix; each thread has those whose columns it is likely to work on in a product.
pub(super) fn fewest_panels(units: usize, columns: usize) -> usize {
    let threads = Workers::All.for_products(units * columns * AS_A_NUMBER);
    (columns.div_ceil(PANEL) / threads).max(1)
}

/// The scale of a column and its inverse, given max |w| and sum |w|. Not a number where these are not: then neither are sums.
fn scale_of(most: f32, sum: f32, units: usize) -> (f32, f32) {
    if sum.is_nan() || most.is_infinite() {
        return (f32::NAN, 0.0);
    }
    let largest_sum = if units < MANY { LARGEST_SUM } else { LARGEST_SUM / 2.0 };
    // Sums of finite values may overflow, here and in products.
    let of_sum = (sum / largest_sum).min(most / largest_sum * units as f32);
    let scale = of_sum.max((most / LARGEST).min(COARSE)).max(SMALLEST);
    (scale, scale.recip())
}

/// max |w| and sum |w| of rows or columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    pub most: Vec<f32>,
    pub sum: Vec<f32>,
}

impl Sizes {
    /// Of the rows and of the columns of values of shape [rows, columns], `stride` apart. In one thread: sums of floats have an order.
    pub fn of(set: InstructionSet, values: &[f32], columns: usize, stride: usize) -> [Self; 2] {
        let mut sizes = [values.len().div_ceil(stride.max(1)), columns].map(Self::zeros);
        let [rows, of_columns] = &mut sizes;
        find(set, values, stride, Some(rows), of_columns);
        sizes
    }

    /// Of the columns alone.
    pub fn of_columns(set: InstructionSet, values: &[f32], columns: usize, stride: usize) -> Self {
        let mut sizes = Self::zeros(columns);
        find(set, values, stride, None, &mut sizes);
        sizes
    }

    fn zeros(n: usize) -> Self {
        Self { most: vec![0.0; n], sum: vec![0.0; n] }
    }
}

for_every_instruction_set! {
    fn find(
        values: &[f32],
        stride: usize,
        rows: Option<&mut Sizes>,
        columns: &mut Sizes
    ) = find_sizes
}

/// Four rows at a time, so that what is known of the columns is read and written once for them.
#[inline(always)]
fn find_sizes(values: &[f32], stride: usize, mut rows: Option<&mut Sizes>, columns: &mut Sizes) {
    let n = columns.most.len();
    let (most, sum) = (&mut columns.most[..n], &mut columns.sum[..n]);
    let (mut row, all) = (0, values.len().div_ceil(stride.max(1)));
    while row < all {
        let count = if row + 4 <= all { 4 } else { 1 };
        let at = |i: usize| &values[(row + i) * stride..][..n];
        if count == 4 {
            let (a, b, c, d) = (at(0), at(1), at(2), at(3));
            for j in 0..n {
                let (a, b, c, d) = (a[j].abs(), b[j].abs(), c[j].abs(), d[j].abs());
                most[j] = larger(most[j], larger(larger(a, b), larger(c, d)));
                sum[j] += (a + b) + (c + d);
            }
        } else {
            let a = at(0);
            for j in 0..n {
                (most[j], sum[j]) = (larger(most[j], a[j].abs()), sum[j] + a[j].abs());
            }
        }
        if let Some(rows) = &mut rows {
            for i in 0..count {
                (rows.most[row + i], rows.sum[row + i]) = size_of(at(i));
            }
        }
        row += count;
    }
}

/// max |w| and sum |w| in 16 lanes, on every instruction set.
#[inline(always)]
fn size_of(row: &[f32]) -> (f32, f32) {
    const LANES: usize = 16;
    let (whole, rest) = row.as_chunks::<LANES>();
    let (mut most, mut sum) = ([0.0; LANES], [0.0; LANES]);
    // One at a time and by value: so the compiler keeps them in registers.
    for w in whole {
        let w = w.map(f32::abs);
        most = std::array::from_fn(|lane| larger(most[lane], w[lane]));
        sum = std::array::from_fn(|lane| sum[lane] + w[lane]);
    }
    for (lane, w) in rest.iter().enumerate() {
        (most[lane], sum[lane]) = (larger(most[lane], w.abs()), sum[lane] + w.abs());
    }
    (most.into_iter().fold(0.0, larger), sum.into_iter().sum())
}

/// One instruction, unlike `max`, which asks for numbers.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// Four values as whole numbers, by rounding to the nearest and to even ones; some numbers for values that are not finite.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn whole(values: [f32; 4], inverse: [f32; 4]) -> [i32; 4] {
    use std::arch::x86_64::{_mm_cvtps_epi32, _mm_loadu_ps, _mm_mul_ps, _mm_storeu_si128};
    let mut q = [0; 4];
    // SAFETY: four numbers are read, and four are written. Every x86-64 has the instructions.
    unsafe {
        let scaled = _mm_mul_ps(_mm_loadu_ps(values.as_ptr()), _mm_loadu_ps(inverse.as_ptr()));
        _mm_storeu_si128(q.as_mut_ptr().cast(), _mm_cvtps_epi32(scaled));
    }
    q
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn whole(values: [f32; 4], inverse: [f32; 4]) -> [i32; 4] {
    std::array::from_fn(|i| (values[i] * inverse[i]).round_ties_even() as i32)
}

/// As many values as there is room for, with an inverse for each.
#[inline(always)]
pub(super) fn wholes(values: &[f32], inverse: &[f32], to: &mut [i32]) {
    let (values, values_rest) = values[..to.len()].as_chunks::<4>();
    let (inverse, inverse_rest) = inverse[..to.len()].as_chunks::<4>();
    let (to, to_rest) = to.as_chunks_mut::<4>();
    for ((to, values), inverse) in to.iter_mut().zip(values).zip(inverse) {
        *to = whole(*values, *inverse);
    }
    for ((to, value), inverse) in to_rest.iter_mut().zip(values_rest).zip(inverse_rest) {
        *to = whole([*value; 4], [*inverse; 4])[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of the scaled numbers over all units do not overflow, and steps are small where they can be.
    #[test]
    fn scales_keep_sums_within_32_bits() {
        for (units, size) in
            [(1, 1e-30f32), (3, 0.1), (300, 1.0), (784, 30.0), (70_000, 1e4), (5, 1e9)]
        {
            for spread in [0.0, 1.0] {
                let values: Vec<f32> = (0..units)
                    .map(|i| size * (1.0 - spread * (i * 37 % 101) as f32 / 100.0))
                    .collect();
                for set in InstructionSet::available() {
                    let [rows, columns] = Sizes::of(set, &values, 1, 1);
                    assert_eq!((&rows.most, &rows.sum), (&values, &values), "{set}");
                    let [row, _] = Sizes::of(set, &values, units, units);
                    let (most, sum) = (columns.most[0], columns.sum[0]);
                    assert!(row.most[0] == most && (row.sum[0] - sum).abs() < 1e-3 * sum);
                    let (scale, inverse) = scale_of(most, sum, units);
                    let mut numbers = vec![0; units];
                    wholes(&values, &vec![inverse; units], &mut numbers);
                    let total: i64 = numbers.iter().map(|q| i64::from(*q).abs()).sum();
                    assert!(total < 1 << 31, "{units} of {size}: {total}");
                    let largest = numbers.iter().map(|q| i64::from(*q).abs()).max().unwrap();
                    assert_eq!(
                        most * inverse > LARGEST + 1.0,
                        largest >= 1 << 23,
                        "{units} of {size}"
                    );
                    assert!(scale <= COARSE.max(sum / 1.06e9) && scale > 0.0);
                }
            }
        }
        assert!(scale_of(f32::INFINITY, f32::INFINITY, 3).0.is_nan());
        let (scale, inverse) = scale_of(3e38, f32::INFINITY, 12);
        assert!(scale.is_finite() && 12.0 * 3e38 * f64::from(inverse) < 2f64.powi(31));
        assert!(scale_of(1.0, f32::NAN, 3).0.is_nan());
    }
}
