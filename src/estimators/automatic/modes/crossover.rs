//! Starts of ascents that combine the modes found so far.

use super::ModeSearch;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Stream, Streams};

/// Starts of a round; the gain of the bound, nats, below which a round is quiet, as it is without a new mode; and how many quiet rounds one
/// after the other are the last.
pub(in super::super) const ROUND: usize = 256;
const LEAST_GAIN: f64 = 0.001;
const QUIET_ROUNDS: usize = 3;
/// Most work on crossovers beside the first round: their number x n x units of the other layer.
const MOST_CROSSOVERS: usize = 200_000_000;

/// Makes rounds of a search until they hardly gain, or until one cannot be made; each returns the gain of log sum f by its new results, nats.
pub(in super::super) fn rounds(mut round: impl FnMut() -> Option<f64>) {
    let mut quiet = 0;
    while quiet < QUIET_ROUNDS {
        // No number is a gain where weights are so large that log f is none.
        match round() {
            Some(gain) => quiet = if gain > LEAST_GAIN { 0 } else { quiet + 1 },
            None => break,
        }
    }
}

impl ModeSearch {
    /// Ascends from crossovers of two modes, as in genetic algorithms, and from as many random states, until rounds of them find no
    /// mode that raises the bound; returns the new modes. Where parts of a model are independent, all combinations of their modes are modes, and other
    /// starts reach few of them.
    pub(crate) fn climb_crossovers(&mut self, seed: u64) -> BitMatrix {
        let (first, units) = (self.modes.len(), self.bias.len());
        let mut stream = Streams::new(seed, Purpose::Crossover, 0).row(0);
        let mut left = 1 + MOST_CROSSOVERS / (ROUND * units * self.other_bias.len()).max(1);
        rounds(|| {
            left = left.checked_sub(1)?;
            let (before, modes) = (self.bound().0, self.modes.len());
            for _ in 0..ROUND / 2 {
                let start = self.random_state(0.5, &mut stream);
                self.ascend(&start);
                let start = self.crossover(&mut stream);
                self.ascend(&start);
            }
            Some(if self.modes.len() > modes { self.bound().0 - before } else { 0.0 })
        });
        let new = self.modes[first..].iter().flat_map(|mode| mode.state.iter().copied());
        BitMatrix::from_words(self.modes.len() - first, units, new.collect())
            .unwrap_or_else(|| BitMatrix::zeros(0, units))
    }

    /// Every variable as in one of two modes at random; there is a mode after an ascent.
    fn crossover(&self, stream: &mut Stream) -> Vec<u64> {
        let mut mode = || &self.modes[(stream.uniform() * self.modes.len() as f64) as usize].state;
        let (mut state, other) = (mode().clone(), mode());
        for variable in self.own.of(self.bias.len()).filter(|_| stream.uniform() < 0.5) {
            for unit in variable.range() {
                let word = unit / 64;
                state[word] ^= (state[word] ^ other[word]) & 1 << (unit % 64);
            }
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Layer;
    use crate::estimators::{Known, lower_bound};
    use crate::model::test_systems::{independent, islands};

    /// Each of three parts has a background and four islands, so there are 125 modes, of which random starts find a tenth.
    #[test]
    fn crossovers_find_the_combinations_of_modes_of_parts() {
        for seed in 0..4 {
            let parts: Vec<_> =
                (0..3).map(|part| islands(40, (4, 3), -2.0..4.0, 10 * seed + part)).collect();
            let system = independent(&parts, seed).unwrap();
            let mut search = ModeSearch::new(&system.parameters, Layer::Hidden);
            search.climb_random(64, seed);
            let (without, _) = search.bound();
            let found = search.climb_crossovers(seed).rows();
            let ((bound, _), exact) = (search.bound(), system.log_partition);
            println!("{without:.3} {bound:.3} of {exact:.3}, {found} modes");
            assert!(bound < exact + 1e-6 && bound > exact - 0.1 && without < exact - 1.0);
            assert!(lower_bound(&system.parameters, Known::default(), seed).value > exact - 0.1);
        }
    }
}
