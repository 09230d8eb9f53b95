//! Every reader of foreign bytes, as a function of bytes: the fuzz targets and `tests/fuzz.rs` call the same ones.
//!
//! None may panic, hang or take memory out of proportion, whatever the bytes; what they say of them is an error or not.

use std::path::{Path, PathBuf};

use ztrack::checkpoint::{ModelFile, StateReader};
use ztrack::data::{FileOptions, Source, SplitOptions, load_as, load_file, read_bytes};
use ztrack::record::{Csv, Run, TensorBoard};
use ztrack::tempering::schedules::read_list;

/// A reader: `Err` holds what it says is wrong.
pub type Reader = fn(&[u8]) -> Result<(), String>;

/// All of them, by name.
pub const READERS: &[(&str, Reader)] = &[
    ("idx", idx),
    ("libsvm", libsvm),
    ("csv", csv),
    ("grey", grey),
    ("weights", weights),
    ("parquet", parquet),
    ("sequences", sequences),
    ("npy", npy),
    ("npz", npz),
    ("any", any),
    ("gzip", gzip),
    ("model", model),
    ("config", config),
    ("overrides", overrides),
    ("schedule", schedule),
    ("metrics", metrics),
    ("events", events),
    ("state", state),
];

fn data(name: &str, bytes: &[u8]) -> Result<(), String> {
    let read = |columns| {
        let options = FileOptions { columns, ..FileOptions::default() };
        read_bytes(Path::new(name), bytes.to_vec(), &options).map(drop).map_err(|e| e.to_string())
    };
    read(Some(9)).and(read(None))
}

pub fn idx(bytes: &[u8]) -> Result<(), String> {
    data("x.idx", bytes)
}

pub fn libsvm(bytes: &[u8]) -> Result<(), String> {
    data("x.libsvm", bytes)
}

/// A text table, as it is and with a label and columns chosen.
pub fn csv(bytes: &[u8]) -> Result<(), String> {
    let chosen = Some(vec!["b".parse()?, "4-".parse()?]);
    let options = FileOptions { label: "1".parse().ok(), chosen, ..FileOptions::default() };
    let chosen = read_bytes(Path::new("x.csv"), bytes.to_vec(), &options);
    data("x.csv", bytes).or(chosen.map(drop).map_err(|e| e.to_string()))
}

/// A text table of grey levels, and one of categories with a state of values that are not there.
pub fn grey(bytes: &[u8]) -> Result<(), String> {
    let grey = FileOptions { grey: true, weights: "2".parse().ok(), ..FileOptions::default() };
    let unseen = FileOptions { unseen: true, ..FileOptions::default() };
    let read = |options| read_bytes(Path::new("x.csv"), bytes.to_vec(), options);
    read(&grey).or(read(&unseen)).map(drop).map_err(|e| e.to_string())
}

/// A file of row weights.
pub fn weights(bytes: &[u8]) -> Result<(), String> {
    with_file("weights", bytes, |path| {
        let weights = path.to_string_lossy().parse().ok();
        let source = Source::named("bars-and-stripes").ok_or("no such source")?;
        let reading = FileOptions { weights, ..FileOptions::default() };
        load_as(&source, &SplitOptions::default(), Path::new(""), reading)
            .map(drop)
            .map_err(|e| e.to_string())
    })
}

pub fn parquet(bytes: &[u8]) -> Result<(), String> {
    data("x.parquet", bytes)
}

/// Aligned sequences: as A3M, as FASTA, and beside sequences of DNA.
pub fn sequences(bytes: &[u8]) -> Result<(), String> {
    let read = |name: &str, bytes: &[u8], options: &FileOptions| {
        read_bytes(Path::new(name), bytes.to_vec(), options).map_err(|e| e.to_string())
    };
    let plain = FileOptions::default();
    let categories = read("x.fasta", b">a\nACGT-\n", &plain)?.categories;
    let beside = read("x.fasta", bytes, &FileOptions { categories, ..FileOptions::default() });
    data("x.a3m", bytes).or(read("x.fasta", bytes, &plain).map(drop)).or(beside.map(drop))
}

pub fn npy(bytes: &[u8]) -> Result<(), String> {
    data("x.npy", bytes)
}

pub fn npz(bytes: &[u8]) -> Result<(), String> {
    data("x.npz", bytes)
}

/// A file whose name says nothing.
pub fn any(bytes: &[u8]) -> Result<(), String> {
    data("x", bytes)
}

/// A data file, decompressed where it is gzip.
pub fn gzip(bytes: &[u8]) -> Result<(), String> {
    with_file("x.gz", bytes, |path| {
        load_file(path, &FileOptions::default()).map(drop).map_err(|e| e.to_string())
    })
}

/// A model: safetensors or npz.
pub fn model(bytes: &[u8]) -> Result<(), String> {
    with_file("model", bytes, |path| ModelFile::load(path).map(drop).map_err(|e| e.to_string()))
}

pub fn config(bytes: &[u8]) -> Result<(), String> {
    with_file("config.toml", bytes, |path| {
        ztrack::Config::load(path, &[]).map(drop).map_err(|e| e.to_string())
    })
}

/// `--set`, one a line, upon a small configuration.
pub fn overrides(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let settings: Vec<String> = text.split('\n').map(Into::into).collect();
    let base = "[data]\nsource = { name = \"dna\" }\n[model]\nhidden = 4\n[training]\nupdates = 10\nbatch = 5\n\
                gradient = { kind = \"pcd\" }\nlearning_rate = { initial = 0.1 }\n";
    ztrack::Config::parse(base, &settings).map(drop).map_err(|e| e.to_string())
}

pub fn schedule(bytes: &[u8]) -> Result<(), String> {
    with_file("betas", bytes, |path| read_list(path).map(drop).map_err(|e| e.to_string()))
}

/// metrics.csv, as a resume reads and cuts it.
pub fn metrics(bytes: &[u8]) -> Result<(), String> {
    with_file("metrics.csv", bytes, |path| {
        let found = Csv::written(path, 10).map_err(|e| e.to_string());
        found.and(Csv::resume(path, 10).map(drop).map_err(|e| e.to_string()))
    })
}

/// TensorBoard events, as a resume reads and cuts them.
pub fn events(bytes: &[u8]) -> Result<(), String> {
    with_file("train/events.out.tfevents.1.ztrack", bytes, |path| {
        let folder = path.ancestors().nth(2).unwrap_or(path);
        let found = TensorBoard::written(folder, Run::Tracker, 10).map_err(|e| e.to_string());
        found.and(TensorBoard::resume(folder, 10).map(drop).map_err(|e| e.to_string()))
    })
}

/// A checkpoint, as far as it can be read without a run.
pub fn state(bytes: &[u8]) -> Result<(), String> {
    let state = StateReader::from_bytes("state", bytes.to_vec()).map_err(|e| e.to_string())?;
    let _ = state.parameters("", 9, 6);
    let _ = state.bits("chains.visible", 40, 9);
    let _ = state.json::<ztrack::training::Identity>("identity");
    let _ = state.json::<ztrack::tracking::AnyFilter>("tracker.filter");
    Ok(())
}

/// A temporary file with the bytes, under a name.
fn with_file<T>(
    name: &str,
    bytes: &[u8],
    read: impl FnOnce(&Path) -> Result<T, String>,
) -> Result<T, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path: PathBuf = folder.path().join(name);
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|e| e.to_string())?;
    std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
    read(&path)
}
