//! Rows of the centered gradient of W and what they correct the gradients of the biases by, in one pass.

use super::InstructionSet;
use super::instruction_set::for_every_instruction_set;

/// f64 in one vector of AVX-512; sums run in this many lanes on every instruction set.
const LANES: usize = 8;

/// What all rows share, `[J]` each.
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

/// Writes dW of a visible unit to `out` and adds dW mu to `correction`, `[J]`; returns dW lam, the correction of its bias.
pub fn centered_row(
    unit: VisibleTerms<'_>,
    hidden: HiddenTerms<'_>,
    correction: &mut [f64],
    out: &mut [f32],
) -> f64 {
    run(InstructionSet::detect(), unit, hidden, correction, out)
}

for_every_instruction_set! {
    fn run(
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
    // Slices of one length, so that the compiler vectorises.
    let (data, model) = (&unit.data[..n], &unit.model[..n]);
    let (offsets, difference) = (&hidden.offsets[..n], &hidden.difference[..n]);
    let correction = &mut correction[..n];
    let weight = |j: usize| {
        f64::from(data[j] - model[j]) - unit.difference * offsets[j] - unit.offset * difference[j]
    };
    let mut sums = [0.0f64; LANES];
    let whole = n / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            let j = first + lane;
            let w = weight(j);
            *sum += w * offsets[j];
            correction[j] += w * unit.offset;
            out[j] = w as f32;
        }
    }
    for j in whole..n {
        let w = weight(j);
        sums[j - whole] += w * offsets[j];
        correction[j] += w * unit.offset;
        out[j] = w as f32;
    }
    let quarter: [f64; 4] = std::array::from_fn(|i| sums[i] + sums[i + 4]);
    (quarter[0] + quarter[2]) + (quarter[1] + quarter[3])
}
