//! Reading a training state back, with every byte checked against the stored checksum.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use ::safetensors::SafeTensors;
use ::safetensors::tensor::{SafeTensorError, TensorInfo};
use serde::de::DeserializeOwned;

use super::StateWriter;
use super::safetensors::{Array, Element, shape_text};
use super::state_writer::{FORMAT, NO_CHECKSUM, VERSION, checksum_place};
use crate::data::sha256_hex;
use crate::engine::{BitMatrix, words_per_row};
use crate::error::{Error, Result};
use crate::limited::read_file_of_run;
use crate::model::Parameters;
use crate::units::Variables;

/// Largest state, in bytes.
const LARGEST: u64 = 64 << 30;

/// An opened and verified state. Getters check shapes; errors name the file and the field.
pub struct StateReader {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Offset of the tensor data in `bytes`.
    start: usize,
    arrays: HashMap<String, TensorInfo>,
    metadata: HashMap<String, String>,
}

impl StateReader {
    /// Reads a file of [`super::StateWriter`].
    ///
    /// # Errors
    /// The file cannot be read, is not a ztrack state, is of another version, or a byte of it has changed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read_file_of_run(path, LARGEST, "a training state")?;
        let missing = || Error::io("open", path)(std::io::ErrorKind::NotFound.into());
        Self::from_bytes(path, bytes.ok_or_else(missing)?)
    }

    /// As [`Self::open`] with the bytes at hand; `path` is for messages.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn from_bytes(path: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let damaged = |what: &str| Error::file(&path, format!("checkpoint is damaged ({what})"));
        let unreadable = |e: SafeTensorError| damaged(&e.to_string());
        let (header, content) = SafeTensors::read_metadata(&bytes).map_err(unreadable)?;
        let metadata = content.metadata().clone().unwrap_or_default();
        let arrays: HashMap<String, TensorInfo> =
            content.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();

        let field = |name: &str| metadata.get(name).map(String::as_str);
        if field("format").is_none() && field("sha256").is_none() {
            return Err(Error::file(&path, "not a ztrack training state"));
        }
        let stored = field("sha256").unwrap_or_default();
        let place = checksum_place(&bytes, stored)
            .filter(|_| stored.len() == NO_CHECKSUM.len())
            .ok_or_else(|| damaged("no checksum"))?;
        let (before, after) = (&bytes[..place], &bytes[place + stored.len()..]);
        if sha256_hex([before, NO_CHECKSUM.as_bytes(), after]) != stored {
            return Err(damaged("its content does not match its checksum"));
        }
        if field("format") != Some(FORMAT) || field("version") != Some(VERSION) {
            let version = field("version").unwrap_or("unknown");
            let problem = format!("state format version {version}, this program reads {VERSION}");
            return Err(Error::file(&path, problem));
        }
        Ok(Self { start: header + 8, path, bytes, arrays, metadata })
    }

    /// The bytes it was read from.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The state that [`StateWriter::part`] stored after `prefix`; `None` if there is none.
    pub fn part(&self, prefix: &str) -> Option<StateWriter> {
        let mut state = StateWriter::new();
        let within = |(name, info): (&String, &TensorInfo)| {
            let name = name.strip_prefix(prefix)?.to_string();
            let (from, to) = info.data_offsets;
            let data = self.bytes[self.start + from..self.start + to].to_vec();
            Some((name, Array { dtype: info.dtype, shape: info.shape.clone(), data }))
        };
        state.arrays = self.arrays.iter().filter_map(within).collect();
        let fields = self.metadata.iter().filter_map(|(field, value)| {
            let (kind, name) = field.split_once('.')?;
            Some((format!("{kind}.{}", name.strip_prefix(prefix)?), value.clone()))
        });
        state.metadata = fields.collect::<BTreeMap<_, _>>();
        (!state.arrays.is_empty()).then_some(state)
    }

    /// Whether an array or JSON value of this name is there.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name) || self.metadata.contains_key(&format!("json.{name}"))
    }

    /// Shape of an array.
    ///
    /// # Errors
    /// There is no such array.
    pub fn shape(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.info(name)?.shape)
    }

    /// Packed states of exactly this many rows and columns.
    ///
    /// # Errors
    /// See [`Self::array`].
    pub fn bits(&self, name: &str, rows: usize, columns: usize) -> Result<BitMatrix> {
        let stored_rows = self.info(name)?.shape.first().copied().unwrap_or_default();
        let stored = self.metadata.get(&format!("columns.{name}"));
        let stored: usize = stored
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.wrong(format!("`{name}` does not hold packed states")))?;
        if (stored_rows, stored) != (rows, columns) {
            return Err(self.wrong_shape(name, &[stored_rows, stored], &[rows, columns]));
        }
        // States of real variables have further words.
        let per_row = self.info(name)?.shape.get(1).copied().unwrap_or_default();
        let words = self.array(name, &[rows, per_row.max(words_per_row(columns))])?;
        BitMatrix::from_words(rows, columns, words)
            .ok_or_else(|| self.wrong(format!("`{name}` does not hold packed states")))
    }

    /// The model, which must have this size.
    ///
    /// # Errors
    /// Missing arrays, another size, or values that are not finite.
    pub fn parameters(
        &self,
        prefix: &str,
        n_visible: usize,
        n_hidden: usize,
    ) -> Result<Parameters> {
        let weights = format!("{prefix}weights");
        let found = self.shape(&weights)?;
        if found != [n_visible, n_hidden] {
            let found = shape_text(found);
            return Err(self.wrong(format!(
                "checkpoint is of a model with {found} units, the configuration asks for {n_visible}x{n_hidden}: \
                 resume with the configuration of the run, or start a new run"
            )));
        }
        let weights = self.array(&weights, &[n_visible, n_hidden])?;
        let visible_bias = self.array(&format!("{prefix}visible_bias"), &[n_visible])?;
        let hidden_bias = self.array(&format!("{prefix}hidden_bias"), &[n_hidden])?;
        let variables = self.variables(prefix)?;
        Parameters::new(n_visible, n_hidden, weights, visible_bias, hidden_bias)
            .and_then(|parameters| parameters.of(variables))
            .map_err(|e| self.wrong(e.to_string()))
    }

    /// What visible columns stand for.
    ///
    /// # Errors
    /// A text that names no variables.
    pub fn variables(&self, prefix: &str) -> Result<Variables> {
        let name = format!("{prefix}variables");
        if !self.metadata.contains_key(&format!("json.{name}")) {
            return Ok(Variables::BITS);
        }
        let text: String = self.json(&name)?;
        text.parse().map_err(|e: Error| self.wrong(format!("`{name}`: {e}")))
    }

    /// A value stored as JSON.
    ///
    /// # Errors
    /// Missing, or not of this type.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let text = self.metadata.get(&format!("json.{name}")).ok_or_else(|| self.missing(name))?;
        serde_json::from_str(text).map_err(|e| self.wrong(format!("`{name}`: {e}")))
    }

    /// Values of an array of exactly this shape.
    ///
    /// # Errors
    /// Missing, of another type, or of another shape (as for all getters).
    #[allow(private_bounds)] // a fixed list of types
    pub fn array<T: Element>(&self, name: &str, shape: &[usize]) -> Result<Vec<T>> {
        let info = self.info(name)?;
        if info.shape != shape {
            return Err(self.wrong_shape(name, &info.shape, shape));
        }
        if info.dtype != T::DTYPE {
            let (found, expected) = (info.dtype, T::DTYPE);
            return Err(self.wrong(format!("`{name}` is of type {found}, {expected} expected")));
        }
        let (from, to) = info.data_offsets;
        Ok(T::from_bytes(&self.bytes[self.start + from..self.start + to]))
    }

    fn info(&self, name: &str) -> Result<&TensorInfo> {
        self.arrays.get(name).ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> Error {
        self.wrong(format!("no `{name}`: the checkpoint is of a run with other settings"))
    }

    fn wrong_shape(&self, name: &str, found: &[usize], expected: &[usize]) -> Error {
        let (found, expected) = (shape_text(found), shape_text(expected));
        self.wrong(format!(
            "`{name}` is {found} in the checkpoint, the configuration asks for {expected}"
        ))
    }

    fn wrong(&self, problem: String) -> Error {
        Error::file(&self.path, problem)
    }
}
