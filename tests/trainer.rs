//! The trainer, update by update.

mod common;

use std::path::Path;

use ztrack::config::Config;
use ztrack::data::{SplitOptions, load};
use ztrack::model::Parameters;
use ztrack::training::gradient::{Particles, PersistentDivergence};
use ztrack::training::{StepRecord, Trainer};
use ztrack::{Device, Error};

fn trainer(settings: &[&str]) -> Trainer {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let config = Config::parse(common::TINY, &settings).unwrap();
    let splits = load(&config.data.source, &SplitOptions::default(), Path::new("")).unwrap();
    Trainer::new(&config, splits, &Device::default()).unwrap()
}

/// log Z is that of the current model at every evaluation and at the end, however rarely the tracker steps.
#[test]
fn the_tracker_steps_at_its_own_updates_before_evaluations_and_at_the_end() {
    let mut trainer = trainer(&["training.updates=33", "tempering.every=7", "evaluation.every=10"]);
    let mut tracked = Vec::new();
    while trainer.updates() < 33 {
        if let StepRecord::Updated(Some(_)) = trainer.step().unwrap() {
            tracked.push(trainer.updates());
        }
    }
    assert_eq!(tracked, [7, 10, 14, 20, 21, 28, 30, 33]);
}

/// Parameters after some updates, with one particle a row of the batch.
fn trained(mut trainer: Trainer) -> Parameters {
    while trainer.updates() < 60 {
        trainer.step().unwrap();
    }
    trainer.current_parameters().clone()
}

/// `training.exchange = false` is PCD and nothing else; with exchange the gradient is another one.
#[test]
fn without_exchange_pcd_is_plain() {
    let settings = ["training.updates=60", "training.gradient={ kind = \"pcd\", particles = 40 }"];
    let with = |on: &'static str| [&settings[..], &[on]].concat();
    let own = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let config = Config::parse(common::TINY, &settings).unwrap();
        let splits = load(&config.data.source, &SplitOptions::default(), Path::new("")).unwrap();
        let trainer = Trainer::new(&config, splits.clone(), &Device::default()).unwrap();
        let visible = trainer.base().sample(40, config.seed, 1);
        let particles = Particles { visible, seed: config.seed, sweeps: 0 };
        let plain = Box::new(PersistentDivergence { sweeps: 1, particles });
        Trainer::with_negative_phase(&config, splits, &Device::default(), plain).unwrap()
    };
    let plain = trained(own(&settings));
    assert_eq!(trained(trainer(&with("training.exchange=false"))), plain);
    assert_ne!(trained(trainer(&with("training.exchange=true"))), plain);
}

/// The same rule, batch and rate: with the batches and streams of CD-1's first update pre-training would give its parameters.
#[test]
fn pretraining_has_batches_and_streams_of_its_own() {
    let rate = "training.learning_rate.initial=0.1";
    let mut first = trainer(&["training.gradient={ kind = \"cd\" }", rate, "tempering.every=9"]);
    first.step().unwrap();
    first.step().unwrap();
    let pretraining = "training.pretraining={ updates = 1, learning_rate = 0.1, batch = 16 }";
    let mut pretrained = trainer(&[pretraining]);
    pretrained.step().unwrap();
    assert_eq!((first.updates(), pretrained.updates()), (1, 0));
    let [first, pretrained] = [first, pretrained].map(|t| t.current_parameters().clone());
    assert_ne!(first, pretrained);
}

#[test]
fn divergence_is_an_error_of_its_own() {
    let mut trainer = trainer(&["training.learning_rate.initial=1e6"]);
    let error = (0..20).find_map(|_| trainer.step().err()).unwrap();
    assert!(matches!(&error, Error::Diverged(_)), "{error:?}");
}
