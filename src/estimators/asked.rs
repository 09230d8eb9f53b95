//! Values of `--method`: an estimator by its name, or several at once.

use std::str::FromStr;

use super::Method;
use crate::error::{Error, Result};
use crate::model::Parameters;

/// An estimator, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// One.
    One(Method),
    /// All with an error bar that vanishes with more samples, and a recommended value.
    All,
    /// These and methods that are useful for comparison only.
    Everything,
}

const ALL: &str = "all";
const EVERYTHING: &str = "everything";

impl Asked {
    /// The selected methods that a model allows.
    pub(crate) fn expand(asked: &[Self], parameters: &Parameters) -> Vec<Method> {
        let methods = asked.iter().flat_map(|asked| match asked {
            Self::One(method) => vec![*method],
            Self::All => Method::allowed(parameters, false).collect(),
            Self::Everything => Method::allowed(parameters, true).collect(),
        });
        methods.collect()
    }

    /// Every name with a description in one line, in the order of tables.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
        let offered = Method::LIST.iter().filter(|method| method.is_offered());
        offered.map(|method| (method.name(), method.about())).chain([
            (ALL, "Those with an error bar that vanishes, at equal sweeps, and which value to use"),
            (EVERYTHING, "These and what is good for comparison only"),
        ])
    }
}

impl FromStr for Asked {
    type Err = Error;

    /// The selection of a name.
    fn from_str(name: &str) -> Result<Self> {
        let known = Self::names().map(|(known, _)| known);
        let asked = match known.clone().find(|known| known.eq_ignore_ascii_case(name)) {
            Some(ALL) => Some(Self::All),
            Some(EVERYTHING) => Some(Self::Everything),
            known => Method::LIST.iter().find(|m| Some(m.name()) == known).map(|m| Self::One(*m)),
        };
        asked.ok_or_else(|| {
            let known: Vec<&str> = known.collect();
            let known = known.join(", ");
            Error::Unknown(format!("there is no method `{name}`; there are {known}"))
        })
    }
}
