//! Ranks that are threads: the same bytes for any number of them.

mod threads;

use std::path::Path;

pub(crate) use threads::on_ranks;

use super::{broadcast_bytes, gather_one};
use crate::checkpoint::StateWriter;
use crate::config::Config;
use crate::context::{Context, Parts};
use crate::data::{SplitOptions, load};
use crate::engine::{BitMatrix, Host};
use crate::estimators::Ais;
use crate::model::Parameters;
use crate::model::test_systems::gaussian_parameters;
use crate::record::{Memory, Run};
use crate::tempering::{
    BaseDistribution, GeometricPath, Ladder, Prior, TemperedChains, TemperedPath,
};
use crate::training::{NoCheckpoints, Trainer, run};

#[test]
fn every_row_belongs_to_one_rank_and_tasks_stay_whole() {
    for size in 1..7 {
        let parts = on_ranks(size, |context| {
            let found = [(0, 50), (1, 50), (49, 50), (101, 50), (2000, 250)].map(|(rows, task)| {
                let parts = Parts::new(&context, rows, task);
                assert!(parts.own().start.is_multiple_of(task) || parts.own().start == rows);
                (rows, parts.own())
            });
            found.to_vec()
        });
        for case in 0..parts[0].len() {
            let mut next = 0;
            for rank in &parts {
                assert_eq!(rank[case].1.start, next);
                next = rank[case].1.end;
            }
            assert_eq!(next, parts[0][case].0);
        }
    }
}

#[test]
fn everybody_gets_what_others_have() {
    let got = on_ranks(3, |context| {
        let (ranks, rank) = (context.ranks(), context.ranks().rank());
        let parts = Parts::new(&context, 7, 2);
        let mut numbers = vec![f64::NAN; 14];
        parts.of(&mut numbers, 2).fill(rank as f64);
        parts.gather([parts.rows(&mut numbers[..], 2)]);
        let bytes = if rank == 0 { vec![1, 2, 3] } else { Vec::new() };
        let any = ranks.any(rank == 2);
        (numbers, gather_one(ranks, rank as u64), broadcast_bytes(ranks, bytes), any)
    });
    let numbers = [vec![0.0; 4], vec![1.0; 4], vec![2.0; 6]].concat();
    for one in got {
        assert_eq!(one, (numbers.clone(), vec![0, 1, 2], vec![1, 2, 3], true));
    }
}

const CONFIG: &str = r#"
    seed = 3
    [data]
    source = { name = "bars-and-stripes", side = 5, rows = 700, noise = 0.05 }
    validation_fraction = 0.2
    [model]
    hidden = 24
    [training]
    updates = 12
    batch = 16
    gradient = { kind = "pcd", particles = 130 }
    learning_rate = { initial = 0.05 }
    [tempering]
    chains = 600
    temperatures = 6
    sweeps = 1
    [evaluation]
    every = 4
    exact = false
    [audit]
    every = 2
    chains = 120
    temperatures = 20
"#;

/// What a run ends with: parameters, those of the next gradient, chains, tracker; log Z and log-likelihoods of evaluations.
type Trained = (Parameters, Parameters, TemperedChains, Vec<u8>, Vec<(u64, f64)>);

fn trained(settings: &[&str], context: &Context) -> Trained {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let config = Config::parse(CONFIG, &settings).unwrap();
    let options = SplitOptions { validation_fraction: 0.2, ..SplitOptions::default() };
    let splits = load(&config.data.source, &options, Path::new("")).unwrap();
    let mut trainer = Trainer::new(&config, splits, context).unwrap();
    let mut memory = Memory::default();
    run(&mut trainer, &mut memory, &mut NoCheckpoints).unwrap();
    let tracker = trainer.tracker().unwrap();
    let mut values = memory.series(Run::Tracker, "log_z");
    values.extend(memory.series(Run::Tracker, "ais_log_z"));
    values.extend(memory.series(Run::Train, "log_likelihood"));
    values.extend(memory.series(Run::Validation, "log_likelihood"));
    assert!(values.len() >= 12, "{values:?}");
    let current = trainer.current_parameters().clone();
    let mut state = StateWriter::new();
    tracker.write("", &mut state);
    let state = state.to_bytes().unwrap();
    (trainer.parameters(), current, tracker.chains.clone(), state, values)
}

/// Kalman filter with averaging and weights, the same with the joint update and both kinds of moments, and the alpha filter with
/// one set of chains for gradient and tracker. Seven ranks have fewer tasks than ranks.
#[test]
fn runs_have_the_same_bytes_on_any_number_of_ranks() {
    for settings in [
        &["training.centering=true", "training.exchange=true"][..],
        &["tempering.beta_update={ joint = 2 }", "training.gradient={ kind = \"cd\", sweeps = 2 }"],
        &["training.gradient={ kind = \"tempered\" }", "training.update={ rule = \"adam\" }"],
        &[
            "training.gradient={ kind = \"tempered\" }",
            "averaging.window=0",
            "tempering.smoothing={ alpha = 0.2 }",
        ],
    ] {
        let alone = trained(settings, Context::none());
        for size in [3, 7] {
            let found = on_ranks(size, |context| trained(settings, &context));
            for (rank, found) in found.into_iter().enumerate() {
                assert_eq!(found.4, alone.4, "{settings:?}: values of rank {rank} of {size}");
                assert!(found == alone, "{settings:?}: state of rank {rank} of {size}");
            }
        }
    }
}

#[test]
fn annealing_has_the_same_bytes_on_any_number_of_ranks() {
    let parameters = gaussian_parameters(30, 12, 0.5, 1);
    let base = BaseDistribution::uniform(30);
    let found = |context: Context| {
        let ladder = Ladder::linear(30, &Prior::Uniform).unwrap();
        let engine = Host::new(&parameters).within(context);
        let log_z = Ais { chains: 230, ladder, seed: 4 }.run(&engine, &base).unwrap();
        let ladder = Ladder::linear(5, &Prior::Uniform).unwrap();
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let visible = BitMatrix::from_fn(230, 30, |i, j| (i * j + i) % 3 == 0);
        let slopes = path.slopes(&visible);
        (log_z.value.to_bits(), log_z.std_error.to_bits(), slopes.mean, slopes.variance)
    };
    let alone = found(Context::default());
    for size in [2, 5] {
        assert!(on_ranks(size, found).iter().all(|other| *other == alone), "{size}");
    }
}
