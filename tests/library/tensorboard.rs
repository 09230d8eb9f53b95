//! TensorBoard's own reader finds every documented tag with the right steps and values, also after a kill and resume.
//!
//! The Python package lives in a virtual environment under the target folder, made once. Without Python or a package
//! index the test is skipped with a printed reason; with `ZTRACK_REQUIRE_TENSORBOARD` set (CI) that is a failure.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::Path;

use serde_json::Value;
use ztrack::record::tags::{Kind, TAGS};
use ztrack::record::{Image, Record, Recorder, Run, TensorBoard};

use crate::python;

/// A different number for every tag and update, with more digits than an f32 has.
fn number(line: usize, update: u64) -> f64 {
    (line as f64 + 1.0) * 1.000_000_123_456 - update as f64 / 7.0
}

fn values(line: usize, update: u64) -> Vec<f64> {
    (0..50).map(|i| (i as f64 - 20.0) * 0.37 * number(line, update)).collect()
}

/// Taller than wide and without symmetry, so that a transposed picture differs; grey and RGB in turn.
fn picture(line: usize, update: u64) -> Image {
    let pattern = |n: usize| (0..n).map(|i| (i * 37 + line * 5 + update as usize) as u8).collect();
    match line % 2 {
        0 => Image::gray(5, 3, pattern(15)),
        _ => Image::rgb(4, 2, pattern(24)),
    }
    .unwrap()
}

fn record(update: u64) -> Record {
    let mut record = Record::new(update, update as f64, 0.0);
    for (i, line) in TAGS.iter().enumerate() {
        match line.kind {
            Kind::Scalar => record.scalar(line.run, line.tag, number(i, update)),
            Kind::Histogram => record.histogram(line.run, line.tag, values(i, update)),
            Kind::Image => record.image(line.run, line.tag, picture(i, update)),
            Kind::Text => record.text(line.run, line.tag, "few-chains".into()),
        }
    }
    record
}

fn read(python: &Path, folder: &Path) -> BTreeMap<String, Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tensorboard_reader.py");
    let found = python::run(python, &[script.as_ref(), folder.as_ref()]).unwrap();
    serde_json::from_slice(&found).unwrap()
}

fn float(value: &Value) -> f64 {
    value.as_str().unwrap().parse().unwrap()
}

fn check_scalar(found: &Value, i: usize, update: u64) {
    assert_eq!(float(&found[1]), f64::from(number(i, update) as f32), "{:?}", TAGS[i]);
}

fn check_histogram(found: &Value, i: usize, update: u64) {
    let values = values(i, update);
    let expected = [
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        values.len() as f64,
        values.iter().sum(),
        values.iter().map(|x| x * x).sum(),
    ];
    for (at, expected) in expected.into_iter().enumerate() {
        assert_eq!(float(&found[at + 1]), expected, "{:?}, number {at}", TAGS[i]);
    }
    let list =
        |value: &Value| -> Vec<f64> { value.as_array().unwrap().iter().map(float).collect() };
    let (limits, counts) = (list(&found[6]), list(&found[7]));
    assert_eq!(counts.iter().sum::<f64>(), values.len() as f64);
    let mut below = 0.0;
    for (limit, count) in limits.iter().zip(counts) {
        below += count;
        assert_eq!(below, values.iter().filter(|&x| x < limit).count() as f64, "under {limit}");
    }
}

fn check_image(found: &Value, i: usize, update: u64) {
    let image = picture(i, update);
    let size = |at: usize| found[at].as_u64().unwrap() as usize;
    assert_eq!([size(1), size(2)], [image.height(), image.width()], "decoded {:?}", TAGS[i]);
    assert_eq!([size(4), size(5)], [image.height(), image.width()], "stated {:?}", TAGS[i]);
    let repeat = 3 / image.channels();
    let pixels: String =
        image.bytes().iter().flat_map(|byte| vec![format!("{byte:02x}"); repeat]).collect();
    assert_eq!(found[3].as_str().unwrap(), pixels, "{:?}", TAGS[i]);
}

/// Every tag of the table has exactly these steps with the right contents, and there is no other tag.
fn check(found: &BTreeMap<String, Value>, updates: &[u64]) {
    for (i, line) in TAGS.iter().enumerate() {
        let (kind, check): (_, fn(&Value, usize, u64)) = match line.kind {
            Kind::Scalar => ("scalars", check_scalar),
            Kind::Histogram => ("histograms", check_histogram),
            Kind::Image => ("images", check_image),
            // In metrics.csv alone.
            Kind::Text => continue,
        };
        let events = found[line.run.folder()][kind][line.in_tensorboard().as_str()]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let steps: Vec<_> = events.iter().map(|event| event[0].as_u64().unwrap()).collect();
        // Charts with bands have no untrained model, which would set their scale.
        let banded = ["log_likelihood", "log_z"]
            .iter()
            .flat_map(|name| ["", "_lower", "_upper"].map(|end| format!("{name}{end}")))
            .any(|tag| line.tag == tag);
        let updates: Vec<u64> =
            updates.iter().copied().filter(|update| !banded || *update > 0).collect();
        assert_eq!(steps, updates, "{line:?}");
        for (event, &update) in events.iter().zip(&updates) {
            check(event, i, update);
        }
    }
    let kinds = ["scalars", "histograms", "images"];
    let tags = |run: &Value| kinds.map(|kind| run[kind].as_object().unwrap().len());
    let shown = TAGS.iter().filter(|line| line.kind != Kind::Text).count();
    // The column of the HParams tab, which finds values of its own run alone.
    let train = &found[Run::Train.folder()]["scalars"];
    let validation = &found[Run::Validation.folder()]["scalars"]["log_likelihood/log_likelihood"];
    assert_eq!(&train["validation/log_likelihood"], validation);
    assert_eq!(found.values().flat_map(tags).sum::<usize>(), shown + 1, "undocumented tags");
}

#[test]
fn tensorboard_reads_every_tag_step_and_value_also_after_a_kill() {
    let Some(python) = python::environment("tensorboard") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut log = TensorBoard::create(folder.path()).unwrap();
    for update in [0, 10, 20, 30] {
        log.record(&record(update)).unwrap();
    }
    check(&read(&python, folder.path()), &[0, 10, 20, 30]);

    // Killed while it wrote update 30, of which the event of `train` is torn; the checkpoint is of update 10.
    drop(log);
    let run_folder = folder.path().join(Run::Tracker.folder());
    let path = fs::read_dir(run_folder).unwrap().next().unwrap().unwrap().path();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() - 7).unwrap();
    let mut log = TensorBoard::resume(folder.path(), 10).unwrap();
    check(&read(&python, folder.path()), &[0, 10]);
    for update in [20, 30, 40] {
        log.record(&record(update)).unwrap();
    }
    check(&read(&python, folder.path()), &[0, 10, 20, 30, 40]);
    check_not_finite(&python);
}

fn check_not_finite(python: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let mut log = TensorBoard::create(folder.path()).unwrap();
    for (update, value) in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().enumerate() {
        let mut record = Record::new(1 + update as u64, 0.0, 0.0);
        record.scalar(Run::Tracker, "log_z", value);
        log.record(&record).unwrap();
    }
    let found = read(python, folder.path());
    let events = found["train"]["scalars"]["log_z/log_z"].as_array().unwrap();
    let texts: Vec<_> = events.iter().map(|event| event[1].as_str().unwrap()).collect();
    assert_eq!(texts, ["nan", "inf", "-inf"]);
}
