//! The base of the next run.

use crate::error::Result;
use crate::model::Parameters;
use crate::tempering::mixture::{MixtureBase, WeightedRows, fit};

/// Round trips per chain and 1000 sweeps below which either kind is tried again.
const SLOW: f64 = 0.02;

/// The base of a run.
#[derive(Clone)]
pub(super) enum Kind {
    /// A mixture of so many components, fitted to the states that earlier runs reached: with many components chains reach separate modes
    /// directly; with one component they can move between modes that are connected.
    Fitted(usize),
    /// A distribution with a name, such as the data's marginals or the mean-field solutions: if a model has hundreds of overlapping modes, no
    /// fit to some of them is as close to all.
    Given(&'static str, Box<MixtureBase>),
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fitted(components) => write!(f, "{components} components"),
            Self::Given(name, _) => f.write_str(name),
        }
    }
}

impl Kind {
    /// The base, fitted to `pool` if it is not given.
    pub fn base(
        &self,
        parameters: &Parameters,
        pool: &WeightedRows,
        seed: u64,
    ) -> Result<MixtureBase> {
        match self {
            Self::Fitted(components) => fit(parameters, pool, *components, seed),
            Self::Given(_, base) => Ok(MixtureBase::clone(base)),
        }
    }
}

/// Kind of start of the next run: each is tried once, then the one with the most round trips when it was last tried, unless there were
/// none.
pub(super) struct Choice {
    /// Round trips per chain and 1000 sweeps in the last run of each kind; `None` before the first.
    speeds: Vec<Option<f64>>,
    last: usize,
}

impl Choice {
    pub fn of(kinds: usize) -> Self {
        Self { speeds: vec![None; kinds], last: 0 }
    }

    /// One more kind, which is tried next.
    pub fn add(&mut self) {
        self.speeds.push(None);
    }

    pub fn next(&mut self) -> usize {
        let speeds = &self.speeds;
        let fastest = || {
            (0..speeds.len()).max_by(|a, b| {
                let of = |kind: usize| speeds[kind].unwrap_or(0.0);
                of(*a).total_cmp(&of(*b))
            })
        };
        self.last = match speeds.iter().position(Option::is_none) {
            Some(untried) => untried,
            None => match fastest() {
                Some(best) if speeds[best] >= Some(SLOW) => best,
                _ => (self.last + 1) % speeds.len(),
            },
        };
        self.last
    }

    /// Sets `round_trips` per chain in so many sweeps of the last run.
    pub fn tell(&mut self, kind: usize, round_trips: f64, sweeps: usize) {
        self.speeds[kind] = Some(round_trips * 1000.0 / sweeps as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_tried_then_the_fastest_and_all_in_turn_while_none_travels() {
        let mut choice = Choice::of(3);
        let mut next = |round_trips: f64, sweeps: usize| {
            let kind = choice.next();
            choice.tell(kind, round_trips, sweeps);
            kind
        };
        // 0, 5 and 1 round trips in 1000 sweeps.
        assert_eq!([next(0.0, 200), next(1.0, 200), next(0.2, 200)], [0, 1, 2]);
        // The fastest, until a longer run shows that this was chance.
        assert_eq!([next(4.0, 1000), next(0.001, 1000)], [1, 1]);
        assert_eq!([next(1.0, 1000), next(0.0, 2000)], [2, 2]);
        // No round trips: one kind after the other.
        assert_eq!(
            [next(0.0, 2000), next(0.0, 2000), next(0.0, 2000), next(0.0, 2000)],
            [0, 1, 2, 0]
        );
    }
}
