//! Packed bits into rows of zeros and ones on a device, and back.
//!
//! Words travel in pieces of 16 bits as whole numbers in f32, which are exact there, so no type of integers of the device is needed.

use burn::tensor::{Device, Tensor, TensorData};

use crate::engine::words_per_row;
use crate::model::host;

/// Bits of a piece.
const BITS: usize = 16;
const PIECES: usize = 64 / BITS;

/// 2^j of the bits of a piece, times `scale`, [1, 1, 16].
fn powers(scale: impl Fn(i32) -> f32, device: &Device) -> Tensor<3> {
    let powers: Vec<f32> = (0..BITS as i32).map(scale).collect();
    Tensor::from_data(TensorData::new(powers, [1, 1, BITS]), device)
}

/// Zeros and ones, [rows, columns], of packed rows.
pub(super) fn unpacked(words: &[u64], columns: usize, device: &Device) -> Tensor<2> {
    let pieces = words_per_row(columns) * PIECES;
    let rows = words.len() / words_per_row(columns).max(1);
    let piece = |word: &u64| {
        let word = *word;
        (0..PIECES).map(move |i| (word >> (i * BITS) & 0xFFFF) as f32)
    };
    let values: Vec<f32> = words.iter().flat_map(piece).collect();
    let values: Tensor<3> = Tensor::from_data(TensorData::new(values, [rows, pieces, 1]), device);
    // floor(x / 2^j) is odd where bit j is set.
    let shifted = (values.repeat_dim(2, BITS) * powers(|j| 0.5f32.powi(j), device)).floor();
    let even = (shifted.clone() * 0.5).floor() * 2.0;
    (shifted - even).reshape([rows, pieces * BITS]).narrow(1, 0, columns)
}

/// Packs rows of zeros and ones, [rows, columns].
pub(super) fn packed(states: Tensor<2>, words: &mut [u64]) {
    let [rows, columns] = states.dims();
    let device = states.device();
    let pieces = words_per_row(columns) * PIECES;
    let missing = pieces * BITS - columns;
    let states = match missing {
        0 => states,
        _ => Tensor::cat(vec![states, Tensor::zeros([rows, missing], &device)], 1),
    };
    let states: Tensor<3> = states.reshape([rows, pieces, BITS]);
    let values = host((states * powers(|j| 2.0f32.powi(j), &device)).sum_dim(2));
    for (word, pieces) in words.iter_mut().zip(values.chunks_exact(PIECES)) {
        let bits = pieces.iter().enumerate().map(|(i, &piece)| (piece as u64) << (i * BITS));
        *word = bits.sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::BitMatrix;

    #[test]
    fn bits_survive_the_device() {
        for columns in [1, 15, 16, 64, 70, 200] {
            let bits = BitMatrix::from_fn(7, columns, |i, j| (i * 31 + j * 17 + i * j) % 5 < 2);
            let dense = unpacked(bits.words(), columns, &Device::default());
            let expected: Vec<f32> = (0..7 * columns)
                .map(|n| f32::from(u8::from(bits.get(n / columns, n % columns))))
                .collect();
            assert_eq!(host(dense.clone()), expected);
            let mut back = BitMatrix::zeros(7, columns);
            packed(dense, back.words_mut());
            assert_eq!(back, bits);
        }
    }
}
