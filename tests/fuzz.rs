//! Mutated input for every reader: no panic, no hang, no memory out of proportion, nothing a terminal obeys.
//!
//! Seeded, so that what is found is found again. `ZTRACK_LONG=1` makes 20 000 inputs of the 1500.

mod common;
mod files;
mod mutations;
#[path = "../fuzz/readers.rs"]
mod readers;
mod states;

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use files::gzip;
use ndarray::array;
use ndarray_npy::NpzWriter;
use rand::{Rng, RngExt};
use readers::READERS;
use tempfile::TempDir;
use ztrack::checkpoint::{ModelFile, StateReader, StateWriter, TrainedOn};
use ztrack::cli::terminal::message;
use ztrack::config::Config;
use ztrack::data::{Binarization, load};
use ztrack::engine::BitMatrix;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::record::{Csv, Image, Record, Recorder, Run, TensorBoard};
use ztrack::training::{Changes, Trainer};

/// Counts what is allocated, by all threads.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes a reader may take beyond twice its input. Less is decompressed than that from what is mutated here.
const CONSTANT: usize = 64 << 20;
/// Longest processor time of a reader: none is near it, and one that hangs is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Processor time of this thread: that of the wall depends on what else the machine does.
fn worked() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system fills the struct.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Inputs for each of the readers and for whole states.
fn tries() -> usize {
    if std::env::var_os("ZTRACK_LONG").is_some() {
        20_000usize.div_ceil(READERS.len() + 1)
    } else {
        100
    }
}

#[test]
fn mutated_inputs_are_read_or_refused() {
    let mut stream = Streams::new(11, Purpose::TestSystem, 0).row(0);
    let (mut count, mut accepted, mut largest) = (0, 0, 0);
    let resume = resumed();
    let targets = READERS.iter().map(|(name, reader)| (*name, Box::new(*reader) as Target));
    for (name, read) in targets.chain([("resume", resume)]) {
        let seeds = seeds(name);
        for i in 0..tries() {
            let input = mutated(&seeds[i % seeds.len()], &mut stream);
            let (before, started) = (NOW.load(Ordering::Relaxed), worked());
            PEAK.store(before, Ordering::Relaxed);
            let outcome = catch_unwind(AssertUnwindSafe(|| read(&input)));
            let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
            let outcome = outcome.unwrap_or_else(|_| panic!("{name}: panic at {input:?}"));
            let took = worked() - started;
            assert!(took < PATIENCE, "{name}: {took:?} at {input:?}");
            assert!(taken <= 2 * input.len() + CONSTANT, "{name}: {taken} bytes at {input:?}");
            if let Err(problem) = &outcome {
                let shown = message(problem);
                let controls = shown.chars().filter(|c| c.is_control() && *c != '\n').count();
                assert!(controls == 0 && shown.len() < 10_000, "{name}: {shown:?}");
            }
            (count, accepted) = (count + 1, accepted + usize::from(outcome.is_ok()));
            largest = largest.max(taken);
        }
    }
    println!("{count} inputs, {accepted} accepted, at most {} KiB taken", largest >> 10);
    // Neither all nothing, nor all one thing.
    assert!(accepted * 100 > count && accepted * 2 < count, "{accepted} of {count} accepted");
}

/// The command on a few of them: what reaches the terminal, and how it ends.
#[test]
fn the_command_shows_nothing_a_terminal_obeys() {
    let folder = TempDir::new().unwrap();
    let mut stream = Streams::new(12, Purpose::TestSystem, 0).row(0);
    for name in ["csv", "libsvm", "npy", "npz", "schedule", "config"] {
        let seeds = seeds(name);
        for i in 0..8 {
            let mut input = mutated(&seeds[i % seeds.len()], &mut stream);
            let at = stream.random_range(0..=input.len());
            input.splice(at..at, *b"\x1b[31m\x07\xc2\x9b");
            let path = folder.path().join(format!("evil\u{1b}[2J\u{7}.{name}"));
            std::fs::write(&path, input).unwrap();
            let path = common::text(&path);
            let arguments = match name {
                "config" => vec!["train", &path],
                "schedule" => vec!["estimate", "/dev/null", "--schedule", &path],
                _ => vec!["data", "describe", &path],
            };
            let output = common::run(&arguments);
            assert!(output.status.code().is_some(), "{arguments:?}: ended by a signal");
            for bytes in [&output.stdout, &output.stderr] {
                let text = String::from_utf8_lossy(bytes);
                let bad = text.chars().find(|c| c.is_control() && *c != '\n');
                assert_eq!(bad, None, "{text:?}");
            }
        }
    }
}

type Target = Box<dyn Fn(&[u8]) -> Result<(), String>>;

/// A whole resume from a state, which is sealed with a right checksum after it was mutated.
fn resumed() -> Target {
    let config = Config::parse(common::TINY, &[]).unwrap();
    let splits = load(&config.data.source, &Default::default(), std::path::Path::new("")).unwrap();
    Box::new(move |bytes| {
        let state = StateReader::from_bytes("state", bytes.to_vec()).map_err(|e| e.to_string())?;
        let trainer = Trainer::resume(&config, splits.clone(), device(), &state, Changes::Forced);
        let mut trainer = trainer.map_err(|e| e.to_string())?;
        trainer.step().map(drop).map_err(|e| e.to_string())
    })
}

fn device() -> ztrack::Device {
    ztrack::Device::Host
}

fn state_bytes() -> Vec<u8> {
    let config = Config::parse(common::TINY, &[]).unwrap();
    let splits = load(&config.data.source, &Default::default(), std::path::Path::new("")).unwrap();
    let mut trainer = Trainer::new(&config, splits, device()).unwrap();
    (0..4).for_each(|_| drop(trainer.step().unwrap()));
    let mut state = StateWriter::new();
    trainer.save(&mut state);
    state.to_bytes().unwrap()
}

/// Sound inputs of a reader.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = TempDir::new().unwrap();
    let idx =
        [&[0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 3][..], &[0, 1, 1, 0].repeat(9)].concat();
    let libsvm = b"1 1:1 3:1 9:1\n-2 2:1 4:0\n# comment\n3 5:1\n".to_vec();
    let csv = b"a,b,\"c,d\",e,f,g,h,i,j\n0,1,1,0,1,0,0,1,1\n1, 1,0,\"0\",1,1.0,0,0,1\n".to_vec();
    let table = b"class;b;x;d;e\r\ncat;0;7;1;1\r\ndog;1;8;0;1\r\n".to_vec();
    let words = b"a,b,c\nred,1,0\nblue,2,1\n\"red\",3,0\nblue,1,?\n".to_vec();
    let fasta = b">a b\nACGT-n\nAC.T\n>c\nACGU-XMKLV\n".to_vec();
    let signs = b"# numbers\n-1 1 +1 1 -1 -1 1 1 1\n1 -1 1 -1 -1 1 1 1 -1\n".to_vec();
    let npy = |big: bool| {
        let grey = array![[0.0f32, 0.5, 1.0], [0.25, 0.0, 1.0]];
        let bits = array![[0u8, 1, 1, 0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 1, 1, 0, 0, 0]];
        if big { files::npy(bits) } else { files::npy(grey) }
    };
    let npz = |compressed: bool| {
        let cursor = std::io::Cursor::new(Vec::new());
        let mut writer =
            if compressed { NpzWriter::new_compressed(cursor) } else { NpzWriter::new(cursor) };
        writer.add_array("data", &array![[0u8, 1], [1, 1]]).unwrap();
        writer.add_array("other", &array![0.5f64]).unwrap();
        writer.finish().unwrap().into_inner()
    };
    match name {
        "idx" => vec![idx],
        "libsvm" => vec![libsvm],
        "csv" => vec![csv, table, signs, words],
        "grey" => vec![b"a,b,c\n0,7,255\n9,1,1\n".to_vec(), b"0.5;1;0.25\n1;1;0\n".to_vec(), words],
        // As many as bars and stripes have rows.
        "weights" => vec![
            ["# of rows\n", &"1\n0.5\n2e0\n".repeat(10)].concat().into_bytes(),
            files::npy(ndarray::Array1::from_elem(30, 0.5f64)),
        ],
        #[cfg(feature = "parquet")]
        "parquet" => vec![
            files::parquet("BOOLEAN a; INT32 b; INT64 c;"),
            files::parquet("BYTE_ARRAY a (UTF8); INT32 b;"),
        ],
        #[cfg(not(feature = "parquet"))]
        "parquet" => vec![b"PAR1 PAR1".to_vec()],
        "sequences" => vec![fasta, b">a\nAC-GT\n>b\n.NACGa-T\n".to_vec()],
        "npy" => vec![npy(true), npy(false)],
        "npz" => vec![npz(true), npz(false)],
        "any" => vec![idx, libsvm, csv, fasta, words, npy(true), npz(true)],
        "gzip" => vec![gzip(&idx), gzip(&libsvm), gzip(&npz(false))],
        "model" => {
            let path = folder.path().join("model");
            let parameters = gaussian_parameters(4, 3, 0.5, 1);
            let trained_on = TrainedOn {
                data: "rows".into(),
                rows: 9,
                binarization: Binarization::Stochastic,
                means: vec![0.5; 4],
                categories: None,
                titles: ["a", "b", "c", "d"].map(String::from).to_vec(),
            };
            let trained_on = Some(trained_on);
            let states = Some(BitMatrix::from_fn(3, 4, |row, unit| row == unit));
            ModelFile { trained_on, states, ..ModelFile::from(parameters) }.save(&path).unwrap();
            let mut writer = NpzWriter::new_compressed(std::io::Cursor::new(Vec::new()));
            writer.add_array("weights", &array![[0.5f64, 1.0, 0.1], [2.0, -1.0, 0.2]]).unwrap();
            writer.add_array("visible_bias", &array![0.5f64, 0.1, 0.3]).unwrap();
            writer.add_array("hidden_bias", &array![0.5f64, 0.1]).unwrap();
            vec![std::fs::read(path).unwrap(), writer.finish().unwrap().into_inner()]
        }
        "config" => vec![common::TINY.into(), include_bytes!("../configs/mnist.toml").to_vec()],
        "overrides" => {
            vec![b"seed=3\ntempering.smoothing={ alpha = 0.5 }\ntraining.epochs=3".to_vec()]
        }
        "schedule" => vec![b"# betas\n0\n0.25\n0.5\n\n1\n".to_vec()],
        "metrics" | "events" => records(name),
        "state" | "resume" => vec![state_bytes()],
        other => panic!("no seeds for {other}"),
    }
}

/// What a run of some evaluations leaves.
fn records(name: &str) -> Vec<Vec<u8>> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("metrics.csv");
    let mut csv = Csv::create(&path).unwrap();
    let mut events = TensorBoard::create(folder.path().join("events")).unwrap();
    for update in [0, 5, 10, 15] {
        let mut record = Record::new(update, 0.5, 1.5);
        record.scalar(Run::Tracker, "log_z", 3.5);
        record.histogram(Run::Tracker, "weights", vec![0.5; 10]);
        record.image(Run::Tracker, "samples", Image::gray(2, 3, vec![0; 6]).unwrap());
        csv.record(&record).unwrap();
        events.record(&record).unwrap();
    }
    if name == "metrics" {
        return vec![std::fs::read(&path).unwrap()];
    }
    let files = std::fs::read_dir(folder.path().join("events/train")).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

/// A mutation; a state's checksum is made right again.
fn mutated(seed: &[u8], stream: &mut impl Rng) -> Vec<u8> {
    let bytes = mutations::mutated(seed, stream);
    if StateReader::from_bytes("seed", seed.to_vec()).is_ok() && stream.random_bool(0.8) {
        return resealed_state(seed, stream);
    }
    bytes
}

/// A state with one number of its JSON values changed, and a checksum that fits.
fn resealed_state(seed: &[u8], stream: &mut impl Rng) -> Vec<u8> {
    let number = ["0", "-1", "1e300", "18446744073709551615", "0.5", "null", "[]", "\"NaN\""];
    let number = number[stream.random_range(0..number.len())];
    let (place, which) = (stream.random_range(0.0..1.0), stream.random_range(0..1_000_000usize));
    states::resealed(seed, |metadata| {
        let names: Vec<String> =
            metadata.keys().filter(|name| name.starts_with("json.")).cloned().collect();
        let name = &names[which % names.len()];
        let text = metadata[name].as_str().unwrap();
        let starts: Vec<usize> =
            text.match_indices([':', ',', '[']).map(|(at, _)| at + 1).collect();
        let from = starts.get((place * starts.len() as f64) as usize).copied().unwrap_or(0);
        let length = text[from..].find([',', ']', '}']).unwrap_or(text.len() - from);
        let edited = format!("{}{number}{}", &text[..from], &text[from + length..]);
        metadata.insert(name.clone(), edited.into());
    })
}
