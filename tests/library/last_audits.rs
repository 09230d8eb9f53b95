//! The audits at the end of a run look at models whose evaluations were in doubt too.

use std::collections::BTreeMap;
use std::path::Path;

use ztrack::Device;
use ztrack::config::Config;
use ztrack::data::load;
use ztrack::model::exact::mean_log_likelihood;
use ztrack::training::{LastAudits, Trainer};

/// Steps so large that few chains follow, whose number is too small; audits are exact.
fn run(seed: u64, chains: usize) -> (Trainer, BTreeMap<u64, (bool, f64)>) {
    let text = format!(
        r#"
        seed = {seed}
        [data]
        source = {{ name = "bars-and-stripes", side = 4, rows = 300 }}
        validation_fraction = 0.2
        [model]
        hidden = 12
        [training]
        updates = 600
        batch = 50
        gradient = {{ kind = "pcd" }}
        learning_rate = {{ initial = 3.0 }}
        [tempering]
        chains = {chains}
        sweeps = 1
        settling = false
        [averaging]
        window = 0
        [evaluation]
        every = 100
        exact = false
        images_every = 0
        [audit]
        every = 0
        "#
    );
    let config = Config::parse(&text, &[]).unwrap();
    let split = ztrack::data::SplitOptions { validation_fraction: 0.2, ..Default::default() };
    let splits = load(&config.data.source, &split, Path::new("")).unwrap();
    let mut trainer = Trainer::new(&config, splits, Device::default()).unwrap();
    // Of every evaluation whether it was sound, and the exact value of its model.
    let mut evaluations = BTreeMap::new();
    while let Some(evaluation) = trainer.next_evaluation().unwrap() {
        let rows = trainer.validation_rows().unwrap();
        let value = mean_log_likelihood(&trainer.parameters(), rows).unwrap();
        evaluations.insert(trainer.updates(), (evaluation.is_sound(), value));
    }
    (trainer, evaluations)
}

#[test]
fn a_model_in_doubt_is_the_best_if_its_audit_says_so() {
    let (mut doubtful_won, mut none_sound) = (0, 0);
    for (seed, chains) in [(1, 10), (2, 10), (3, 10), (1, 2), (2, 2), (3, 2)] {
        let (trainer, evaluations) = run(seed, chains);
        let LastAudits::Best(best) = trainer.last_audits().unwrap() else {
            panic!("seed {seed}, {chains} chains: audits are exact, so one of them is the best");
        };
        let (sound, value) = evaluations[&best.candidate.update];
        let told = best.likelihood.validation.unwrap().value;
        assert!((told - value).abs() < 1e-3, "{told} of a model of {value}");
        // Better than every model that decisions could go by and that an audit looked at.
        let candidates = trainer.candidates_to_audit();
        assert_eq!(best.audited, candidates.len());
        for (candidate, _) in candidates {
            assert!(value >= evaluations[&candidate.update].1 - 1e-3, "seed {seed}");
        }
        doubtful_won += usize::from(!sound);
        none_sound += usize::from(evaluations.values().all(|(sound, _)| !sound));
        println!("seed {seed}, {chains} chains: best {value:.3}, sound: {sound}, {evaluations:?}");
    }
    assert!(doubtful_won > 0 && none_sound > 0, "{doubtful_won} {none_sound}");
}

/// A tracked value in doubt that an audit in the loop stands in for may decide, but not enter the list of sound models: those are confirmed
/// by one audit at the end, models in doubt by two. What is reported of the winner has random numbers of its own.
#[test]
fn models_in_doubt_stay_so_and_the_winner_is_audited_anew() {
    let text = r#"
        seed = 1
        [data]
        source = { name = "bars-and-stripes", side = 5, rows = 300 }
        validation_fraction = 0.2
        [model]
        hidden = 24
        [training]
        updates = 200
        batch = 50
        learning_rate = 0.05
        [tempering]
        chains = 2
        [evaluation]
        every = 50
        [audit]
        every = 1
        temperatures = 1000
        "#;
    let config = Config::parse(text, &[]).unwrap();
    let split = ztrack::data::SplitOptions { validation_fraction: 0.2, ..Default::default() };
    let splits = load(&config.data.source, &split, Path::new("")).unwrap();
    let mut trainer = Trainer::new(&config, splits, Device::default()).unwrap();
    let mut stood_in = 0;
    while let Some(evaluation) = trainer.next_evaluation().unwrap() {
        assert!(!evaluation.log_z.trust.is_sound(), "two chains are no error bar");
        stood_in += usize::from(evaluation.is_sound());
    }
    assert!(stood_in > 0 && trainer.candidates().is_empty());
    let LastAudits::Best(best) = trainer.last_audits().unwrap() else { panic!("no best model") };
    let chosen = trainer.final_likelihood(&best.candidate.parameters).unwrap().log_z;
    let reported = &best.likelihood.log_z;
    assert!(best.in_doubt && reported.value != chosen.value, "{reported:?} {chosen:?}");
    let error = reported.std_error.hypot(chosen.std_error);
    assert!((reported.value - chosen.value).abs() < 5.0 * error, "{reported:?} {chosen:?}");
}
