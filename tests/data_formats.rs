//! Sound files of every format give the cells that were written.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::{Array2, ShapeBuilder, array};
use ndarray_npy::{NpzWriter, WritableElement, WriteNpyExt};
use proptest::prelude::*;
use ztrack::data::{
    Dataset, FileOptions, ImageShape, Source, SplitOptions, Splits, Values, load, load_file,
    read_bytes,
};
use ztrack::ops::BitMatrix;

fn read(name: &str, bytes: impl Into<Vec<u8>>) -> Dataset {
    read_bytes(Path::new(name), bytes.into(), &FileOptions::default()).unwrap()
}

fn bits(dataset: &Dataset) -> &BitMatrix {
    match &dataset.values {
        Values::Binary(bits) => bits,
        Values::Intensity(_) => panic!("{} is grey", dataset.name),
    }
}

fn levels(dataset: &Dataset) -> &[u8] {
    match &dataset.values {
        Values::Binary(_) => panic!("{} is binary", dataset.name),
        Values::Intensity(intensities) => intensities.levels(),
    }
}

fn npy<T: WritableElement>(array: Array2<T>) -> Vec<u8> {
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    bytes
}

#[test]
fn idx_images_and_matrices_are_read() {
    let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3][..], &[0, 9, 255, 1, 2, 3]];
    let grey = read("x", images.concat());
    assert_eq!(levels(&grey), [0, 9, 255, 1, 2, 3]);
    assert_eq!(grey.image, Some(ImageShape { height: 1, width: 3 }));
    let binary = read("x", [images[0], &[0, 1, 1, 1, 0, 0][..]].concat());
    assert_eq!(bits(&binary).words(), [0b110, 0b001]);
    let matrix = read("x", [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 5, 6, 7, 8]);
    assert_eq!((levels(&matrix), matrix.image), (&[5, 6, 7, 8][..], None));
}

#[test]
fn libsvm_text_is_read() {
    let text = "2 1:1 3:1  # a comment\n\n# a line of it\n-1\r\n+3 2:1.0 4:0\n";
    for name in ["x.libsvm", "x.unknown"] {
        let data = read(name, text);
        assert_eq!(bits(&data).words(), [0b101, 0, 0b010], "{name}");
        assert_eq!((data.columns(), data.labels), (4, Some(vec![2, -1, 3])));
    }
    let options = FileOptions { columns: Some(7), labels: None };
    assert_eq!(read_bytes(Path::new("x.svm"), text.into(), &options).unwrap().columns(), 7);
}

#[test]
fn csv_is_read_with_and_without_names() {
    for text in ["0,1,1\n1,0,0\n", "a,b,c\n0, 1.0,1\n1,0,0", "\"0\",\"1\",1\r\n\r\n1,0,0e0\r\n"] {
        let data = read("x.csv", text);
        assert_eq!((bits(&data).words(), data.columns()), (&[0b110, 0b001][..], 3), "{text:?}");
    }
}

#[test]
fn arrays_of_every_type_are_read() {
    let expected = [0b10, 0b01];
    let cells = array![[0u8, 1], [1, 0]];
    macro_rules! check {
        ($($t:ty),*) => {$(
            let data = read("x.npy", npy(cells.mapv(<$t>::from)));
            assert_eq!(bits(&data).words(), expected, stringify!($t));
        )*};
    }
    check!(u8, u16, u32, u64, i16, i32, i64, f32, f64);
    assert_eq!(bits(&read("x.npy", npy(cells.mapv(|x| x as i8)))).words(), expected);
    assert_eq!(bits(&read("x.npy", npy(cells.mapv(|x| x == 1)))).words(), expected);
    assert_eq!(levels(&read("x.npy", npy(array![[0i32, 2], [255, 1]]))), [0, 2, 255, 1]);
    // Floats that are not all 0 or 1 are levels even where every level is 0 or 1.
    assert_eq!(levels(&read("x.npy", npy(array![[0.0, 0.5], [1.0, 0.1]]))), [0, 128, 255, 26]);
    assert_eq!(levels(&read("x.npy", npy(array![[0.0f32, 0.004]]))), [0, 1]);
    let mut columns_first = Array2::zeros((2, 3).f());
    columns_first.assign(&array![[1u8, 2, 3], [4, 5, 6]]);
    assert_eq!(levels(&read("x.npy", npy(columns_first))), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn the_array_of_an_archive_is_found() {
    let archive = |arrays: &[(&str, u8)]| {
        let mut writer = NpzWriter::new_compressed(std::io::Cursor::new(Vec::new()));
        for (name, level) in arrays {
            writer.add_array(*name, &array![[*level, 255]]).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    for arrays in
        [&[("only", 7)][..], &[("y", 3), ("x", 7)], &[("train", 3), ("data", 7), ("x", 4)]]
    {
        assert_eq!(levels(&read("x.npz", archive(arrays))), [7, 255], "{arrays:?}");
    }
}

#[test]
fn gzip_is_told_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no-hint");
    let mut encoder = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::default());
    encoder.write_all(b"0,1\n1,1\n").unwrap();
    encoder.finish().unwrap();
    let data = load_file(&path, &FileOptions::default()).unwrap();
    assert_eq!((bits(&data).words(), data.name.as_str()), (&[0b10, 0b11][..], "no-hint"));
}

/// 100 rows that are all different: row i is i in binary.
fn numbered() -> (tempfile::TempDir, Source) {
    let folder = tempfile::tempdir().unwrap();
    let train = folder.path().join("train.libsvm");
    let line = |i: u32| {
        let ones = (0..7).filter(|j| i >> j & 1 == 1).map(|j| format!(" {}:1", j + 1));
        format!("{i}{}\n", ones.collect::<String>())
    };
    std::fs::write(&train, (0..100).map(line).collect::<String>()).unwrap();
    (folder, Source::Files { train, validation: None, test: None, columns: Some(7) })
}

#[test]
fn fractions_split_rows_without_loss_and_by_seed() {
    let (folder, source) = numbered();
    let split = |seed| {
        let options = SplitOptions { validation_fraction: 0.2, test_fraction: 0.1, seed };
        load(&source, &options, folder.path()).unwrap()
    };
    let Splits { train, validation, test } = split(1);
    let labels = |dataset: &Dataset| dataset.labels.clone().unwrap();
    let parts = [&train, validation.as_ref().unwrap(), test.as_ref().unwrap()];
    assert_eq!(parts.map(Dataset::rows), [70, 20, 10]);
    for part in parts {
        assert!(labels(part).is_sorted(), "rows keep their order");
        for (row, label) in labels(part).into_iter().enumerate() {
            assert_eq!(bits(part).row(row), [label as u64], "labels stay with their rows");
        }
    }
    let mut all: Vec<_> = parts.into_iter().flat_map(labels).collect();
    all.sort_unstable();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
    assert_eq!(split(1).train, train);
    assert_ne!(split(2).train, train);
}

#[test]
fn parts_that_are_given_are_not_split_off() {
    let (folder, source) = numbered();
    let Source::Files { train, columns, .. } = source else { unreachable!() };
    let test = Some(train.clone());
    let source = Source::Files { train, validation: None, test, columns };
    let options = SplitOptions { validation_fraction: 0.25, test_fraction: 0.5, seed: 0 };
    let splits = load(&source, &options, folder.path()).unwrap();
    let rows = |part: &Option<Dataset>| part.as_ref().map(Dataset::rows);
    assert_eq!(
        (splits.train.rows(), rows(&splits.validation), rows(&splits.test)),
        (75, Some(25), Some(100))
    );
    let whole = load(&source, &SplitOptions::default(), folder.path()).unwrap();
    assert_eq!((whole.train.rows(), whole.validation), (100, None));
}

#[test]
fn fractions_that_leave_no_rows_are_refused() {
    let (folder, source) = numbered();
    for (validation_fraction, test_fraction, expected) in [
        (1.0, 0.0, "`data.validation_fraction`: 1 is outside [0, 1)"),
        (f64::NAN, 0.0, "outside [0, 1)"),
        (0.0, -0.5, "`data.test_fraction`: -0.5 is outside"),
        (0.001, 0.0, "0.001 of 100 rows leaves no rows"),
        (0.5, 0.5, "leave none of 100 rows to train on"),
    ] {
        let options = SplitOptions { validation_fraction, test_fraction, seed: 0 };
        let error = load(&source, &options, folder.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

proptest! {
    #[test]
    fn every_format_gives_the_same_cells(
        rows in 1usize..20, columns in 1usize..140, seed in any::<u64>(),
    ) {
        let cell = |i: usize, j: usize| {
            (seed ^ ((i * 1000 + j) as u64)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1
        };
        let expected = BitMatrix::from_fn(rows, columns, cell);
        let row = |i: usize, format: &dyn Fn(usize) -> String| {
            (0..columns).map(format).filter(|s| !s.is_empty()).collect::<Vec<_>>().join(
                if i == usize::MAX { " " } else { "," },
            )
        };
        let csv: String = (0..rows)
            .map(|i| row(i, &|j| u8::from(cell(i, j)).to_string()) + "\n")
            .collect();
        let libsvm: String = (0..rows)
            .map(|i| {
                let one = |j| if cell(i, j) { format!("{}:1", j + 1) } else { String::new() };
                format!("0 {}\n", row(usize::MAX, &one))
            })
            .collect();
        let array = Array2::from_shape_fn((rows, columns), |(i, j)| cell(i, j));
        let mut idx = vec![0, 0, 8, 2];
        idx.extend((rows as u32).to_be_bytes());
        idx.extend((columns as u32).to_be_bytes());
        idx.extend(array.iter().map(|&bit| u8::from(bit)));
        let options = FileOptions { columns: Some(columns), labels: None };
        for (name, bytes) in [
            ("x.csv", csv.into_bytes()),
            ("x.libsvm", libsvm.into_bytes()),
            ("x.npy", npy(array.clone())),
            ("x.idx", idx),
        ] {
            let data = read_bytes(Path::new(name), bytes, &options).unwrap();
            prop_assert_eq!(bits(&data), &expected, "{}", name);
        }
    }
}
