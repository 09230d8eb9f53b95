//! Sums of softplus over hidden units at all inverse temperatures, the cost of the collapsed update of beta.
//!
//! sum_j softplus(beta x_j) = beta sum_j max(x_j, 0) + log prod_j (1 + exp(-beta |x_j|)). Every factor lies in (1, 2],
//! so dozens multiply before one logarithm is taken, and along a run of equally spaced temperatures the exponentials
//! form a geometric sequence: three operations per unit and temperature instead of an exponential and a logarithm.

use super::InstructionSet;
use super::math::{exp_f32, ln_f64};
use crate::ops::{BetaGrid, padded};

/// Units in one vector of AVX-512.
const LANES: usize = 16;
/// Units that are multiplied together in one pass over the temperatures.
const GROUP: usize = 4 * LANES;
/// Passes before the products are turned into logarithms: 4 factors <= 2 each pass, below 2^112 in f32.
const PASSES: usize = 28;

/// [`crate::ops::RbmOps::softplus_sums`] for the fused kernel.
pub fn softplus_sums(
    set: InstructionSet,
    n_units: usize,
    inputs: &[f32],
    grid: &BetaGrid,
    out: &mut [f64],
) {
    match set {
        // SAFETY: the instruction set was detected on this machine.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => unsafe { avx512(n_units, inputs, grid, out) },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { avx2(n_units, inputs, grid, out) },
        _ => body(n_units, inputs, grid, out, run_portable),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn avx512(n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
    body(n_units, inputs, grid, out, |e, ratio, products| run_avx512(e, ratio, products));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
    body(n_units, inputs, grid, out, run_portable);
}

#[inline(always)]
fn body(
    n_units: usize,
    inputs: &[f32],
    grid: &BetaGrid,
    out: &mut [f64],
    run: impl Fn(&mut [f32; GROUP], &[f32; GROUP], &mut [[f32; LANES]]),
) {
    let stride = padded(n_units);
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
                multiply(&magnitude, grid, &mut products, &run);
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
fn multiply(
    magnitude: &[f32; GROUP],
    grid: &BetaGrid,
    products: &mut [[f32; LANES]],
    run: &impl Fn(&mut [f32; GROUP], &[f32; GROUP], &mut [[f32; LANES]]),
) {
    let mut ratio = [0.0f32; GROUP];
    let mut step = f32::NAN;
    for segment in grid.segments() {
        let mut e = [1.0f32; GROUP];
        if segment.start != 0.0 {
            for i in 0..GROUP {
                e[i] = exp_f32(-segment.start * magnitude[i]);
            }
        }
        if segment.step != step {
            step = segment.step;
            for i in 0..GROUP {
                ratio[i] = exp_f32(-step * magnitude[i]);
            }
        }
        run(&mut e, &ratio, &mut products[segment.first..segment.first + segment.length]);
    }
}

/// One run of equally spaced temperatures: e is exp(-beta |x|) at the first one and is multiplied by `ratio` for each next.
#[inline(always)]
fn run_portable(e: &mut [f32; GROUP], ratio: &[f32; GROUP], products: &mut [[f32; LANES]]) {
    for product in products {
        for i in 0..LANES {
            product[i] *= ((1.0 + e[i]) * (1.0 + e[i + LANES]))
                * ((1.0 + e[i + 2 * LANES]) * (1.0 + e[i + 3 * LANES]));
        }
        for i in 0..GROUP {
            e[i] *= ratio[i];
        }
    }
}

/// As [`run_portable`], with everything but the products kept in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn run_avx512(e: &mut [f32; GROUP], ratio: &[f32; GROUP], products: &mut [[f32; LANES]]) {
    use std::arch::x86_64::{
        _mm512_add_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_storeu_ps,
    };
    // SAFETY: vectors of 16 floats are read from and written to arrays of 64 and 16 floats.
    unsafe {
        let load =
            |values: &[f32; GROUP], n: usize| _mm512_loadu_ps(values.as_ptr().add(n * LANES));
        let mut x = [load(e, 0), load(e, 1), load(e, 2), load(e, 3)];
        let r = [load(ratio, 0), load(ratio, 1), load(ratio, 2), load(ratio, 3)];
        let one = _mm512_set1_ps(1.0);
        for product in products {
            let low = _mm512_mul_ps(_mm512_add_ps(one, x[0]), _mm512_add_ps(one, x[1]));
            let high = _mm512_mul_ps(_mm512_add_ps(one, x[2]), _mm512_add_ps(one, x[3]));
            let all = _mm512_mul_ps(low, high);
            let old = _mm512_loadu_ps(product.as_ptr());
            _mm512_storeu_ps(product.as_mut_ptr(), _mm512_mul_ps(old, all));
            for n in 0..4 {
                x[n] = _mm512_mul_ps(x[n], r[n]);
            }
        }
    }
}
