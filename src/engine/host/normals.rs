//! Normal random numbers of a row's stream, many at a time.

use super::instruction_set::for_every_instruction_set;
use super::math::{ln_f32, sine_and_cosine};
use crate::engine::random::philox_lanes;

/// Normal numbers of one step of the generator.
pub(super) const NORMALS: usize = 64;
/// Blocks of four numbers that are computed at a time.
const LANES: usize = NORMALS / 4;
/// First block of normal numbers in a row's stream; those that other variables use come from 0 upwards.
const NORMAL_BLOCKS: u32 = 1 << 30;

for_every_instruction_set! {
    /// Standard normal numbers of a row's stream (Box and Muller 1958); `out`: a multiple of [`NORMALS`].
    pub(super) fn normals(key: [u32; 2], fixed: [u32; 3], out: &mut [f32]) = normals_of
}

#[inline(always)]
fn normals_of(key: [u32; 2], fixed: [u32; 3], out: &mut [f32]) {
    for (block, out) in out.chunks_exact_mut(NORMALS).enumerate() {
        let words = philox_lanes::<LANES>(NORMAL_BLOCKS + (block * LANES) as u32, fixed, key);
        for (pair, out) in out.chunks_exact_mut(2 * LANES).enumerate() {
            let (cosines, sines) = out.split_at_mut(LANES);
            for i in 0..LANES {
                let (radius, angle) = (words[2 * pair][i], words[2 * pair + 1][i]);
                // In (0, 1), and an angle between -pi/4 and pi/4 that two bits turn into one of the whole circle.
                let uniform = ((radius >> 1) as i32 as f32 + 0.5) * (1.0 / 2_147_483_648.0);
                let eighth = ((angle >> 2) as i32 as f32 + 0.5) * (1.0 / 1_073_741_824.0) - 0.5;
                let (sine, cosine) = sine_and_cosine(eighth * std::f32::consts::FRAC_PI_2);
                let radius = (-2.0 * ln_f32(uniform)).max(0.0).sqrt();
                let cosine = if angle & 1 == 0 { cosine } else { -cosine };
                let (x, y) = if angle & 2 == 0 { (cosine, sine) } else { (sine, cosine) };
                (cosines[i], sines[i]) = (radius * x, radius * y);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::InstructionSet;
    use crate::engine::random::{Purpose, Streams};

    /// On every instruction set the same bits; mean, variance, fourth moment, correlation of a pair and tails of standard normal numbers.
    #[test]
    fn normal_numbers_are_normal() {
        let (rows, width) = (4000, 2 * NORMALS);
        let draw = |set: InstructionSet| -> Vec<f32> {
            let mut numbers = vec![0.0; rows * width];
            for (row, out) in numbers.chunks_exact_mut(width).enumerate() {
                let (key, fixed) = Streams::new(4, Purpose::TestSystem, 0).row(row as u32).words();
                normals(set, key, fixed, out);
            }
            numbers
        };
        let all = InstructionSet::available().into_iter().map(draw).collect::<Vec<_>>();
        assert!(all.iter().all(|it| *it == all[0]));
        let n = (rows * width) as f64;
        let mean = |of: fn(f64) -> f64| all[0].iter().map(|&x| of(x.into())).sum::<f64>() / n;
        let pairs =
            all[0].chunks_exact(2 * LANES).flat_map(|it| (0..LANES).map(|i| it[i] * it[i + LANES]));
        let product = pairs.map(f64::from).sum::<f64>() / (0.5 * n);
        // Variances of the means: 1, 2, 96, P(1 - P) and, for half as many pairs, 1.
        for (found, expected, variance) in [
            (mean(|x| x), 0.0, 1.0),
            (mean(|x| x * x), 1.0, 2.0),
            (mean(|x| x.powi(4)), 3.0, 96.0),
            (mean(|x| f64::from(u8::from(x > 0.0))), 0.5, 0.25),
            (mean(|x| f64::from(u8::from(x.abs() > 3.0))), 0.002_699_8, 0.002_7),
            (product, 0.0, 2.0),
        ] {
            assert!((found - expected).abs() < 4.5 * (variance / n).sqrt(), "{found} {expected}");
        }
    }
}
