//! The table of all recorded values, one line per tag. Recorders refuse unknown tags.

use super::{Content, Record, Run};
use crate::error::{Error, Result};

/// The kind of content a tag holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Content::Scalar`]
    Scalar,
    /// [`Content::Histogram`]
    Histogram,
    /// [`Content::Image`]
    Image,
    /// [`Content::Text`]
    Text,
}

impl From<&Content> for Kind {
    fn from(content: &Content) -> Self {
        match content {
            Content::Scalar(_) => Self::Scalar,
            Content::Histogram(_) => Self::Histogram,
            Content::Image(_) => Self::Image,
            Content::Text(_) => Self::Text,
        }
    }
}

/// One documented tag.
#[derive(Clone, Copy, Debug)]
pub struct Tag {
    /// Its run.
    pub run: Run,
    /// Its name in records.
    pub tag: &'static str,
    /// Group of charts in TensorBoard.
    pub group: &'static str,
    /// Kind of content.
    pub kind: Kind,
    /// Column of metrics.csv; `None` for tags without one.
    pub column: Option<&'static str>,
    /// Its description, with its unit.
    pub meaning: &'static str,
}

impl Tag {
    /// The tag in TensorBoard: group and name.
    pub fn in_tensorboard(&self) -> String {
        format!("{}/{}", self.group, self.tag)
    }
}

// TensorBoard sorts groups and opens the first two: these must be the likelihood and log Z.
const LOG_LIKELIHOOD: &str = "log_likelihood";
const LOG_Z: &str = "log_z";
const AUDIT: &str = "log_z_audit";
const MIXING: &str = "mixing";
const MODEL: &str = "model";
const OPTIMIZER: &str = "optimizer";
// In groups of their own, so that each of the first two groups begins on the first screen. The bands are drawn from them.
const STANDARD_ERRORS: &str = "standard_errors";

/// A tracker scalar without a column; the others differ from it.
const fn curve(group: &'static str, tag: &'static str, meaning: &'static str) -> Tag {
    Tag { run: Run::Tracker, tag, group, kind: Kind::Scalar, column: None, meaning }
}

/// A scalar of rows.
const fn rows(
    (run, group): (Run, &'static str),
    tag: &'static str,
    column: Option<&'static str>,
    meaning: &'static str,
) -> Tag {
    Tag { run, column, ..curve(group, tag, meaning) }
}

/// A tracker scalar whose column is its tag.
const fn column(group: &'static str, tag: &'static str, meaning: &'static str) -> Tag {
    Tag { column: Some(tag), ..curve(group, tag, meaning) }
}

const fn histogram(group: &'static str, tag: &'static str, meaning: &'static str) -> Tag {
    Tag { kind: Kind::Histogram, ..curve(group, tag, meaning) }
}

const fn image(group: &'static str, tag: &'static str, meaning: &'static str) -> Tag {
    Tag { kind: Kind::Image, ..curve(group, tag, meaning) }
}

/// First columns of metrics.csv, in every row.
pub const FIXED_COLUMNS: [&str; 3] = ["update", "epoch", "seconds"];

/// Every documented tag; columns of metrics.csv have this order after [`FIXED_COLUMNS`].
#[rustfmt::skip] // a table: one line a tag
pub static TAGS: &[Tag] = &[
    column(LOG_Z, "log_z", "tracked log Z, nats"),
    column(STANDARD_ERRORS, "log_z_std_error", "standard error of tracked log Z, nats"),
    curve(STANDARD_ERRORS, "log_z_lower", "tracked log Z minus 2 standard errors, nats"),
    curve(STANDARD_ERRORS, "log_z_upper", "tracked log Z plus 2 standard errors, nats"),
    rows((Run::Train, LOG_LIKELIHOOD), "log_likelihood", Some("train_log_likelihood"), "mean log-likelihood of training rows, nats"),
    rows((Run::Train, STANDARD_ERRORS), "log_likelihood_std_error", Some("train_log_likelihood_std_error"), "standard error of the mean log-likelihood, from log Z and rows together, nats"),
    rows((Run::Train, STANDARD_ERRORS), "log_likelihood_data_std_error", Some("train_log_likelihood_data_std_error"), "the part of the standard error that comes from the rows evaluated, nats"),
    rows((Run::Train, STANDARD_ERRORS), "log_likelihood_lower", None, "log_likelihood minus 2 standard errors, nats"),
    rows((Run::Train, STANDARD_ERRORS), "log_likelihood_upper", None, "log_likelihood plus 2 standard errors, nats"),
    rows((Run::Validation, LOG_LIKELIHOOD), "log_likelihood", Some("validation_log_likelihood"), "mean log-likelihood of validation rows, nats"),
    rows((Run::Validation, STANDARD_ERRORS), "log_likelihood_std_error", Some("validation_log_likelihood_std_error"), "standard error of the mean log-likelihood, from log Z and rows together, nats"),
    rows((Run::Validation, STANDARD_ERRORS), "log_likelihood_data_std_error", Some("validation_log_likelihood_data_std_error"), "the part of the standard error that comes from the rows evaluated, nats"),
    rows((Run::Validation, STANDARD_ERRORS), "log_likelihood_lower", None, "log_likelihood minus 2 standard errors, nats"),
    rows((Run::Validation, STANDARD_ERRORS), "log_likelihood_upper", None, "log_likelihood plus 2 standard errors, nats"),
    column(AUDIT, "exact_log_z", "audit: log Z by enumeration, nats"),
    column(AUDIT, "ais_log_z", "audit: log Z by annealed importance sampling, nats"),
    column(AUDIT, "ais_log_z_std_error", "standard error of the audit by annealed importance sampling, nats"),
    curve(AUDIT, "audit_difference", "tracked minus audited log Z at the updates of audits, nats"),
    curve(AUDIT, "audit_difference_lower", "the difference minus 2 combined standard errors, nats; 0 lies inside the band when they agree"),
    curve(AUDIT, "audit_difference_upper", "the difference plus 2 combined standard errors, nats"),
    column(AUDIT, "audit_difference_in_errors", "tracked minus audited log Z, in combined standard errors"),
    column(MIXING, "tracker_consistency", "moving mean of squared standardised innovations; about 1 when the error bar is honest"),
    column(LOG_Z, "sound", "1 if log_z and its error bar can be trusted, else 0"),
    Tag { kind: Kind::Text, ..column(LOG_Z, "doubts", "why not, where not: short names") },
    Tag { run: Run::Train, kind: Kind::Text, ..column(MODEL, "training", "healthy, failing (training rows fell far below their best) or overfitting (validation rows alone did)") },
    rows((Run::Train, MODEL), "training_failing", None, "1 if the training is failing, else 0"),
    column(AUDIT, "decides", "1 when decisions go by the evaluation: log_z is sound, exact or audited; else 0"),
    column(LOG_Z, "log_z_bound", "sum over distinct states of data, particles and chains: log Z is at least that, nats"),
    column(MIXING, "settled_log_z", "log Z from the sweeps at fixed parameters alone, nats"),
    column(MIXING, "settled_log_z_std_error", "standard error of log Z from the sweeps at fixed parameters, nats"),
    column(MIXING, "settling_sweeps", "sweeps at fixed parameters"),
    column(MIXING, "settling_drift_in_errors", "log Z of the last third of the sweeps at fixed parameters minus that of the third before, in its errors"),
    column(MIXING, "settling_correlation", "correlation over chains between their contributions to the errors of the last two thirds; 1 if they are frozen"),
    column(MIXING, "annealed_log_z", "log Z by annealing from the mixture, where the chains are in doubt and its weights pass their diagnostics, nats"),
    column(MIXING, "annealed_log_z_std_error", "standard error of log Z by annealing from the mixture, nats"),
    column(MIXING, "lag_in_errors", "log Z from the sweeps at fixed parameters minus tracked log Z before them, in errors"),
    column(MODEL, "train_log_f", "mean log f(v) of training rows, nats"),
    column(MODEL, "samples_log_f", "mean log f(v) of the model as its chains see it, nats"),
    column(MODEL, "samples_log_f_deviation", "standard deviation of log f(v) over samples, nats"),
    column(MIXING, "effective_chains", "(sum w)^2/sum w^2 of the weights that chains carry"),
    column(MIXING, "crossed_share", "share of the chains that went from one end of the ladder to the other in the last 1000 sweeps"),
    column(MIXING, "effective_sample_size", "effective sample size of the weights of the chains at beta = 1"),
    column(OPTIMIZER, "learning_rate", "step size of the weights"),
    column(OPTIMIZER, "gradient_norm", "Frobenius norm of the weight gradient"),
    column(MODEL, "weight_norm", "Frobenius norm of the weights"),
    column(MIXING, "occupancy_error", "max_k |log(c_k/r_k)|"),
    column(MIXING, "round_trips_per_1000_sweeps", "round trips beta = 0 -> 1 -> 0 per chain and 1000 sweeps"),
    column(MIXING, "window_round_trips", "round trips per chain in the present window"),
    column(MIXING, "movement_per_round_trip", "variance of relative weights the model gathers while a chain makes a round trip; chains lag behind a model with much"),
    column(MIXING, "minimum_conductance", "min_k of the conductance of the cut between temperatures k and k + 1"),
    column(MIXING, "knot_beta", "inverse temperature of the cut with the smallest conductance"),
    column(MODEL, "reconstruction_error", "mean squared error of one-step reconstructions, per visible unit"),
    column(MODEL, "free_energy_gap", "mean free energy of training minus that of validation rows, nats; falls when it overfits"),
    histogram(MODEL, "weights", "entries of W"),
    histogram(MODEL, "visible_bias", "entries of c"),
    histogram(MODEL, "hidden_bias", "entries of b"),
    histogram(MIXING, "occupancy_ratio", "c_k/r_k over temperatures; 1 when log Z_k is right"),
    histogram(MODEL, "hidden_activity", "mean activation of each hidden unit over training rows"),
    image(MODEL, "weight_filters", "columns of W as pictures: blue negative, white 0, red positive"),
    image(MODEL, "samples", "visible states at beta = 1: particles of the gradient, then tempered chains that are there"),
    // After the samples on the Images tab.
    image("transitions", "transition_matrix", "P_jk between temperatures: row from, column to; bright is probable"),
];

/// The line of (run, tag), if it is documented.
pub fn find(run: Run, tag: &str) -> Option<&'static Tag> {
    TAGS.iter().find(|line| line.run == run && line.tag == tag)
}

/// Whether a column of metrics.csv is known and has numbers.
pub fn is_number(column: &str) -> bool {
    let of_numbers = |tag: &Tag| tag.kind != Kind::Text && tag.column == Some(column);
    FIXED_COLUMNS.contains(&column) || TAGS.iter().any(of_numbers)
}

/// All columns of metrics.csv in order.
pub fn columns() -> impl Iterator<Item = &'static str> {
    FIXED_COLUMNS.into_iter().chain(TAGS.iter().filter_map(|line| line.column))
}

/// Checks that every entry is documented, of its tag's kind, and there once.
///
/// # Errors
/// [`Error::Unknown`] or, for a value of another kind and one that comes twice, [`Error::Invalid`]; they name run and tag.
pub fn check(record: &Record) -> Result<()> {
    for (i, entry) in record.entries.iter().enumerate() {
        let name = format!("`{}` of run `{}`", entry.tag, entry.run.name());
        let update = record.update;
        let invalid = |what: String| {
            Err(Error::Invalid(format!("record of update {update}: tag {name} {what}")))
        };
        let Some(line) = find(entry.run, entry.tag) else {
            return Err(Error::Unknown(format!(
                "record of update {update}: unknown tag {name}; record::tags::TAGS lists the known ones"
            )));
        };
        let kind = Kind::from(&entry.content);
        if kind != line.kind {
            return invalid(format!("holds a {:?}, not a {kind:?}", line.kind));
        }
        if record.entries[..i].iter().any(|other| (other.run, other.tag) == (entry.run, entry.tag))
        {
            return invalid("comes twice".into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_no_duplicates() {
        for (i, line) in TAGS.iter().enumerate() {
            let twice =
                TAGS[..i].iter().any(|other| (other.run, other.tag) == (line.run, line.tag));
            assert!(!twice, "{line:?}");
        }
        let columns: Vec<_> = columns().collect();
        for (i, column) in columns.iter().enumerate() {
            assert!(!columns[..i].contains(column), "{column}");
        }
    }

    #[test]
    fn tensorboard_opens_on_the_likelihood_and_log_z() {
        let mut shown: Vec<_> = TAGS
            .iter()
            .filter(|line| matches!(line.kind, Kind::Scalar | Kind::Image))
            .map(|line| (line.group, line.tag))
            .collect();
        shown.sort_unstable();
        let mut groups: Vec<_> = shown.iter().map(|(group, _)| *group).collect();
        groups.dedup();
        assert_eq!(groups[..2], ["log_likelihood", "log_z"]);
        for group in &groups[..2] {
            let first = shown.iter().find(|(of, _)| of == group).unwrap();
            assert_eq!(first.1, *group, "the first card of the group");
        }
    }

    #[test]
    fn the_csv_begins_with_the_documented_columns() {
        let columns: Vec<_> = columns().take(7).collect();
        assert_eq!(
            columns,
            [
                "update",
                "epoch",
                "seconds",
                "log_z",
                "log_z_std_error",
                "train_log_likelihood",
                "train_log_likelihood_std_error"
            ]
        );
    }

    #[test]
    fn unknown_misplaced_repeated_and_mistyped_entries_are_errors() {
        let problem = |fill: fn(&mut Record)| {
            let mut record = Record::new(12, 0.0, 0.0);
            fill(&mut record);
            check(&record).map_err(|error| error.to_string())
        };
        assert_eq!(problem(|r| r.scalar(Run::Tracker, "log_z", f64::NAN)), Ok(()));
        let unknown = problem(|r| r.scalar(Run::Tracker, "log_zz", 0.0)).unwrap_err();
        assert!(unknown.contains("update 12") && unknown.contains("`log_zz`"), "{unknown}");
        assert!(problem(|r| r.scalar(Run::Train, "log_z", 0.0)).unwrap_err().contains("unknown"));
        let kind = problem(|r| r.scalar(Run::Tracker, "weights", 0.0)).unwrap_err();
        assert!(kind.contains("holds a Histogram, not a Scalar"), "{kind}");
        let twice = problem(|r| {
            r.scalar(Run::Tracker, "log_z", 0.0);
            r.scalar(Run::Tracker, "log_z", 1.0);
        });
        assert!(twice.unwrap_err().contains("twice"));
    }
}
