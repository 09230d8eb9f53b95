//! Doubts in the words of the builder, which has options and no configuration.

use crate::trust::Trust;

/// Keys of a configuration in doubts, and the corresponding option of [`super::LogZTrackerBuilder`], or keyword of Python's `Tracker`.
/// Longer keys come before their prefixes.
const OPTIONS: &[(&str, &str)] = &[
    ("tempering.settling.most", "the second number of `settling`"),
    ("tempering.chains", "`chains`"),
    ("tempering.sweeps or temperatures", "`sweeps` or `temperatures`"),
];

/// The doubts about the error bar, with options to change.
pub(super) fn of_options(trust: Trust) -> Trust {
    trust.reworded(OPTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new doubt that names a key has to have its option here.
    #[test]
    fn every_key_that_a_doubt_of_the_tracker_names_has_its_option() {
        let sources =
            [include_str!("../tracking/verdict.rs"), include_str!("../tracking/model_tracker.rs")];
        let mut named = 0;
        for line in sources.iter().flat_map(|source| source.lines()) {
            if !line.trim_start().starts_with("format!(") {
                continue;
            }
            named += usize::from(line.contains("tempering."));
            let told = of_options(Trust::unless("name", Some(line))).to_string();
            assert!(!told.contains("tempering."), "{told}");
        }
        assert!(named >= 5, "{named}");
    }
}
