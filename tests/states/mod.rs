//! States with a right checksum and any content.

// Several crates of tests use this, each a part of it.
#![allow(dead_code)]

use safetensors::SafeTensors;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The state with `edit` done to its metadata, under a checksum that fits.
pub fn resealed(bytes: &[u8], edit: impl FnOnce(&mut serde_json::Map<String, Value>)) -> Vec<u8> {
    let (length, _) = SafeTensors::read_metadata(bytes).unwrap();
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let metadata = header["__metadata__"].as_object_mut().unwrap();
    edit(metadata);
    let zeros = "0".repeat(64);
    metadata.insert("sha256".into(), zeros.clone().into());
    let mut text = serde_json::to_vec(&header).unwrap();
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut sealed = (text.len() as u64).to_le_bytes().to_vec();
    sealed.extend(text);
    sealed.extend(&bytes[8 + length..]);
    let sum: String = Sha256::digest(&sealed).iter().map(|byte| format!("{byte:02x}")).collect();
    let field = format!("\"sha256\":\"{zeros}\"");
    let at = sealed.windows(field.len()).position(|window| window == field.as_bytes()).unwrap();
    sealed[at + 10..at + 74].copy_from_slice(sum.as_bytes());
    sealed
}

/// The same for a value stored as JSON.
pub fn with_json(bytes: &[u8], name: &str, edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    resealed(bytes, |metadata| {
        let text = metadata[&format!("json.{name}")].as_str().unwrap();
        let mut value: Value = serde_json::from_str(text).unwrap();
        edit(&mut value);
        metadata.insert(format!("json.{name}"), value.to_string().into());
    })
}
