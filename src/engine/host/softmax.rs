//! Exponentials over temperatures: q(k|v) and q(k|v, h) of a row, and the weights of a shift. With fast sweeps these S x K
//! exponentials cost as much as the sweep itself unless they are vectorised.

use super::instruction_set::for_every_instruction_set;
use super::math::exp_f64;

/// f64 in one vector of AVX-512; sums run in this many lanes on every instruction set.
pub(super) const LANES: usize = 8;

for_every_instruction_set! {
    /// Replaces x by exp(x), exponents cut at +-700.
    pub(crate) fn exponentials, exponentials_with(x: &mut [f64]) = exponentials_body
}

for_every_instruction_set! {
    /// q_k = softmax_k(log_f_k + tilt_k), every entry positive (exponents are cut at -700). All of length K.
    pub fn softmax, softmax_with(log_f: &[f64], tilt: &[f64], q: &mut [f64]) = softmax_body
}

for_every_instruction_set! {
    /// q_k = softmax_k(beta_k slope + tilt_k), as [`softmax`]: log f(v, h) is linear in beta.
    pub(crate) fn softmax_of_line, softmax_of_line_with(slope: f64, betas: &[f64], tilt: &[f64], q: &mut [f64]) = softmax_of_line_body
}

for_every_instruction_set! {
    /// out_k = q_k exp(to_k - from_k), exponents cut at +-700. All of one length.
    pub(crate) fn reweigh, reweigh_with(q: &[f64], from: &[f64], to: &[f64], out: &mut [f64]) = reweigh_body
}

#[inline(always)]
fn exponentials_body(x: &mut [f64]) {
    for x in x {
        *x = exp_f64(*x);
    }
}

#[inline(always)]
fn softmax_body(log_f: &[f64], tilt: &[f64], q: &mut [f64]) {
    for ((q, log_f), tilt) in q.iter_mut().zip(log_f).zip(tilt) {
        *q = log_f + tilt;
    }
    normalise(q);
}

#[inline(always)]
fn softmax_of_line_body(slope: f64, betas: &[f64], tilt: &[f64], q: &mut [f64]) {
    for ((q, beta), tilt) in q.iter_mut().zip(betas).zip(tilt) {
        *q = beta * slope + tilt;
    }
    normalise(q);
}

#[inline(always)]
fn reweigh_body(q: &[f64], from: &[f64], to: &[f64], out: &mut [f64]) {
    for (((out, q), from), to) in out.iter_mut().zip(q).zip(from).zip(to) {
        *out = q * exp_f64(to - from);
    }
}

/// Logarithms to probabilities.
#[inline(always)]
fn normalise(q: &mut [f64]) {
    let (whole, rest) = q.as_chunks_mut::<LANES>();
    // The last lanes, filled up with what adds nothing: 1e-304 beside a sum of at least 1.
    let mut last = [f64::NEG_INFINITY; LANES];
    last[..rest.len()].copy_from_slice(rest);
    let mut largest = last;
    for q in whole.iter() {
        for i in 0..LANES {
            largest[i] = if q[i] > largest[i] { q[i] } else { largest[i] };
        }
    }
    let largest = largest.into_iter().fold(f64::NEG_INFINITY, f64::max);
    // Plain loops of one operation each, over slices that lie in L1: these the compiler turns into vectors.
    let exponentials = |values: &mut [f64]| {
        for value in values {
            *value = exp_f64(*value - largest);
        }
    };
    exponentials(whole.as_flattened_mut());
    exponentials(&mut last);
    let mut totals = [0.0; LANES];
    for q in whole.iter().chain([&last]) {
        for i in 0..LANES {
            totals[i] += q[i];
        }
    }
    let scale = 1.0 / totals.iter().sum::<f64>();
    whole.as_flattened_mut().iter_mut().for_each(|q| *q *= scale);
    rest.iter_mut().zip(last).for_each(|(q, last)| *q = last * scale);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::InstructionSet;
    use crate::engine::random::{Purpose, Streams};

    #[test]
    fn softmax_is_that_of_libm_and_the_same_on_every_instruction_set() {
        let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
        for k in [2, 7, 8, 9, 100, 1000] {
            let betas: Vec<f64> = (0..k).map(|_| stream.normal()).collect();
            let log_f: Vec<f64> = betas.iter().map(|beta| 30.0 * beta).collect();
            let tilt: Vec<f64> = (0..k).map(|_| stream.normal()).collect();
            let exact: Vec<f64> = log_f.iter().zip(&tilt).map(|(f, t)| f + t).collect();
            let largest = exact.iter().fold(f64::NEG_INFINITY, |max, &x| max.max(x));
            let total: f64 = exact.iter().map(|x| (x - largest).exp()).sum();
            let found: Vec<Vec<f64>> = InstructionSet::available()
                .into_iter()
                .flat_map(|set| {
                    let mut q = [vec![f64::NAN; k], vec![f64::NAN; k]];
                    softmax_with(set, &log_f, &tilt, &mut q[0]);
                    softmax_of_line_with(set, 30.0, &betas, &tilt, &mut q[1]);
                    q
                })
                .collect();
            for (q, x) in found[0].iter().zip(&exact) {
                let p = (x - largest).exp() / total;
                assert!((q - p).abs() <= 1e-12 * p, "{q} {p}");
            }
            assert!(found.iter().all(|q| *q == found[0]));
        }
    }
}
