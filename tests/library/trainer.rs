//! The trainer, update by update.

use std::collections::HashMap;
use std::path::Path;

use ztrack::checkpoint::{StateReader, StateWriter};
use ztrack::config::{Config, WeightStart};
use ztrack::data::{Dataset, SplitOptions, Splits, Values, load};
use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BitMatrix, Engine, Host};
use ztrack::model::Parameters;
use ztrack::model::exact::mean_log_likelihood;
use ztrack::record::{Notice, Remedy};
use ztrack::training::gradient::{Particles, PersistentDivergence};
use ztrack::training::{Changes, StepRecord, StopReason, Trainer, TrainingData, TrainingState};
use ztrack::{Device, Doubt, Error, Trust};

use crate::common;

fn trainer(settings: &[&str]) -> Trainer {
    trainer_with(settings, &SplitOptions::default())
}

fn trainer_with(settings: &[&str], options: &SplitOptions) -> Trainer {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let config = Config::parse(common::TINY, &settings).unwrap();
    let splits = load(&config.data.source, options, Path::new("")).unwrap();
    Trainer::new(&config, splits, Device::default()).unwrap()
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

fn doubt() -> Doubt {
    Doubt::other("name", "reason")
}

/// What an audit finds above the tracker is still missed at the next evaluation.
#[test]
fn an_audit_that_finds_more_leaves_the_tracker_in_doubt_until_one_agrees() {
    let settings = ["training.updates=90", "evaluation.every=10", "evaluation.exact=false"];
    let mut trainer = trainer(&settings);
    // What each audit finds above the tracker, and whether it is sound.
    let mut audits = [(0.0, true), (30.0, true), (0.0, false), (0.0, true)].into_iter();
    let mut doubts = Vec::new();
    while trainer.updates() < 90 {
        trainer.step().unwrap();
        if trainer.updates() == 0 || !trainer.evaluation_due(trainer.updates()) {
            continue;
        }
        let mut evaluation = trainer.evaluate(None).unwrap().unwrap();
        match &mut evaluation.audit {
            Some(audit) => {
                let (missed, sound) = audits.next().unwrap();
                (audit.difference, audit.in_errors) = (-missed, -missed);
                audit.estimate.trust = Trust::unless((!sound).then(doubt));
            }
            None => doubts.push(evaluation.log_z.trust.names().contains("audit")),
        }
        trainer.judge(&mut evaluation).unwrap();
    }
    assert_eq!(doubts, [false, false, true, true, false]);
}

/// Two evaluations whose chains missed a part put the next ones in doubt. An audit ends that if it is as certain as the tracked value.
#[test]
fn an_uncertain_audit_does_not_end_the_doubt_about_missing_parts() {
    for (error_of_audit, lasts) in [(0.5f64, true), (0.05, false)] {
        let settings = ["training.updates=60", "evaluation.every=10", "evaluation.exact=false"];
        let mut trainer = trainer(&settings);
        let mut doubts = Vec::new();
        while trainer.updates() < 60 {
            trainer.step().unwrap();
            if trainer.updates() == 0 || !trainer.evaluation_due(trainer.updates()) {
                continue;
            }
            let mut evaluation = trainer.evaluate(None).unwrap().unwrap();
            doubts.push(evaluation.log_z.trust.names().contains("missed-before"));
            // As certain as the audit that confirms it.
            evaluation.log_z.std_error = error_of_audit.max(0.1);
            if trainer.updates() < 30 {
                evaluation.log_z.trust = Trust::unless(Some(Doubt::other("bound", "reason")));
            }
            if let Some(audit) = &mut evaluation.audit {
                audit.estimate.std_error = error_of_audit;
            }
            if trainer.updates() < 40 {
                evaluation.audit = None;
            }
            trainer.judge(&mut evaluation).unwrap();
        }
        assert_eq!(doubts, [false, false, true, false, lasts, false]);
    }
}

/// Training rows a thousand nats below the best evaluation are a reason to go back, but not by a log Z in doubt.
#[test]
fn a_value_in_doubt_is_no_reason_to_go_back() {
    let settings = ["training.updates=100", "evaluation.every=10", "evaluation.exact=false"];
    let mut trainer = trainer(&[&settings[..], &["audit.every=0"]].concat());
    // Fall below the first evaluation, and whether log Z is sound.
    let mut cases = [(0.0, true), (2.0, true), (1000.0, false), (1000.0, true)].into_iter();
    let (mut best, mut found) = (None, Vec::new());
    while trainer.updates() < 50 {
        trainer.step().unwrap();
        if trainer.updates() == 0 || !trainer.evaluation_due(trainer.updates()) {
            continue;
        }
        let Some((fall, sound)) = cases.next() else { break };
        let mut evaluation = trainer.evaluate(None).unwrap().unwrap();
        let (train, validation) = *best.get_or_insert((evaluation.train, evaluation.validation));
        (evaluation.train, evaluation.validation) = (train, validation);
        evaluation.train.value -= fall;
        evaluation.validation.iter_mut().for_each(|it| it.value -= fall);
        evaluation.judged.log_z.trust = Trust::unless((!sound).then(doubt));
        trainer.judge(&mut evaluation).unwrap();
        let going_back = |notice: &Notice| matches!(notice, Notice::TrainingFails { remedy: Some(remedy), .. } if remedy.rewound);
        found.push((evaluation.training, evaluation.notices.iter().any(going_back)));
    }
    use TrainingState::{Failing, Healthy};
    assert_eq!(found, [(Healthy, false), (Failing, false), (Failing, false), (Failing, true)]);
}

/// Evaluations below the first one by these falls, nats, of the training and of the validation rows, with patience for three: whether each
/// ends the run, `None` where the training fails; and the remedies.
fn stops(falls: &[(f64, f64)], settings: &[&str]) -> (Vec<Option<bool>>, Vec<Remedy>) {
    let stopping = "training.early_stopping={ patience = 3, patience_factor = 1.0 }";
    let fixed = ["training.updates=200", "evaluation.every=10", "evaluation.exact=false"];
    let off = ["training.cooldown=0", "audit.every=0", stopping];
    let settings = [&off[..], &fixed, settings].concat();
    let options = SplitOptions { validation_fraction: 0.2, ..SplitOptions::default() };
    let mut trainer = trainer_with(&settings, &options);
    let (mut best, mut stops, mut remedies) = (None, Vec::new(), Vec::new());
    for (of_train, of_validation) in falls {
        while {
            trainer.step().unwrap();
            trainer.updates() == 0 || !trainer.evaluation_due(trainer.updates())
        } {}
        let mut evaluation = trainer.evaluate(None).unwrap().unwrap();
        let (train, validation) = *best.get_or_insert((evaluation.train, evaluation.validation));
        (evaluation.train, evaluation.validation) = (train, validation);
        evaluation.train.value -= of_train;
        evaluation.validation.iter_mut().for_each(|it| it.value -= of_validation);
        evaluation.judged.log_z.trust = Trust::unless(None);
        evaluation.judged.log_z.std_error = 0.01;
        trainer.judge(&mut evaluation).unwrap();
        stops.push(evaluation.decision.map(|decision| decision.stop));
        remedies.extend(evaluation.notices.iter().filter_map(|notice| match notice {
            Notice::TrainingFails { remedy, .. } => *remedy,
            _ => None,
        }));
    }
    (stops, remedies)
}

/// Patience of three evaluations would be used up by the first one after the training has failed; it counts from there.
#[test]
fn patience_counts_anew_where_the_training_fails() {
    let falls = [0.0, 0.5, 0.5, 1000.0, 0.5, 0.5, 0.5].map(|fall| (fall, fall));
    let (stops, _) = stops(&falls, &[]);
    let [no, yes] = [Some(false), Some(true)];
    assert_eq!(stops, [no, no, no, None, no, no, yes]);
}

/// Where the training rows too are below the best evaluation, exchange is tried once before the run ends; not where they are above it, or
/// by less than log Z explains, or where nothing can be exchanged.
#[test]
fn a_training_that_has_fallen_is_mended_before_it_ends() {
    let [no, yes] = [Some(false), Some(true)];
    let run = |of_train: f64, settings: &[&str]| {
        let mut falls = [(of_train, 0.5); 7];
        falls[0] = (0.0, 0.0);
        let (stops, remedies) = stops(&falls, settings);
        let ended = stops.iter().position(|&stop| stop == yes);
        (stops[..ended.map_or(7, |at| at + 1)].to_vec(), remedies)
    };
    let remedy = Remedy { exchange: true, rewound: true, small: false, halved: false };
    let (stops, remedies) = run(0.5, &[]);
    assert_eq!(stops, [no, no, no, None, no, no, yes]);
    assert!(remedies.len() == 1 && Remedy { small: false, ..remedies[0] } == remedy);
    let (stops, remedies) = run(0.5, &["training.rewind=false"]);
    assert_eq!(stops, [no, no, no, None, no, no, yes]);
    assert_eq!(remedies, [Remedy { rewound: false, ..remedy }]);
    for (of_train, settings) in [
        (-0.5, &[][..]),
        (0.03, &[]),
        (0.5, &["training.exchange=false"]),
        (0.5, &["training.gradient=tempered"]),
    ] {
        assert_eq!(
            run(of_train, settings),
            (vec![no, no, no, yes], Vec::new()),
            "{of_train} {settings:?}"
        );
    }
}

/// Where early stopping would end the run, the training goes back to the best model, and the learning rate falls to zero from there. A
/// resume in the middle has the same parameters; without a cooldown the run ends at once.
#[test]
fn a_cooldown_starts_from_the_best_model() {
    let options = SplitOptions { validation_fraction: 0.2, ..SplitOptions::default() };
    let settings = |cooldown: &'static str| {
        [
            "training.updates=5000",
            "training.learning_rate={ initial = 0.5 }",
            "training.early_stopping={ patience = 3, patience_factor = 1.0 }",
            "averaging.window=0.1",
            "evaluation.every=20",
            cooldown,
        ]
    };
    let stops = |trainer: &mut Trainer, models: &mut HashMap<u64, Parameters>| loop {
        let evaluation = trainer.next_evaluation().unwrap().unwrap();
        models.insert(trainer.updates(), trainer.parameters().clone());
        for notice in evaluation.notices {
            if let Notice::EarlyStopping { cooldown, .. } = notice {
                assert_eq!(evaluation.decision.unwrap().stop, cooldown.is_none());
                return cooldown;
            }
        }
    };
    let mut models = HashMap::new();
    let mut trainer = trainer_with(&settings("training.cooldown=0"), &options);
    assert_eq!(stops(&mut trainer, &mut models), None);
    let from = trainer.updates();
    assert_eq!(trainer.over(), Some(StopReason::EarlyStopping));

    let mut trainer = trainer_with(&settings("training.cooldown=0.5"), &options);
    let (best, until) = stops(&mut trainer, &mut models).unwrap();
    assert_eq!((trainer.updates(), trainer.over()), (from, None));
    assert_eq!(until - from, best.div_ceil(2).next_multiple_of(20));
    let mut rates = Vec::new();
    // A tenth of the updates up to the best model and after it, as if those in between had not been.
    let mut average: Vec<f64> = models[&best].weights.iter().map(|&x| x.into()).collect();
    while trainer.over().is_none() {
        let rate = trainer.learning_rate();
        trainer.step().unwrap();
        let share = 1.0 / (0.1 * (best + trainer.updates() - from) as f64).max(1.0);
        for (old, new) in average.iter_mut().zip(&trainer.current_parameters().weights) {
            *old += share * (f64::from(*new) - *old);
        }
        if rates.is_empty() {
            let distance = |from: &Parameters| {
                let both = trainer.current_parameters().weights.iter().zip(&from.weights);
                both.map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>()
            };
            let [back, on] = [best, from].map(|update| distance(&models[&update]));
            assert!(back < 0.5 * on, "{back} {on}");
        }
        rates.push(rate);
        if trainer.evaluation_due(trainer.updates()) {
            let mut evaluation = trainer.evaluate(None).unwrap().unwrap();
            trainer.judge(&mut evaluation).unwrap();
            assert_eq!(evaluation.decision.unwrap().stop, trainer.updates() == until);
        }
    }
    assert_eq!((trainer.updates(), trainer.over()), (until, Some(StopReason::EarlyStopping)));
    let averaged = trainer.parameters();
    let pairs = average.iter().zip(&averaged.weights);
    let distance = pairs.map(|(x, y)| (x - f64::from(*y)).abs()).fold(0.0, f64::max);
    assert!(distance < 1e-4, "{distance}");
    let n = (until - from) as usize;
    let falling: Vec<f64> = (0..n).map(|i| 0.5 * (n - i) as f64 / n as f64).collect();
    assert_eq!(rates, falling);
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
        let trainer = Trainer::new(&config, splits.clone(), Device::default()).unwrap();
        let visible = trainer.base().sample(40, config.seed, 1);
        let particles = Particles { visible, seed: config.seed, sweeps: 0 };
        let plain = Box::new(PersistentDivergence { sweeps: 1, particles });
        let builder =
            Trainer::builder(TrainingData::Splits(splits)).seed(config.seed).model(config.model);
        let builder = builder.set("training", config.training).tempering(config.tempering);
        let builder = builder.evaluation(config.evaluation).audit(config.audit);
        builder.negative_phase(plain).build().unwrap()
    };
    let plain = trained(own(&settings));
    assert_eq!(trained(trainer(&with("training.exchange=false"))), plain);
    // Automatic: nothing is exchanged unless the training fails.
    assert_eq!(trained(trainer(&settings)), plain);
    assert_ne!(trained(trainer(&with("training.exchange=true"))), plain);
}

/// Rows near two states of 30 bits, in unequal numbers, and settings with which PCD loses one of the modes.
fn two_modes(hidden: &str) -> (Config, Splits) {
    let streams = Streams::new(3, Purpose::TestSystem, 0);
    let rows = |first: u32, n: usize| {
        let rows: Vec<Vec<bool>> = (0..n)
            .map(|row| {
                let mut stream = streams.row(first + row as u32);
                let mode = if stream.uniform() < 0.7 { 5 } else { 11 };
                (0..30).map(|i| (i * i * mode % 13 < 6) ^ (stream.uniform() < 0.01)).collect()
            })
            .collect();
        let bits = BitMatrix::from_fn(n, 30, |row, i| rows[row][i]);
        Dataset::new("two modes", Values::Binary(bits), None, None).unwrap()
    };
    let splits = Splits { train: rows(0, 480), validation: Some(rows(480, 120)), test: None };
    let settings = [
        "training.updates=600",
        "training.batch=20",
        "training.gradient={ kind = \"pcd\", particles = 20 }",
        "training.learning_rate={ initial = 1.0, schedule = \"linear-to-zero\" }",
        "training.early_stopping={ patience = 100 }",
        "evaluation.every=50",
        "data.groups=false",
        "training.preconditioning=false",
        hidden,
    ];
    (Config::parse(common::TINY, &settings.map(String::from)).unwrap(), splits)
}

/// Two modes of unequal size that the particles leave: the fall of the likelihood is found, the training goes back and recovers by
/// exchange, and a run that is resumed afterwards has the same parameters.
#[test]
fn a_training_that_fails_is_mended() {
    let (config, splits) = two_modes("model.hidden=8");
    let mut trainer = Trainer::new(&config, splits.clone(), Device::default()).unwrap();
    let (mut states, mut mended, mut saved) = (Vec::new(), None, None);
    let (mut models, mut rate, mut rewinds) = (HashMap::new(), f64::INFINITY, 0);
    while let Some(evaluation) = trainer.next_evaluation().unwrap() {
        states.push(evaluation.training);
        if evaluation.training == TrainingState::Failing {
            // Early stopping waits.
            assert_eq!(evaluation.decision, None);
        }
        let here = trainer.parameters();
        let at = trainer.updates();
        models.insert(at, here.clone());
        for notice in &evaluation.notices {
            let &Notice::TrainingFails { update, remedy: Some(remedy), .. } = notice else {
                continue;
            };
            // The next update is one from there, with half the steps if the exchange alone did not help.
            trainer.step().unwrap();
            let from = |old: &Parameters| {
                let moved = trainer.current_parameters().weights.iter().zip(&old.weights);
                moved.map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>()
            };
            let [back, on] = [&models[&update], &here].map(from);
            assert!(back < 0.6 * on, "{update}: {back} {on}");
            assert!(remedy.rewound && remedy.exchange != (trainer.learning_rate() < 0.6 * rate));
            rewinds += 1;
            if mended.is_some() {
                continue;
            }
            mended = Some(at);
            let mut state = StateWriter::new();
            trainer.save(&mut state);
            saved = Some(StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap());
        }
        rate = trainer.learning_rate();
    }
    let health = trainer.standing().training;
    assert_eq!((health.mended_at, health.rewinds), (mended, rewinds));
    assert!(mended.is_some() && health.failing > 0, "{states:?}");
    assert_eq!(states.last(), Some(&TrainingState::Healthy), "{states:?}");
    // The state to go back to outlives a resume.
    let saved = saved.unwrap();
    let kept = |state: &StateReader| state.part("best.").unwrap().to_bytes().unwrap();
    let mut resumed =
        Trainer::resume(&config, splits, Device::default(), &saved, Changes::Refused).unwrap();
    let mut state = StateWriter::new();
    resumed.save(&mut state);
    let again = StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap();
    assert_eq!(kept(&again), kept(&saved));
    while resumed.next_evaluation().unwrap().is_some() {}
    assert_eq!(resumed.parameters(), trainer.parameters());
    assert_eq!(resumed.standing(), trainer.standing());
}

/// The same with more hidden units than are enumerated: the training starts anew from a few that were trained with the exact gradient, with
/// particles at training rows, and is better for it. A resume has the same parameters.
#[test]
fn a_training_that_fails_starts_anew_from_few_hidden_units() {
    let (config, splits) = two_modes("model.hidden=16");
    let Values::Binary(rows) = splits.train.values.clone() else { unreachable!() };
    let mut trainer = Trainer::new(&config, splits.clone(), Device::default()).unwrap();
    let likelihood =
        |trainer: &Trainer| mean_log_likelihood(trainer.current_parameters(), &rows).unwrap();
    let (mut best, mut remedies, mut saved) = (f64::NEG_INFINITY, Vec::new(), None);
    while let Some(evaluation) = trainer.next_evaluation().unwrap() {
        if remedies.is_empty() {
            best = best.max(evaluation.train.value);
        }
        for notice in &evaluation.notices {
            let &Notice::TrainingFails { remedy: Some(remedy), .. } = notice else { continue };
            remedies.push(remedy);
            if remedies.len() > 1 {
                continue;
            }
            let mut state = StateWriter::new();
            trainer.save(&mut state);
            saved = Some(StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap());
            let failed = likelihood(&trainer);
            trainer.step().unwrap();
            let anew = likelihood(&trainer);
            assert!(anew > failed, "{anew} {failed}");
            // The small model, which is exact, is what later evaluations are held against.
            let reference = trainer.standing().training.best.unwrap();
            assert!(reference.train > best && reference.log_z_std_error == 0.0, "{reference:?}");
        }
    }
    let first = remedies[0];
    assert!(first.small && first.rewound && first.exchange && !first.halved, "{first:?}");
    assert_eq!(trainer.standing().training.state, TrainingState::Healthy);
    let saved = saved.unwrap();
    let mut resumed =
        Trainer::resume(&config, splits, Device::default(), &saved, Changes::Refused).unwrap();
    while resumed.next_evaluation().unwrap().is_some() {}
    assert_eq!(resumed.parameters(), trainer.parameters());
    assert_eq!(resumed.standing(), trainer.standing());
}

/// The exact start is better than the marginals before the first update, and a resume goes on from it; settings that it has no use for are
/// refused.
#[test]
fn a_run_can_start_from_few_hidden_units_that_were_trained_exactly() {
    let (mut config, splits) = two_modes("model.hidden=16");
    let Values::Binary(rows) = splits.train.values.clone() else { unreachable!() };
    let mut starts = [WeightStart::Random, WeightStart::Exact].map(|start| {
        config.model.start = start;
        let mut trainer = Trainer::new(&config, splits.clone(), Device::default()).unwrap();
        trainer.step().unwrap();
        assert_eq!(trainer.updates(), 0);
        let value = mean_log_likelihood(trainer.current_parameters(), &rows).unwrap();
        (value, trainer)
    });
    // The entropy of two modes with the shares .7 and .3 and the bits that are flipped is 2.3 nats.
    let [(random, _), (exact, trainer)] = &mut starts;
    assert!(*random < -5.0 && *exact > -3.5, "{random} {exact}");
    let mut state = StateWriter::new();
    trainer.save(&mut state);
    let state = StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap();
    let mut resumed =
        Trainer::resume(&config, splits.clone(), Device::default(), &state, Changes::Refused)
            .unwrap();
    for trainer in [&mut *trainer, &mut resumed] {
        trainer.next_evaluation().unwrap();
    }
    assert_eq!(resumed.current_parameters(), trainer.current_parameters());
    for setting in ["model.hidden=10", "training.pretraining=true"] {
        let (mut config, splits) = two_modes(setting);
        config.model.hidden = if setting.starts_with("model") { 10 } else { 16 };
        config.model.start = WeightStart::Exact;
        let error = Trainer::new(&config, splits, Device::default()).err().unwrap();
        assert!(error.to_string().contains("model.start"), "{error}");
    }
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

/// Columns in two groups of equal ones, so that log f changes fast along two directions.
fn in_two_groups() -> BitMatrix {
    BitMatrix::from_fn(160, 64, |i, j| (i >> (j % 2)) % 2 == 1)
}

fn trainer_of(rows: &BitMatrix, settings: &[&str]) -> Trainer {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let config = Config::parse(common::TINY, &settings).unwrap();
    let data = Dataset::new("rows", Values::Binary(rows.clone()), None, None).unwrap();
    let splits = Splits::of(data, &SplitOptions::default()).unwrap();
    Trainer::new(&config, splits, Device::default()).unwrap()
}

/// The length of every update, in nats of log f over all rows, and how often the ladder was lost before it.
fn lengths(limit: &str, updates: u64) -> Vec<(f64, u32)> {
    let rows = in_two_groups();
    let limit = format!("training.largest_step={limit}");
    let (rate, every) = ("training.learning_rate.initial=2", "tempering.every=1");
    let length = format!("training.updates={updates}");
    let unconditioned = "training.preconditioning=false";
    let settings = [rate, "training.batch=160", unconditioned, every, &limit, &length];
    let mut trainer = trainer_of(&rows, &settings);
    let (mut lengths, mut lost) = (Vec::new(), 0);
    while trainer.updates() < updates {
        let before = Host::new(trainer.current_parameters()).log_f(&rows);
        let step = trainer.step().unwrap();
        let after = Host::new(trainer.current_parameters()).log_f(&rows);
        let change: Vec<f64> = after.iter().zip(before).map(|(new, old)| new - old).collect();
        let mean = change.iter().sum::<f64>() / change.len() as f64;
        let square = change.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        lengths.push(((square / change.len() as f64).sqrt(), lost));
        let tracked = match step {
            StepRecord::Updated(record) => record,
            _ => None,
        };
        lost += u32::from(tracked.is_some_and(|record| record.rounds.is_some()));
    }
    lengths
}

/// No update changes log f by more than the limit, but for the error of the standard deviation, and without a limit some do by ten times as
/// much. The limit is halved where tempered chains lose the ladder, down to one nat.
#[test]
fn no_update_changes_log_f_by_more_than_the_limit() {
    let longest = |limit| lengths(limit, 60).into_iter().fold(0.0, |most: f64, it| most.max(it.0));
    let limited = longest("1.0");
    assert!((0.5..1.5).contains(&limited), "{limited}");
    assert!(longest("1e9") > 10.0);
    let halved = lengths("64", 200);
    assert!(halved.iter().any(|(_, lost)| *lost > 2), "the ladder was not lost");
    for (length, lost) in halved {
        let limit = (64.0 * 0.5f64.powi(lost as i32)).max(1.0);
        assert!(length < 1.5 * limit, "{length} nats after {lost} losses");
    }
}

/// Four different rows: no model has a mean log-likelihood above -log 4, and training by the exact gradient comes close, without chains that
/// have to find the four modes. Adam with centered biases that were scaled entry by entry would end at -30 nats.
#[test]
fn the_exact_gradient_reaches_the_entropy_of_separated_modes() {
    let rows = in_two_groups();
    let settings = [
        "training.gradient=\"exact\"",
        "training.update=\"adam\"",
        "training.learning_rate.initial=0.05",
        "training.batch=160",
        "training.updates=400",
        "training.centering=true",
    ];
    let mut trainer = trainer_of(&rows, &settings);
    while trainer.updates() < 400 {
        trainer.step().unwrap();
    }
    let parameters = trainer.current_parameters();
    let missing = -(4f64.ln()) - mean_log_likelihood(parameters, &rows).unwrap();
    assert!((0.0..0.3).contains(&missing), "{missing}");
}

#[test]
fn the_exact_gradient_is_refused_for_large_layers() {
    let settings = ["training.gradient=\"exact\"", "model.hidden=21"].map(String::from);
    let config = Config::parse(common::TINY, &settings).unwrap();
    let data = Dataset::new("rows", Values::Binary(in_two_groups()), None, None).unwrap();
    let splits = Splits::of(data, &SplitOptions::default()).unwrap();
    let error = Trainer::new(&config, splits, Device::default()).err().unwrap().to_string();
    assert!(error.contains("training.gradient") && error.contains("at most 20 units"), "{error}");
}

#[test]
fn divergence_is_an_error_of_its_own() {
    let unlimited = ["training.largest_step=1e9", "training.preconditioning=false"];
    let settings = [&["training.learning_rate.initial=1e6"][..], &unlimited].concat();
    let mut trainer = trainer(&settings);
    let error = (0..20).find_map(|_| trainer.step().err()).unwrap();
    assert!(matches!(&error, Error::Diverged(_)), "{error:?}");
}
