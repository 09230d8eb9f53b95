//! Sums of softplus over hidden units at all inverse temperatures, the cost of the collapsed update of beta.
//!
//! sum_j softplus(beta x_j) = beta sum_j max(x_j, 0) + log prod_j (1 + exp(-beta |x_j|)). Every factor lies in (1, 2],
//! so dozens multiply before one logarithm is taken, and along a run of equally spaced temperatures the exponentials
//! form a geometric sequence: three operations per unit and temperature instead of an exponential and a logarithm.

use super::dispatched;
use super::math::{exp_f32, ln_f64};
use crate::ops::BetaGrid;
use crate::ops::matrix::LANES;

/// Units that are multiplied together in one pass over the temperatures.
const GROUP: usize = 4 * LANES;
/// Passes before the products are turned into logarithms: 4 factors <= 2 each pass, below 2^112 in f32.
const PASSES: usize = 28;

dispatched! {
    /// [`crate::ops::RbmOps::softplus_sums`] for the fused kernel.
    pub fn softplus_sums(n_units: usize, stride: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) = body;
}

#[inline(always)]
fn body(n_units: usize, stride: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
    let n_betas = grid.betas().len();
    let mut products = vec![[1.0f32; LANES]; n_betas];
    for (x, out) in inputs.chunks_exact(stride).zip(out.chunks_exact_mut(n_betas)) {
        out.fill(0.0);
        for units in x.chunks(GROUP * PASSES) {
            products.fill([1.0; LANES]);
            for group in units.chunks(GROUP) {
                let mut magnitude = [f32::MAX; GROUP];
                for (target, x) in magnitude.iter_mut().zip(group) {
                    *target = x.abs();
                }
                multiply(&magnitude, grid, &mut products);
            }
            for (sum, product) in out.iter_mut().zip(&products) {
                let mut lanes = [0.0f64; LANES / 2];
                for i in 0..LANES / 2 {
                    lanes[i] = f64::from(product[i]) * f64::from(product[i + LANES / 2]);
                }
                let quarter: [f64; 4] = std::array::from_fn(|i| lanes[i] * lanes[i + 4]);
                // At most 2^(16 x 112) would overflow; two factors stay below 2^(8 x 112) = 2^896.
                *sum += ln_f64(quarter[0] * quarter[1]) + ln_f64(quarter[2] * quarter[3]);
            }
        }
        let positive: f64 = x[..n_units].iter().map(|&x| f64::from(x.max(0.0))).sum();
        for (sum, &beta) in out.iter_mut().zip(grid.betas()) {
            // At beta = 0 padding counts as units; the sum is known exactly there.
            *sum = if beta == 0.0 {
                n_units as f64 * std::f64::consts::LN_2
            } else {
                *sum + beta * positive
            };
        }
    }
}

/// products[k] *= prod over the group of (1 + exp(-beta_k |x|)), lane by lane.
#[inline(always)]
fn multiply(magnitude: &[f32; GROUP], grid: &BetaGrid, products: &mut [[f32; LANES]]) {
    for segment in grid.segments() {
        let mut e = [0.0f32; GROUP];
        let mut ratio = [0.0f32; GROUP];
        for i in 0..GROUP {
            e[i] = exp_f32(-segment.start * magnitude[i]);
            ratio[i] = exp_f32(-segment.step * magnitude[i]);
        }
        for product in &mut products[segment.first..segment.first + segment.length] {
            for i in 0..LANES {
                product[i] *= ((1.0 + e[i]) * (1.0 + e[i + LANES]))
                    * ((1.0 + e[i + 2 * LANES]) * (1.0 + e[i + 3 * LANES]));
            }
            for i in 0..GROUP {
                e[i] *= ratio[i];
            }
        }
    }
}
