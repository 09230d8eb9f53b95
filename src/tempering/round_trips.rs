//! Trajectories of chains between the ends of the ladder: round trips, chains without any, and lineages.
//!
//! On a multimodal 784x500 model RTS was off by 3 to 7 nats although the conductance was high; only the rate of round trips showed it
//! (algorithms.md, section 2). A mean over chains is not sufficient: on a two-mode model some chains never reached beta = 0 while others
//! made four round trips each, so each chain's last crossing is kept.

use crate::numerics::Influence;

/// Sweeps in which a chain must have gone from one end of the ladder to the other; older round trips do not count.
pub const WINDOW: u64 = 1000;
/// Round trips per chain in the window below which an error bar cannot be trusted.
pub const NEEDED_PER_CHAIN: f64 = 0.3;

const NEITHER: u8 = 0;
const UP: u8 = 1;
const DOWN: u8 = 2;

/// Values of a chain beside its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// The end visited last: none yet, the bottom (on its way up), the top (on its way down).
    direction: u8,
    /// Sweeps since it last arrived at one end from the other; `u32::MAX` if it never did.
    since_crossing: u32,
    /// The ancestor of its state: the chain itself, until resampling replaces its state by that of another chain. A chain at beta = 0 draws
    /// v independently of its past, and is its own ancestor again.
    lineage: u32,
}

/// Direction of each chain, and completed round trips in a sliding window of sweeps.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrips {
    trips: Vec<Trip>,
    /// Trips and sweeps of the current and the last full half window.
    pub(crate) recent: [(u64, u64); 2],
}

impl RoundTrips {
    /// No chain has visited an end yet.
    pub fn new(chains: usize) -> Self {
        let new = |lineage| Trip { direction: NEITHER, since_crossing: u32::MAX, lineage };
        Self { trips: (0..chains as u32).map(new).collect(), recent: [(0, 0); 2] }
    }

    /// Restores the values of [`RoundTrips::save`]; `None` if a value is not possible.
    pub(crate) fn restore(saved: [Vec<u32>; 3], recent: [(u64, u64); 2]) -> Option<Self> {
        let [directions, since, lineages] = saved;
        let chains = directions.len();
        let fits = since.len() == chains && lineages.len() == chains;
        let valid = directions.iter().all(|d| *d <= u32::from(DOWN))
            && lineages.iter().all(|lineage| (*lineage as usize) < chains);
        let trips = directions.iter().zip(since).zip(lineages);
        let trips = trips.map(|((direction, since_crossing), lineage)| Trip {
            direction: *direction as u8,
            since_crossing,
            lineage,
        });
        (fits && valid).then(|| Self { trips: trips.collect(), recent })
    }

    /// Directions, sweeps since the last crossing and lineages of the chains, for checkpoints.
    pub fn save(&self) -> [Vec<u32>; 3] {
        let all = |value: fn(&Trip) -> u32| self.trips.iter().map(value).collect();
        [all(|t| u32::from(t.direction)), all(|t| t.since_crossing), all(|t| t.lineage)]
    }

    /// What is known of every chain, `[S]`, to share among tasks that call [`RoundTrips::advance`].
    pub fn trips_mut(&mut self) -> &mut [Trip] {
        &mut self.trips
    }

    /// Restores the values of [`RoundTrips::save`] of all ranks.
    pub(crate) fn set(&mut self, saved: [Vec<u32>; 3]) {
        if let Some(restored) = Self::restore(saved, self.recent) {
            *self = restored;
        }
    }

    /// Forgets directions and earlier round trips, for states that were set from outside.
    pub(crate) fn forget(&mut self) {
        *self = Self::new(self.trips.len());
    }

    /// Forgets directions, but not the round trips.
    pub fn forget_directions(&mut self) {
        self.trips.iter_mut().for_each(|t| t.direction = NEITHER);
    }

    /// Every chain gets the state of the given one; `from`, shape `[S]`.
    pub(crate) fn resample(&mut self, from: &[usize]) {
        self.trips = from.iter().map(|&s| self.trips[s]).collect();
    }

    /// Records the temperatures after a sweep of the chains from `first` on; returns the number of completed round trips.
    pub fn advance(trips: &mut [Trip], first: u32, temperatures: &[u32], top: u32) -> u64 {
        let mut completed = 0;
        for ((own, trip), &k) in (first..).zip(trips).zip(temperatures) {
            let Trip { direction, since_crossing, lineage } = trip;
            *since_crossing = since_crossing.saturating_add(1);
            if k == 0 {
                if *direction == DOWN {
                    completed += 1;
                    *since_crossing = 0;
                }
                *direction = UP;
                *lineage = own;
            } else if k == top && *direction == UP {
                *direction = DOWN;
                *since_crossing = 0;
            }
        }
        completed
    }

    /// Counts the round trips that all chains completed in so many sweeps.
    pub fn add(&mut self, trips: u64, sweeps: usize) {
        let (count, length) = &mut self.recent[0];
        *count += trips;
        *length += sweeps as u64;
        if *length >= WINDOW / 2 {
            self.recent = [(0, 0), self.recent[0]];
        }
    }

    /// Lineage of each chain, `[S]`.
    pub fn lineages(&self) -> Vec<u32> {
        self.trips.iter().map(|trip| trip.lineage).collect()
    }

    /// Sums over lineages: `parts`, one per chain, shape `[S]`, as is the result. Chains of one lineage share their past, so an error bar
    /// is the spread of lineages, not of chains.
    pub fn by_lineage(&self, parts: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; parts.len()];
        for (trip, part) in self.trips.iter().zip(parts) {
            sums[trip.lineage as usize] += part;
        }
        sums
    }

    /// [`RoundTrips::by_lineage`] of the chains' contributions to an error.
    pub(crate) fn of_lineages(&self, influence: &Influence) -> Influence {
        Influence::new(self.by_lineage(influence.parts()))
    }

    /// Fraction of the chains that went from one end of the ladder to the other in the last `sweeps` sweeps.
    pub(crate) fn crossed_within(&self, sweeps: u64) -> f64 {
        let crossed = self.trips.iter().filter(|t| u64::from(t.since_crossing) < sweeps);
        crossed.count() as f64 / self.trips.len().max(1) as f64
    }

    /// Round trips per chain in the window (the last 500 to 1000 sweeps, or all so far).
    pub(crate) fn per_chain(&self) -> f64 {
        let trips = self.recent[0].0 + self.recent[1].0;
        trips as f64 / self.trips.len().max(1) as f64
    }

    /// Length of the window, which grows to 1000 sweeps at most.
    pub fn sweeps(&self) -> u64 {
        self.recent[0].1 + self.recent[1].1
    }

    /// Round trips per chain and 1000 sweeps in the window; `None` before the first sweep.
    pub fn rate(&self) -> Option<f64> {
        let sweeps = self.sweeps();
        (sweeps > 0).then(|| self.per_chain() * 1000.0 / sweeps as f64)
    }

    /// Whether chains make round trips, as far as half a window of sweeps shows.
    pub fn travel(&self) -> bool {
        self.sweeps() < WINDOW / 2 || self.rate() >= Some(NEEDED_PER_CHAIN)
    }

    /// Whether chains made enough round trips for a reliable error bar.
    pub fn mixed(&self) -> bool {
        self.per_chain() >= NEEDED_PER_CHAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trip_is_bottom_top_bottom() {
        let mut trips = RoundTrips::new(1);
        let path = [2, 4, 0, 3, 4, 4, 1, 0, 4, 0, 1, 2];
        let completed: u64 =
            path.iter().map(|&k| RoundTrips::advance(trips.trips_mut(), 0, &[k], 4)).sum();
        assert_eq!(completed, 2);
        assert_eq!((trips.crossed_within(2), trips.crossed_within(3)), (0.0, 1.0));
    }

    #[test]
    fn old_trips_stop_counting() {
        let mut trips = RoundTrips::new(10);
        trips.add(10, 500);
        assert!(trips.mixed());
        for _ in 0..10 {
            trips.add(0, 100);
        }
        assert!(!trips.mixed() && !trips.travel());
        assert_eq!(trips.rate(), Some(0.0));
    }

    #[test]
    fn relatives_are_one_lineage_until_they_draw_anew_at_the_bottom() {
        let mut trips = RoundTrips::new(4);
        trips.resample(&[1, 1, 2, 1]);
        let parts = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(trips.by_lineage(&parts), [0.0, 11.0, 4.0, 0.0]);
        RoundTrips::advance(trips.trips_mut(), 0, &[0, 3, 3, 2], 5);
        assert_eq!(trips.by_lineage(&parts), [1.0, 10.0, 4.0, 0.0]);
        let again = RoundTrips::restore(trips.save(), trips.recent).unwrap();
        assert_eq!(again, trips);
        let [directions, since, mut lineages] = trips.save();
        lineages[3] = 4;
        assert_eq!(RoundTrips::restore([directions, since, lineages], trips.recent), None);
    }
}
