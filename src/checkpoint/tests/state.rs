//! The training state survives a round trip bit for bit, and no damage goes unnoticed.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::BitMatrix;
use crate::model::test_systems::gaussian_parameters;

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Progress {
    update: u64,
    third: f64,
    tiny: f64,
    #[serde(with = "crate::checkpoint::float")]
    best: f64,
    text: Option<String>,
}

fn progress() -> Progress {
    Progress {
        update: u64::MAX,
        third: 1.0 / 3.0,
        tiny: f64::from_bits(1),
        best: f64::NEG_INFINITY,
        text: Some("\"sha256\":\"quoted\" é".into()),
    }
}

fn particles() -> BitMatrix {
    BitMatrix::from_fn(3, 70, |i, j| (i + j) % 3 == 0)
}

fn writer() -> StateWriter {
    let mut writer = StateWriter::new();
    writer
        .json("progress", &progress())
        .array::<f32>("f32", &[2, 2], &[1.0, f32::NAN, -0.0, f32::INFINITY])
        .array::<f64>("f64", &[3], &[f64::from_bits(0x7ff8_dead_beef_0001), 0.1, f64::MIN_POSITIVE])
        .array::<u64>("u64", &[1, 2], &[u64::MAX, 1 << 53 | 1])
        .array::<u32>("u32", &[1], &[u32::MAX])
        .array::<u8>("u8", &[5], b"bytes")
        .array::<f64>("empty", &[0, 4], &[])
        .bits("particles", &particles())
        .parameters("", &gaussian_parameters(7, 3, 1.0, 0));
    writer
}

fn reader(bytes: Vec<u8>) -> crate::Result<StateReader> {
    StateReader::from_bytes("state.safetensors", bytes)
}

fn problem<T>(result: crate::Result<T>) -> String {
    let text = result.err().expect("an error").to_string();
    assert!(text.starts_with("state.safetensors: ") && !text.contains('\n'), "{text}");
    text
}

#[test]
fn every_type_comes_back_bit_for_bit() {
    let state = reader(writer().to_bytes().unwrap()).unwrap();
    let bits32 = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let bits64 = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(
        bits32(&state.array::<f32>("f32", &[2, 2]).unwrap()),
        bits32(&[1.0, f32::NAN, -0.0, f32::INFINITY])
    );
    assert_eq!(
        bits64(&state.array::<f64>("f64", &[3]).unwrap()),
        bits64(&[f64::from_bits(0x7ff8_dead_beef_0001), 0.1, f64::MIN_POSITIVE])
    );
    assert_eq!(state.array::<u64>("u64", &[1, 2]).unwrap(), [u64::MAX, 1 << 53 | 1]);
    assert_eq!(state.array::<u32>("u32", &[1]).unwrap(), [u32::MAX]);
    assert_eq!(state.array::<u8>("u8", &[5]).unwrap(), b"bytes");
    assert!(state.array::<f64>("empty", &[0, 4]).unwrap().is_empty());
    assert_eq!(state.bits("particles", 3, 70).unwrap(), particles());
    assert_eq!(state.parameters("", 7, 3).unwrap(), gaussian_parameters(7, 3, 1.0, 0));
    assert_eq!(state.json::<Progress>("progress").unwrap(), progress());
    assert!(state.has("f32") && state.has("progress") && !state.has("nothing"));
}

#[test]
fn same_state_gives_same_bytes() {
    assert_eq!(writer().to_bytes().unwrap(), writer().to_bytes().unwrap());
}

#[test]
fn every_changed_byte_and_every_truncation_is_noticed() {
    let bytes = writer().to_bytes().unwrap();
    for i in 0..bytes.len() {
        for mask in [1, 0x20, 0x80] {
            let mut damaged = bytes.clone();
            damaged[i] ^= mask;
            problem(reader(damaged));
        }
        problem(reader(bytes[..i].to_vec()));
    }
    problem(reader([bytes.clone(), vec![0]].concat()));
    assert!(problem(reader(bytes[..99].to_vec())).contains("damaged"));
    assert!(problem(reader(Vec::new())).contains("damaged"));
}

#[test]
fn wrong_shapes_types_and_names_are_told() {
    let state = reader(writer().to_bytes().unwrap()).unwrap();
    assert!(problem(state.array::<f32>("f32", &[4])).contains("`f32` is 2x2 in the checkpoint"));
    assert!(
        problem(state.array::<f32>("f64", &[3])).contains("`f64` is of type F64, F32 expected")
    );
    assert!(problem(state.array::<f32>("nothing", &[3])).contains("no `nothing`"));
    assert!(problem(state.bits("particles", 3, 71)).contains("3x70"));
    assert!(problem(state.bits("u64", 1, 70)).contains("packed"));
    assert!(problem(state.json::<Vec<u8>>("progress")).contains("`progress`"));
    let size = problem(state.parameters("", 7, 4));
    assert!(size.contains("model with 7x3 units, the configuration asks for 7x4"), "{size}");
}

#[test]
fn what_cannot_be_stored_is_told_when_writing() {
    #[derive(Serialize, Deserialize)]
    struct Careless {
        mean: f64,
    }
    let failure = |writer: &mut StateWriter| writer.to_bytes().unwrap_err().to_string();
    let mut writer = StateWriter::new();
    let nan = failure(writer.json("tracker", &Careless { mean: f64::NAN }));
    assert!(nan.contains("`tracker`") && nan.contains("NaN"), "{nan}");
    assert!(
        failure(StateWriter::new().array::<f32>("x", &[3], &[0.0; 2])).contains("`x` has 2 values")
    );
    assert!(failure(StateWriter::new().json("x", &1).json("x", &2)).contains("twice"));
    assert!(
        failure(StateWriter::new().array::<u8>("x", &[0], &[]).array::<f64>("x", &[0], &[]))
            .contains("twice")
    );
}

#[test]
fn a_file_is_replaced_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.safetensors");
    std::fs::write(&path, b"old").unwrap();
    writer().write(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), writer().to_bytes().unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    assert!(StateReader::open(&path).is_ok());
    assert!(StateReader::open(folder.path().join("none")).is_err());
}
