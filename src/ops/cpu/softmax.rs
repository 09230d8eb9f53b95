//! Exponentials over temperatures: q(k|v) of a row, and the weights of a shift. With fast sweeps these S x K exponentials
//! cost as much as the sweep itself unless they are vectorised.

use super::InstructionSet;
use super::math::exp_f64;

/// f64 in one vector of AVX-512; sums run in this many lanes on every instruction set.
const LANES: usize = 8;

/// q_k = softmax_k(log_f_k + tilt_k), every entry positive (exponents are cut at -700). All of length K.
pub(crate) fn softmax(log_f: &[f64], tilt: &[f64], q: &mut [f64]) {
    softmax_with(InstructionSet::detect(), log_f, tilt, q);
}

/// out_k = q_k exp(to_k - from_k), exponents cut at +-700. All of one length.
pub(crate) fn reweigh(q: &[f64], from: &[f64], to: &[f64], out: &mut [f64]) {
    match InstructionSet::detect() {
        // SAFETY: the instruction set was detected on this machine.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => unsafe { reweigh_avx512(q, from, to, out) },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { reweigh_avx2(q, from, to, out) },
        _ => reweigh_body(q, from, to, out),
    }
}

fn softmax_with(set: InstructionSet, log_f: &[f64], tilt: &[f64], q: &mut [f64]) {
    match set {
        // SAFETY: the instruction set was detected on this machine.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => unsafe { softmax_avx512(log_f, tilt, q) },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { softmax_avx2(log_f, tilt, q) },
        _ => softmax_body(log_f, tilt, q),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn softmax_avx512(log_f: &[f64], tilt: &[f64], q: &mut [f64]) {
    softmax_body(log_f, tilt, q);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn softmax_avx2(log_f: &[f64], tilt: &[f64], q: &mut [f64]) {
    softmax_body(log_f, tilt, q);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn reweigh_avx512(q: &[f64], from: &[f64], to: &[f64], out: &mut [f64]) {
    reweigh_body(q, from, to, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn reweigh_avx2(q: &[f64], from: &[f64], to: &[f64], out: &mut [f64]) {
    reweigh_body(q, from, to, out);
}

#[inline(always)]
fn reweigh_body(q: &[f64], from: &[f64], to: &[f64], out: &mut [f64]) {
    for (((out, q), from), to) in out.iter_mut().zip(q).zip(from).zip(to) {
        *out = q * exp_f64(to - from);
    }
}

#[inline(always)]
fn softmax_body(log_f: &[f64], tilt: &[f64], q: &mut [f64]) {
    let (whole, rest) = q.as_chunks_mut::<LANES>();
    let (log_f, log_f_rest) = log_f.as_chunks::<LANES>();
    let (tilt, tilt_rest) = tilt.as_chunks::<LANES>();
    // The last lanes, filled up with what adds nothing: 1e-304 beside a sum of at least 1.
    let mut last = [f64::NEG_INFINITY; LANES];
    for ((last, log_f), tilt) in last.iter_mut().zip(log_f_rest).zip(tilt_rest) {
        *last = log_f + tilt;
    }
    let mut largest = last;
    for ((q, log_f), tilt) in whole.iter_mut().zip(log_f).zip(tilt) {
        for i in 0..LANES {
            q[i] = log_f[i] + tilt[i];
            largest[i] = if q[i] > largest[i] { q[i] } else { largest[i] };
        }
    }
    let largest = largest.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let mut totals = [0.0; LANES];
    for q in whole.iter_mut().chain([&mut last]) {
        for i in 0..LANES {
            q[i] = exp_f64(q[i] - largest);
            totals[i] += q[i];
        }
    }
    let scale = 1.0 / totals.iter().sum::<f64>();
    for q in whole.iter_mut() {
        q.iter_mut().for_each(|q| *q *= scale);
    }
    rest.iter_mut().zip(last).for_each(|(q, last)| *q = last * scale);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::random::{Purpose, Streams};

    #[test]
    fn softmax_is_that_of_libm_and_the_same_on_every_instruction_set() {
        let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
        for k in [2, 7, 8, 9, 100, 1000] {
            let log_f: Vec<f64> = (0..k).map(|_| 30.0 * stream.normal()).collect();
            let tilt: Vec<f64> = (0..k).map(|_| stream.normal()).collect();
            let exact: Vec<f64> = log_f.iter().zip(&tilt).map(|(f, t)| f + t).collect();
            let largest = exact.iter().fold(f64::NEG_INFINITY, |max, &x| max.max(x));
            let total: f64 = exact.iter().map(|x| (x - largest).exp()).sum();
            let found: Vec<Vec<f64>> = InstructionSet::available()
                .into_iter()
                .map(|set| {
                    let mut q = vec![f64::NAN; k];
                    softmax_with(set, &log_f, &tilt, &mut q);
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
