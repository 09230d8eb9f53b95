//! Independent samples of the model itself, by enumeration of the smaller layer.
//!
//! A state of the smaller layer is drawn by inversion, the other layer given it. Cost: two passes of enumeration, the
//! second only over the pieces that were hit.

use std::ops::Range;

use rayon::prelude::*;

use super::enumeration::{Enumeration, Visit};
use super::partition::{check_size, masses};
use super::total::Total;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams};
use crate::error::Result;
use crate::model::Parameters;

/// `count` independent samples of v, shape [count, M]; a function of the seed alone.
///
/// # Errors
/// The smaller layer has more than [`super::MAX_UNITS`] units.
pub fn samples(parameters: &Parameters, count: usize, seed: u64) -> Result<BitMatrix> {
    check_size(parameters)?;
    let n_visible = parameters.n_visible;
    let v_is_enumerated = parameters.enumerates_visible();
    let enumeration = Enumeration::of_smaller(parameters, &vec![0.0; n_visible], 1.0);
    let pieces = enumeration.pieces();
    let masses = masses(&enumeration, &pieces);
    let log_z = Total::of(&masses)?;

    let streams = Streams::new(seed, Purpose::ExactSample, 0);
    let mut targets: Vec<Target> =
        (0..count).map(|row| Target { at: streams.row(row as u32).uniform(), row }).collect();
    targets.sort_by(|one, other| one.at.total_cmp(&other.at));
    let shares: Vec<f64> = masses.iter().map(|mass| (mass.value() - log_z).exp()).collect();
    let words = parameters.variables.words(n_visible);
    let drawn: Vec<Vec<(usize, Vec<u64>)>> = hits(&pieces, &shares, &targets)
        .into_par_iter()
        .map(|hit| {
            hit.states(&enumeration, log_z, |target, visit| {
                if v_is_enumerated {
                    return vec![visit.state];
                }
                let mut stream = streams.row(target.row as u32);
                // The first number chose the state.
                stream.uniform();
                let (mut means, mut state) = (Vec::new(), vec![0; words]);
                visit.for_each_probability(|_, p| means.push(p));
                parameters.variables.draw(&means, || stream.uniform(), &mut state);
                state
            })
        })
        .collect();
    let mut out = parameters.variables.states(count, n_visible);
    for (row, state) in drawn.into_iter().flatten() {
        out.row_mut(row).copy_from_slice(&state);
    }
    Ok(out)
}

/// Where a sample lies on the line of all states' probabilities, one after the other.
struct Target {
    at: f64,
    row: usize,
}

/// A piece of the states, with the samples that lie in it.
struct Hit<'a> {
    piece: Range<u64>,
    /// Probability of all states before it.
    below: f64,
    targets: &'a [Target],
}

/// The pieces that have samples in them; `targets` ascend.
fn hits<'a>(pieces: &[Range<u64>], shares: &[f64], targets: &'a [Target]) -> Vec<Hit<'a>> {
    let (mut rest, mut below, mut hits) = (targets, 0.0, Vec::new());
    for (i, (piece, share)) in pieces.iter().zip(shares).enumerate() {
        let end = below + share;
        // The last piece takes what rounding left above the sum of all.
        let last = i + 1 == pieces.len();
        let inside = if last { rest.len() } else { rest.partition_point(|target| target.at < end) };
        let (targets, others) = rest.split_at(inside);
        if !targets.is_empty() {
            hits.push(Hit { piece: piece.clone(), below, targets });
        }
        (rest, below) = (others, end);
    }
    hits
}

impl Hit<'_> {
    /// Row and visible state of each sample; `states` draws it given the enumerated state.
    fn states(
        self,
        enumeration: &Enumeration,
        log_z: f64,
        states: impl Fn(&Target, &Visit<'_>) -> Vec<u64>,
    ) -> Vec<(usize, Vec<u64>)> {
        let Self { piece, below, targets } = self;
        let (mut sum, mut position, end) = (below, piece.start, piece.end);
        let (mut targets, mut rows) = (targets.iter().peekable(), Vec::new());
        enumeration.walk(piece, |visit| {
            position += 1;
            sum += (visit.log_f - log_z).exp();
            while let Some(target) = targets.next_if(|next| next.at < sum || position == end) {
                rows.push((target.row, states(target, &visit)));
            }
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact::log_probabilities_of_visible;
    use crate::model::test_systems::gaussian_parameters;

    /// Chi-square against the enumerated distribution, whichever layer is enumerated. Tried: using the
    /// number that chose the state for unit 0 as well.
    #[test]
    fn samples_follow_the_distribution() {
        for (m, j) in [(4, 7), (6, 3)] {
            let parameters = gaussian_parameters(m, j, 1.0, 9);
            let n = 50_000;
            let samples = samples(&parameters, n, 1).unwrap();
            let mut counts = vec![0.0; 1 << m];
            (0..n).for_each(|row| counts[samples.row(row)[0] as usize] += 1.0);
            let exact = log_probabilities_of_visible(&parameters).unwrap();
            let chi: f64 = counts
                .iter()
                .zip(&exact)
                .map(|(count, p)| {
                    let expected = n as f64 * p.exp();
                    (count - expected).powi(2) / expected
                })
                .sum();
            let freedom = ((1 << m) - 1) as f64;
            assert!((chi - freedom).abs() < 4.5 * (2.0 * freedom).sqrt(), "{m}x{j}: {chi}");
        }
    }
}
