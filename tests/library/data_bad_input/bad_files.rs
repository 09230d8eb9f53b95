//! A bad file of every kind.

use ndarray::{Array1, Array2, Array3, ShapeBuilder, array};
use ztrack::data::load_file;

use super::{idx, npz, options, with};
use crate::files::{gzip, npy};

/// A name, what is in the file, and what is said of it.
type Case = (&'static str, Vec<u8>, &'static str);

fn ones(count: usize) -> Vec<u8> {
    vec![1; count]
}

/// An npy file with a header written by hand.
fn raw_npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn of_no_format() -> Vec<Case> {
    vec![
        ("empty.csv", vec![], "is empty"),
        ("empty.gz", gzip(b""), "is empty"),
        ("what.bin", b"hello world".to_vec(), "in no known format"),
        ("what.dat", vec![0xff, 0, 3, 0xfe], "in no known format"),
        ("blank.txt", b"\n\n".to_vec(), "in no known format"),
    ]
}

fn in_gzip() -> Vec<Case> {
    let whole =
        gzip(&idx(8, &[40, 5, 5], &(0..1000u32).map(|i| (i * 37) as u8).collect::<Vec<_>>()));
    let mut damaged = gzip(&idx(8, &[2, 2, 2], &ones(8)));
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    vec![
        ("cut-idx3-ubyte.gz", whole[..whole.len() / 2].to_vec(), "gzip data is truncated"),
        ("damaged-idx3-ubyte.gz", damaged, "gzip data is damaged"),
    ]
}

#[rustfmt::skip]
fn in_idx() -> Vec<Case> {
    vec![
        ("x-idx3-ubyte", b"IDX!....".to_vec(), "starts with 49 44 58 21, expected 00 00 08"),
        ("x-idx3-ubyte", idx(13, &[1, 1], &[0]), "element type 0x0d, expected 0x08"),
        ("x-idx3-ubyte", vec![0, 0, 8, 3, 0, 0], "ends inside the IDX header, after 6 bytes"),
        ("x-idx3-ubyte", vec![0, 0], "is not IDX"),
        ("x-idx3-ubyte", idx(8, &[2, 2, 2, 2], &ones(16)), "IDX with 4 dimensions"),
        ("x-idx3-ubyte", idx(8, &[2, 3, 4], &ones(23)), "is truncated: IDX dimensions [2, 3, 4] need 24 bytes of data, 23 found"),
        ("x-idx3-ubyte", idx(8, &[2, 3, 4], &ones(25)), "has trailing bytes"),
        ("x-idx3-ubyte", idx(8, &[u32::MAX; 3], &ones(9)), "too large"),
        ("x-idx3-ubyte", idx(8, &[u32::MAX; 2], &ones(9)), "is truncated"),
        ("x-idx3-ubyte", idx(8, &[0, 3, 4], &[]), "no data"),
        ("x-idx3-ubyte", idx(8, &[9], &ones(9)), "is this a label file?"),
    ]
}

#[rustfmt::skip]
fn in_libsvm() -> Vec<Case> {
    vec![
        ("x.libsvm", b"1 1:1\n2 0:1\n".to_vec(), "line 2: feature index 0 is outside 1..180"),
        ("x.libsvm", b"# c\n1 181:1\n".to_vec(), "line 2: feature index 181 is outside 1..180"),
        ("x.libsvm", b"1 3:1 3:1\n".to_vec(), "line 1: feature index 3 after 3; indices must ascend"),
        ("x.libsvm", b"1 4:1 3:1\n".to_vec(), "feature index 3 after 4"),
        ("x.libsvm", b"1 -4:1\n".to_vec(), "feature index `-4` is not a whole number"),
        ("x.libsvm", b"1 2:0.5\n".to_vec(), "value `0.5` of feature 2 is neither 0 nor 1"),
        ("x.libsvm", b"1 2:NaN\n".to_vec(), "value `NaN` of feature 2 is neither"),
        ("x.libsvm", b"1 2:inf\n".to_vec(), "value `inf` of feature 2 is neither"),
        ("x.libsvm", b"1 2\n".to_vec(), "`2` is not index:value"),
        ("x.libsvm", b"one 2:1\n".to_vec(), "line 1: label `one` is not an integer"),
        ("x.libsvm", b"1 2:1\n\xff\xff 3:1\n".to_vec(), "line 2: is not text"),
        ("x.libsvm", b"# nothing\n\n".to_vec(), "no data"),
    ]
}

#[rustfmt::skip]
fn in_tables() -> Vec<Case> {
    vec![
        ("x.csv", b"0,1,1\n0,1\n".to_vec(), "line 2 has 2 columns, 3 expected"),
        ("x.csv", b"a,b,c\n0,1\n".to_vec(), "line 2 has 2 columns, 3 expected"),
        ("x.csv", b"a,b\n0,1\n0,2\n".to_vec(), "line 3, column 2 (b): `2` is neither 0 nor 1"),
        ("x.csv", b"0,1\nx,1\n".to_vec(), "line 2, column 1: `x` is neither"),
        ("x.csv", b"0,nan\n".to_vec(), "1 cell is empty or missing (na, n/a, nan, null, ?, -), the first in line 1, column 2; by columns 1 in 2: fill"),
        ("x.csv", b"0,\n".to_vec(), "the first in line 1, column 2; by columns 1 in 2: fill them in, as `ztrack impute`"),
        ("x.csv", b"a,b\n1,NA\n".to_vec(), "the first in line 2, column 2; by columns 1 in 2 (b): fill"),
        ("x.csv", b"1;0\n0;?\n?;?\n".to_vec(), "3 cells are empty or missing (na, n/a, nan, null, ?, -), the first in line 2, column 2; by columns 2 in 2, 1 in 1: fill"),
        ("x.tsv", b"1\t0\n\t1\n".to_vec(), "the first in line 2, column 1; by columns 1 in 1: fill"),
        ("x.csv", b"1;0\n0;-1\n".to_vec(), "line 2, column 2: -1 here, but 0 in line 1, column 2"),
        ("x.csv", b"1 1\n\ntrue 1\n".to_vec(), "line 3, column 1: true here, but 1 in line 1, column 1"),
        ("x.csv", b"a;age;b\n0;37;1\n".to_vec(), "line 2, column 2 (age): `37` is neither 0 nor 1"),
        ("x.csv", b"class,b\n,1\n".to_vec(), "line 2, column 1 (class): the label is missing"),
        ("x.csv", b"label\n1\n2\n".to_vec(), "line 3, column 1 (label): `2` is neither"),
        ("x.csv", b"0;1\n\"0;1\n".to_vec(), "a quoted cell does not end"),
        ("x.csv", b"a,b\nB\xe4r,0\nB\xf6r,1\n".to_vec(), "line 2, column 1 (a): `B\u{fffd}r` is not in UTF-8: save the table as UTF-8"),
        ("x.csv", b"\xff\xfe0\0,\x001\0\n\0".to_vec(), "is text in UTF-16: save it as UTF-8"),
        ("x.txt", b"0 1\n1 0 1\n".to_vec(), "line 2 has 3 columns, 2 expected, as in the first; they are separated by spaces"),
        ("x.csv", b"a,b\n".to_vec(), "no data"),
        ("x.csv", b"a,b\n0,1,\n1,1,\n".to_vec(), "line 2 ends with a comma, and so has one cell more than the line of names"),
        ("x.csv", b"0,1,\n1,1,\n".to_vec(), "column 3, the last one, is empty in all rows, as where each line ends with a separator"),
        ("x.csv", b",a,b\n0,0,1\n1,1,0\n2,0,0\n".to_vec(), "column 1: another value in every row"),
        ("x.txt", [&b"01".repeat(90)[..], b"\n"].concat().repeat(2), "line 1: its zeros and ones are one cell"),
    ]
}

#[rustfmt::skip]
fn in_npy() -> Vec<Case> {
    let shape = |shape| {
        raw_npy(&format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"), &[1; 4])
    };
    let floats = |value: f64| npy(array![[0.0, 1.0], [0.5, value]]);
    vec![
        ("x.npy", b"not numpy".to_vec(), "is not npy"),
        ("x.npy", b"\x93NUMPY\x01".to_vec(), "ends inside the npy header"),
        ("x.npy", b"\x93NUMPY\x07\x00\x00\x00".to_vec(), "npy format version 7"),
        ("x.npy", raw_npy("{'descr': '|u1'}", &[]), "no field `fortran_order`"),
        ("x.npy", raw_npy(&"(".repeat(60_000), &[]), "no field `descr`"),
        ("x.npy", npy(Array1::<u8>::zeros(4)), "has 1 dimension(s)"),
        ("x.npy", npy(Array3::<u8>::zeros((2, 3, 4).f())), "has 3 dimension(s), (2, 3, 4); 2 expected"),
        ("x.npy", shape("(-2, 2)"), "is not a tuple of sizes"),
        ("x.npy", shape("(9, 9)"), "does not fit the 4 bytes of data"),
        ("x.npy", shape("(1, 3)"), "does not fit the 4 bytes of data"),
        ("x.npy", shape("(4294967296, 4294967297)"), "does not fit the 4 bytes of data"),
        ("x.npy", shape("(99999999999999999999, 1)"), "is not a tuple of sizes"),
        ("x.npy", npy(Array2::<u8>::zeros((0, 4))), "no data"),
        ("x.npy", raw_npy("{'descr': '<c16', 'fortran_order': False, 'shape': (1, 1)}", &[0; 16]), "element type '<c16'"),
        ("x.npy", raw_npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1, 1)}", &[0; 4]), "element type '<U1'; bool, integers, f4 and f8 are read: write text and objects as a table"),
        ("x.npy", raw_npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", &[0; 4]), "npy array of named fields"),
        ("x.npy", npy(array![[1i32, 0], [0, -1]]), "row 2, column 2: -1 is outside 0..255"),
        ("x.npy", npy(array![[256i64, 0]]), "row 1, column 1: 256 is outside 0..255"),
        ("x.npy", floats(f64::NAN), "row 2, column 2: NaN is outside 0..1"),
        ("x.npy", floats(f64::INFINITY), "inf is outside 0..1"),
        ("x.npy", floats(17.0), "17 is outside 0..1: give the number that is white by data.source.white (--white)"),
        ("x.npy", npy(array![[0u8, 16], [3, 8]]), "grey levels end at 16"),
    ]
}

#[rustfmt::skip]
/// An archive with two arrays `x`, which numpy cannot write.
fn twice_x() -> Vec<u8> {
    let mut bytes = npz(&[("x", array![[1]]), ("y", array![[0]])]);
    while let Some(at) = bytes.windows(5).position(|name| name == b"y.npy") {
        bytes[at] = b'x';
    }
    bytes
}

fn in_npz() -> Vec<Case> {
    vec![
        ("x.npz", b"PK\x03\x04 and no more".to_vec(), "is not a sound npz"),
        ("x.npz", npz(&[]), "npz holds no arrays: numpy.savez"),
        (
            "x.xlsx",
            npz(&[("xl/workbook", array![[1]])]),
            "is a spreadsheet (Excel or OpenDocument)",
        ),
        ("x.npz", twice_x(), "holds two arrays of one name"),
        (
            "x.npz",
            npz(&[("a", array![[1]]), ("b", array![[1]])]),
            "npz holds 2 arrays (a, b) and none is named",
        ),
    ]
}

#[test]
fn each_bad_file_gets_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [of_no_format(), in_gzip(), in_idx(), in_libsvm(), in_tables(), in_npy(), in_npz()];
    for (name, bytes, expected) in cases.concat() {
        let path = with(&folder, name, &bytes);
        let columns = name.ends_with("libsvm").then_some(180);
        let error = match load_file(&path, &options(columns)) {
            Ok(_) => panic!("{name} was read, expected: {expected}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(expected), "expected: {expected}\nfound: {error}");
        assert!(error.contains(name), "names the file: {error}");
        assert!(!error.contains('\n') && error.len() < 500, "one short line: {error}");
    }
}
