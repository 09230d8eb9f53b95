//! Draws of categorical variables: natural parameters, odds, one uniform number and the first column beyond it.

use super::instruction_set::for_every_instruction_set;
use super::math::exp_f32;
use crate::ops::random::philox_lanes;
use crate::ops::{Draw, padded, words_per_row};
use crate::units::Variable;

/// First block of these random numbers in a stream, beyond those of bits.
const BLOCKS: u32 = 1 << 30;
/// Variables whose numbers come from one call of the vectorised generator.
const LANES: usize = 64;
/// Spacing of the uniform numbers.
const UNIT: f64 = 1.0 / 4_294_967_296.0;

for_every_instruction_set! {
    /// Draws the categorical variables of visible rows; their bits are left as they are.
    pub fn draw_categorical(draw: &Draw<'_>, variables: &[Variable], out: &mut [u64]) = body
}

#[inline(always)]
fn body(draw: &Draw<'_>, variables: &[Variable], out: &mut [u64]) {
    if variables.is_empty() {
        return;
    }
    let mixed = variables.iter().any(Variable::is_bit);
    let stride = padded(draw.n_units);
    // The odds of all columns, then those of the implicit states.
    let mut odds = vec![0.0f32; stride + variables.len()];
    let rows = out.chunks_exact_mut(words_per_row(draw.n_units)).zip(draw.beta);
    for (row, (packed, &beta)) in rows.enumerate() {
        let row = draw.row(row, beta);
        let (eta, implicit) = odds.split_at_mut(stride);
        match row.base {
            Some(base) => {
                for ((eta, x), a) in eta.iter_mut().zip(row.inputs).zip(base) {
                    *eta = beta * x + (1.0 - beta) * a;
                }
            }
            None => eta.iter_mut().zip(row.inputs).for_each(|(eta, x)| *eta = beta * x),
        }
        // Relative to the most probable state odds do not overflow.
        for (variable, implicit) in variables.iter().zip(implicit) {
            let eta = &mut eta[variable.range()];
            let start = if variable.implicit { 0.0 } else { f32::NEG_INFINITY };
            let largest =
                eta.iter().fold(start, |largest, &x| if x > largest { x } else { largest });
            eta.iter_mut().for_each(|x| *x -= largest);
            *implicit = -largest;
        }
        odds.iter_mut().for_each(|x| *x = exp_f32(*x));
        if !mixed {
            packed.fill(0);
        }
        let (key, fixed) = row.stream.words();
        for (group, variables) in variables.chunks(LANES).enumerate() {
            let random = philox_lanes::<16>(BLOCKS + group as u32 * 16, fixed, key);
            for (n, variable) in variables.iter().enumerate() {
                if variable.is_bit() {
                    continue;
                }
                if mixed {
                    variable.range().for_each(|i| packed[i / 64] &= !(1 << (i % 64)));
                }
                let implicit = match variable.implicit {
                    true => f64::from(odds[stride + group * LANES + n]),
                    false => 0.0,
                };
                let uniform = (f64::from(random[n / 16][n % 16]) + 0.5) * UNIT;
                if let Some(i) = chosen(variable, &odds[variable.range()], implicit, uniform) {
                    packed[i / 64] |= 1 << (i % 64);
                }
            }
        }
    }
}

/// The column that a uniform number selects, the implicit state before the columns; `None` for the implicit state.
#[inline(always)]
fn chosen(variable: &Variable, odds: &[f32], implicit: f64, uniform: f64) -> Option<usize> {
    let total = odds.iter().fold(implicit, |sum, &odds| sum + f64::from(odds));
    let mut rest = uniform * total - implicit;
    if rest < 0.0 {
        return None;
    }
    let mut column = 0;
    for &odds in &odds[..odds.len() - 1] {
        rest -= f64::from(odds);
        // Without a branch: which state is drawn cannot be predicted.
        column += usize::from(rest >= 0.0);
    }
    Some(variable.first + column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::cpu::InstructionSet;
    use crate::ops::random::{Purpose, Streams};
    use crate::ops::{BitMatrix, Matrix};
    use crate::units::Variables;

    /// Shares of states in many draws are their probabilities, at every inverse temperature, with and without base, on every instruction
    /// set; all sets give the same bits, and bits of a mixed table are left alone.
    #[test]
    fn states_are_drawn_with_their_probabilities() {
        let variables: Variables = "2*3+,4,1+,70".parse().unwrap();
        let (n_units, rows) = (81, 30_000);
        let mut stream = Streams::new(3, Purpose::TestSystem, 0).row(0);
        let mut numbers = |scale: f64| -> Vec<f32> {
            (0..n_units).map(|_| (scale * stream.normal()) as f32).collect()
        };
        let (x, mut a) = (numbers(2.0), numbers(1.0));
        a.resize(padded(n_units), 0.0);
        let inputs = Matrix::from_rows(rows, n_units, &x.repeat(rows), 0.0);
        for (beta, base) in [(1.0, None), (0.3, Some(&a[..])), (0.0, Some(&a[..]))] {
            let beta = vec![beta; rows];
            let streams = Streams::new(4, Purpose::TestSystem, 1);
            let inputs = inputs.as_slice();
            let draw = Draw { n_units, inputs, beta: &beta, base, streams, first_row: 0 };
            let drawn = |set| {
                let mut out = BitMatrix::from_fn(rows, n_units, |row, i| i != 10 || row % 2 == 0);
                draw_categorical(set, &draw, variables.categorical(), out.words_mut());
                out
            };
            let found = drawn(InstructionSet::Portable);
            InstructionSet::available().into_iter().for_each(|set| assert_eq!(drawn(set), found));
            variables.check(&found, "drawn").unwrap();
            assert!((0..rows).all(|row| found.get(row, 10) == (row % 2 == 0)));
            let b = f64::from(beta[0]);
            let eta = x.iter().zip(&a).map(|(x, a)| match base {
                Some(_) => b * f64::from(*x) + (1.0 - b) * f64::from(*a),
                None => b * f64::from(*x),
            });
            let means = variables.means(eta);
            for (i, count) in
                found.column_counts().into_iter().enumerate().filter(|(i, _)| *i != 10)
            {
                let (p, n) = (means[i], rows as f64);
                let error = (p * (1.0 - p) / n).sqrt();
                let share = count as f64 / n;
                assert!((share - p).abs() < 5.0 * error + 1e-4, "column {i}: {share} {p}");
            }
        }
    }
}
