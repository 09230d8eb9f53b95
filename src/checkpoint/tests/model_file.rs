//! Model files: of this program, of others, and damaged ones.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use ::safetensors::Dtype;
use ndarray::{Array1, Array2};
use ndarray_npy::{NpzWriter, WritableElement};

use crate::checkpoint::naming::NAMINGS;
use crate::checkpoint::safetensors::{Array, Element, encode};
use crate::checkpoint::{Layout, ModelFile, TrainedOn};
use crate::data::Binarization;
use crate::engine::BitMatrix;
use crate::model::test_systems::gaussian_parameters;
use crate::model::{Parameters, exact};
use crate::tempering::BaseDistribution;
use crate::units::Variables;

fn example() -> ModelFile {
    let metadata = [("update", "1000"), ("log_z", "226.1 é\n"), ("a", "b"), ("zz", "")];
    let metadata = metadata.map(|(k, v)| (k.to_string(), v.to_string())).into();
    let trained_on = TrainedOn {
        data: "some rows".into(),
        rows: 1000,
        binarization: Binarization::Threshold(0.25),
        means: vec![0.0, 0.125, 0.333, 0.999, 1.0],
        categories: None,
        titles: ["a", "b", "c,", "\"d", "é"].map(String::from).to_vec(),
    };
    let parameters = gaussian_parameters(5, 3, 1.0, 1);
    let states = Some(BitMatrix::from_fn(70, 5, |n, i| (n >> i) & 1 == 1));
    ModelFile { parameters, metadata, trained_on: Some(trained_on), states }
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

/// A file called npz is one, and has the parameters whole.
#[test]
fn what_is_called_npz_is_npz() {
    let folder = folder();
    let path = folder.path().join("model.npz");
    example().save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"PK"));
    let expected = ModelFile::from(example().parameters);
    assert_eq!(ModelFile::load(&path).unwrap(), expected);
    example().save(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

/// scikit-learn's `components_` are [hidden, visible]; exchanging the layers twice is no change.
#[test]
fn weights_that_lie_the_other_way_are_the_same_model() {
    let p = example().parameters;
    let components = p.transposed().weights;
    assert_eq!(components[..2], [p.weights[0], p.weights[3]]);
    let (visible, hidden) = (p.visible_bias.clone(), p.hidden_bias.clone());
    assert_eq!(Parameters::from_hidden_major(5, 3, components, visible, hidden).unwrap(), p);
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
    assert!(broken(0, &[1, 3], &[0.0; 3]).contains("`visible_bias` has shape [2x1]"));
    assert!(broken(0, &[0, 0], &[]).contains("`visible_bias`"));
    assert!(broken(2, &[2], &[0.0; 2]).contains("`hidden_bias` has shape [2], 1 values expected"));
    assert!(broken(2, &[1], &[f64::NAN]).contains("`hidden_bias` contains NaN"));
    assert!(broken(0, &[2, 1], &[0.0, 1e300]).contains("contains NaN or more than 3.4e38"));
}

/// W of shape 3x2 with biases of 3 visible and 2 hidden units, and the same with equal numbers of units.
#[test]
fn other_names_and_either_layout_are_understood() {
    let weights: Vec<f64> = (1..=6).map(f64::from).collect();
    let turned = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
    let biases: [&[f64]; 2] = [&[0.1, 0.2, 0.3], &[0.4, 0.5]];
    let folder = folder();
    let load = |names: [&str; 3], shape: &[usize], weights: &[f64], asked| {
        let arrays = [
            (names[0], shape, weights),
            (names[1], &[3][..], biases[0]),
            (names[2], &[1, 2][..], biases[1]),
        ];
        ModelFile::load_as(written(folder.path(), &safetensors(&arrays)), asked)
    };
    let expected = load(NAMINGS[0].names, &[3, 2], &turned, None).unwrap().parameters;
    assert_eq!((expected.n_visible, expected.weights[1]), (3, 4.0));
    for naming in &NAMINGS {
        // Biases decide, whatever is usual for these names; the orientation given by the user is checked against them.
        for (shape, weights) in [([3, 2], &turned[..]), ([2, 3], &weights)] {
            let found = load(naming.names, &shape, weights, None).unwrap().parameters;
            assert_eq!(found, expected, "{:?}", naming.names);
            let wrong = if shape[0] == 3 { Layout::HiddenVisible } else { Layout::VisibleHidden };
            let problem = load(naming.names, &shape, weights, Some(wrong)).unwrap_err();
            assert!(problem.to_string().contains("values expected beside"), "{problem}");
        }
    }
}

#[test]
fn square_weights_are_not_taken_without_a_word() {
    let folder = folder();
    let square = [1.0, 2.0, 3.0, 4.0];
    let file = |names: [&str; 3]| {
        let bias: &[f64] = &[0.1, 0.2];
        let arrays =
            [(names[0], &[2, 2][..], &square[..]), (names[1], &[2], bias), (names[2], &[2], bias)];
        written(folder.path(), &safetensors(&arrays))
    };
    for names in NAMINGS.iter().map(|naming| naming.names) {
        let straight = ModelFile::load_as(file(names), Some(Layout::VisibleHidden)).unwrap();
        let turned = ModelFile::load_as(file(names), Some(Layout::HiddenVisible)).unwrap();
        assert_eq!(straight.parameters.weights, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(turned.parameters.weights, [1.0, 3.0, 2.0, 4.0]);
        let silent = ModelFile::load(file(names)).map(|file| file.parameters);
        match names[0] {
            "components_" => assert_eq!(silent.unwrap(), turned.parameters),
            "vishid" | "weight_matrix" => assert_eq!(silent.unwrap(), straight.parameters),
            _ => {
                let problem = silent.unwrap_err().to_string();
                assert!(problem.contains("give --layout visible-hidden or"), "{problem}");
            }
        }
    }
    // What this program wrote is known; so are its files from before it said so, by its version in them.
    let ours = ModelFile::from(gaussian_parameters(3, 3, 1.0, 1));
    let path = folder.path().join("ours");
    ours.save(&path).unwrap();
    assert_eq!(ModelFile::load(&path).unwrap(), ours);
    let old = [("ztrack".to_string(), "0.1.0".to_string())].into();
    let array = |shape: &[usize]| Array {
        dtype: Dtype::F64,
        shape: shape.to_vec(),
        data: f64::to_bytes(&vec![0.5; shape.iter().product()]),
    };
    let arrays = [("weights", &[2, 2][..]), ("visible_bias", &[2]), ("hidden_bias", &[2])];
    let arrays = arrays.map(|(name, shape)| (name.to_string(), array(shape))).into();
    let old = ModelFile::load(written(folder.path(), &encode(&old, &arrays).unwrap())).unwrap();
    assert_eq!((old.parameters.n_visible, old.trained_on), (2, None));
}

#[test]
fn means_of_training_rows_must_be_means() {
    let with = |means: Vec<f32>, rows: &str| {
        let mut file = example();
        file.trained_on = Some(TrainedOn { means, ..example().trained_on.unwrap() });
        let folder = folder();
        let path = folder.path().join("model");
        file.save(&path).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let key = b"\"training_rows\":\"";
        let at = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len();
        // Of the same length, so that the header stays right.
        bytes[at..at + 4].copy_from_slice(rows.as_bytes());
        problem(&bytes)
    };
    let means = example().trained_on.unwrap().means;
    assert!(with(vec![0.5; 4], "1000").contains("`training_means` are 4 values for 5 visible"));
    for bad in [f32::NAN, -0.1, 1.1] {
        let with_bad = [&[bad], &means[1..]].concat();
        assert!(with(with_bad, "1000").contains("which is no mean"));
    }
    for bad in ["   0", "0000", "many"] {
        assert!(with(means.clone(), bad).contains("`training_rows` = "), "{bad}");
    }
}

/// States are rows of zeros and ones of the visible layer, in files of any program; files without them are valid models.
#[test]
fn states_are_checked() {
    let with = |dtype, shape: &[usize], data: Vec<u8>| {
        let array = |shape: &[usize]| Array {
            dtype: Dtype::F64,
            shape: shape.to_vec(),
            data: f64::to_bytes(&vec![0.5; shape.iter().product()]),
        };
        let arrays = [("weights", &[2, 1][..]), ("visible_bias", &[2]), ("hidden_bias", &[1])];
        let mut arrays: BTreeMap<String, Array> =
            arrays.map(|(name, shape)| (name.to_string(), array(shape))).into();
        arrays.insert("states".into(), Array { dtype, shape: shape.to_vec(), data });
        encode(&BTreeMap::new(), &arrays).unwrap()
    };
    let folder = folder();
    let good = written(folder.path(), &with(Dtype::U8, &[3, 2], vec![0, 1, 1, 1, 0, 0]));
    let states = ModelFile::load(good).unwrap().states.unwrap();
    assert_eq!((states.rows(), states.get(0, 1), states.get(2, 0)), (3, true, false));
    for (dtype, shape, cells, expected) in [
        (Dtype::F32, &[3, 2][..], 24, "`states` is of type F32: u8 expected"),
        (Dtype::U8, &[2, 3], 6, "`states` has shape [2x3]"),
        (Dtype::U8, &[6], 6, "`states` has shape [6]"),
        (Dtype::U8, &[0, 2], 0, "`states` has shape [0x2]"),
        (Dtype::U8, &[10_001, 2], 20_002, "at most 10000 states of 2 visible units"),
    ] {
        let told = problem(&with(dtype, shape, vec![1; cells]));
        assert!(told.contains(expected), "{told}");
    }
    let told = problem(&with(Dtype::U8, &[1, 2], vec![0, 2]));
    assert!(told.contains("`states` holds 2, which is neither 0 nor 1"), "{told}");
}

/// The means stored in f32 give back the counts they are from.
#[test]
fn stored_means_give_the_base_of_the_rows() {
    for rows in [1, 3, 1400, 60_000, 1_000_003] {
        let counts: Vec<u64> = (0..=50).map(|i| i * rows / 50).collect();
        let means = counts.iter().map(|&n| (n as f64 / rows as f64) as f32).collect();
        let trained_on = TrainedOn { means, rows, ..example().trained_on.unwrap() };
        let expected =
            BaseDistribution::from_column_counts(&counts, rows as usize, 1.0, &Variables::BITS)
                .unwrap();
        assert_eq!(trained_on.base(1.0, &Variables::BITS).unwrap(), expected, "{rows} rows");
    }
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
