//! Results of the runs of an automatic estimate, and their mean.

use crate::estimators::Estimate;
use crate::numerics::{MOST_ERRORS, pooled};
use crate::trust::Doubt;

/// log Z with its standard error, and the sweeps of a run.
type Found = ((f64, f64), f64);

/// Results of the sound runs, and of those that were only slow.
#[derive(Default)]
pub(super) struct Results {
    sound: Vec<Found>,
    slow: Vec<Found>,
}

impl Results {
    /// Takes in a run of so many sweeps; in doubt if an earlier one found more.
    pub(super) fn take(&mut self, estimate: &mut Estimate, sweeps: usize) {
        let own = (estimate.value, estimate.std_error);
        let higher = |(log_z, _): &&Found| log_z.0 - own.0 > MOST_ERRORS * log_z.1.hypot(own.1);
        if let Some(&((value, std_error), _)) = self.sound.iter().find(higher) {
            estimate.trust.doubt(Doubt::RunsDiffer { value, std_error });
        } else if estimate.trust.is_sound() {
            self.sound.push((own, sweeps as f64));
        } else if estimate.trust.doubts().iter().all(|doubt| matches!(doubt, Doubt::Frozen { .. }))
        {
            self.slow.push((own, sweeps as f64));
        }
    }

    /// The estimate of the last run, if it is sound, replaced by the mean over all runs with comparable errors, weighted by sweeps. A run in
    /// which no chain has been in a slow mode does not see that mode, and neither does its error, so it must not have more weight than the
    /// runs that saw it. Not below `at_least`, a lower bound by annealing.
    pub(super) fn pooled(&self, estimate: Estimate, at_least: f64) -> Estimate {
        if !estimate.trust.is_sound() {
            return estimate;
        }
        let (value, std_error) = pooled(&[&self.sound[..], &self.slow].concat());
        Estimate { value: value.max(at_least), std_error, ..estimate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::Method;
    use crate::trust::Trust;

    #[test]
    fn slow_runs_count_by_their_sweeps_and_a_lower_run_is_in_doubt() {
        let run = |value, doubt: Option<Doubt>| {
            let mut estimate = Estimate::new(Method::Auto, value, 0.1);
            estimate.trust = Trust::unless(doubt);
            estimate
        };
        let mut results = Results::default();
        let (other, frozen) = (Doubt::other("other", ""), Doubt::Frozen { correlation: 0.9 });
        for (value, doubt, sweeps) in
            [(9.0, Some(other.clone()), 9), (5.0, Some(frozen), 1), (5.2, None, 3)]
        {
            results.take(&mut run(value, doubt), sweeps);
        }
        let of = |at_least| results.pooled(run(5.2, None), at_least);
        assert!((of(5.0).value - 5.15).abs() < 1e-12 && of(5.18).value == 5.18);
        let last = run(5.2, Some(other));
        assert_eq!(results.pooled(last.clone(), 6.0).value, last.value);
        let mut low = run(4.0, None);
        results.take(&mut low, 5);
        assert_eq!((low.trust.names(), results.sound.len()), ("runs-differ".to_string(), 1));
    }
}
