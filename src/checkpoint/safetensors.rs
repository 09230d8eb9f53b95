//! The safetensors container: an encoder whose bytes depend on the content alone, and views for reading.
//!
//! Layout: u64 little-endian length of the header, JSON header padded with spaces to 8 bytes, tensor data. The
//! `safetensors` crate keeps metadata in a hash map, whose order changes from run to run; here keys are sorted.

use std::collections::BTreeMap;

use ::safetensors::Dtype;
use ::safetensors::tensor::TensorInfo;
use serde_json::{Map, Value};

/// A tensor; `data` is row-major and little-endian.
#[derive(Clone)]
pub(super) struct Array {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) data: Vec<u8>,
}

impl Array {
    /// Of numbers, as many as the shape says.
    pub(super) fn of<T: Element>(shape: &[usize], values: &[T]) -> Self {
        Self { dtype: T::DTYPE, shape: shape.to_vec(), data: T::to_bytes(values) }
    }
}

/// Encodes arrays and metadata. Same content, same bytes.
pub(super) fn encode(
    metadata: &BTreeMap<String, String>,
    arrays: &BTreeMap<String, Array>,
) -> Result<Vec<u8>, serde_json::Error> {
    // Wide types first keeps every array aligned, as readers that map the file expect.
    let mut ordered: Vec<(&String, &Array)> = arrays.iter().collect();
    ordered.sort_by_key(|(name, array)| (std::cmp::Reverse(array.dtype.bitsize()), *name));

    let mut header = Map::new();
    header.insert("__metadata__".into(), serde_json::to_value(metadata)?);
    let mut offset = 0;
    for (name, Array { dtype, shape, data }) in &ordered {
        let data_offsets = (offset, offset + data.len());
        offset = data_offsets.1;
        let info = TensorInfo { dtype: *dtype, shape: shape.clone(), data_offsets };
        header.insert((*name).clone(), serde_json::to_value(info)?);
    }
    let mut header = serde_json::to_vec(&Value::Object(header))?;
    header.resize(header.len().next_multiple_of(8), b' ');

    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    ordered.iter().for_each(|(_, array)| bytes.extend(&array.data));
    Ok(bytes)
}

/// Element types that go to and from little-endian bytes.
pub(super) trait Element: Copy {
    const DTYPE: Dtype;
    fn to_bytes(values: &[Self]) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! element {
    ($($type:ty => $dtype:ident),*) => {$(
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            fn to_bytes(values: &[Self]) -> Vec<u8> {
                values.iter().flat_map(|x| x.to_le_bytes()).collect()
            }
            fn from_bytes(bytes: &[u8]) -> Vec<Self> {
                let (chunks, _) = bytes.as_chunks();
                chunks.iter().map(|&chunk| Self::from_le_bytes(chunk)).collect()
            }
        }
    )*};
}
element!(f32 => F32, f64 => F64, u64 => U64, u32 => U32, u8 => U8);

/// "180x500", for messages.
pub(super) fn shape_text(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}
