//! Sums of softplus over hidden units at all inverse temperatures, the cost of the collapsed update of beta.
//!
//! sum_j softplus(beta x_j) = beta sum_j max(x_j, 0) + log prod_j (1 + exp(-beta |x_j|)). Every factor lies in (1, 2],
//! so dozens multiply before one logarithm is taken, and along a run of equally spaced temperatures the exponentials
//! form a geometric sequence: three operations per unit and temperature instead of an exponential and a logarithm.

use super::InstructionSet;
use super::math::{exp_f32, ln_f64};
use crate::engine::{BetaGrid, padded};

/// Units in one vector of AVX-512.
const LANES: usize = 16;
/// Most vectors of units that are multiplied together in one pass over the temperatures.
const VECTORS: usize = 4;
const GROUP: usize = VECTORS * LANES;
/// Passes before the products are turned into logarithms: 4 factors <= 2 each pass, below 2^112 in f32.
const PASSES: usize = 28;

/// [`crate::engine::Engine::softplus_sums`] for the fused kernel.
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
        InstructionSet::Amx | InstructionSet::Avx512 => unsafe {
            avx512(n_units, inputs, grid, out)
        },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { avx2(n_units, inputs, grid, out) },
        _ => body::<Portable>(n_units, inputs, grid, out),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn avx512(n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
    body::<Avx512>(n_units, inputs, grid, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
    body::<Portable>(n_units, inputs, grid, out);
}

#[inline(always)]
fn body<R: Run>(n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
    let stride = padded(n_units);
    let n_betas = grid.betas().len();
    let mut products = vec![[1.0f32; LANES]; n_betas];
    // Whole vectors, the rest of which is 1.
    let mut halves = vec![[1.0f64; 2]; n_betas.next_multiple_of(LANES / 4)];
    for (x, out) in inputs.chunks_exact(stride).zip(out.chunks_exact_mut(n_betas)) {
        out.fill(0.0);
        for units in x[..n_units].chunks(GROUP * PASSES) {
            // Flat, because whole arrays are scattered lane by lane.
            products.as_flattened_mut().fill(1.0);
            for group in units.chunks(GROUP) {
                // Fewer vectors give the same bits: their factors are 1.
                match group.len().div_ceil(LANES) {
                    1 => multiply::<R, 1>(group, grid, &mut products),
                    2 => multiply::<R, 2>(group, grid, &mut products),
                    3 => multiply::<R, 3>(group, grid, &mut products),
                    _ => multiply::<R, VECTORS>(group, grid, &mut products),
                }
            }
            for (halves, product) in halves.iter_mut().zip(&products) {
                *halves = R::halves(product);
            }
            // Loops of their own, over numbers side by side: vectors of temperatures would be gathered lane by lane.
            let (vectors, _) = halves.as_flattened_mut().as_chunks_mut::<{ LANES / 2 }>();
            for vector in vectors {
                vector.iter_mut().for_each(|x| *x = ln_f64(*x));
            }
            for (sum, [low, high]) in out.iter_mut().zip(&halves) {
                *sum += low + high;
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
fn multiply<R: Run, const N: usize>(group: &[f32], grid: &BetaGrid, products: &mut [[f32; LANES]]) {
    let mut magnitude = [[f32::MAX; LANES]; N];
    for (target, x) in magnitude.as_flattened_mut().iter_mut().zip(group) {
        *target = x.abs();
    }
    let falling = |by: f32| {
        // A loop: `map` is not compiled for the caller's instruction set.
        let mut e = magnitude;
        e.as_flattened_mut().iter_mut().for_each(|x| *x = exp_f32(-by * *x));
        e
    };
    let mut ratio = [[0.0f32; LANES]; N];
    let mut step = f32::NAN;
    for segment in grid.segments() {
        let e = if segment.start == 0.0 { [[1.0; LANES]; N] } else { falling(segment.start) };
        if segment.step != step {
            step = segment.step;
            ratio = falling(step);
        }
        R::run(e, &ratio, &mut products[segment.first..segment.first + segment.length]);
    }
}

trait Run {
    /// One run of equally spaced temperatures: e is exp(-beta |x|) at the first one and is multiplied by `ratio` for each next.
    fn run<const N: usize>(
        e: [[f32; LANES]; N],
        ratio: &[[f32; LANES]; N],
        products: &mut [[f32; LANES]],
    );

    /// The product of all lanes in two factors, each below 2^(8 x 112) = 2^896, because one of up to 2^(16 x 112) would overflow.
    fn halves(product: &[f32; LANES]) -> [f64; 2];
}

struct Portable;

impl Run for Portable {
    #[inline(always)]
    fn run<const N: usize>(
        mut e: [[f32; LANES]; N],
        ratio: &[[f32; LANES]; N],
        products: &mut [[f32; LANES]],
    ) {
        for product in products {
            for i in 0..LANES {
                product[i] *= pairwise(std::array::from_fn::<f32, N, _>(|n| 1.0 + e[n][i]));
            }
            for n in 0..N {
                for i in 0..LANES {
                    e[n][i] *= ratio[n][i];
                }
            }
        }
    }

    #[inline(always)]
    fn halves(product: &[f32; LANES]) -> [f64; 2] {
        let lanes: [f64; LANES / 2] =
            std::array::from_fn(|i| f64::from(product[i]) * f64::from(product[i + LANES / 2]));
        let quarter: [f64; 4] = std::array::from_fn(|i| lanes[i] * lanes[i + 4]);
        [quarter[0] * quarter[1], quarter[2] * quarter[3]]
    }
}

/// The product of up to four numbers, as of four of which the missing ones are 1.
#[inline(always)]
fn pairwise<const N: usize>(x: [f32; N]) -> f32 {
    let pair = |n: usize| if n + 1 < N { x[n] * x[n + 1] } else { x[n] };
    if N > 2 { pair(0) * pair(2) } else { pair(0) }
}

#[cfg(target_arch = "x86_64")]
struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Run for Avx512 {
    #[inline(always)]
    fn run<const N: usize>(
        e: [[f32; LANES]; N],
        ratio: &[[f32; LANES]; N],
        products: &mut [[f32; LANES]],
    ) {
        // SAFETY: only code for processors with AVX-512 asks for this.
        unsafe { run_avx512(e, ratio, products) }
    }

    #[inline(always)]
    fn halves(product: &[f32; LANES]) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { halves_avx512(product) }
    }
}

/// As [`Portable`], with everything but the products kept in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn run_avx512<const N: usize>(
    e: [[f32; LANES]; N],
    ratio: &[[f32; LANES]; N],
    products: &mut [[f32; LANES]],
) {
    use std::arch::x86_64::{
        _mm512_add_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_storeu_ps,
    };
    // SAFETY: vectors of 16 floats are read from and written to arrays of 16 floats.
    let load = |values: &[f32; LANES]| unsafe { _mm512_loadu_ps(values.as_ptr()) };
    let one = _mm512_set1_ps(1.0);
    let (mut x, mut r) = ([one; N], [one; N]);
    for n in 0..N {
        (x[n], r[n]) = (load(&e[n]), load(&ratio[n]));
    }
    for product in products {
        let factor = |n: usize| _mm512_add_ps(one, x[n]);
        let pair =
            |n: usize| if n + 1 < N { _mm512_mul_ps(factor(n), factor(n + 1)) } else { factor(n) };
        let all = if N > 2 { _mm512_mul_ps(pair(0), pair(2)) } else { pair(0) };
        let new = _mm512_mul_ps(load(product), all);
        // SAFETY: as above.
        unsafe { _mm512_storeu_ps(product.as_mut_ptr(), new) };
        for n in 0..N {
            x[n] = _mm512_mul_ps(x[n], r[n]);
        }
    }
}

/// As [`Portable`], in the same order.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn halves_avx512(product: &[f32; LANES]) -> [f64; 2] {
    use std::arch::x86_64::{
        _mm_storeu_pd, _mm_unpacklo_pd, _mm256_castpd256_pd128, _mm256_extractf128_pd,
        _mm256_loadu_ps, _mm256_mul_pd, _mm256_permute_pd, _mm512_castpd512_pd256, _mm512_cvtps_pd,
        _mm512_extractf64x4_pd, _mm512_mul_pd,
    };
    let (low, high) = product.split_at(LANES / 2);
    // SAFETY: vectors of 8 floats are read from slices of 8 floats.
    let load = |values: &[f32]| unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(values.as_ptr())) };
    let lanes = _mm512_mul_pd(load(low), load(high));
    let quarters = _mm256_mul_pd(_mm512_castpd512_pd256(lanes), _mm512_extractf64x4_pd::<1>(lanes));
    let pairs = _mm256_mul_pd(quarters, _mm256_permute_pd::<0b0101>(quarters));
    let halves = _mm_unpacklo_pd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd::<1>(pairs));
    let mut out = [0.0; 2];
    // SAFETY: two numbers are written to an array of two.
    unsafe { _mm_storeu_pd(out.as_mut_ptr(), halves) };
    out
}
