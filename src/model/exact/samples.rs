//! Independent samples of the model itself, by enumeration of the smaller layer.
//!
//! A state of the smaller layer is drawn by inversion, the other layer given it. Cost: two passes of enumeration, the
//! second only over the pieces that were hit.

use rayon::prelude::*;

use super::enumeration::Enumeration;
use super::partition::check_size;
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::LogSumExp;
use crate::ops::BitMatrix;
use crate::ops::random::{Purpose, Streams};

/// `count` independent samples of v, shape [count, M]; a function of the seed alone.
///
/// # Errors
/// The smaller layer has more than [`super::MAX_UNITS`] units.
pub fn samples(parameters: &Parameters, count: usize, seed: u64) -> Result<BitMatrix> {
    check_size(parameters)?;
    let n_visible = parameters.n_visible;
    let v_is_enumerated = n_visible < parameters.n_hidden;
    let enumeration = Enumeration::of_smaller(parameters, &vec![0.0; n_visible], 1.0);
    let pieces = enumeration.pieces();
    let log_masses: Vec<f64> = pieces
        .par_iter()
        .map(|piece| {
            let mut total = LogSumExp::EMPTY;
            enumeration.walk(piece.clone(), |visit| total.add(visit.log_f));
            total.value()
        })
        .collect();
    let log_z = LogSumExp::of(log_masses.iter().copied());

    let streams = Streams::new(seed, Purpose::ExactSample, 0);
    let mut targets: Vec<(f64, usize)> =
        (0..count).map(|row| (streams.row(row as u32).uniform(), row)).collect();
    targets.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut rest = targets.as_slice();
    let mut below = 0.0;
    let mut hits = Vec::new();
    for (i, (piece, log_mass)) in pieces.iter().zip(&log_masses).enumerate() {
        let end = below + (log_mass - log_z).exp();
        // The last piece takes what rounding left above the sum of all.
        let last = i + 1 == pieces.len();
        let inside = if last { rest.len() } else { rest.partition_point(|(u, _)| *u < end) };
        let (these, others) = rest.split_at(inside);
        if !these.is_empty() {
            hits.push((piece.clone(), below, these));
        }
        (rest, below) = (others, end);
    }

    let drawn: Vec<Vec<(usize, Vec<usize>)>> = hits
        .into_par_iter()
        .map(|(piece, below, targets)| {
            let mut rows = Vec::new();
            let (mut sum, mut next) = (below, 0);
            let end = piece.end;
            let mut position = piece.start;
            enumeration.walk(piece, |visit| {
                position += 1;
                sum += (visit.log_f - log_z).exp();
                while next < targets.len() && (targets[next].0 < sum || position == end) {
                    let row = targets[next].1;
                    let mut ones = Vec::new();
                    if v_is_enumerated {
                        ones.extend((0..n_visible).filter(|i| visit.state >> i & 1 == 1));
                    } else {
                        let mut stream = streams.row(row as u32);
                        // The first number chose the state.
                        stream.uniform();
                        visit.for_each_probability(|i, p| {
                            if stream.uniform() < p && i < n_visible {
                                ones.push(i);
                            }
                        });
                    }
                    rows.push((row, ones));
                    next += 1;
                }
            });
            rows
        })
        .collect();
    let mut out = BitMatrix::zeros(count, n_visible);
    for (row, ones) in drawn.into_iter().flatten() {
        ones.into_iter().for_each(|i| out.set(row, i, true));
    }
    Ok(out)
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
