//! Which runs of a sweep cannot win.

use crate::numerics::MOST_ERRORS;
use crate::report::RunFiles;

/// Fewest evaluations of a curve.
const FEWEST: usize = 5;

/// The validation log-likelihood of a run against its cost.
pub struct Curve {
    name: String,
    /// Seconds, value, standard error.
    rows: Vec<[f64; 3]>,
    /// Share of the planned updates that is done.
    done: f64,
}

impl Curve {
    /// Of a run that may not have ended.
    pub fn of(run: &RunFiles) -> Self {
        let metrics = &run.metrics;
        let value = "validation_log_likelihood";
        let row = |row| {
            let names = ["seconds", value, "validation_log_likelihood_std_error"];
            names.map(|name| metrics.number(name, row))
        };
        // At update 0 every model is that of independent columns, and a log Z in doubt may be too low, which makes a model look better.
        let counts =
            |&row: &usize| metrics.update(row) > 0.0 && metrics.value("decides", row) == Some(1.0);
        let rows: Vec<usize> = metrics.rows_with(value).filter(counts).collect();
        let updates = rows.last().map_or(0.0, |&last| metrics.update(last));
        let done = run.planned().map_or(f64::NAN, |planned| updates / planned as f64);
        Self { name: run.name.clone(), rows: rows.into_iter().map(row).collect(), done }
    }

    /// The best value after at most so many seconds.
    fn best_within(&self, seconds: f64) -> Option<[f64; 3]> {
        let within = self.rows.iter().filter(|row| row[0] <= seconds);
        within.copied().max_by(|a, b| a[1].total_cmp(&b[1]))
    }

    /// Why this run cannot be better than one of the others: at equal cost its best value is below, and if that went on rising as over the
    /// second half of its time it would end below, by more than the errors. Curves flatten, so they rise less. A fall counts for nothing:
    /// training goes back to its best state.
    pub fn beaten_by(&self, others: &[Self]) -> Option<String> {
        let &[seconds, ..] = self.rows.last().filter(|_| self.rows.len() >= FEWEST)?;
        let [_, value, error] = self.best_within(seconds)?;
        let half = self.best_within(seconds / 2.0)?;
        let slope = (value - half[1]) / (seconds / 2.0);
        let left = seconds * (1.0 - self.done) / self.done;
        let end = value + slope * left;
        others.iter().filter(|other| other.name != self.name).find_map(|other| {
            let [_, theirs, their_error] = other.best_within(seconds)?;
            let below = theirs - end > MOST_ERRORS * error.hypot(their_error);
            below.then(|| {
                format!(
                    "{:.2} nats below {} after the same seconds, and it would not reach it",
                    theirs - value,
                    other.name
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, done: f64, value: impl Fn(f64) -> f64) -> Curve {
        let rows = (1..=10).map(|t| [f64::from(t), value(f64::from(t)), 0.1]).collect();
        Curve { name: name.into(), rows, done }
    }

    #[test]
    fn only_a_curve_that_ends_below_is_beaten() {
        let best = [curve("best", 1.0, |t| -10.0 - 2.0 / t)];
        // Flat and below; below but rising fast enough for what is left; the same near the end; within the errors; better.
        assert!(curve("a", 0.5, |_| -20.0).beaten_by(&best).unwrap().contains("below best"));
        assert!(curve("a", 0.1, |t| -20.0 + 0.5 * t).beaten_by(&best).is_none());
        assert!(curve("a", 0.9, |t| -20.0 + 0.5 * t).beaten_by(&best).is_some());
        assert!(curve("a", 0.5, |_| -10.5).beaten_by(&best).is_none());
        assert!(curve("a", 0.5, |_| -9.0).beaten_by(&best).is_none());
        // A fall at the end of a good curve.
        let falls = curve("a", 0.5, |t| if t < 9.5 { -10.2 } else { -50.0 });
        assert!(falls.beaten_by(&best).is_none());
        // A curve that is better only later is no reason; nor is its own, nor few evaluations, nor an unknown length.
        let late = [curve("late", 1.0, |t| if t < 10.5 { -30.0 } else { -1.0 })];
        assert!(curve("a", 0.5, |_| -20.0).beaten_by(&late).is_none());
        assert!(curve("best", 0.5, |_| -20.0).beaten_by(&best).is_none());
        let few = Curve { rows: vec![[1.0, -20.0, 0.1]], ..curve("a", 0.5, |_| -20.0) };
        assert!(few.beaten_by(&best).is_none());
        assert!(curve("a", f64::NAN, |_| -20.0).beaten_by(&best).is_none());
    }

    /// An evaluation in doubt counts for nothing, nor does the model without training.
    #[test]
    fn only_evaluations_that_count_are_points_of_a_curve() {
        let folder = tempfile::tempdir().unwrap();
        let mut text =
            "update,seconds,validation_log_likelihood,validation_log_likelihood_std_error,decides\n"
                .to_string();
        for (update, value, decides) in [(0, -1, 1), (1, -9, 1), (2, -3, 0), (3, -8, 1)] {
            text += &format!("{update},{update},{value},0.1,{decides}\n");
        }
        for (name, text) in [("config.toml", ""), ("metrics.csv", &text[..])] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let curve = Curve::of(&RunFiles::read(folder.path(), true).unwrap());
        assert_eq!(curve.rows, [[1.0, -9.0, 0.1], [3.0, -8.0, 0.1]]);
    }
}
