//! Sums of the values whose bits are set: the products c.v and h.x of one row, which decide the joint update of beta.

use super::instruction_set::for_every_instruction_set;

/// f64 in one vector of AVX-512; sums run in this many lanes on every instruction set.
const LANES: usize = 8;

for_every_instruction_set! {
    /// sum of x_i over set bits i. `x` is padded to whole vectors; bits of padding are zero.
    pub(crate) fn selected_sum, selected_sum_with(bits: &[u64], x: &[f32]) -> f64 = body
}

#[inline(always)]
fn body(bits: &[u64], x: &[f32]) -> f64 {
    let mut sums = [0.0f64; LANES];
    for (&word, x) in bits.iter().zip(x.chunks(64)) {
        for (byte, x) in x.as_chunks::<LANES>().0.iter().enumerate() {
            let selected = word >> (LANES * byte);
            for lane in 0..LANES {
                // All ones or all zeros: a product would turn padding into NaN where it is infinite.
                let mask = (selected >> lane & 1).wrapping_neg();
                sums[lane] += f64::from_bits(f64::from(x[lane]).to_bits() & mask);
            }
        }
    }
    let quarter: [f64; 4] = std::array::from_fn(|i| sums[i] + sums[i + 4]);
    (quarter[0] + quarter[2]) + (quarter[1] + quarter[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::InstructionSet;
    use crate::engine::random::{Purpose, Streams};
    use crate::engine::{BitMatrix, PADDING, for_each_set_bit, padded};

    #[test]
    fn sums_are_those_over_set_bits_on_every_instruction_set() {
        let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
        for n in [1, 31, 32, 64, 65, 180, 500, 784] {
            let mut x: Vec<f32> = (0..n).map(|_| stream.normal() as f32).collect();
            x.resize(padded(n), PADDING);
            let bits = BitMatrix::from_fn(1, n, |_, _| stream.uniform() < 0.4);
            let mut exact = 0.0;
            for_each_set_bit(bits.row(0), |i| exact += f64::from(x[i]));
            let sum = selected_sum(bits.row(0), &x);
            assert!((sum - exact).abs() < 1e-10, "{n} units: {sum} {exact}");
            for set in InstructionSet::available() {
                assert_eq!(selected_sum_with(set, bits.row(0), &x), sum);
            }
        }
    }
}
