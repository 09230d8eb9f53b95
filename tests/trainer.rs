//! The trainer, update by update.

mod common;

use std::path::Path;

use ztrack::config::Config;
use ztrack::data::{SplitOptions, load};
use ztrack::training::{StepRecord, Trainer};

/// log Z is that of the current model at every evaluation and at the end, however rarely the tracker steps.
#[test]
fn the_tracker_steps_at_its_own_updates_before_evaluations_and_at_the_end() {
    #[allow(deprecated)]
    let device = burn::tensor::Device::ndarray();
    let settings = ["training.updates=33", "tempering.every=7", "evaluation.every=10"];
    let config = Config::parse(common::TINY, &settings.map(String::from)).unwrap();
    let splits = load(&config.data.source, &SplitOptions::default(), Path::new("")).unwrap();
    let mut trainer = Trainer::new(&config, splits, &device).unwrap();
    let mut tracked = Vec::new();
    while trainer.updates() < 33 {
        if let StepRecord::Updated(Some(_)) = trainer.step().unwrap() {
            tracked.push(trainer.updates());
        }
    }
    assert_eq!(tracked, [7, 10, 14, 20, 21, 28, 30, 33]);
}
