//! The stopping decision.

use super::page::{UPDATES, VALIDATION};
use super::run_files::{RunFiles, State, Stopping};
use crate::record::{Chart, Guide, Series};

/// Evaluations without improvement against the update.
pub fn chart(stopping: &Stopping) -> Chart {
    let patience = stopping.settings.map(|settings| {
        Guide::Horizontal(settings.patience as f64, format!("patience {}", settings.patience))
    });
    let longest = stopping.waits.iter().map(|wait| wait.1).fold(1.0, f64::max);
    let most = stopping.settings.map_or(longest, |s| longest.max(s.patience as f64));
    let end = stopping.waits.last().map_or(1.0, |wait| wait.0);
    let waits = Series::line("", stopping.waits.clone()).colour(VALIDATION);
    Chart {
        x_range: Some((0.0, 1.02 * end)),
        y_range: Some((0.0, 1.1 * most)),
        guides: patience.into_iter().collect(),
        ..Chart::of(UPDATES, "evaluations that count against patience", vec![waits])
    }
}

/// Text on the end.
pub fn words(run: &RunFiles, stopping: &Stopping) -> String {
    let improved = match stopping.state.improved_at() {
        0 => "no evaluation could be decided on yet".into(),
        update => format!(
            "the last improvement beyond the error bar was at update {update}, {} evaluations count against patience",
            stopping.state.without_improvement
        ),
    };
    let end = match (run.state, stopping.settings) {
        (State::StoppedEarly, Some(settings)) => format!(
            "; early stopping ended the run (patience {} evaluations, and {} times the length up to the improvement)",
            settings.patience, settings.patience_factor
        ),
        (_, None) => "; early stopping is off".into(),
        (State::Finished, _) => "; the run ended at its planned length".into(),
        _ => String::new(),
    };
    improved + &end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Updates and evaluations that count against patience in a run of five evaluations.
    fn waits(early_stopping: &str, rows: [(f64, &str); 5]) -> Vec<(f64, f64)> {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "config.toml",
            &format!(
                "[data]\nsource = \"bars-and-stripes\"\n[model]\nhidden = 4\n[training]\nupdates = 9\nearly_stopping = {early_stopping}\n"
            ),
        );
        let mut metrics = "update,validation_log_likelihood,validation_log_likelihood_std_error,validation_log_likelihood_data_std_error,decides,training\n".to_string();
        for (i, (value, training)) in rows.iter().enumerate() {
            metrics += &format!("{},{value},0.1,0.1,1,{training}\n", i + 1);
        }
        write("metrics.csv", &metrics);
        RunFiles::read(folder.path(), false).unwrap().stopping().unwrap().waits
    }

    /// As the training decides: nothing counts from before an evaluation at which it fails.
    #[test]
    fn patience_counts_anew_where_the_training_failed() {
        let rows = [
            (-9.0, "healthy"),
            (-9.5, "overfitting"),
            (-9.5, "healthy"),
            (-99.0, "failing"),
            (-9.5, "healthy"),
        ];
        let expected = [(1.0, 0.0), (2.0, 1.0), (3.0, 2.0), (4.0, 0.0), (5.0, 1.0)];
        assert_eq!(waits("{}", rows), expected);
    }

    /// Evaluations after the decision are those of the cooldown, and count neither for nor against it.
    #[test]
    fn a_cooldown_decides_nothing() {
        let rows = [-9.0, -9.5, -9.5, -1.0, -9.5].map(|value| (value, "healthy"));
        let expected = [(1.0, 0.0), (2.0, 1.0), (3.0, 2.0), (4.0, 2.0), (5.0, 2.0)];
        assert_eq!(waits("{ patience = 2, patience_factor = 1.0 }", rows), expected);
    }
}
