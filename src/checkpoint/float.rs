//! `#[serde(with = "ztrack::checkpoint::float")]` for f64 fields that may be NaN or infinite.
//!
//! JSON has no such numbers; they are written as the strings "NaN", "inf" and "-inf".

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Float {
    Finite(f64),
    Other(String),
}

/// A number if finite, else its name.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let value =
        if value.is_finite() { Float::Finite(*value) } else { Float::Other(value.to_string()) };
    value.serialize(serializer)
}

/// The inverse of [`serialize`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match Float::deserialize(deserializer)? {
        Float::Finite(value) => Ok(value),
        Float::Other(name) => name.parse().map_err(|_| D::Error::custom("not a number")),
    }
}
