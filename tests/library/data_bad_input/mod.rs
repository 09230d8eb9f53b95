//! Every kind of bad data file gets one clear line, and no bytes at all make a reader panic.

mod bad_files;

use std::path::{Path, PathBuf};

use ndarray::{Array2, array};
use ndarray_npy::NpzWriter;
use proptest::prelude::*;
use tempfile::TempDir;
use ztrack::data::{
    Columns, FileOptions, Files, Source, SplitOptions, load, load_file, read_bytes,
};

use crate::files::{gzip, npy};

fn options(columns: Option<usize>) -> FileOptions {
    FileOptions { columns, ..FileOptions::default() }
}

/// An IDX file: type, dimensions, data.
fn idx(element: u8, dimensions: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, element, dimensions.len() as u8];
    dimensions.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
    bytes.extend(data);
    bytes
}

fn npz(arrays: &[(&str, Array2<u8>)]) -> Vec<u8> {
    let mut writer = NpzWriter::new_compressed(std::io::Cursor::new(Vec::new()));
    for (name, array) in arrays {
        writer.add_array(*name, array).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn with(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn choices_that_a_table_does_not_have_are_told() {
    let text = "id,first,second,second\n7,0,1,1\n";
    let with = |label: Option<&str>, columns: &str, text: &str| {
        let Ok(Columns::Chosen(chosen)) = columns.parse() else { panic!("a number: {columns}") };
        let label = label.map(|label| label.parse().unwrap());
        let options = FileOptions { label, chosen: Some(chosen), ..FileOptions::default() };
        read_bytes(Path::new("x.csv"), text.into(), &options).unwrap_err().to_string()
    };
    for (label, columns, expected) in [
        (Some("lable"), "2-", "x.csv: no column `lable`; the names are id, first, second"),
        (Some("frist"), "2-", "no column `frist`; did you mean first?"),
        (Some("9"), "2-", "no column 9: there are columns 1 to 4"),
        (Some("1-2"), "2-", "one column of labels or weights is wanted"),
        (None, "0-3", "no column 0-3"),
        (None, "3-2", "no column 3-2"),
        (None, "2-5", "no column 2-5"),
        (None, "second,", "a column has no name"),
        (None, "first,second", "several columns are named `second`: give a number"),
        (None, "first,2", "column 2 (first) is chosen twice"),
        (Some("first"), "first,3", "column 2 (first) holds labels or weights and is no unit"),
    ] {
        if columns.ends_with(',') {
            assert!(columns.parse::<Columns>().unwrap_err().contains(expected));
            continue;
        }
        let error = with(label, columns, text);
        assert!(error.contains(expected), "{label:?} {columns}: {error}");
    }
    assert!(with(None, "a,2", "0,1\n1,0\n").contains("no line of names, give a number"));
    let label = FileOptions { label: "1".parse().ok(), ..FileOptions::default() };
    let only = read_bytes(Path::new("x.csv"), b"0\n1\n".into(), &label).unwrap_err().to_string();
    assert!(only.contains("no column is left for units"), "{only}");
    for (name, bytes) in [("x.libsvm", b"1 1:1\n".to_vec()), ("x.npy", npy(array![[1u8]]))] {
        let error = read_bytes(Path::new(name), bytes, &label).unwrap_err().to_string();
        assert!(error.contains("`label` is for text tables such as CSV"), "{error}");
    }
    let white = FileOptions { white: Some(16.0), ..FileOptions::default() };
    let bits = read_bytes(Path::new("x.libsvm"), b"1 1:1\n".into(), &white).unwrap_err();
    assert!(bits.to_string().contains("`white` is for text tables such as CSV"), "{bits}");
}

#[test]
fn bad_labels_are_told_with_their_file() {
    let images = |rows: u32| idx(8, &[rows, 1, 2], &vec![7; 2 * rows as usize]);
    #[rustfmt::skip]
    let cases = [
        ("train", idx(8, &[2], &[3, 10]), "row 2: label 10 is outside 0..9"),
        ("train", idx(8, &[3], &[3, 1, 1]), "has 3 labels for the 2 rows"),
        ("train", idx(8, &[2, 1], &[3, 1]), "a label file has one dimension"),
        ("train", vec![], "is empty"),
        ("mine", gzip(&idx(8, &[2], &[3, 1]))[..12].to_vec(), "gzip data is truncated"),
    ];
    for (prefix, labels, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = with(&folder, &format!("{prefix}-images-idx3-ubyte"), &images(2));
        with(&folder, &format!("{prefix}-labels-idx1-ubyte"), &labels);
        let error = load_file(&path, &options(None)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("labels-idx1-ubyte"), "{error}");
    }
    // Labels up to 255 are fine elsewhere, and LIBSVM labels are held against what the caller allows.
    let folder = tempfile::tempdir().unwrap();
    let path = with(&folder, "mine-images-idx3-ubyte", &images(2));
    with(&folder, "mine-labels-idx1-ubyte.gz", &gzip(&idx(8, &[2], &[3, 200])));
    assert_eq!(load_file(&path, &options(None)).unwrap().labels, Some(vec![3, 200]));
    let path = with(&folder, "x.libsvm", b"1 1:1\n4 1:1\n");
    let three = FileOptions { columns: None, labels: Some(1..=3), ..FileOptions::default() };
    let error = load_file(&path, &three).unwrap_err().to_string();
    assert!(error.contains("line 2: label 4 is outside 1..3"), "{error}");
}

#[test]
fn missing_files_and_folders_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| load_file(path, &options(None)).unwrap_err().to_string();
    let missing = error(&folder.path().join("missing.npy"));
    assert!(missing.starts_with("cannot open") && missing.contains("missing.npy"), "{missing}");
    assert!(error(folder.path()).contains("is a folder"));
    let split = SplitOptions::default();
    for (source, file) in [
        (Source::Dna {}, "dna.scale.tr"),
        (Source::Mnist {}, "train-images-idx3-ubyte"),
        (Source::BinarizedMnist {}, "binarized_mnist_train-images-idx3-ubyte"),
    ] {
        let error = load(&source, &split, folder.path()).unwrap_err().to_string();
        for expected in [file, "data.folder", "--data-folder", "ZTRACK_DATA"] {
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[test]
fn parts_with_other_columns_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let train = with(&folder, "train.csv", b"0,1,1\n1,1,0\n");
    let validation = Some(with(&folder, "validation.csv", b"0,1\n"));
    let source = Source::Files(Files { train, validation, ..Files::default() });
    let error = load(&source, &SplitOptions::default(), folder.path()).unwrap_err().to_string();
    assert!(error.contains("validation.csv: has 2 columns, 3 expected"), "{error}");
    // Columns with names are found by these, also those of categories.
    for (rows, ordered, other) in [
        ("0,1,1\n1,1,0\n", "c,a,b\n1,0,1\n1,1,0\n", "a,b,d\n1,0,1\n"),
        ("x,1,u\ny,1,v\n", "c,a,b\nu,x,1\nv,x,1\n", "a,b,d\nx,1,u\n"),
    ] {
        let train = with(&folder, "train.csv", format!("a,b,c\n{rows}").as_bytes());
        let read = |text: &str| {
            let validation = Some(with(&folder, "validation.csv", text.as_bytes()));
            let source =
                Source::Files(Files { train: train.clone(), validation, ..Files::default() });
            load(&source, &SplitOptions::default(), folder.path())
        };
        let found = read(ordered).unwrap().validation.unwrap();
        let turn = |row: &str| {
            let cells: Vec<&str> = row.split(',').collect();
            format!("{},{},{}\n", cells[1], cells[2], cells[0])
        };
        let turned: String = ordered.lines().map(turn).collect();
        assert_eq!(found.values, read(&turned).unwrap().validation.unwrap().values);
        let error = read(other).unwrap_err().to_string();
        let expected = "validation.csv: column `d` stands where the training rows have `c`";
        assert!(error.contains(expected), "{error}");
        assert!(read(other.split_once('\n').unwrap().1).is_ok());
    }
    let gone = Source::Files(Files { train: "gone/t.csv".into(), ..Files::default() });
    let error = load(&gone, &SplitOptions::default(), folder.path()).unwrap_err().to_string();
    let whole = std::path::absolute("gone/t.csv").unwrap();
    assert!(error.contains(&format!("cannot open {}: there is no", whole.display())), "{error}");
}

/// A label, and columns in another order.
fn labelled() -> FileOptions {
    let chosen = Some(vec!["3-".parse().unwrap(), "a".parse().unwrap()]);
    FileOptions { label: "1".parse().ok(), chosen, ..FileOptions::default() }
}

/// A name that sends bytes to each reader, and bytes it starts with.
fn readers() -> impl Strategy<Value = (&'static str, &'static [u8])> {
    prop_oneof![
        Just(("x", &b""[..])),
        Just(("x.idx", &b"\0\0\x08"[..])),
        Just(("x.idx", &b"\0\0\x08\x02\0\0\0\x02\0\0\0"[..])),
        Just(("x.npy", &b"\x93NUMPY\x01\0"[..])),
        Just((
            "x.npy",
            &b"\x93NUMPY\x01\0\x3a\0{'descr': '<f4', 'fortran_order': True, 'shape': "[..]
        )),
        Just(("x.npz", &b"PK\x03\x04"[..])),
        Just(("x.npz", &b"PK\x05\x06\0\0\0\0"[..])),
        Just(("x.csv", &b""[..])),
        Just(("x.csv", &b"class;a;b\n"[..])),
        Just(("x.tsv", &b"0\t1\t"[..])),
        Just(("x.libsvm", &b"1 1:1 "[..])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_bytes_make_a_reader_panic(
        (name, start) in readers(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        columns in prop::option::of(0usize..10),
    ) {
        let bytes = [start, &bytes].concat();
        let _ = read_bytes(Path::new(name), bytes.clone(), &options(columns));
        let _ = read_bytes(Path::new(name), bytes, &labelled());
    }

    #[test]
    fn no_text_makes_a_reader_panic(
        (name, start) in readers(),
        text in "[0-9:;,.#()'{} \n\r\t\"eE+-]{0,120}",
    ) {
        let bytes = [start, text.as_bytes()].concat();
        let _ = read_bytes(Path::new(name), bytes.clone(), &options(None));
        let _ = read_bytes(Path::new(name), bytes, &labelled());
    }

    #[test]
    fn no_damage_to_a_sound_file_makes_a_reader_panic(
        which in 0usize..5,
        position in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let (name, mut bytes) = match which {
            0 => ("x.idx", idx(8, &[2, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 8])),
            1 => ("x.npy", npy(array![[0.5, 0.0], [1.0, 0.25]])),
            2 => ("x.npz", npz(&[("data", array![[0, 1], [1, 0]]), ("b", array![[1]])])),
            3 => ("x.libsvm", b"1 1:1 3:1\n2 2:1\n".to_vec()),
            _ => ("x.csv", b"a,b\n0,1\n1,0\n".to_vec()),
        };
        let position = position.index(bytes.len());
        bytes[position] = byte;
        let cut = cut.index(bytes.len()) + 1;
        let _ = read_bytes(Path::new(name), bytes.clone(), &options(None));
        bytes.truncate(cut);
        let _ = read_bytes(Path::new(name), bytes, &options(None));
    }

    #[test]
    fn no_damage_to_gzip_makes_the_loader_panic(
        position in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = gzip(&idx(8, &[2, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 8]));
        let position = position.index(bytes.len());
        bytes[position] = byte;
        let _ = load_file(&with(&folder, "x.gz", &bytes), &options(None));
    }
}
