//! A state that was not written by this program for this configuration is refused, whatever its checksum says.

use std::path::Path;

use serde_json::{Value, json};
use ztrack::checkpoint::{StateReader, StateWriter};
use ztrack::config::Config;
use ztrack::data::{Splits, load};
use ztrack::training::{Changes, Trainer};

use crate::common;
use crate::states::with_json;

/// A configuration, its rows, and a state some updates on.
fn state(settings: &[&str]) -> (Config, Splits, Vec<u8>) {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    let config = Config::parse(common::TINY, &settings).unwrap();
    let splits = load(&config.data.source, &Default::default(), Path::new("")).unwrap();
    let mut trainer = Trainer::new(&config, splits.clone(), device()).unwrap();
    (0..6).for_each(|_| drop(trainer.step().unwrap()));
    let mut state = StateWriter::new();
    trainer.save(&mut state);
    (config, splits, state.to_bytes().unwrap())
}

fn device() -> ztrack::Device {
    ztrack::Device::Host
}

/// Resumes and takes a step; the error, if any.
fn resume((config, splits, _): &(Config, Splits, Vec<u8>), bytes: Vec<u8>) -> Option<String> {
    let state = StateReader::from_bytes("state", bytes).unwrap();
    match Trainer::resume(config, splits.clone(), device(), &state, Changes::Refused) {
        Ok(mut trainer) => trainer.step().err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn vectors_of_wrong_length_in_the_filters_are_refused() {
    type Edit = fn(&mut Vec<Value>);
    let edits: [(&str, Edit); 3] = [
        ("one shorter", |values| drop(values.pop())),
        ("empty", Vec::clear),
        ("one longer", |values| values.push(json!(0.5))),
    ];
    let kalman = [
        "log_z",
        "bias",
        "variance",
        "covariance",
        "bias_variance",
        "measurement_variance",
        "prediction_variance",
        "influence",
        "bias_influence",
    ];
    let mut count = 0;
    for (settings, filter, vectors) in [
        (&[][..], "kalman", &kalman[..]),
        (&["tempering.smoothing={ alpha = 0.3 }"], "alpha", &["log_z", "influence"]),
    ] {
        let start = state(settings);
        assert_eq!(resume(&start, with_json(&start.2, "tracker.filter", |_| {})), None);
        for vector in vectors {
            for (what, edit) in edits {
                let bytes = with_json(&start.2, "tracker.filter", |value| {
                    edit(value[filter][vector].as_array_mut().unwrap());
                });
                let error = resume(&start, bytes).unwrap_or_else(|| panic!("{vector} {what}"));
                assert!(error.contains(vector) && error.contains("expected"), "{error}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 33);
}

#[test]
fn positions_no_run_can_be_at_are_refused() {
    let start = state(&[]);
    let at = |name: &str, pointer: &str, value: Value| {
        with_json(&start.2, name, |json| *json.pointer_mut(pointer).unwrap() = value)
    };
    for (name, pointer, value, expected) in [
        ("position", "/updates", json!(1u64 << 63), "training.updates"),
        ("position", "/updates", json!(21), "training.updates"),
        ("position", "/pretrained", json!(1), "no position of this run"),
        ("position", "/tracking", json!(false), "no position of this run"),
        ("chains.position", "/sweeps", json!(u64::MAX), "chains.position"),
        ("chains.position", "/recent/0/0", json!(u64::MAX), "chains.position"),
        ("chains.position", "/recent/1/1", json!(u64::MAX), "chains.position"),
        ("particles.sweeps", "", json!(u64::MAX), "particles.sweeps"),
        ("tracker.filter", "/kalman/updates", json!(u64::MAX), "filter.updates"),
        ("tracker.filter", "", json!({"alpha": 1}), "tracker.filter"),
        ("identity", "/config", json!("x = ["), "configuration of the checkpoint"),
        ("identity", "/rows/training", json!("0"), "training rows are not those"),
    ] {
        let error = resume(&start, at(name, pointer, value.clone()));
        let error = error.unwrap_or_else(|| panic!("{name}{pointer} = {value} was taken"));
        assert!(error.contains(expected), "{name}{pointer} = {value}: {error}");
    }
}
