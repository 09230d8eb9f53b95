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
    let whole = n / LANES * LANES;
    let mut sums = [0.0f64; LANES];
    // Arrays of one length, so that the compiler vectorises.
    let (data, model) = (unit.data[..n].as_chunks::<LANES>(), unit.model[..n].as_chunks::<LANES>());
    let offsets = hidden.offsets[..n].as_chunks::<LANES>();
    let difference = hidden.difference[..n].as_chunks::<LANES>();
    let correction = correction[..n].as_chunks_mut::<LANES>();
    let out = out.as_chunks_mut::<LANES>();
    for i in 0..whole / LANES {
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
    for lane in 0..n - whole {
        let offset = offsets.1[lane];
        let w = unit.weight(data.1[lane] - model.1[lane], offset, difference.1[lane]);
        sums[lane] += w * offset;
        correction.1[lane] += w * unit.offset;
        out.1[lane] = w as f32;
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
