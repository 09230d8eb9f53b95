//! Sound files of every format give the cells that were written.

use std::path::Path;

use ndarray::{Array2, ShapeBuilder, array};
use ndarray_npy::NpzWriter;
use proptest::prelude::*;
use ztrack::data::{
    Column, Columns, Dataset, FileOptions, Files, ImageShape, Separator, Source, SplitOptions,
    Splits, Values, load, load_file, read_bytes, refill,
};
use ztrack::engine::BitMatrix;

use crate::files::{gzip, npy};

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
    let options = FileOptions { columns: Some(7), ..FileOptions::default() };
    assert_eq!(read_bytes(Path::new("x.svm"), text.into(), &options).unwrap().columns(), 7);
}

#[test]
fn csv_is_read_with_and_without_names() {
    for text in ["0,1,1\n1,0,0\n", "a,b,c\n0, 1.0,1\n1,0,0", "\"0\",\"1\",1\r\n\r\n1,0,0e0\r\n"] {
        let data = read("x.csv", text);
        assert_eq!((bits(&data).words(), data.columns()), (&[0b110, 0b001][..], 3), "{text:?}");
    }
}

/// One table, as different programs and people write it.
#[test]
fn tables_of_every_kind_are_read() {
    let expected = [0b110, 0b001, 0b011];
    #[rustfmt::skip]
    let texts = [
        "0,1,1\n1,0,0\n1,1,0\n",
        "a;b;c\r\n0;1;1\r\n1;0;0\r\n1;1;0\r\n",
        "a\tb\tc\n0\t1\t1\n1\t0\t0\n1\t1\t0",
        "0 1 1\n1 0 0\n1 1 0\n",
        "  0   1\t1\n  1 0 0 \n1 1 0\n",
        "# numpy.savetxt\n0.000000000000000000e+00 1.0e+00 1\n1 0 0\n1 1 0\n",
        "-1,1,+1\n1,-1,-1\n1,1,-1\n",
        "x,y,z\nFalse,True,True\nTRUE,FALSE,FALSE\ntrue,true,false\n",
        "\u{feff}\"a, or b\",\"b\",\"c\"\r0,1,1\r1,0,0\r1,1,0\r",
    ];
    for text in texts {
        for name in ["x.csv", "x.tsv", "x.txt", "x"] {
            let data = read(name, text);
            assert_eq!((bits(&data).words(), data.columns()), (&expected[..], 3), "{text:?}");
            assert_eq!(data.labels, None, "{text:?}");
        }
    }
}

/// Rows of empty cells that spreadsheets write at the end are none; among other rows they have missing cells.
#[test]
fn empty_rows_end_a_table() {
    let read = |text: &str, missing| {
        let options = FileOptions { missing, ..FileOptions::default() };
        read_bytes(Path::new("x.csv"), text.into(), &options)
    };
    for end in ["", ";;\n", ";;\r\n;;", "\"\";; \n\n;;\n;;;;\n"] {
        for missing in [false, true] {
            let data = read(&format!("a;b;c\n0;1;1\n1;0;1\n{end}"), missing).unwrap();
            assert_eq!((data.rows(), data.missing), (2, None), "{end:?}");
        }
    }
    let text = "0;1;1\n\n;;\n1;0;1\n;;\n";
    let message = read(text, false).unwrap_err().to_string();
    assert!(
        message.contains(
            "3 cells are empty or missing (na, n/a, nan, null, ?, -), the first in line 3, column 1"
        ),
        "{message}"
    );
    let data = read(text, true).unwrap();
    let missing = data.missing.unwrap();
    assert_eq!(
        (data.values, missing.words()),
        (read("0;1;1\n0;0;0\n1;0;1\n", false).unwrap().values, &[0, 7, 0][..])
    );
}

/// Numbers as spreadsheets of many countries write them; what is filled in is written alike.
#[test]
fn decimal_commas_are_those_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "a;b\n3,5;-1,25\n4;?\n").unwrap();
    let reals = "2*real".parse().ok();
    let options = FileOptions { reals, missing: true, ..FileOptions::default() };
    let data = load_file(&path, &options).unwrap();
    let variables = data.reals.clone().unwrap();
    let numbers = variables.cells(bits(&data).row(0), data.columns());
    assert_eq!(numbers, [3.5, -1.25]);
    let filled = refill(&path, &options, |_, _| "2.75".into()).unwrap();
    assert_eq!(String::from_utf8(filled).unwrap(), "a;b\n3,5;-1,25\n4;2,75\n");
    // Without names on top, and not where commas separate.
    let rows = |text: &str| {
        let options = FileOptions { missing: false, ..options.clone() };
        read_bytes(Path::new("x.csv"), text.into(), &options).map(|data| data.rows())
    };
    assert_eq!(rows("3,5;1,5\n4,5;2,5\n").unwrap(), 2);
    assert!(rows("\"3,5\",1\n4,2\n").unwrap_err().to_string().contains("is no number"));
    let missing = rows("a;b\n3,5;NA\n;?\n").unwrap_err().to_string();
    assert!(
        missing.contains("3 cells are empty or missing")
            && missing.contains("the first in line 2, column 2; by columns 2 in 2 (b), 1 in 1 (a)"),
        "{missing}"
    );
}

/// Tables of numbers are grey levels where they are to become zeros and ones, on the scale that the numbers show.
#[test]
fn tables_of_grey_levels_are_read() {
    let grey = |text: &str, chosen: Option<Vec<Column>>| {
        let options = FileOptions { grey: true, chosen, ..FileOptions::default() };
        read_bytes(Path::new("x.csv"), text.into(), &options)
    };
    for text in [
        "a,b,class\n0,51,x\n255,1,y\n",
        "a;b;class\n0;51.0;x\n255;1.0;y\n",
        "a,b,class\n0,0.2,x\n1.0,0.004,y\n",
    ] {
        let data = grey(text, None).unwrap();
        assert_eq!((levels(&data), &data.labels), (&[0, 51, 255, 1][..], &Some(vec![0, 1])));
        let turned = grey(text, Some(vec![Column::Number(2), Column::Number(1)])).unwrap();
        assert_eq!(levels(&turned), [51, 0, 1, 255]);
    }
    // Five different levels are no names; numbers that follow one another are.
    assert_eq!(grey("0,90,7,30,200\n1,1,1,1,0\n", None).unwrap().rows(), 2);
    assert_eq!(grey("0,1,2,3,4\n0,90,7,30,200\n", None).unwrap().rows(), 1);
    // What is binary stays binary.
    assert_eq!(bits(&grey("-1,1\n1,1\n", None).unwrap()).words(), [0b10, 0b11]);
    for (text, expected) in [
        ("a,b\n3,red\n", "line 2, column 2 (b): `red` is no number, as grey levels are"),
        ("a,b\n3,400\n", "line 2, column 2 (b): 400 is outside 0..255"),
        ("a,b\n0.5,3\n", "line 2, column 2 (b): 3 is outside 0..1: give the number that is white"),
        ("a,b\n3,16\n", "grey levels end at 16, and whole numbers are read as 0 to 255"),
        ("a,b\n3,0.5\n", "line 2, column 2 (b): 0.5 is not whole"),
        ("a,b\n3,\n", "the first in line 2, column 2; by columns 1 in 2 (b)"),
    ] {
        let message = grey(text, None).unwrap_err().to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
    }
    // Without data.binarization they are refused with what to type: fractions, and many different numbers.
    let rows = |scale: f64| -> String {
        let cell =
            |i: usize| format!("{},{}\n", (i % 256) as f64 * scale, (7 * i % 256) as f64 * scale);
        "a,b\n".to_string() + &(0..300).map(cell).collect::<String>()
    };
    for scale in [1.0, 1.0 / 256.0] {
        let error = read_bytes(Path::new("x.csv"), rows(scale).into(), &FileOptions::default());
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains("if the cells are grey levels, give data.binarization"),
            "{message}"
        );
        assert_eq!(grey(&rows(scale), None).unwrap().rows(), 300);
    }
}

/// Without the feature, Parquet is told by its name and what to do.
#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_where_it_is_not_built_in() {
    let options = FileOptions::default();
    let error = read_bytes(Path::new("x.parquet"), b"PAR1....PAR1".to_vec(), &options);
    let message = error.unwrap_err().to_string();
    assert!(message.contains("--features parquet") && message.contains("to_csv"), "{message}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_as_tables_are() {
    use crate::files::parquet;
    let read = |schema: &str, options: &FileOptions| {
        read_bytes(Path::new("x"), parquet(schema), options).map_err(|error| error.to_string())
    };
    let plain = FileOptions::default();
    let data =
        read("BOOLEAN a; INT32 b (UINT_8); INT64 c; DOUBLE __index_level_0__;", &plain).unwrap();
    assert_eq!((bits(&data).rows(), data.columns()), (60, 3));
    assert_eq!(bits(&data).words()[..4], [0b000, 0b111, 0b000, 0b111]);
    let words =
        read("BYTE_ARRAY colour (UTF8); INT32 class; BYTE_ARRAY other (UTF8);", &plain).unwrap();
    let categories = words.categories.unwrap();
    assert_eq!(categories.variables().to_string(), "2*2");
    assert_eq!(categories.columns()[0].states, ["a \"b\", c", "d"]);
    assert_eq!(words.labels.unwrap()[..3], [0, 1, 0]);
    let grey = FileOptions { grey: true, ..FileOptions::default() };
    assert_eq!(levels(&read("FLOAT 0; DOUBLE 1;", &grey).unwrap())[..4], [0, 0, 64, 64]);
    for (schema, options, expected) in [
        ("FLOAT a;", &plain, "column 1 (a) has 2 different numbers, not all whole"),
        ("INT32 a (DATE); INT32 b;", &plain, "row 1, column a: 1970-01-01 is no integer"),
        ("BYTE_ARRAY a; INT32 b;", &plain, "is no integer, float, boolean or text"),
    ] {
        let message = read(schema, options).unwrap_err();
        assert!(message.contains(expected), "{schema}: {message}");
    }
    let mut cut = parquet("INT32 a; INT32 b;");
    cut.truncate(cut.len() - 20);
    let message = read_bytes(Path::new("x"), cut, &plain).unwrap_err().to_string();
    assert!(message.contains("is not a sound Parquet file"), "{message}");
    let separated = FileOptions { separator: Some(Separator::Comma), ..FileOptions::default() };
    assert!(read("INT32 a; INT32 b;", &separated).unwrap_err().contains("`separator` is for text"));
}

#[test]
fn labels_and_columns_are_chosen() {
    let text = "id,class,a,b,c,d\n7,cat,0,1,0,1\n8,dog,1,1,0,0\n9,cat,0,0,1,1\n";
    let word = |text: &str| text.parse::<Column>().unwrap();
    let chosen = |text: &str| match text.parse().unwrap() {
        Columns::Chosen(chosen) => Some(chosen),
        Columns::Count(_) => panic!("a number of columns: {text}"),
    };
    let labels = Some(vec![0, 1, 0]);
    for (label, columns, words, found) in [
        (Some("class"), "a,b,c,d", [0b1010, 0b0011, 0b1100], &labels),
        (Some("2"), "3-6", [0b1010, 0b0011, 0b1100], &labels),
        (Some("class"), "a,3-,b", [0; 3], &None), // a is in the range as well
        (None, "d,a", [0b01, 0b10, 0b01], &labels),
        (Some("id"), "6,b", [0b11, 0b10, 0b01], &Some(vec![7, 8, 9])),
    ] {
        let options = FileOptions {
            label: label.map(word),
            chosen: chosen(columns),
            ..FileOptions::default()
        };
        match read_bytes(Path::new("x.csv"), text.into(), &options) {
            Err(error) => assert!(error.to_string().contains("chosen twice"), "{columns}: {error}"),
            Ok(data) => {
                assert_eq!((bits(&data).words(), &data.labels), (&words[..], found), "{columns}");
            }
        }
    }
    // A column called label, class or target needs no word; names of numbers are names.
    let data = read("x.csv", "0,1,2,3,Target\n0,1,1,0,5\n1,0,0,1,3\n");
    assert_eq!((bits(&data).words(), &data.labels), (&[0b0110, 0b1001][..], &Some(vec![5, 3])));
    let data = read("x.csv", "0,1,2,3,4\n0,1,1,0,1\n");
    assert_eq!((bits(&data).words(), &data.labels), (&[0b10110][..], &None));
    // The separator is what is told, where it is told.
    let semicolon = FileOptions {
        separator: Some(Separator::Semicolon),
        label: Some(Column::Number(1)),
        ..FileOptions::default()
    };
    let data = read_bytes(Path::new("x.csv"), "a,b;1;0\nb,c;0;0\n".into(), &semicolon).unwrap();
    assert_eq!((bits(&data).words(), &data.labels), (&[0b01, 0b00][..], &Some(vec![0, 1])));
}

/// The same columns of all files, by their names, in whatever order they are.
#[test]
fn files_of_a_source_are_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.csv"), "y;a;b;c\n3;0;1;1\n4;1;0;1\n").unwrap();
    std::fs::write(folder.path().join("test.csv"), "b;c;y;a\n1;1;3;0\n").unwrap();
    let source: Source = toml::from_str(
        r#"name = "files"
        train = "train.csv"
        test = "test.csv"
        label = "y"
        columns = ["a", "b", "c"]
        separator = ";""#,
    )
    .unwrap();
    let splits = load(&source, &SplitOptions::default(), folder.path()).unwrap();
    let test = splits.test.unwrap();
    assert_eq!(bits(&splits.train).words(), [0b110, 0b101]);
    assert_eq!((bits(&test).words(), &test.labels), (&[0b110][..], &Some(vec![3])));
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
    columns_first.assign(&array![[1u8, 2, 3], [4, 5, 200]]);
    assert_eq!(levels(&read("x.npy", npy(columns_first))), [1, 2, 3, 4, 5, 200]);
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
    for arrays in [
        &[("only", 7)][..],
        &[("y", 3), ("x", 7)],
        &[("x", 4), ("data", 7)],
        &[("data", 3), ("train", 7), ("x", 4)],
    ] {
        assert_eq!(levels(&read("x.npz", archive(arrays))), [7, 255], "{arrays:?}");
    }
}

#[test]
fn gzip_is_told_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no-hint");
    std::fs::write(&path, gzip(b"0,1\n1,1\n")).unwrap();
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
    (folder, Source::Files(Files { train, columns: Some(Columns::Count(7)), ..Files::default() }))
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
    let Source::Files(Files { train, columns, .. }) = source else { unreachable!() };
    // The same rows in another order; the training file itself is refused.
    let rows = std::fs::read_to_string(folder.path().join(&train)).unwrap();
    let test = folder.path().join("test.libsvm");
    std::fs::write(&test, rows.lines().rev().map(|row| format!("{row}\n")).collect::<String>())
        .unwrap();
    let test = Some(test);
    let source = Source::Files(Files { train, test, columns, ..Files::default() });
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
        (1.0, 0.0, "data.validation_fraction: 1 is outside [0, 1)"),
        (f64::NAN, 0.0, "outside [0, 1)"),
        (0.0, -0.5, "data.test_fraction: -0.5 is outside"),
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
        let labelled: String = (0..rows)
            .map(|i| format!("{i};{}\r\n", row(i, &|j| ["-1", "1"][usize::from(cell(i, j))].into()).replace(',', ";")))
            .collect();
        let words: String = (0..rows)
            .map(|i| row(i, &|j| cell(i, j).to_string()).replace(',', "  ") + "\n")
            .collect();
        let array = Array2::from_shape_fn((rows, columns), |(i, j)| cell(i, j));
        let mut idx = vec![0, 0, 8, 2];
        idx.extend((rows as u32).to_be_bytes());
        idx.extend((columns as u32).to_be_bytes());
        idx.extend(array.iter().map(|&bit| u8::from(bit)));
        let options = FileOptions { columns: Some(columns), ..FileOptions::default() };
        for (name, bytes) in [
            ("x.csv", csv.into_bytes()),
            ("words.csv", words.into_bytes()),
            ("x.libsvm", libsvm.into_bytes()),
            ("x.npy", npy(array.clone())),
            ("x.idx", idx),
        ] {
            let data = read_bytes(Path::new(name), bytes, &options).unwrap();
            prop_assert_eq!(bits(&data), &expected, "{}", name);
        }
        let options = FileOptions { label: Some(Column::Number(1)), ..options };
        // Five or more different cells in the first line would be names, so there is a line of them.
        let names: String = (0..columns).map(|j| format!(";x{j}")).collect();
        let data = read_bytes(Path::new("x.txt"), format!("i{names}\n{labelled}").into(), &options);
        let data = data.unwrap();
        prop_assert_eq!(bits(&data), &expected);
        prop_assert_eq!(data.labels, Some((0..rows as i64).collect()));
    }
}
