//! Model files: ours, other people's, and broken ones.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use ::safetensors::Dtype;
use ndarray::{Array1, Array2};
use ndarray_npy::{NpzWriter, WritableElement};

use crate::checkpoint::ModelFile;
use crate::checkpoint::safetensors::{Array, Element, encode};
use crate::model::exact;
use crate::model::test_systems::gaussian_parameters;

fn example() -> ModelFile {
    let metadata = [("update", "1000"), ("log_z", "226.1 é\n"), ("a", "b"), ("zz", "")];
    let metadata = metadata.map(|(k, v)| (k.to_string(), v.to_string())).into();
    ModelFile { parameters: gaussian_parameters(5, 3, 1.0, 1), metadata }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn written(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("model");
    fs::write(&path, bytes).unwrap();
    path
}

/// The one line that loading these bytes answers.
fn problem(bytes: &[u8]) -> String {
    let folder = folder();
    let path = written(folder.path(), bytes);
    let text = ModelFile::load(&path).expect_err("an error").to_string();
    assert!(text.starts_with(&format!("{}: ", path.display())) && !text.contains('\n'), "{text}");
    text
}

/// A safetensors file of f64 arrays.
fn safetensors(arrays: &[(&str, &[usize], &[f64])]) -> Vec<u8> {
    let array = |shape: &[usize], values: &[f64]| Array {
        dtype: Dtype::F64,
        shape: shape.to_vec(),
        data: f64::to_bytes(values),
    };
    let arrays = arrays.iter().map(|(name, shape, x)| (name.to_string(), array(shape, x)));
    encode(&BTreeMap::new(), &arrays.collect()).unwrap()
}

/// An npz file in Hinton and Salakhutdinov's naming, biases of shape [1, n].
fn npz<T: WritableElement + Copy>(convert: impl Fn(f32) -> T) -> Vec<u8> {
    let p = example().parameters;
    let values = |x: &[f32]| x.iter().map(|&x| convert(x)).collect::<Vec<T>>();
    let mut file = NpzWriter::new_compressed(Cursor::new(Vec::new()));
    file.add_array("vishid", &Array2::from_shape_vec((5, 3), values(&p.weights)).unwrap()).unwrap();
    file.add_array("visbiases", &Array1::from(values(&p.visible_bias))).unwrap();
    let hidden = Array2::from_shape_vec((1, 3), values(&p.hidden_bias)).unwrap();
    file.add_array("hidbiases", &hidden).unwrap();
    file.finish().unwrap().into_inner()
}

#[test]
fn saving_and_loading_changes_nothing_and_is_reproducible() {
    let folder = folder();
    let path = folder.path().join("model.safetensors");
    example().save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(ModelFile::load(&path).unwrap(), example());
    for _ in 0..5 {
        example().save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    assert!(example().save(path.join("model")).is_err(), "a file is not a folder");
    assert!(ModelFile::load(folder.path()).is_err(), "a folder is not a file");
}

#[test]
fn npz_of_either_precision_is_read() {
    let folder = folder();
    for bytes in [npz(|x| x), npz(f64::from)] {
        let file = ModelFile::load(written(folder.path(), &bytes)).unwrap();
        assert_eq!(file.parameters, example().parameters);
    }
    assert!(problem(&npz(|x| x as i32)).contains("`vishid` is of type"));
}

#[test]
fn double_precision_safetensors_are_read() {
    let folder = folder();
    let ok: [(&str, &[usize], &[f64]); 3] = [
        ("weights", &[2, 1], &[0.5, 1.5]),
        ("visible_bias", &[2, 1], &[1.0, 2.0]),
        ("hidden_bias", &[1], &[3.0]),
    ];
    let file = ModelFile::load(written(folder.path(), &safetensors(&ok))).unwrap();
    assert_eq!(file.parameters.weights, [0.5, 1.5]);
    assert_eq!(file.parameters.hidden_bias, [3.0]);

    let broken = |k: usize, shape: &[usize], values: &[f64]| {
        let mut arrays = ok;
        arrays[k] = (ok[k].0, shape, values);
        problem(&safetensors(&arrays))
    };
    assert!(problem(&safetensors(&ok[..2])).contains("no array `hidden_bias`"));
    assert!(problem(&safetensors(&ok[1..])).contains("no array `weights`"));
    assert!(broken(0, &[2], &[0.0; 2]).contains("`weights` has shape [2]"));
    assert!(broken(0, &[1, 2], &[0.0; 2]).contains("`visible_bias` has shape [2x1]"));
    assert!(broken(0, &[0, 0], &[]).contains("`visible_bias`"));
    assert!(broken(2, &[2], &[0.0; 2]).contains("`hidden_bias` has shape [2], 1 values expected"));
    assert!(broken(2, &[1], &[f64::NAN]).contains("`hidden_bias` contains NaN"));
    assert!(broken(0, &[2, 1], &[0.0, 1e300]).contains("`weights` contains NaN or infinity"));
}

/// The header of an array may claim any size: no memory is taken on its word.
#[test]
fn npz_arrays_of_any_claim_and_order_are_read_safely() {
    let p = example().parameters;
    let npy = |shape: &str, fortran: &str, values: &[f32]| {
        let header = format!("{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        let start = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..]].concat();
        [&start[..], header.as_bytes(), &f32::to_bytes(values)].concat()
    };
    let file = |weights: Vec<u8>| {
        let mut file = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in [
            ("weights.npy", weights),
            ("visible_bias.npy", npy("(5,)", "False", &p.visible_bias)),
            ("hidden_bias.npy", npy("(1, 3)", "True", &p.hidden_bias)),
        ] {
            file.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            file.write_all(&bytes).unwrap();
        }
        file.finish().unwrap().into_inner()
    };
    let folder = folder();
    let transposed = p.transposed().weights;
    for weights in [npy("(5, 3)", "False", &p.weights), npy("(5, 3)", "True", &transposed)] {
        let path = written(folder.path(), &file(weights));
        assert_eq!(ModelFile::load(path).unwrap().parameters, p);
    }
    for shape in ["(99999999999, 3)", "(5, 4)", "(9223372036854775807, 9223372036854775807)"] {
        let problem = problem(&file(npy(shape, "False", &p.weights)));
        assert!(problem.contains("`weights` is damaged: npy shape"), "{problem}");
    }
}

#[test]
fn damaged_files_get_one_clear_line() {
    assert!(problem(b"").contains("neither a safetensors nor an npz file"));
    assert!(problem(b"{\"weights\": 1}").contains("neither"));
    let folder = folder();
    let path = folder.path().join("whole");
    example().save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        problem(&whole[..length]);
    }
    let archive = npz(f64::from);
    for length in 0..archive.len() {
        problem(&archive[..length]);
    }
}

#[test]
fn the_published_model_has_its_published_log_z() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models/mnist-h10.npz");
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return;
    }
    let log_z = exact::log_partition(&ModelFile::load(path).unwrap().parameters).unwrap();
    assert!((log_z - 226.113155).abs() < 1e-5, "{log_z}");
}
