//! Use of the probabilities q of a chain's temperatures: adding them to a statistic, and drawing from them.

use super::instruction_set::for_every_instruction_set;
use super::softmax::LANES;
use crate::numerics::index_at;

for_every_instruction_set! {
    /// sum_k += scale q_k. Both of length K.
    pub(crate) fn add_scaled, add_scaled_with(q: &[f64], scale: f64, sum: &mut [f64]) = add_scaled_body
}

for_every_instruction_set! {
    /// The index that a uniform number in [0, 1) selects from probabilities that sum to 1.
    pub fn choose, choose_with(q: &[f64], uniform: f64) -> u32 = choose_body
}

#[inline(always)]
fn add_scaled_body(q: &[f64], scale: f64, sum: &mut [f64]) {
    sum.iter_mut().zip(q).for_each(|(sum, q)| *sum += scale * q);
}

/// Block by block, each summed at once: a running sum over single probabilities waits for every addition.
#[inline(always)]
fn choose_body(q: &[f64], uniform: f64) -> u32 {
    let mut below = 0.0;
    for (i, block) in q.chunks(LANES).enumerate() {
        let sum = match block.as_chunks::<LANES>().0 {
            [q] => ((q[0] + q[4]) + (q[2] + q[6])) + ((q[1] + q[5]) + (q[3] + q[7])),
            _ => block.iter().sum(),
        };
        if uniform < below + sum {
            let inside = index_at(block.iter().copied(), uniform - below);
            // Sums in another order may differ by rounding: then the last index is drawn.
            return (i * LANES + inside.unwrap_or(block.len() - 1)) as u32;
        }
        below += sum;
    }
    q.len() as u32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::InstructionSet;
    use crate::engine::random::{Purpose, Streams};

    /// Every index is chosen on its own interval of the uniform number, on every instruction set.
    #[test]
    fn choices_are_those_of_the_running_sum() {
        let mut stream = Streams::new(2, Purpose::TestSystem, 0).row(0);
        for k in [1, 2, 7, 8, 9, 100] {
            let weights: Vec<f64> = (0..k).map(|_| (3.0 * stream.normal()).exp()).collect();
            let total: f64 = weights.iter().sum();
            let q: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
            let mut below = 0.0;
            for (expected, q_k) in q.iter().enumerate() {
                for share in [0.001, 0.5, 0.999] {
                    if q_k * share > 1e-12 {
                        let uniform = below + share * q_k;
                        for set in InstructionSet::available() {
                            assert_eq!(choose_with(set, &q, uniform), expected as u32);
                        }
                    }
                }
                below += q_k;
            }
            for set in InstructionSet::available() {
                // With probabilities whose sum is rounded below 1 an index is still drawn.
                assert_eq!(choose_with(set, &q, 1.0), k as u32 - 1);
                assert_eq!(choose_with(set, &q, 0.0), 0);
                let mut sum = vec![1.0; k];
                add_scaled_with(set, &q, 0.5, &mut sum);
                assert!(sum.iter().zip(&q).all(|(sum, q)| *sum == 1.0 + 0.5 * q));
            }
        }
    }
}
