//! `--method`: a name of the library's list of estimators, or of several at once.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::estimators::Asked;

/// From the command line.
pub fn parser() -> impl TypedValueParser<Value = Asked> {
    let values = Asked::names().map(|(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(values).map(|name| name.parse().unwrap_or(Asked::All))
}
