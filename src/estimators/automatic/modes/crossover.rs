//! Starts of ascents that combine the modes found so far.

use super::{DENSITIES, ModeSearch};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams};

/// Crossovers of a round, and the gain of the bound by one round after which there is another, nats.
const ROUND: usize = 256;
const LEAST_GAIN: f64 = 0.01;
/// Most work on crossovers beside the first round: their number x n x units of the other layer.
const MOST_CROSSOVERS: usize = 200_000_000;

impl ModeSearch {
    /// Ascends from crossovers (the operation of genetic algorithms): every variable is as in one of two states at random, of which one is
    /// a mode, the other a mode or a random state. Ends after a round of them that hardly raises the bound; returns the new modes. Where
    /// parts of a model are independent, all combinations of their modes are modes, and ascents from other starts reach few of them.
    pub(crate) fn climb_crossovers(&mut self, seed: u64) -> BitMatrix {
        let (first, units, own) = (self.modes.len(), self.bias.len(), self.own.clone());
        let mut stream = Streams::new(seed, Purpose::Crossover, 0).row(0);
        let rounds = 1 + MOST_CROSSOVERS / (ROUND * units * self.other_bias.len()).max(1);
        for _ in 0..if first > 0 { rounds } else { 0 } {
            let (modes, (before, _)) = (self.modes.len(), self.bound());
            for at in 0..ROUND {
                let mut mode = || (stream.uniform() * modes as f64) as usize;
                let (mut state, other) = (self.modes[mode()].state.clone(), mode());
                let other = match at % 2 {
                    0 => self.modes[other].state.clone(),
                    _ => self.random_state(DENSITIES[at / 2 % DENSITIES.len()], &mut stream),
                };
                for variable in own.of(units).filter(|_| stream.uniform() < 0.5) {
                    for unit in variable.range() {
                        let word = unit / 64;
                        state[word] ^= (state[word] ^ other[word]) & 1 << (unit % 64);
                    }
                }
                self.ascend(&state);
            }
            if self.bound().0 < before + LEAST_GAIN {
                break;
            }
        }
        let new = self.modes[first..].iter().flat_map(|mode| mode.state.iter().copied());
        BitMatrix::from_words(self.modes.len() - first, units, new.collect())
            .unwrap_or_else(|| BitMatrix::zeros(0, units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Layer;
    use crate::model::test_systems::{independent, islands};

    /// 125 modes: each of three parts has a background and four islands. log Z is the sum over them, and both layers find nearly all.
    #[test]
    fn crossovers_find_the_combinations_of_modes_of_parts() {
        for seed in 0..4 {
            let parts: Vec<_> = (0..3).map(|part| islands(40, 4, 10 * seed + part)).collect();
            let system = independent(&parts, seed).unwrap();
            for parameters in [system.parameters.clone(), system.parameters.transposed()] {
                let layer = if parameters.n_hidden == 36 { Layer::Hidden } else { Layer::Visible };
                let mut search = ModeSearch::new(&parameters, layer);
                search.climb_random(64, seed);
                let (without, _) = search.bound();
                let found = search.climb_crossovers(seed);
                let (bound, _) = search.bound();
                println!(
                    "{without:.3} {bound:.3} of {:.3}, {} modes",
                    system.log_partition,
                    found.rows()
                );
                assert!(bound < system.log_partition + 1e-6 && bound > system.log_partition - 0.1);
            }
        }
    }
}
