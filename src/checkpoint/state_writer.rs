//! The full training state as one file: named arrays and JSON values under a checksum.
//!
//! A safetensors file, readable with any such tool. Its metadata holds `format`, `version`, `sha256`, the JSON values as
//! `json.NAME` and the numbers of columns of bit matrices as `columns.NAME`. The SHA-256 is that of the whole file with
//! the 64 digits of the checksum itself replaced by zeros, so that no byte of the file can change unnoticed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::naming::arrays_of;
use super::safetensors::{Array, Element, encode, shape_text};
use super::write_bytes;
use crate::data::sha256_hex;
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::units::Variables;

/// Value of `format`.
pub(super) const FORMAT: &str = "ztrack-state";
/// Value of `version`; raised when older programs could not read the file.
pub(super) const VERSION: &str = "3";
/// Text in the checksum's place while the checksum is computed.
pub(super) const NO_CHECKSUM: &str =
    "0000000000000000000000000000000000000000000000000000000000000000";

/// Collects a state. Values that cannot be stored are reported by [`StateWriter::to_bytes`] or [`StateWriter::write`].
#[derive(Clone, Default)]
pub struct StateWriter {
    pub(super) arrays: BTreeMap<String, Array>,
    pub(super) metadata: BTreeMap<String, String>,
    problem: Option<String>,
}

impl StateWriter {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores packed states.
    pub fn bits(&mut self, name: &str, bits: &BitMatrix) -> &mut Self {
        let words = bits.words_per_row();
        self.metadata.insert(format!("columns.{name}"), bits.columns().to_string());
        self.array(name, &[bits.rows(), words], bits.words())
    }

    /// Stores a model under `weights`, `visible_bias` and `hidden_bias`, each after `prefix`.
    pub fn parameters(&mut self, prefix: &str, parameters: &Parameters) -> &mut Self {
        for (name, shape, values) in arrays_of(parameters) {
            self.array(&format!("{prefix}{name}"), &shape, values);
        }
        self.variables(prefix, &parameters.variables)
    }

    /// Stores what the visible columns stand for; nothing for bits.
    pub fn variables(&mut self, prefix: &str, variables: &Variables) -> &mut Self {
        match *variables == Variables::BITS {
            true => self,
            false => self.json(&format!("{prefix}variables"), &variables.to_string()),
        }
    }

    /// Stores a value as JSON: finite floats and all integers come back exactly. JSON has no NaN and no infinity: such
    /// fields need [`super::float`], or [`Self::array`]; one that would not come back is reported when writing.
    pub fn json<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &T) -> &mut Self {
        let text = serde_json::to_string(value);
        // Read back now: an error at writing is better than a checkpoint that cannot be resumed.
        match text.and_then(|text| serde_json::from_str::<T>(&text).map(|_| text)) {
            Ok(text) => {
                if self.metadata.insert(format!("json.{name}"), text).is_some() {
                    self.fail(format!("`{name}` is stored twice"));
                }
            }
            Err(e) => self.fail(format!(
                "`{name}` does not survive JSON ({e}); a float that may be NaN needs `checkpoint::float`"
            )),
        }
        self
    }

    /// Stores a whole state, each name after `prefix`; [`super::StateReader::part`] gives it back.
    pub fn part(&mut self, prefix: &str, state: &Self) -> &mut Self {
        let arrays =
            state.arrays.iter().map(|(name, array)| (format!("{prefix}{name}"), array.clone()));
        self.arrays.extend(arrays);
        let fields = state.metadata.iter().filter_map(|(field, value)| {
            let (kind, name) = field.split_once('.')?;
            Some((format!("{kind}.{prefix}{name}"), value.clone()))
        });
        self.metadata.extend(fields);
        state.problem.iter().for_each(|problem| self.fail(problem.clone()));
        self
    }

    /// The file's content; the same state gives the same bytes.
    ///
    /// # Errors
    /// A value could not be stored.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let failed =
            |problem| Error::Encoding(format!("cannot store the training state: {problem}"));
        if let Some(problem) = &self.problem {
            return Err(failed(problem.clone()));
        }
        let mut metadata = self.metadata.clone();
        metadata.insert("format".into(), FORMAT.into());
        metadata.insert("version".into(), VERSION.into());
        metadata.insert("sha256".into(), NO_CHECKSUM.into());
        let mut bytes = encode(&metadata, &self.arrays).map_err(|e| failed(e.to_string()))?;
        let place = checksum_place(&bytes, NO_CHECKSUM)
            .ok_or_else(|| failed("no place for the checksum".into()))?;
        let checksum = sha256_hex([&bytes[..]]);
        bytes[place..place + checksum.len()].copy_from_slice(checksum.as_bytes());
        Ok(bytes)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// A value could not be stored, or the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_bytes(path.as_ref(), &self.to_bytes()?)
    }

    /// Stores numbers of the given shape, bit for bit (NaN included).
    #[allow(private_bounds)] // a fixed list of types
    pub fn array<T: Element>(&mut self, name: &str, shape: &[usize], values: &[T]) -> &mut Self {
        if shape.iter().product::<usize>() != values.len() {
            let (count, shape) = (values.len(), shape_text(shape));
            self.fail(format!("`{name}` has {count} values, its shape is [{shape}]"));
        }
        if self.arrays.insert(name.into(), Array::of(shape, values)).is_some() {
            self.fail(format!("`{name}` is stored twice"));
        }
        self
    }

    /// Keeps the first problem.
    fn fail(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }
}

/// Where the checksum's digits are in a file whose checksum reads `checksum`.
pub(super) fn checksum_place(bytes: &[u8], checksum: &str) -> Option<usize> {
    let field = format!("\"sha256\":\"{checksum}\"");
    let start = bytes.windows(field.len()).position(|window| window == field.as_bytes())?;
    Some(start + "\"sha256\":\"".len())
}
