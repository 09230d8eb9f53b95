//! The real data sets, where they are: facts known from elsewhere.

use std::path::{Path, PathBuf};

use ztrack::data::{
    Binarization, Binarizer, FileOptions, ImageShape, Source, SplitOptions, Splits, Values,
    describe, load, load_file,
};

use crate::common;

/// The data folder, where it has the set.
fn folder(set: &str) -> Option<PathBuf> {
    common::shared(&format!("datasets/{set}")).and_then(|set| set.parent().map(Path::to_path_buf))
}

fn rows(splits: &Splits) -> [usize; 3] {
    let of = |part: &Option<_>| part.as_ref().map_or(0, ztrack::data::Dataset::rows);
    [splits.train.rows(), of(&splits.validation), of(&splits.test)]
}

#[test]
fn dna_has_its_rows_and_at_most_one_bit_a_nucleotide() {
    let Some(folder) = folder("dna") else { return };
    let splits = load(&Source::Dna {}, &SplitOptions::default(), &folder).unwrap();
    assert_eq!(rows(&splits), [1400, 600, 1186]);
    let Splits { train, validation, test } = splits;
    for part in [&train, &validation.unwrap(), &test.unwrap()] {
        let Values::Binary(bits) = &part.values else { panic!("grey") };
        let one_of =
            |row: usize, i: usize| (0..3usize).filter(|x| bits.get(row, 3 * i + x)).count() <= 1;
        assert!((0..part.rows()).all(|row| (0..60).all(|i| one_of(row, i))), "{}", part.name);
    }
    let found = describe(&train);
    assert_eq!((found.columns, found.kind, found.distinct_rows), (180, "binary", 1353));
    // Class shares and density as counted by a script of a few lines.
    let labels: Vec<_> = found.labels.unwrap().into_iter().collect();
    assert_eq!(labels, [(1, 331), (2, 329), (3, 740)]);
    assert!((found.density - 0.25375).abs() < 1e-5, "{}", found.density);
}

#[test]
fn mnist_has_its_rows_labels_and_checksum() {
    let Some(folder) = folder("mnist") else { return };
    let splits = load(&Source::Mnist {}, &SplitOptions::default(), &folder).unwrap();
    assert_eq!(rows(&splits), [60_000, 0, 10_000]);
    let found = describe(&splits.train);
    assert_eq!((found.columns, found.kind), (784, "intensity"));
    assert_eq!(found.image, Some(ImageShape { height: 28, width: 28 }));
    // Mean pixel .1307, 67 pixels never set, first digits 5 0 4 1 9: common knowledge.
    assert!((found.density - 0.1307).abs() < 5e-5, "{}", found.density);
    assert_eq!((found.constant_columns, found.duplicate_rows), (67, 0));
    assert_eq!(splits.train.labels.as_ref().unwrap()[..5], [5, 0, 4, 1, 9]);
    let Values::Intensity(intensities) = &splits.train.values else { panic!("binary") };
    assert_eq!(intensities.levels().len(), 60_000 * 784, "one byte a pixel");
    // Header and levels together are the decompressed file, whose SHA-256 is known.
    use sha2::Digest;
    let mut hasher = sha2::Sha256::new();
    hasher.update([0u8, 0, 8, 3, 0, 0, 0xEA, 0x60, 0, 0, 0, 28, 0, 0, 0, 28]);
    hasher.update(intensities.levels());
    let hex: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db");

    // Stochastic binarization keeps the density: standard error below sqrt(.25 / cells).
    let binarizer = Binarizer::new(Binarization::Stochastic).unwrap();
    let bits = binarizer.binarize(&splits.train, 0, 1).unwrap();
    let cells = 60_000.0 * 784.0;
    let density = bits.count_ones() as f64 / cells;
    assert!((density - found.density).abs() < 5.0 * (0.25f64 / cells).sqrt(), "{density}");
    let options = SplitOptions { validation_fraction: 1.0 / 6.0, ..Default::default() };
    let splits = load(&Source::Mnist {}, &options, &folder).unwrap();
    assert_eq!(rows(&splits), [50_000, 10_000, 10_000]);
}

#[test]
fn binarized_mnist_is_binary_and_has_its_rows() {
    let Some(folder) = folder("binarized_mnist") else { return };
    let splits = load(&Source::BinarizedMnist {}, &SplitOptions::default(), &folder).unwrap();
    assert_eq!(rows(&splits), [50_000, 10_000, 10_000]);
    let found = describe(splits.test.as_ref().unwrap());
    assert_eq!((found.columns, found.kind, found.labels), (784, "binary", None));
    assert!((0.12..0.14).contains(&found.density), "{}", found.density);
}

#[test]
fn the_whole_of_dna_is_its_two_parts() {
    let Some(folder) = folder("dna") else { return };
    let options = FileOptions { columns: Some(180), ..FileOptions::default() };
    let rows = |name: &str| {
        let data = load_file(&folder.join("dna").join(name), &options).unwrap();
        let Values::Binary(bits) = &data.values else { panic!("grey") };
        (0..bits.rows()).map(|row| bits.row(row).to_vec()).collect::<Vec<_>>()
    };
    let mut parts = [rows("dna.scale.tr"), rows("dna.scale.val")].concat();
    let mut whole = rows("dna.scale");
    parts.sort_unstable();
    whole.sort_unstable();
    assert_eq!(parts, whole);
}
