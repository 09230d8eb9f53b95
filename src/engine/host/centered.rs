//! Rows of the centered gradient of W and what they correct the gradients of the biases by, in one pass.

use super::instruction_set::for_every_instruction_set;

/// f64 in one vector of AVX-512; sums run in this many lanes on every instruction set.
const LANES: usize = 8;

/// Inputs common to all rows, `[J]` each.
#[derive(Clone, Copy)]
pub struct HiddenTerms<'a> {
    /// Offsets lam.
    pub offsets: &'a [f64],
    /// E_d h - E_m h.
    pub difference: &'a [f64],
}

/// One visible unit.
#[derive(Clone, Copy)]
pub struct VisibleTerms<'a> {
    /// E_d[v h'] and E_m[v h'], `[J]`.
    pub data: &'a [f32],
    pub model: &'a [f32],
    /// Offset mu.
    pub offset: f64,
    /// E_d v - E_m v.
    pub difference: f64,
}

for_every_instruction_set! {
    /// Writes dW of a visible unit to `out` and adds dW mu to `correction`, `[J]`; returns dW lam, the correction of its bias.
    pub fn centered_row, centered_row_with(
        unit: VisibleTerms<'_>,
        hidden: HiddenTerms<'_>,
        correction: &mut [f64],
        out: &mut [f32]
    ) -> f64 = body
}

#[inline(always)]
fn body(
    unit: VisibleTerms<'_>,
    hidden: HiddenTerms<'_>,
    correction: &mut [f64],
    out: &mut [f32],
) -> f64 {
    let n = out.len();
    let mut sums = [0.0f64; LANES];
    // Arrays of one length, so that the compiler vectorises.
    let (data, model) = (unit.data[..n].as_chunks::<LANES>(), unit.model[..n].as_chunks::<LANES>());
    let offsets = hidden.offsets[..n].as_chunks::<LANES>();
    let difference = hidden.difference[..n].as_chunks::<LANES>();
    let correction = correction[..n].as_chunks_mut::<LANES>();
    let out = out.as_chunks_mut::<LANES>();
    for i in 0..n / LANES {
        let (offset, correction) = (&offsets.0[i], &mut correction.0[i]);
        for lane in 0..LANES {
            let w = unit.weight(
                data.0[i][lane] - model.0[i][lane],
                offset[lane],
                difference.0[i][lane],
            );
            sums[lane] += w * offset[lane];
            correction[lane] += w * unit.offset;
            out.0[i][lane] = w as f32;
        }
    }
    for (lane, out) in out.1.iter_mut().enumerate() {
        let offset = offsets.1[lane];
        let w = unit.weight(data.1[lane] - model.1[lane], offset, difference.1[lane]);
        sums[lane] += w * offset;
        correction.1[lane] += w * unit.offset;
        *out = w as f32;
    }
    let quarter: [f64; 4] = std::array::from_fn(|i| sums[i] + sums[i + 4]);
    (quarter[0] + quarter[2]) + (quarter[1] + quarter[3])
}

impl VisibleTerms<'_> {
    #[inline(always)]
    fn weight(&self, products: f32, hidden_offset: f64, hidden_difference: f64) -> f64 {
        f64::from(products) - self.difference * hidden_offset - self.offset * hidden_difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::InstructionSet;

    /// Sizes with and without a rest, against sums one by one; the same bits on every instruction set.
    #[test]
    fn rows_and_corrections_are_those_of_the_formula() {
        for n in [1, 7, 8, 31, 500] {
            let numbers = |scale: f64, shift: f64| -> Vec<f64> {
                (0..n).map(|j| scale * ((j * 37 % 101) as f64 / 50.0 - shift)).collect()
            };
            let (offsets, difference) = (numbers(0.4, 0.9), numbers(0.1, 1.1));
            let floats =
                |values: Vec<f64>| values.into_iter().map(|x| x as f32).collect::<Vec<_>>();
            let (data, model) = (floats(numbers(0.3, 0.2)), floats(numbers(0.2, 0.7)));
            let unit = VisibleTerms { data: &data, model: &model, offset: 0.3, difference: -0.05 };
            let hidden = HiddenTerms { offsets: &offsets, difference: &difference };
            let results = InstructionSet::available().into_iter().map(|set| {
                let (mut correction, mut out) = (vec![0.5; n], vec![0.0; n]);
                let sum = centered_row_with(set, unit, hidden, &mut correction, &mut out);
                (sum, correction, out)
            });
            let results: Vec<_> = results.collect();
            assert!(results.iter().all(|result| *result == results[0]), "{n}");
            let (sum, correction, out) = &results[0];
            let mut expected = 0.0;
            for j in 0..n {
                let products = f64::from(data[j]) - f64::from(model[j]);
                let w = products + 0.05 * offsets[j] - 0.3 * difference[j];
                expected += w * offsets[j];
                assert!((f64::from(out[j]) - w).abs() < 1e-6);
                assert!((correction[j] - 0.5 - 0.3 * w).abs() < 1e-6);
            }
            assert!((sum - expected).abs() < 1e-6 * n as f64, "{n}: {sum} {expected}");
        }
    }
}
