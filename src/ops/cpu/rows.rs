//! Sums and normalisations along one row, in f64, compiled for every instruction set.
//!
//! Sums run in lanes of fixed number, so that the same bits come out everywhere.

use super::InstructionSet;
use super::math::exp_f64;

/// Lanes of a sum.
const LANES: usize = 8;

macro_rules! dispatch {
    ($body:ident ( $($argument:ident : $type:ty),* ) $(-> $result:ty)?) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
        fn avx512($($argument: $type),*) $(-> $result)? {
            $body($($argument),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn avx2($($argument: $type),*) $(-> $result)? {
            $body($($argument),*)
        }
        match InstructionSet::detect() {
            // SAFETY: the instruction set was detected on this machine.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { avx512($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { avx2($($argument),*) },
            InstructionSet::Portable => $body($($argument),*),
        }
    }};
}

/// q_k = softmax_k(log_f_k + tilt_k), every entry positive (exponents are cut at -700).
pub fn softmax(log_f: &[f64], tilt: &[f64], q: &mut [f64]) {
    dispatch!(softmax_body(log_f: &[f64], tilt: &[f64], q: &mut [f64]));
}

/// sum of the x_j whose bit is set. `bits`: packed row; `x`: as many floats as units, padded ([`crate::ops::padded`]).
pub fn sum_of_set(bits: &[u64], x: &[f32]) -> f64 {
    dispatch!(sum_of_set_body(bits: &[u64], x: &[f32]) -> f64)
}

#[inline(always)]
fn softmax_body(log_f: &[f64], tilt: &[f64], q: &mut [f64]) {
    let mut largest = f64::NEG_INFINITY;
    for ((q, log_f), tilt) in q.iter_mut().zip(log_f).zip(tilt) {
        *q = log_f + tilt;
        largest = if *q > largest { *q } else { largest };
    }
    let mut sums = [0.0; LANES];
    for q in q.chunks_mut(LANES) {
        for (q, sum) in q.iter_mut().zip(&mut sums) {
            *q = exp_f64(*q - largest);
            *sum += *q;
        }
    }
    let scale = 1.0 / total(sums);
    q.iter_mut().for_each(|q| *q *= scale);
}

#[inline(always)]
fn sum_of_set_body(bits: &[u64], x: &[f32]) -> f64 {
    let mut sums = [0.0; LANES];
    for (word, x) in bits.iter().zip(x.chunks(64)) {
        // Padding makes whole chunks of every row.
        for (byte, x) in x.as_chunks::<LANES>().0.iter().enumerate() {
            let set = (word >> (byte * LANES)) as u32;
            for i in 0..LANES {
                // All ones or all zeros: a branch here would be mispredicted half of the time.
                let keep = (set >> i & 1).wrapping_neg();
                sums[i] += f64::from(f32::from_bits(x[i].to_bits() & keep));
            }
        }
    }
    total(sums)
}

#[inline(always)]
fn total(sums: [f64; LANES]) -> f64 {
    let half: [f64; LANES / 2] = std::array::from_fn(|i| sums[i] + sums[i + LANES / 2]);
    (half[0] + half[1]) + (half[2] + half[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_normalised_and_set_bits_summed() {
        for n in [1, 7, 8, 30, 64, 100, 131] {
            let log_f: Vec<f64> = (0..n).map(|k| 0.3 * f64::from(k % 17) - 2.0).collect();
            let tilt: Vec<f64> = (0..n).map(|k| 0.1 * f64::from(k % 5)).collect();
            let mut q = vec![0.0; n as usize];
            softmax(&log_f, &tilt, &mut q);
            let weight = |k: usize| (log_f[k] + tilt[k]).exp();
            let whole: f64 = (0..q.len()).map(weight).sum();
            for (k, q) in q.iter().enumerate() {
                assert!((q * whole / weight(k) - 1.0).abs() < 1e-12, "{n}: {k}");
            }
            let padded = crate::ops::padded(n as usize);
            let x: Vec<f32> = (0..padded).map(|i| i as f32 * 0.25 - 3.0).collect();
            let mut bits = crate::ops::BitMatrix::zeros(1, n as usize);
            (0..n as usize).for_each(|i| bits.set(0, i, i * 7 % 3 != 1));
            let expected: f64 =
                (0..n as usize).filter(|i| i * 7 % 3 != 1).map(|i| f64::from(x[i])).sum();
            assert_eq!(sum_of_set(bits.row(0), &x), expected, "{n}");
        }
    }
}
