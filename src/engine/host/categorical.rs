//! Draws of categorical variables: natural parameters, odds, one uniform number and the first column beyond it.

use super::instruction_set::for_every_instruction_set;
use super::math::exp_f32;
use crate::engine::random::philox_lanes;
use crate::engine::{Draw, padded, words_per_row};
use crate::units::Variable;

/// First block of these random numbers in a stream, beyond those of bits.
const BLOCKS: u32 = 1 << 30;
/// Variables whose numbers come from one call of the vectorised generator.
const LANES: usize = 64;
/// Natural parameters up to this size have odds whose sums do not overflow.
const IN_RANGE: f32 = 80.0;
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
    let mut odds = vec![1.0f32; stride + variables.len()];
    let has_implicit: Vec<f32> =
        variables.iter().map(|variable| f32::from(u8::from(variable.implicit))).collect();
    let widths: Vec<Option<usize>> = variables.chunks(LANES).map(common_width).collect();
    let (mut uniform, mut columns) = ([0.0f64; LANES], [0usize; LANES]);
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
        // Sizes as whole numbers have the same order, and the compiler finds their largest by vectors.
        let size = |x: &f32| x.abs().to_bits();
        let largest = eta[..draw.n_units].iter().map(size).max().unwrap_or(0);
        implicit.fill(0.0);
        if largest > IN_RANGE.to_bits() {
            relative_to_largest(variables, eta, implicit);
        }
        eta.iter_mut().for_each(|x| *x = exp_f32(*x));
        implicit.iter_mut().zip(&has_implicit).for_each(|(x, has)| *x = exp_f32(*x) * has);
        if !mixed {
            packed.fill(0);
        }
        let (key, fixed) = row.stream.words();
        for (group, (variables, width)) in variables.chunks(LANES).zip(&widths).enumerate() {
            let random = philox_lanes::<16>(BLOCKS + group as u32 * 16, fixed, key);
            for (uniform, random) in uniform.iter_mut().zip(random.as_flattened()) {
                *uniform = (f64::from(*random) + 0.5) * UNIT;
            }
            let implicit = &implicit[group * LANES..][..variables.len()];
            let here = &eta[variables[0].first..];
            match width {
                Some(2) => chosen::<2>(here, implicit, &uniform, &mut columns),
                Some(3) => chosen::<3>(here, implicit, &uniform, &mut columns),
                Some(4) => chosen::<4>(here, implicit, &uniform, &mut columns),
                Some(5) => chosen::<5>(here, implicit, &uniform, &mut columns),
                _ => {
                    for (n, variable) in variables.iter().enumerate() {
                        let odds = &eta[variable.range()];
                        columns[n] = chosen_of_many(odds, implicit[n], uniform[n]);
                    }
                }
            }
            for (variable, &column) in variables.iter().zip(&columns) {
                if variable.is_bit() {
                    continue;
                }
                if mixed {
                    variable.range().for_each(|i| packed[i / 64] &= !(1 << (i % 64)));
                }
                // The bit of the implicit state, which is beyond the columns, is not set.
                let i = variable.first + column.min(variable.columns - 1);
                packed[i / 64] |= u64::from(column < variable.columns) << (i % 64);
            }
        }
    }
}

/// Number of columns of each of adjacent variables; `None` where they differ.
fn common_width(variables: &[Variable]) -> Option<usize> {
    let width = variables[0].columns;
    let same =
        |pair: &[Variable]| pair[1].columns == width && pair[1].first == pair[0].first + width;
    variables.windows(2).all(same).then_some(width)
}

/// Natural parameters relative to the largest of each variable, whose odds do not overflow.
#[inline(always)]
fn relative_to_largest(variables: &[Variable], eta: &mut [f32], implicit: &mut [f32]) {
    for (variable, implicit) in variables.iter().zip(implicit.iter_mut()) {
        let eta = &mut eta[variable.range()];
        let start = if variable.implicit { 0.0 } else { f32::NEG_INFINITY };
        let largest = eta.iter().fold(start, |largest, &x| if x > largest { x } else { largest });
        eta.iter_mut().for_each(|x| *x -= largest);
        *implicit = -largest;
    }
}

/// The columns that uniform numbers select for adjacent variables of Q columns, the implicit state before the columns; Q for the implicit
/// state. Without branches, so that many variables are drawn at once.
#[inline(always)]
fn chosen<const Q: usize>(
    odds: &[f32],
    implicit: &[f32],
    uniform: &[f64; LANES],
    columns: &mut [usize; LANES],
) {
    let (odds, _) = odds.as_chunks::<Q>();
    let variables = odds.iter().zip(implicit).zip(uniform).zip(columns);
    variables.for_each(|(((odds, &implicit), &uniform), column)| {
        let odds = odds.map(f64::from);
        let total = odds.iter().fold(f64::from(implicit), |sum, odds| sum + odds);
        let mut rest = uniform * total - f64::from(implicit);
        let mut chosen = if rest < 0.0 { Q } else { 0 };
        for odds in &odds[..Q - 1] {
            rest -= odds;
            chosen += usize::from(rest >= 0.0);
        }
        *column = chosen;
    });
}

/// The same for one variable of any number of columns.
#[inline(always)]
fn chosen_of_many(odds: &[f32], implicit: f32, uniform: f64) -> usize {
    let implicit = f64::from(implicit);
    let total = odds.iter().fold(implicit, |sum, &odds| sum + f64::from(odds));
    let mut rest = uniform * total - implicit;
    let mut column = if rest < 0.0 { odds.len() } else { 0 };
    for &odds in &odds[..odds.len() - 1] {
        rest -= f64::from(odds);
        column += usize::from(rest >= 0.0);
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::InstructionSet;
    use crate::engine::random::{Purpose, Streams};
    use crate::engine::{BitMatrix, Matrix};
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
