//! A setting that the program chooses by itself unless it is given.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IntoDeserializer, Unexpected, Visitor};
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

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Automatic<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AutoOrValue(PhantomData))
    }
}

struct AutoOrValue<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for AutoOrValue<T> {
    type Value = Automatic<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"auto\" or a value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            "auto" => Ok(Automatic::Auto),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(Automatic::Given)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(Automatic::Given)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(Automatic::Given)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(Automatic::Given)
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
