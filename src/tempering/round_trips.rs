//! Round trips 1 -> K -> 1 along the ladder: the diagnostic that decides whether chains mix.
//!
//! On a multimodal 784x500 model RTS was off by 3 to 7 nats while the conductance looked fine; only the round-trip
//! rate gave it away (algorithms.md, section 2).

/// Sweeps after which older round trips no longer count for the verdict.
const WINDOW: u64 = 1000;
/// Round trips per chain in the window below which an error bar is not to be trusted.
pub const NEEDED_PER_CHAIN: f64 = 0.3;

const NEITHER: u8 = 0;
const UP: u8 = 1;
const DOWN: u8 = 2;

/// Which end of the ladder each chain visited last, and completed trips in a sliding window of sweeps.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrips {
    directions: Vec<u8>,
    /// Trips and sweeps of the current and the last full half window.
    pub(crate) recent: [(u64, u64); 2],
}

impl RoundTrips {
    /// No chain has visited an end yet.
    pub fn new(chains: usize) -> Self {
        Self { directions: vec![NEITHER; chains], recent: [(0, 0); 2] }
    }

    /// Restores a saved state; `None` if a direction is not valid.
    pub fn restore(directions: Vec<u8>, recent: [(u64, u64); 2]) -> Option<Self> {
        directions.iter().all(|d| *d <= DOWN).then_some(Self { directions, recent })
    }

    /// Per-chain directions, for checkpoints.
    pub fn directions(&self) -> &[u8] {
        &self.directions
    }

    pub(crate) fn directions_mut(&mut self) -> &mut [u8] {
        &mut self.directions
    }

    pub(crate) fn forget_directions(&mut self) {
        self.directions.fill(NEITHER);
    }

    /// Notes the temperatures after a sweep; returns the number of trips completed.
    pub(crate) fn advance(directions: &mut [u8], temperatures: &[u32], top: u32) -> u64 {
        let mut completed = 0;
        for (direction, &k) in directions.iter_mut().zip(temperatures) {
            if k == 0 {
                completed += u64::from(*direction == DOWN);
                *direction = UP;
            } else if k == top && *direction == UP {
                *direction = DOWN;
            }
        }
        completed
    }

    pub(crate) fn add(&mut self, trips: u64, sweeps: usize) {
        let (count, length) = &mut self.recent[0];
        *count += trips;
        *length += sweeps as u64;
        if *length >= WINDOW / 2 {
            self.recent = [(0, 0), self.recent[0]];
        }
    }

    /// Round trips per chain in the window (the last 500 to 1000 sweeps, or all so far).
    pub fn per_chain(&self) -> f64 {
        let trips = self.recent[0].0 + self.recent[1].0;
        trips as f64 / self.directions.len().max(1) as f64
    }

    /// Round trips per chain and 1000 sweeps in the window; `None` before the first sweep.
    pub fn rate(&self) -> Option<f64> {
        let sweeps = self.recent[0].1 + self.recent[1].1;
        (sweeps > 0).then(|| self.per_chain() * 1000.0 / sweeps as f64)
    }

    /// Whether chains went up and down often enough for an error bar to be believed.
    pub fn mixed(&self) -> bool {
        self.per_chain() >= NEEDED_PER_CHAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trip_is_bottom_top_bottom() {
        let mut directions = vec![NEITHER];
        let path = [2, 4, 0, 3, 4, 4, 1, 0, 4, 0];
        let trips: u64 = path.iter().map(|&k| RoundTrips::advance(&mut directions, &[k], 4)).sum();
        assert_eq!(trips, 2);
    }

    #[test]
    fn old_trips_stop_counting() {
        let mut trips = RoundTrips::new(10);
        trips.add(10, 500);
        assert!(trips.mixed());
        for _ in 0..10 {
            trips.add(0, 100);
        }
        assert!(!trips.mixed());
        assert_eq!(trips.rate(), Some(0.0));
    }
}
