//! Options for the columns of a text table: units, labels, separator, as in a configuration and on the command line.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::keys::{Described, Takes, described};

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", untagged)]
pub enum Column {
    /// By its number, from 1.
    Number(usize),
    /// By its name; a text that is not a name in the table is a number, or a range of numbers such as `3-10` or `3-`.
    Text(String),
}

/// The columns of a data file: how many, or which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", untagged)]
pub enum Columns {
    /// All, and so many: LIBSVM text does not show the number if the last columns can be all zero.
    Count(usize),
    /// These columns of a table become units, in this order.
    Chosen(Vec<Column>),
}

/// What separates the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", rename_all = "lowercase")]
pub enum Separator {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// A tab.
    Tab,
    /// Spaces and tabs, any number of them.
    Space,
}

/// Whether a value of a configuration is one of this type.
fn reads<T: DeserializeOwned>(value: &Value) -> bool {
    value.clone().try_into::<T>().is_ok()
}

described! {
    Column: Takes::Other {
        wanted: "the name of a column or its number from 1",
        right: reads::<Self>,
    },
    Columns: Takes::Other {
        wanted: "the number of columns, or a list of their names and numbers",
        right: reads::<Self>,
    },
    Separator: Takes::Other {
        wanted: "one of \"comma\", \"semicolon\", \"tab\", \"space\"",
        right: reads::<Self>,
    },
}

impl Separator {
    /// All, in the order in which they are tried where none is given: the rarer one inside a cell first.
    pub(super) const ALL: [Self; 4] = [Self::Tab, Self::Semicolon, Self::Comma, Self::Space];

    /// Its name in messages and configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Semicolon => "semicolon",
            Self::Tab => "tab",
            Self::Space => "space",
        }
    }
}

impl FromStr for Separator {
    type Err = String;

    /// The character itself, or its name.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "," | "comma" => Ok(Self::Comma),
            ";" | "semicolon" => Ok(Self::Semicolon),
            "\t" | "\\t" | "tab" => Ok(Self::Tab),
            " " | "space" => Ok(Self::Space),
            _ => Err(format!("separator `{text}` is none of comma, semicolon, tab, space")),
        }
    }
}

impl TryFrom<String> for Separator {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" => Err("a column has no name and no number".into()),
            text => Ok(Self::Text(text.into())),
        }
    }
}

impl TryFrom<Value> for Column {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Integer(number @ 1..) => Ok(Self::Number(number as usize)),
            Value::String(text) => text.parse(),
            other => {
                Err(format!("`{other}` is neither the name of a column nor its number from 1 on"))
            }
        }
    }
}

impl FromStr for Columns {
    type Err = String;

    /// A sole number is that of all columns; else names, numbers and ranges separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(count) = text.trim().parse() {
            return Ok(Self::Count(count));
        }
        text.split(',').map(Column::from_str).collect::<Result<_, _>>().map(Self::Chosen)
    }
}

impl TryFrom<Value> for Columns {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Integer(count @ 1..) => Ok(Self::Count(count as usize)),
            Value::String(text) => text.parse(),
            Value::Array(columns) => columns
                .into_iter()
                .map(Column::try_from)
                .collect::<Result<_, _>>()
                .map(Self::Chosen),
            other => Err(format!(
                "columns = {other}: the number of columns is wanted, or which ones, as in [\"a\", 3, \"5-9\"]"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_said_in_both_places_alike() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Holder {
            columns: Columns,
        }
        let text = |text: &str| Column::Text(text.into());
        for (toml, argument, expected) in [
            ("180", "180", Columns::Count(180)),
            ("\"a,b, 3-\"", "a,b,3-", Columns::Chosen(vec![text("a"), text("b"), text("3-")])),
            ("[\"a\"]", "a", Columns::Chosen(vec![text("a")])),
        ] {
            let holder: Holder = toml::from_str(&format!("columns = {toml}")).unwrap();
            assert_eq!(holder.columns, expected, "{toml}");
            assert_eq!(argument.parse(), Ok(expected), "{argument}");
            let written = toml::to_string(&holder).unwrap();
            assert_eq!(toml::from_str::<Holder>(&written).unwrap(), holder, "{written}");
        }
        let numbers: Holder = toml::from_str("columns = [3, \"b\"]").unwrap();
        assert_eq!(numbers.columns, Columns::Chosen(vec![Column::Number(3), text("b")]));
        for bad in ["0", "-3", "1.5", "true", "\"a,,b\"", "[0]", "[[1]]"] {
            assert!(toml::from_str::<Holder>(&format!("columns = {bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn separators_have_names() {
        for separator in Separator::ALL {
            assert_eq!(separator.name().parse(), Ok(separator));
        }
        assert_eq!("\t".parse(), Ok(Separator::Tab));
        assert!("|".parse::<Separator>().unwrap_err().contains("comma"));
    }
}
