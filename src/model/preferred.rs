//! Visible states that hidden units prefer, alone or in random sets: where units turn each other on in a mode, chains from these states reach
//! it, whatever separates it from the data.

use super::Parameters;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Stream, Streams};

/// The visible states that turn hidden units on most, and off most, shape [2J, M]: those of at most `units` of both kinds, spread evenly;
/// and the likeliest visible states where each of `sets` random sets of units is on, shape [sets, M]. The expected share of the units in a
/// set is uniform. `seed` and `number` select the units and sets.
pub(crate) fn preferred_states(
    parameters: &Parameters,
    [units, sets]: [usize; 2],
    seed: u64,
    number: u64,
) -> BitMatrix {
    let kinds = 2 * parameters.n_hidden;
    let units = units.min(kinds);
    let mut stream = Streams::new(seed, Purpose::PreferredStates, number).row(0);
    let offset = stream.uniform();
    let mut states = parameters.variables.states(units + sets, parameters.n_visible);
    for row in 0..units {
        let kind = ((row as f64 + offset) * kinds as f64 / units as f64) as usize;
        turn(parameters, kind / 2, kind.is_multiple_of(2), states.row_mut(row));
    }
    for row in units..units + sets {
        of_random_set(parameters, &mut stream, states.row_mut(row));
    }
    states
}

/// Writes the visible state that turns a hidden unit on most, or off.
fn turn(parameters: &Parameters, unit: usize, on: bool, row: &mut [u64]) {
    let sign = if on { 1.0 } else { -1.0 };
    let weights = parameters.weights.chunks_exact(parameters.n_hidden);
    let mut slopes: Vec<f64> = weights.map(|weights| sign * f64::from(weights[unit])).collect();
    // Hidden units do not change the scatter of a real variable.
    for (first, _) in parameters.variables.reals() {
        slopes[first + 1] = f64::from(parameters.visible_bias[first + 1]);
    }
    parameters.variables.likeliest(&slopes, row);
}

fn of_random_set(parameters: &Parameters, stream: &mut Stream, row: &mut [u64]) {
    let share = stream.uniform();
    let on: Vec<bool> = (0..parameters.n_hidden).map(|_| stream.uniform() < share).collect();
    let field = |(weights, bias): (&[f32], &f32)| {
        let of_set = weights.iter().zip(&on).filter(|(_, on)| **on);
        f64::from(*bias) + of_set.map(|(weight, _)| f64::from(*weight)).sum::<f64>()
    };
    let weights = parameters.weights.chunks_exact(parameters.n_hidden);
    let fields: Vec<f64> = weights.zip(&parameters.visible_bias).map(field).collect();
    parameters.variables.likeliest(&fields, row);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::model::test_systems::gaussian_parameters;

    /// Every unit is turned on and off where all are asked for; an even number of them is spread over both.
    #[test]
    fn units_are_turned_on_and_off() {
        let (visible, hidden) = (40, 6);
        let parameters = gaussian_parameters(visible, hidden, 1.0, 3);
        let expected = |unit: usize, on: bool| {
            let weight = |i: usize| parameters.weights[i * hidden + unit];
            BitMatrix::from_fn(1, visible, |_, i| (weight(i) > 0.0) == on).row(0).to_vec()
        };
        let all = preferred_states(&parameters, [100, 0], 1, 0);
        assert_eq!(all.rows(), 2 * hidden);
        for unit in 0..hidden {
            assert_eq!(all.row(2 * unit), &expected(unit, true)[..]);
            assert_eq!(all.row(2 * unit + 1), &expected(unit, false)[..]);
        }
        let some: HashSet<Vec<u64>> = (0..40)
            .flat_map(|number| {
                let states = preferred_states(&parameters, [3, 0], 1, number);
                (0..3).map(|row| states.row(row).to_vec()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(some.len(), 2 * hidden);
    }

    /// 2048 sets of 6 units, with the likeliest visible state of each: all 64 sets come, the rarest of them 15 times on average.
    #[test]
    fn random_sets_of_units_are_starts_too() {
        let (visible, hidden) = (40, 6);
        let parameters = gaussian_parameters(visible, hidden, 1.0, 3);
        let drawn: Vec<Vec<u64>> = (0..64)
            .flat_map(|number| {
                let states = preferred_states(&parameters, [0, 32], 1, number);
                (0..32).map(|row| states.row(row).to_vec()).collect::<Vec<_>>()
            })
            .collect();
        let Parameters { weights, visible_bias, .. } = &parameters;
        let expected: Vec<Vec<u64>> = (0..1 << hidden)
            .map(|set: usize| {
                let field = |i: usize| {
                    let on = (0..hidden).filter(|unit| set >> unit & 1 == 1);
                    visible_bias[i] + on.map(|unit| weights[i * hidden + unit]).sum::<f32>()
                };
                BitMatrix::from_fn(1, visible, |_, i| field(i) > 0.0).row(0).to_vec()
            })
            .collect();
        assert_eq!(drawn.iter().collect::<HashSet<_>>(), expected.iter().collect());
        // The empty and the full set have probability 1/7 each, as every other number of units.
        let n = drawn.len() as f64;
        for set in [&expected[0], &expected[63]] {
            let count = drawn.iter().filter(|row| *row == set).count() as f64;
            assert!((count - n / 7.0).abs() < 4.0 * (n * 6.0 / 49.0).sqrt(), "{count}");
        }
    }
}
