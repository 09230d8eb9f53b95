//! A setting that the program chooses by itself unless it is given.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `"auto"`, or a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Automatic<T> {
    /// Chosen by the program; `"auto"` in a file.
    #[default]
    Auto,
    /// Given.
    Given(T),
}

impl<T: Copy> Automatic<T> {
    /// The given value, or the one chosen.
    pub fn or(self, chosen: T) -> T {
        match self {
            Self::Auto => chosen,
            Self::Given(value) => value,
        }
    }

    /// The given value, if there is one.
    pub fn given(self) -> Option<T> {
        match self {
            Self::Auto => None,
            Self::Given(value) => Some(value),
        }
    }
}

impl<T: Serialize> Serialize for Automatic<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Given(value) => value.serialize(serializer),
        }
    }
}

/// What a file has of it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "\"auto\" or a value of the right kind")]
enum Written<T> {
    Word(Word),
    Value(T),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Auto,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Automatic<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Word(Word::Auto) => Self::Auto,
            Written::Value(value) => Self::Given(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Settings {
        count: Automatic<usize>,
        share: Automatic<f64>,
        flag: Automatic<bool>,
    }

    #[test]
    fn auto_or_a_value_of_the_right_kind() {
        let parse = |text: &str| toml::from_str::<Settings>(text);
        assert_eq!(parse("").unwrap(), Settings::default());
        let given = parse("count = 3\nshare = 0\nflag = \"auto\"").unwrap();
        assert_eq!((given.count.given(), given.share.or(1.0)), (Some(3), 0.0));
        assert_eq!(given.flag, Automatic::Auto);
        let again = parse(&toml::to_string(&given).unwrap()).unwrap();
        assert_eq!(again, given);
        for bad in ["count = -3", "count = \"many\"", "flag = 3", "count = [1]"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
