//! A draw from a finite distribution.

/// The first index at which the running sum of `weights` is above `point`; `None` where rounding leaves the whole sum at or below it.
///
/// With `point` uniform in [0, sum of the weights) every index comes with probability proportional to its weight.
#[inline(always)]
pub(crate) fn index_at(weights: impl IntoIterator<Item = f64>, point: f64) -> Option<usize> {
    let mut rest = point;
    weights.into_iter().position(|weight| {
        rest -= weight;
        rest < 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::index_at;

    #[test]
    fn every_index_has_the_interval_of_its_weight() {
        let weights = [0.5, 0.0, 0.25, 0.25];
        for (point, index) in [(0.0, 0), (0.4999, 0), (0.5, 2), (0.7499, 2), (0.75, 3)] {
            assert_eq!(index_at(weights, point), Some(index), "{point}");
        }
        assert_eq!(index_at(weights, 1.0), None);
        assert_eq!(index_at([], 0.0), None);
    }
}
