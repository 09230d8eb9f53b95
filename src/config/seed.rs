//! Seeds in TOML, whose integers end at 2^63 - 1: larger seeds are written as strings, and read as either.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

#[derive(Deserialize)]
#[serde(untagged)]
enum Seed {
    Number(u64),
    Text(String),
}

/// A number where TOML has one, else its digits.
pub fn serialize<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    match i64::try_from(*seed) {
        Ok(_) => serializer.serialize_u64(*seed),
        Err(_) => serializer.serialize_str(&seed.to_string()),
    }
}

/// The inverse of [`serialize`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let problem = || D::Error::custom("a seed is a whole number from 0 to 2^64 - 1");
    match Seed::deserialize(deserializer) {
        Ok(Seed::Number(seed)) => Ok(seed),
        Ok(Seed::Text(text)) => text.parse().map_err(|_| problem()),
        Err(_) => Err(problem()),
    }
}
