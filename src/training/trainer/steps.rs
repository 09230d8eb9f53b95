//! When the tracker makes a step.

/// Updates per step of the tracker: a two hundredth of the updates so far, because the averaged model changes at this rate, and at most
/// this many. Less often if `tempering.share` requires it.
const MOST_UPDATES: u64 = 20;
pub(super) const PARTS_OF_HISTORY: [u64; 7] = [200, 140, 100, 70, 50, 35, 25];

/// When the tracker makes a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Steps {
    /// After every n updates.
    Every(u64),
    /// After a fraction of the updates so far.
    PartOfHistory(u64),
}

impl Steps {
    /// Often enough for an averaged model, at any cost.
    pub(crate) fn of_an_average() -> Self {
        Self::PartOfHistory(PARTS_OF_HISTORY[0])
    }

    /// Whether the tracker makes a step after update `updates` if its last step was after update `last`.
    pub fn due(self, updates: u64, last: u64) -> bool {
        match self {
            Self::Every(every) => updates.is_multiple_of(every),
            Self::PartOfHistory(part) => updates - last >= (updates / part).clamp(1, MOST_UPDATES),
        }
    }

    /// Approximate number of steps in a run of this many updates.
    pub fn count(self, updates: f64) -> f64 {
        match self {
            Self::Every(every) => updates / every as f64,
            Self::PartOfHistory(part) => {
                let (part, most) = (part as f64, MOST_UPDATES as f64);
                if updates <= part {
                    updates
                } else if updates <= most * part {
                    part * (1.0 + (updates / part).ln())
                } else {
                    part * (1.0 + most.ln()) + (updates - most * part) / most
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_as_they_fall() {
        for steps in [Steps::PartOfHistory(200), Steps::PartOfHistory(25), Steps::Every(7)] {
            for total in [20u64, 150, 3000, 20_000] {
                let (mut last, mut count) = (0, 0.0);
                for u in 1..=total {
                    if steps.due(u, last) {
                        (last, count) = (u, count + 1.0);
                    }
                }
                let expected = steps.count(total as f64);
                // Intervals are whole numbers of updates, shorter than the fractions in the estimate.
                assert!(
                    (0.75..1.5).contains(&((count + 1.0) / (expected + 1.0))),
                    "{steps:?} {total}: {count} {expected}"
                );
            }
        }
    }
}
