//! Model files: safetensors with `weights` [visible, hidden], `visible_bias`, `hidden_bias` and, if known, `training_means` and `states`;
//! `.npz` and the array names of other programs ([`super::naming`]) are read too.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Cursor, Write};
use std::path::Path;

use ::safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Map, Value};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::naming::{Found, Layout, all_names, arrays_of, assemble};
use super::safetensors::{Array, Element, encode, shape_text};
use super::{TrainedOn, write_bytes};
use crate::data::{Input, Kind, NpyHeader, npy_header, open_archive, open_entry};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::limited::read_up_to;
use crate::memory::{check_memory, make_room};
use crate::model::Parameters;
use crate::model::plus_minus::{Couplings, Units};
use crate::units::Variables;

/// Longest header of a safetensors file.
const LONGEST_HEADER: u64 = 16 << 20;
/// Means of the training rows.
const MEANS: &str = "training_means";
/// States that the model's chains visited, zeros and ones of u8, [N, visible].
const STATES: &str = "states";
/// Most states that are read.
const MOST_STATES: usize = 10_000;
/// Key of the metadata for the orientation of the weights, which only this program writes.
const LAYOUT: &str = "layout";
/// Key of the metadata for what the visible columns stand for; without it they are bits.
const VARIABLES: &str = "variables";
/// Key of the metadata that the command writes, with its version; in older files the only sign of their origin.
const PROGRAM: &str = "ztrack";

/// A model and the strings stored with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The model; f64 files are rounded to f32.
    pub parameters: Parameters,
    /// Text values by name, such as the update and the log Z of a checkpoint. Empty for npz.
    pub metadata: BTreeMap<String, String>,
    /// The rows it was trained on, if the file describes them.
    pub trained_on: Option<TrainedOn>,
    /// States that equilibrated chains of the model visited, shape [N, M], if the file has some: they show its modes.
    pub states: Option<BitMatrix>,
}

impl From<Parameters> for ModelFile {
    fn from(parameters: Parameters) -> Self {
        Self { parameters, metadata: BTreeMap::new(), trained_on: None, states: None }
    }
}

impl ModelFile {
    /// Writes safetensors (f32), atomically; same content, same bytes. Where the name ends in `.npz`, the three arrays alone as
    /// numpy's `savez` writes them.
    ///
    /// # Errors
    /// The file cannot be written, or npz for a model of other units than 0 and 1.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let npz = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"));
        let bytes = if npz { self.npz() } else { self.safetensors() };
        let problem = |problem| Error::file(path, format!("cannot encode the model: {problem}"));
        write_bytes(path, &bytes.map_err(problem)?)
    }

    fn npz(&self) -> std::result::Result<Vec<u8>, String> {
        if self.parameters.variables != Variables::BITS {
            return Err("an npz file has no place for the kind of its units: give it a name that ends in .safetensors".into());
        }
        let mut file = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (name, shape, values) in arrays_of(&self.parameters) {
            file.start_file(format!("{name}.npy"), options).map_err(|error| error.to_string())?;
            let bytes = [npy_header("<f4", &shape), f32::to_bytes(values)].concat();
            file.write_all(&bytes).map_err(|error| error.to_string())?;
        }
        Ok(file.finish().map_err(|error| error.to_string())?.into_inner())
    }

    fn safetensors(&self) -> std::result::Result<Vec<u8>, String> {
        let own = match self.parameters.variables.is_plus_minus() {
            true => {
                let own = self.parameters.couplings().to(Units::PlusMinus);
                Cow::Owned(own.map_err(|error| error.to_string())?.parameters)
            }
            false => Cow::Borrowed(&self.parameters),
        };
        let mut arrays: BTreeMap<String, Array> = arrays_of(&own)
            .map(|(name, shape, values)| (name.into(), Array::of(&shape, values)))
            .into();
        let mut metadata = self.metadata.clone();
        metadata.insert(LAYOUT.into(), Layout::VisibleHidden.name().into());
        if self.parameters.variables != Variables::BITS {
            metadata.insert(VARIABLES.into(), self.parameters.variables.to_string());
        }
        if let Some(trained_on) = &self.trained_on {
            trained_on.describe(&mut metadata);
            let means = &trained_on.means;
            arrays.insert(MEANS.into(), Array::of(&[means.len()], means));
        }
        if let Some(states) = &self.states {
            let (rows, columns) = (states.rows(), states.columns());
            let (width, cells) = match states.has_numbers() {
                // Packed states as they are.
                true => (8 * states.words_per_row(), u64::to_bytes(states.words())),
                false => {
                    let cells = (0..rows).flat_map(|n| (0..columns).map(move |i| (n, i)));
                    (columns, cells.map(|(n, i)| u8::from(states.get(n, i))).collect())
                }
            };
            arrays.insert(STATES.into(), Array::of(&[rows, width], &cells));
        }
        encode(&metadata, &arrays).map_err(|error| error.to_string())
    }

    /// [`ModelFile::load_as`] of weights whose visible side is clear.
    ///
    /// # Errors
    /// As [`ModelFile::load_as`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_as(path, None)
    }

    /// Reads safetensors or npz (recognised by content), f32 or f64; biases of shape `[n]`, [1, n] or [n, 1]. `layout` says which side of
    /// the weights is visible; without it, the lengths of the biases or the names of the arrays decide.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, lacks an array, has a wrong shape, type, NaN or infinity, or does not show which side is
    /// visible.
    pub fn load_as(path: impl AsRef<Path>, layout: Option<Layout>) -> Result<Self> {
        let path = path.as_ref();
        let error = |problem: String| Error::file(path, problem);
        let mut file = File::open(path).map_err(Error::io("read", path))?;
        let start = read_up_to(&mut file, 8).map_err(Error::io("read", path))?;
        if start.starts_with(b"\x93NUMPY") {
            let problem = "is one array, a model has three: save them with np.savez(PATH, weights=..., visible_bias=..., hidden_bias=...)";
            return Err(Error::file(path, problem));
        }
        let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        if matches!(ending, "pt" | "pth" | "ckpt") {
            let problem = "is a file of PyTorch, which only Python can read: there, np.savez(PATH, weights=..., visible_bias=..., hidden_bias=...) with arrays by .detach().cpu().numpy()";
            return Err(Error::file(path, problem));
        }
        let (mut arrays, mut metadata, states) = if start.starts_with(b"PK") {
            (read_npz(path, file)?, BTreeMap::new(), None)
        } else {
            read_safetensors(path, file, start)?
        };
        let marked = metadata.remove(LAYOUT).is_some();
        let ours = marked || metadata.contains_key(PROGRAM);
        let parameters = assemble(&mut arrays, layout, ours).map_err(error)?;
        let variables = metadata.remove(VARIABLES).unwrap_or_default();
        let variables =
            variables.parse().and_then(|variables: Variables| match variables.is_plus_minus() {
                true => Couplings::of_arrays(&parameters).model(),
                false => parameters.of(variables),
            });
        let parameters = variables.map_err(|e| error(format!("`{VARIABLES}`: {e}")))?;
        let trained_on = arrays.remove(MEANS).map(|means| {
            TrainedOn::found(means, (parameters.n_visible, &parameters.variables), &mut metadata)
                .map_err(|problem| error(format!("`{MEANS}` {problem}")))
        });
        let states = states.map(|states| {
            bits(states, &parameters).map_err(|problem| error(format!("`{STATES}` {problem}")))
        });
        let (trained_on, states) = (trained_on.transpose()?, states.transpose()?);
        Ok(Self { parameters, metadata, trained_on, states })
    }
}

/// The array `states` of a model.
fn bits(states: Array, parameters: &Parameters) -> std::result::Result<BitMatrix, String> {
    let Parameters { n_visible, variables, .. } = parameters;
    let (n_visible, bytes) = (*n_visible, 8 * variables.words(*n_visible));
    let Array { dtype, shape, data } = states;
    if dtype != Dtype::U8 {
        return Err(format!("is of type {dtype}: u8 expected"));
    }
    match shape[..] {
        [rows @ 1..=MOST_STATES, width] if variables.has_reals() && width == bytes => {
            let states = BitMatrix::from_words(rows, n_visible, u64::from_bytes(&data));
            states.ok_or_else(|| "holds no packed states".into())
        }
        [rows @ 1..=MOST_STATES, columns] if columns == n_visible => {
            match data.iter().find(|&&cell| cell > 1) {
                Some(cell) => Err(format!("holds {cell}, which is neither 0 nor 1")),
                None => Ok(BitMatrix::from_fn(rows, columns, |n, i| data[n * columns + i] == 1)),
            }
        }
        _ => Err(format!(
            "has shape [{}]: at most {MOST_STATES} states of {n_visible} visible units expected",
            shape_text(&shape)
        )),
    }
}

/// Arrays under their names.
type Arrays = BTreeMap<String, Found>;

/// Reads the header first: sizes in it are compared with the file and the memory before anything is read.
fn read_safetensors(
    path: &Path,
    mut file: File,
    start: Vec<u8>,
) -> Result<(Arrays, BTreeMap<String, String>, Option<Array>)> {
    let error = |problem: String| Error::file(path, problem);
    let damaged = |e: &dyn Display| {
        error(format!(
            "neither a safetensors nor an npz file, or a damaged one ({e}): write it again"
        ))
    };
    let read = |file: &mut File, limit| read_up_to(file, limit).map_err(Error::io("read", path));
    let length = start.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    if start.len() < 8 || length > LONGEST_HEADER {
        return Err(damaged(&"the header is too short or too long"));
    }
    let mut bytes = start;
    bytes.extend(read(&mut file, length)?);
    let header: Map<String, Value> =
        serde_json::from_slice(&bytes[8..]).map_err(|e| damaged(&e))?;
    let end = |info: &Value| info["data_offsets"][1].as_u64();
    let data = header.values().filter_map(end).max().unwrap_or(0);
    check_memory(2.0 * data as f64, "its arrays").map_err(error)?;
    let size = file.metadata().map_err(Error::io("read", path))?;
    let expected = data.saturating_add(8 + length);
    if size.is_file() && size.len() != expected {
        let problem = format!("its header speaks of {expected} bytes, it has {}", size.len());
        return Err(damaged(&problem));
    }
    bytes.extend(read(&mut file, data.saturating_add(1))?);
    let file = SafeTensors::deserialize(&bytes).map_err(|e| damaged(&e))?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| damaged(&e))?;
    let metadata = header.metadata().clone().unwrap_or_default().into_iter().collect();
    let mut arrays = BTreeMap::new();
    for name in all_names().chain([MEANS]) {
        if let Ok(view) = file.tensor(name) {
            let values = floats(name, &view).map_err(error)?;
            arrays.insert(name.to_string(), (view.shape().to_vec(), values));
        }
    }
    let states = file.tensor(STATES).ok().map(|view| Array {
        dtype: view.dtype(),
        shape: view.shape().to_vec(),
        data: view.data().to_vec(),
    });
    Ok((arrays, metadata, states))
}

fn floats(name: &str, view: &TensorView) -> std::result::Result<Vec<f32>, String> {
    match view.dtype() {
        Dtype::F32 => Ok(f32::from_bytes(view.data())),
        Dtype::F64 => Ok(f64::from_bytes(view.data()).into_iter().map(|x| x as f32).collect()),
        other => Err(format!("`{name}` is of type {other}: f32 or f64 expected")),
    }
}

fn read_npz(path: &Path, file: File) -> Result<Arrays> {
    let mut archive = open_archive(path, BufReader::new(file))?;
    let mut arrays = BTreeMap::new();
    for name in all_names().chain([MEANS]) {
        let entries = [format!("{name}.npy"), name.to_string()];
        let Some(entry) = entries.iter().find(|entry| archive.index_for_name(entry).is_some())
        else {
            continue;
        };
        let found = read_npy(&mut open_entry(&mut archive, entry, path)?)?
            .map_err(|problem| Error::file(path, format!("`{name}` {problem}")))?;
        arrays.insert(name.to_string(), found);
    }
    Ok(arrays)
}

/// Shape and row-major values of an npy array of floats with one or two dimensions.
fn read_npy(input: &mut Input<'_>) -> Result<std::result::Result<Found, String>> {
    let damaged = |problem| Err(format!("is damaged: {problem}"));
    let header = match NpyHeader::read(input)? {
        Ok(header) if header.element.kind == Kind::Float => header,
        Ok(_) => return Ok(Err("is of type integer: f32 or f64 expected".into())),
        Err(problem) => return Ok(damaged(problem)),
    };
    let mut values: Vec<f32> = Vec::new();
    let found = header.values(input, |value| {
        make_room(&mut values, (1, 1024), (1024, 8.0, "its arrays"))?;
        values.push(value as f32);
        Ok(())
    })?;
    if let Err(problem) = found {
        return Ok(damaged(problem));
    }
    Ok(Ok(match header.shape[..] {
        [rows, columns] if header.fortran_order => {
            let row_major = (0..rows * columns).map(|i| values[i % columns * rows + i / columns]);
            (vec![rows, columns], row_major.collect())
        }
        _ => (header.shape, values),
    }))
}
