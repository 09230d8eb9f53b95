//! Models of independent parts.

use std::ops::Range;

use rand::seq::SliceRandom;

use super::TestSystem;
use crate::engine::random::{Purpose, Streams};
use crate::error::Result;
use crate::model::{Parameters, exact};

/// Independent parts of bits beside each other, the units of both layers in random order: log Z is the sum of the parts' own.
///
/// # Errors
/// The smaller layer of a part is too large for [`exact::log_partition`].
pub fn independent(parts: &[Parameters], seed: u64) -> Result<TestSystem> {
    let places = |layer: u32, units: fn(&Parameters) -> usize| {
        let mut places: Vec<usize> = (0..parts.iter().map(units).sum()).collect();
        places.shuffle(&mut Streams::new(seed, Purpose::TestSystem, 3).row(layer));
        places
    };
    let (visible, hidden) = (places(0, |part| part.n_visible), places(1, |part| part.n_hidden));
    let mut all = Parameters::zeros(visible.len(), hidden.len());
    let (mut left, mut log_partition) = ((&visible[..], &hidden[..]), 0.0);
    for part in parts {
        let (rows, columns) = (&left.0[..part.n_visible], &left.1[..part.n_hidden]);
        left = (&left.0[part.n_visible..], &left.1[part.n_hidden..]);
        for ((row, bias), weights) in
            rows.iter().zip(&part.visible_bias).zip(part.weights.chunks(part.n_hidden))
        {
            all.visible_bias[*row] = *bias;
            let places = columns.iter().map(|column| row * all.n_hidden + column);
            places.zip(weights).for_each(|(at, weight)| all.weights[at] = *weight);
        }
        columns.iter().zip(&part.hidden_bias).for_each(|(at, bias)| all.hidden_bias[*at] = *bias);
        log_partition += exact::log_partition(part)?;
    }
    Ok(TestSystem { name: "independent parts", parameters: all, log_partition })
}

/// A uniform background and `islands` single states, log weights of which exceed that of the background by numbers drawn from `depths`,
/// nats: `units` hidden units each, all on in this state alone. Half of the hidden units have 0 and 1 exchanged.
pub fn islands(
    n_visible: usize,
    (islands, units): (usize, usize),
    depths: Range<f64>,
    seed: u64,
) -> Parameters {
    let mut stream = Streams::new(seed, Purpose::TestSystem, 4).row(0);
    let mut model = Parameters::zeros(n_visible, units * islands);
    for island in 0..islands {
        let on: Vec<bool> = (0..n_visible).map(|_| stream.uniform() < 0.5).collect();
        let depth = depths.start + (depths.end - depths.start) * stream.uniform();
        let weight = ((n_visible as f64 * std::f64::consts::LN_2 + depth) / units as f64) as f32;
        let ones = on.iter().filter(|on| **on).count() as f32;
        for unit in units * island..units * (island + 1) {
            let sign = if stream.uniform() < 0.5 { -1.0 } else { 1.0 };
            model.hidden_bias[unit] = sign * weight * (1.0 - ones);
            for (i, on) in on.iter().enumerate() {
                let own = if *on { weight } else { -weight };
                model.weights[i * units * islands + unit] = sign * own;
                model.visible_bias[i] += if sign < 0.0 { own } else { 0.0 };
            }
        }
    }
    model
}
