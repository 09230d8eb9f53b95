//! Model files: safetensors with `weights` [visible, hidden], `visible_bias`, `hidden_bias`; `.npz` is read too.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use ::safetensors::{Dtype, SafeTensors, tensor::TensorView};
use zip::ZipArchive;

use super::safetensors::{Array, Element, encode, shape_text};
use super::write_bytes;
use crate::data::{Kind, NpyHeader, read_entry};
use crate::error::{Error, Result};
use crate::model::Parameters;

/// Names of weights, visible bias and hidden bias: ours, then those of Hinton and Salakhutdinov's files.
const NAMES: [[&str; 3]; 2] =
    [["weights", "visible_bias", "hidden_bias"], ["vishid", "visbiases", "hidbiases"]];

/// A model and the strings stored with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The model; f64 files are rounded to f32.
    pub parameters: Parameters,
    /// Free text under free names, such as the update and the log Z of a checkpoint. Empty for npz.
    pub metadata: BTreeMap<String, String>,
}

/// Shape and values of an array as found.
type Found = (Vec<usize>, Vec<f32>);

impl ModelFile {
    /// Writes safetensors (f32), atomically; same content, same bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let Parameters { n_visible, n_hidden, weights, visible_bias, hidden_bias } =
            &self.parameters;
        let array = |shape: &[usize], values: &[f32]| Array {
            dtype: Dtype::F32,
            shape: shape.to_vec(),
            data: f32::to_bytes(values),
        };
        let arrays = [
            array(&[*n_visible, *n_hidden], weights),
            array(&[*n_visible], visible_bias),
            array(&[*n_hidden], hidden_bias),
        ];
        let arrays = NAMES[0].map(String::from).into_iter().zip(arrays).collect();
        let bytes = encode(&self.metadata, &arrays)
            .map_err(|e| Error::file(&path, format!("cannot encode the model: {e}")))?;
        write_bytes(path.as_ref(), &bytes)
    }

    /// Reads safetensors or npz (told apart by content), f32 or f64; biases of shape `[n]`, [1, n] or [n, 1].
    ///
    /// # Errors
    /// The file cannot be read, is damaged, lacks an array, or holds a wrong shape, type, NaN or infinity.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(Error::io("read", path))?;
        let content =
            if bytes.starts_with(b"PK") { read_npz(&bytes) } else { read_safetensors(&bytes) };
        content
            .and_then(|(arrays, metadata)| Ok(Self { parameters: assemble(arrays)?, metadata }))
            .map_err(|problem| Error::file(path, problem))
    }
}

/// Arrays under their names with the metadata, or the problem in words.
type Content = std::result::Result<(BTreeMap<String, Found>, BTreeMap<String, String>), String>;

fn read_safetensors(bytes: &[u8]) -> Content {
    let damaged = |e| {
        format!("neither a safetensors nor an npz file, or a damaged one ({e}): write it again")
    };
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let metadata = header.metadata().clone().unwrap_or_default().into_iter().collect();
    let mut arrays = BTreeMap::new();
    for name in NAMES.as_flattened() {
        if let Ok(view) = file.tensor(name) {
            arrays.insert(name.to_string(), (view.shape().to_vec(), floats(name, &view)?));
        }
    }
    Ok((arrays, metadata))
}

fn floats(name: &str, view: &TensorView) -> std::result::Result<Vec<f32>, String> {
    match view.dtype() {
        Dtype::F32 => Ok(f32::from_bytes(view.data())),
        Dtype::F64 => Ok(f64::from_bytes(view.data()).into_iter().map(|x| x as f32).collect()),
        other => Err(format!("`{name}` is of type {other}: f32 or f64 expected")),
    }
}

fn read_npz(bytes: &[u8]) -> Content {
    let damaged = |e: &dyn Display| format!("damaged npz file ({e}): write it again");
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| damaged(&e))?;
    let mut arrays = BTreeMap::new();
    for name in NAMES.as_flattened() {
        let entries = [format!("{name}.npy"), name.to_string()];
        let Some(entry) = entries.iter().find(|entry| archive.index_for_name(entry).is_some())
        else {
            continue;
        };
        let found = read_entry(&mut archive, entry).and_then(|bytes| read_npy(&bytes));
        arrays.insert(name.to_string(), found.map_err(|problem| format!("`{name}` {problem}"))?);
    }
    Ok((arrays, BTreeMap::new()))
}

/// Shape and row-major values of an npy array of floats with one or two dimensions.
fn read_npy(bytes: &[u8]) -> std::result::Result<Found, String> {
    let header = NpyHeader::parse(bytes).map_err(|problem| format!("is damaged: {problem}"))?;
    if header.element.kind != Kind::Float {
        return Err("is of type integer: f32 or f64 expected".into());
    }
    let data = header.data(bytes).map_err(|problem| format!("is damaged: {problem}"))?;
    let values: Vec<f32> = data
        .chunks_exact(header.element.size)
        .map(|bytes| header.element.value(bytes) as f32)
        .collect();
    match header.shape[..] {
        [rows, columns] if header.fortran_order => {
            let row_major = (0..rows * columns).map(|i| values[i % columns * rows + i / columns]);
            Ok((vec![rows, columns], row_major.collect()))
        }
        _ => Ok((header.shape, values)),
    }
}

/// Checks names and shapes.
fn assemble(mut arrays: BTreeMap<String, Found>) -> std::result::Result<Parameters, String> {
    let [ours, theirs] = NAMES;
    let names =
        if arrays.contains_key(theirs[0]) && !arrays.contains_key(ours[0]) { theirs } else { ours };
    let mut take = |name: &str| {
        arrays.remove(name).ok_or_else(|| {
            format!(
                "no array `{name}`: a model holds {} (or {})",
                ours.join(", "),
                theirs.join(", ")
            )
        })
    };
    let (shape, weights) = take(names[0])?;
    let &[n_visible, n_hidden] = shape.as_slice() else {
        return Err(format!(
            "`{}` has shape [{}]: [visible, hidden] expected",
            names[0],
            shape_text(&shape)
        ));
    };
    let mut bias = |name: &str, units| {
        let (shape, values) = take(name)?;
        match shape.as_slice() {
            [n] | [1, n] | [n, 1] if *n == units => Ok(values),
            _ => Err(format!(
                "`{name}` has shape [{}], {units} values expected beside {n_visible}x{n_hidden} weights",
                shape_text(&shape)
            )),
        }
    };
    let visible_bias = bias(names[1], n_visible)?;
    let hidden_bias = bias(names[2], n_hidden)?;
    Parameters::new(n_visible, n_hidden, weights, visible_bias, hidden_bias)
        .map_err(|e| e.to_string())
}
