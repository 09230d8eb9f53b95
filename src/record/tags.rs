//! The table of everything a run records: one line a tag. Recorders refuse what is not in it.

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
    /// TensorBoard run.
    pub run: Run,
    /// TensorBoard tag.
    pub tag: &'static str,
    /// Kind of content.
    pub kind: Kind,
    /// Column of metrics.csv; `None` for what is not in it.
    pub column: Option<&'static str>,
    /// What it is, with its unit.
    pub meaning: &'static str,
}

const fn of(run: Run, kind: Kind, tag: &'static str, meaning: &'static str) -> Tag {
    Tag { run, tag, kind, column: None, meaning }
}

const fn train(tag: &'static str, column: Option<&'static str>, meaning: &'static str) -> Tag {
    Tag { column, ..of(Run::Train, Kind::Scalar, tag, meaning) }
}

const fn valid(tag: &'static str, column: Option<&'static str>, meaning: &'static str) -> Tag {
    Tag { column, ..of(Run::Validation, Kind::Scalar, tag, meaning) }
}

/// A tracker scalar whose column is its tag.
const fn column(tag: &'static str, meaning: &'static str) -> Tag {
    Tag { column: Some(tag), ..of(Run::Tracker, Kind::Scalar, tag, meaning) }
}

const fn curve(tag: &'static str, meaning: &'static str) -> Tag {
    of(Run::Tracker, Kind::Scalar, tag, meaning)
}

const fn histogram(tag: &'static str, meaning: &'static str) -> Tag {
    of(Run::Tracker, Kind::Histogram, tag, meaning)
}

const fn image(tag: &'static str, meaning: &'static str) -> Tag {
    of(Run::Tracker, Kind::Image, tag, meaning)
}

/// First columns of metrics.csv, in every row.
pub const FIXED_COLUMNS: [&str; 3] = ["update", "epoch", "seconds"];

/// Every documented tag; columns of metrics.csv stand in this order after [`FIXED_COLUMNS`].
#[rustfmt::skip] // a table: one line a tag
pub static TAGS: &[Tag] = &[
    column("log_z", "tracked log Z, nats"),
    column("log_z_std_error", "its standard error, nats"),
    curve("log_z_lower", "tracked log Z minus 2 standard errors, nats"),
    curve("log_z_upper", "tracked log Z plus 2 standard errors, nats"),
    train("log_likelihood", Some("train_log_likelihood"), "mean log-likelihood of training rows, nats"),
    train("log_likelihood_std_error", Some("train_log_likelihood_std_error"), "its standard error from log Z and data together, nats"),
    train("log_likelihood_data_std_error", Some("train_log_likelihood_data_std_error"), "the part of it that comes from the rows evaluated, nats"),
    train("log_likelihood_lower", None, "log_likelihood minus 2 standard errors, nats"),
    train("log_likelihood_upper", None, "log_likelihood plus 2 standard errors, nats"),
    valid("log_likelihood", Some("validation_log_likelihood"), "mean log-likelihood of validation rows, nats"),
    valid("log_likelihood_std_error", Some("validation_log_likelihood_std_error"), "its standard error from log Z and data together, nats"),
    valid("log_likelihood_data_std_error", Some("validation_log_likelihood_data_std_error"), "the part of it that comes from the rows evaluated, nats"),
    valid("log_likelihood_lower", None, "log_likelihood minus 2 standard errors, nats"),
    valid("log_likelihood_upper", None, "log_likelihood plus 2 standard errors, nats"),
    column("exact_log_z", "audit: log Z by enumeration, nats"),
    column("ais_log_z", "audit: log Z by annealed importance sampling, nats"),
    column("ais_log_z_std_error", "its standard error, nats"),
    column("audit_difference_in_errors", "tracked minus audited log Z, in combined standard errors"),
    column("tracker_consistency", "moving mean of squared standardised innovations; about 1 when the error bar is honest"),
    column("sound", "1 when log_z and its error bar are to be believed, else 0"),
    Tag { column: Some("doubts"), ..of(Run::Tracker, Kind::Text, "doubts", "why not, where not: short names") },
    column("log_z_bound", "sum over distinct states of data, particles and chains: log Z is at least that, nats"),
    column("settled_log_z", "log Z from the sweeps at fixed parameters alone, nats"),
    column("settled_log_z_std_error", "its standard error, nats"),
    column("settling_sweeps", "sweeps at fixed parameters"),
    column("settling_drift_in_errors", "log Z of the last third of them minus that of the third before, in its errors"),
    column("settling_correlation", "over chains, between their parts of the two thirds' errors; 1 where they are frozen"),
    column("visitors_in_errors", "how much higher up the ladder chains started from data stay than the tracker's own, in errors"),
    column("lag_in_errors", "settled minus tracked log Z before, in errors"),
    column("train_log_f", "mean log f(v) of training rows, nats"),
    column("samples_log_f", "mean log f(v) of the model as its chains see it, nats"),
    column("samples_log_f_deviation", "its standard deviation over samples, nats"),
    column("effective_chains", "(sum w)^2/sum w^2 of the weights that chains carry"),
    column("crossed_share", "share of the chains that went from one end of the ladder to the other in the last 1000 sweeps"),
    column("effective_sample_size", "of the beta = 1 weights of the chains"),
    column("learning_rate", "step size of the weights"),
    column("gradient_norm", "Frobenius norm of the weight gradient"),
    column("weight_norm", "Frobenius norm of the weights"),
    column("occupancy_error", "max_k |log(c_k/r_k)|"),
    column("round_trips_per_1000_sweeps", "round trips beta = 0 -> 1 -> 0 per chain and 1000 sweeps"),
    column("window_round_trips", "round trips per chain in the present window"),
    column("movement_per_round_trip", "variance of relative weights the model gathers while a chain makes a round trip; chains lag behind a model with much"),
    column("minimum_conductance", "min_k of the conductance of the cut between temperatures k and k + 1"),
    column("knot_beta", "inverse temperature of that cut"),
    column("reconstruction_error", "mean squared error of one-step reconstructions, per visible unit"),
    column("free_energy_gap", "mean free energy of training minus that of validation rows, nats; falls when it overfits"),
    histogram("weights", "entries of W"),
    histogram("visible_bias", "entries of c"),
    histogram("hidden_bias", "entries of b"),
    histogram("occupancy_ratio", "c_k/r_k over temperatures; 1 when log Z_k is right"),
    histogram("hidden_activity", "mean activation of each hidden unit over training rows"),
    image("weight_filters", "columns of W as pictures: blue negative, white 0, red positive"),
    image("samples", "visible states of chains at beta = 1"),
    image("transition_matrix", "P_jk between temperatures: row from, column to; bright is probable"),
];

/// The line of (run, tag), if it is documented.
pub fn find(run: Run, tag: &str) -> Option<&'static Tag> {
    TAGS.iter().find(|line| line.run == run && line.tag == tag)
}

/// All columns of metrics.csv in order.
pub fn columns() -> impl Iterator<Item = &'static str> {
    FIXED_COLUMNS.into_iter().chain(TAGS.iter().filter_map(|line| line.column))
}

/// Checks that every entry is documented, of its tag's kind, and there once.
///
/// # Errors
/// [`Error::Invalid`] that names run and tag.
pub fn check(record: &Record) -> Result<()> {
    for (i, entry) in record.entries.iter().enumerate() {
        let name = format!("`{}` of run `{}`", entry.tag, entry.run.name());
        let update = record.update;
        let Some(line) = find(entry.run, entry.tag) else {
            return Err(Error::Invalid(format!(
                "record of update {update}: unknown tag {name}; record::tags::TAGS lists the known ones"
            )));
        };
        let kind = Kind::from(&entry.content);
        if kind != line.kind {
            return Err(Error::Invalid(format!(
                "record of update {update}: tag {name} holds a {:?}, not a {kind:?}",
                line.kind
            )));
        }
        if record.entries[..i].iter().any(|other| (other.run, other.tag) == (entry.run, entry.tag))
        {
            return Err(Error::Invalid(format!(
                "record of update {update}: tag {name} comes twice"
            )));
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
