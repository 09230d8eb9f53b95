//! `--method`: a name of the library's list of estimators, or of several at once.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::estimators::Method;
use crate::model::Parameters;

/// What may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// One.
    One(Method),
    /// All with an error bar that vanishes, and which value to use.
    All,
    /// These and what is good for comparison only.
    Everything,
}

const ALL: &str = "all";
const EVERYTHING: &str = "everything";

impl Asked {
    /// The methods asked for that a model allows.
    pub fn expand(asked: &[Self], parameters: &Parameters) -> Vec<Method> {
        let methods = asked.iter().flat_map(|asked| match asked {
            Self::One(method) => vec![*method],
            Self::All => Method::allowed(parameters, false).collect(),
            Self::Everything => Method::allowed(parameters, true).collect(),
        });
        methods.collect()
    }

    /// Every name with what it asks for in one line, in the order of tables.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        let offered = Method::LIST.iter().filter(|method| method.is_offered());
        offered.map(|method| (method.name(), method.about())).chain([
            (ALL, "Those with an error bar that vanishes, at equal sweeps, and which value to use"),
            (EVERYTHING, "These and what is good for comparison only"),
        ])
    }

    /// What a name asks for.
    pub fn named(name: &str) -> Option<Self> {
        let (known, _) = Self::names().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        match known {
            ALL => Some(Self::All),
            EVERYTHING => Some(Self::Everything),
            _ => Method::LIST.iter().find(|m| m.name() == known).map(|m| Self::One(*m)),
        }
    }

    /// From the command line.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        let values = Self::names().map(|(name, about)| PossibleValue::new(name).help(about));
        PossibleValuesParser::new(values).map(|name| Self::named(&name).unwrap_or(Self::All))
    }
}
