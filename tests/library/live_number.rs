//! The live log Z of the shipped trainer against enumeration, its verdict, and what must not depend on how it is looked at.
//!
//! Deliberately broken versions that were tried, each failing a test here: chains that do not start again from known modes (50
//! nats off in the two-mode run); the base distribution built from the rows chosen for evaluation.

use std::path::Path;

use sha2::{Digest, Sha256};
use ztrack::checkpoint::{StateReader, StateWriter};
use ztrack::config::Config;
use ztrack::data::{Dataset, SplitOptions, Splits, Values, load};
use ztrack::engine::BitMatrix;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::model::Parameters;
use ztrack::model::exact::log_partition;
use ztrack::record::Run;
use ztrack::training::{Changes, Trainer};
use ztrack::{Device, LogZ};

const BARS: &str = r#"
    seed = 1
    [data]
    source = { name = "bars-and-stripes", side = 4, rows = 600, noise = 0.02 }
    validation_fraction = 0.2
    [model]
    hidden = 10
    [training]
    updates = 600
    batch = 50
    gradient = { kind = "pcd" }
    centering = true
    learning_rate = { initial = 0.2 }
    [evaluation]
    every = 50
    exact = false
    images_every = 0
    [audit]
    every = 0
"#;

fn device() -> Device {
    Device::Host
}

fn bars(config: &Config) -> Splits {
    let options = SplitOptions { validation_fraction: 0.2, ..SplitOptions::default() };
    load(&config.data.source, &options, Path::new("")).unwrap()
}

/// One evaluation: tracked minus exact log Z, its claimed error, whether it was called sound.
struct Point {
    error: f64,
    std_error: f64,
    sound: bool,
}

fn train(config: &Config, splits: Splits) -> (Vec<Point>, Parameters, u64) {
    let mut trainer = Trainer::new(config, splits, device()).unwrap();
    let mut points = Vec::new();
    while let Some(evaluation) = trainer.next_evaluation().unwrap() {
        let exact = log_partition(&trainer.parameters()).unwrap();
        points.push(Point {
            error: evaluation.log_z.value - exact,
            std_error: evaluation.log_z.std_error,
            sound: evaluation.log_z.trust.is_sound(),
        });
    }
    (points, trainer.parameters(), trainer.restarts())
}

fn settings(text: &str, settings: &[&str]) -> Config {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Config::parse(text, &settings).unwrap()
}

/// 4 gradients x 3 seeds x 12 evaluations at rates far above usual ones. Of 144 with a coverage of 95 %, 12 points of
/// each run being correlated as if they were 4, the share outside 2 errors has a standard deviation of 3 %.
#[test]
fn sound_evaluations_keep_their_error_bars_at_large_rates() {
    let gradients: [&[&str]; 4] = [
        &[],
        &["training.gradient={ kind = \"cd\" }", "training.learning_rate.initial=0.3"],
        &["training.gradient={ kind = \"tempered\" }", "training.learning_rate.initial=0.3"],
        &["training.update={ rule = \"adam\" }", "training.learning_rate.initial=0.02"],
    ];
    let (mut all, mut sound, mut inside, mut beyond) = (0, 0, 0, 0);
    for gradient in gradients {
        for seed in ["seed=1", "seed=2", "seed=3"] {
            let config = settings(BARS, &[gradient, &[seed]].concat());
            for Point { error, std_error, sound: vouched } in train(&config, bars(&config)).0 {
                all += 1;
                if vouched {
                    sound += 1;
                    inside += usize::from(error.abs() <= 2.0 * std_error);
                    beyond += usize::from(error.abs() > 4.0 * std_error);
                }
            }
        }
    }
    assert!(sound * 10 >= all * 6, "{sound} of {all} sound");
    assert!(inside * 100 >= sound * 86, "{inside} of {sound} inside 2 errors");
    assert!(beyond <= 1, "{beyond} of {sound} beyond 4 errors");
}

/// Eight codes of 100 bits, of which 5 % are flipped: the masses of the modes change with every update, and chains rarely go from one to another.
fn codes() -> Splits {
    let cells = |row: usize| {
        let mut stream = Streams::new(9, Purpose::Generator, 1).row(row as u32);
        let code = (8.0 * stream.uniform()) as u64;
        let of_code = Streams::new(9, Purpose::Generator, 2 + code);
        let bit = |i| (of_code.row(i).uniform() < 0.5) != (stream.uniform() < 0.05);
        (0..100).map(bit).collect::<Vec<bool>>()
    };
    let cells: Vec<Vec<bool>> = (0..1200).map(cells).collect();
    let bits = BitMatrix::from_fn(1200, 100, |row, i| cells[row][i]);
    let train = Dataset::new("codes", Values::Binary(bits), None, None).unwrap();
    Splits { train, validation: None, test: None }
}

/// Where chains lag behind the model, annealing from the mixture finds log Z, or leaves the doubt. And the same bytes after a resume, at which the
/// mixture is read again although its chains may have been dropped.
#[test]
fn annealing_replaces_chains_that_lag() {
    let mut replaced = 0;
    for seed in 1..7 {
        let config = settings(
            BARS,
            &[
                &format!("seed={seed}"),
                "data.validation_fraction=0",
                "model.hidden=14",
                "training.updates=1500",
                "training.gradient.particles=50",
                "training.learning_rate={ initial = 0.1, schedule = \"constant\" }",
                "evaluation.every=100",
            ],
        );
        let mut trainer = Trainer::new(&config, codes(), device()).unwrap();
        let (mut saved, mut values) = (StateWriter::new(), Vec::new());
        while let Some(evaluation) = trainer.next_evaluation().unwrap() {
            let LogZ { value, std_error, trust } = &evaluation.log_z;
            let z = (value - log_partition(&trainer.parameters()).unwrap()) / std_error;
            assert!(!trust.is_sound() || z.abs() < 4.5, "{z} at update {}", trainer.updates());
            let used = evaluation.record.get(Run::Tracker, "annealed_log_z");
            replaced += usize::from(trust.is_sound() && used == Some(*value));
            values.push((*value, used));
            if values.len() == 5 {
                saved = StateWriter::new();
                trainer.save(&mut saved);
            }
        }
        let state = StateReader::from_bytes("state", saved.to_bytes().unwrap()).unwrap();
        let mut resumed =
            Trainer::resume(&config, codes(), device(), &state, Changes::Refused).unwrap();
        for expected in &values[5..] {
            let evaluation = resumed.next_evaluation().unwrap().unwrap();
            let used = evaluation.record.get(Run::Tracker, "annealed_log_z");
            assert_eq!((evaluation.log_z.value, used), *expected);
        }
    }
    assert!(replaced >= 5, "{replaced} of 90 values by annealing");
}

/// Rows nearly all on or nearly all off: the model's second mode grows where no chain can go.
fn two_mode() -> Splits {
    let part = |first: u32, rows: usize| {
        let cells = |row: usize| {
            let mut stream = Streams::new(11, Purpose::Generator, 1).row(first + row as u32);
            let on = stream.uniform() < 0.4;
            (0..64).map(|_| on != (stream.uniform() < 0.1)).collect::<Vec<bool>>()
        };
        let cells: Vec<Vec<bool>> = (0..rows).map(cells).collect();
        let bits = BitMatrix::from_fn(rows, 64, |row, i| cells[row][i]);
        Dataset::new("two-mode", Values::Binary(bits), None, None).unwrap()
    };
    Splits { train: part(0, 1200), validation: Some(part(1200, 400)), test: None }
}

#[test]
fn a_mode_that_chains_cannot_reach_is_seen_and_found() {
    let adam = [
        "training.update={ rule = \"adam\" }",
        "training.learning_rate.initial=0.02",
        "training.updates=1500",
        "evaluation.every=100",
        "model.hidden=16",
        "training.rewind=false",
    ];
    let (points, _, restarts) = train(&settings(BARS, &adam), two_mode());
    for (i, point) in points.iter().enumerate() {
        let z = point.error / point.std_error;
        assert!(!point.sound || z.abs() < 5.0, "evaluation {i}: {z:.1} errors off, called sound");
        assert!(point.error.abs() < 8.0, "evaluation {i}: {} nats off", point.error);
    }
    assert!(restarts > 0, "the run is no trap any more");
}

/// How a run is looked at changes no byte of it.
#[test]
fn no_option_of_evaluation_audit_or_checkpoint_changes_the_model() {
    for gradient in ["pcd", "tempered"] {
        for window in ["0", "0.1"] {
            let kind = format!("training.gradient={{ kind = \"{gradient}\" }}");
            let window = format!("averaging.window={window}");
            let base = [kind.as_str(), window.as_str(), "training.updates=120"];
            let model = |more: &[&str]| {
                let config = settings(BARS, &[&base[..], more].concat());
                train(&config, bars(&config)).1
            };
            let as_it_is = model(&[]);
            for options in [
                &["evaluation.every=7"][..],
                &["evaluation.train_rows=20"],
                &["evaluation.exact=true", "evaluation.images_every=1"],
                &["audit.every=1", "audit.chains=10", "audit.temperatures=50"],
                &["checkpoint.every=11", "checkpoint.keep=1"],
            ] {
                assert_eq!(model(options), as_it_is, "{gradient}, {window}, {options:?}");
            }
        }
    }
}

/// The parameters of a run without averages, weights and settling, by their checksum: where it changes, the bits of every run do.
#[test]
fn without_averaging_weights_and_settling_a_run_is_what_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/bars-and-stripes.toml");
    let off = [
        "training.updates=600",
        "averaging.window=0",
        "tempering.weighted=false",
        "tempering.settling.sweeps=0",
        "audit.every=0",
        "evaluation.exact=false",
    ];
    let config = Config::load(&path, &off.map(String::from)).unwrap();
    let options = SplitOptions {
        validation_fraction: config.data.validation_fraction,
        test_fraction: config.data.test_fraction,
        seed: config.data.split_seed,
    };
    let splits = load(&config.data.source, &options, Path::new("")).unwrap();
    let (_, Parameters { weights, visible_bias, hidden_bias, .. }, _) = train(&config, splits);
    let mut hash = Sha256::new();
    for values in [weights, visible_bias, hidden_bias] {
        values.iter().for_each(|value| hash.update(value.to_le_bytes()));
    }
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, GOLDEN);
}

const GOLDEN: &str = "f5b011ebfaa3a4364d0f949173b52d6548e6107ed4f513b80af8667afcceaf46";
