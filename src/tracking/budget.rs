//! One budget of equilibration sweeps for two populations of chains.
//!
//! Chains that lag behind the model ([`ChainTracker::lags`]) forget earlier models in a round trip. Where one population cannot make a round
//! trip in its sweeps, the fewest show as much as all of them, that it lags, and the other population has the rest.

use super::{ChainTracker, Settling};

/// What the division depends on.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// Number of chains.
    chains: usize,
    /// Sweeps of a round trip.
    round_trip: f64,
    /// See [`ChainTracker::lags`].
    lags: bool,
}

impl From<&ChainTracker> for Pace {
    fn from(tracker: &ChainTracker) -> Self {
        let (chains, round_trip) = (tracker.chains.len(), tracker.round_trip());
        Self { chains, round_trip, lags: tracker.lags() }
    }
}

/// Sweeps of each population; together as many sweeps of chains as if both made at most `settling.most`.
pub(super) fn divided(settling: Settling, paces: [Pace; 2]) -> [Settling; 2] {
    let slower = usize::from(paces[1].round_trip > paces[0].round_trip);
    let (slow, fast) = (paces[slower], paces[1 - slower]);
    let mut parts = [settling; 2];
    if slow.lags && slow.round_trip > settling.most as f64 {
        let left = settling.most.saturating_sub(settling.sweeps);
        parts[slower].most -= left;
        parts[1 - slower].most += left * slow.chains / fast.chains;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLING: Settling = Settling { sweeps: 60, most: 180 };

    fn most(first: (f64, bool), second: (f64, bool)) -> [usize; 2] {
        let pace = |chains, (round_trip, lags)| Pace { chains, round_trip, lags };
        let parts = divided(SETTLING, [pace(100, first), pace(50, second)]);
        assert_eq!(parts.map(|part| part.sweeps), [60; 2]);
        let sweeps = 100 * parts[0].most + 50 * parts[1].most;
        assert_eq!(sweeps, 150 * SETTLING.most);
        parts.map(|part| part.most)
    }

    /// pumsb_star with 300 hidden units: chains from the marginals need 550 sweeps for a round trip, those from the mixture 240.
    #[test]
    fn the_slower_population_leaves_its_sweeps_to_the_other() {
        assert_eq!(most((550.0, true), (240.0, true)), [60, 420]);
        assert_eq!(most((240.0, true), (550.0, true)), [240, 60]);
        assert_eq!(most((f64::INFINITY, true), (100.0, false)), [60, 420]);
    }

    #[test]
    fn both_have_the_same_where_the_slower_one_follows() {
        assert_eq!(most((170.0, true), (100.0, true)), [180; 2]);
        assert_eq!(most((550.0, false), (240.0, true)), [180; 2]);
        assert_eq!(most((550.0, false), (240.0, false)), [180; 2]);
    }
}
