//! MBAR equals pymbar on the same samples to 1e-6 at every temperature, also at one that no sample was drawn at.
//!
//! Deliberately broken version that was tried and fails: n_k all equal.

use ndarray::{Array1, ArrayView2};
use ndarray_npy::write_npy;
use ztrack::engine::Host;
use ztrack::estimators::Rts;
use ztrack::estimators::tempered::{KeptStates, Mbar};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::numerics::Table;
use ztrack::tempering::{BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior};

use crate::python;

const K: usize = 12;

#[test]
fn mbar_equals_pymbar() {
    let Some(python) = python::environment("pymbar") else { return };
    let settings = Rts {
        chains: 50,
        sweeps: 40,
        ladder: Ladder::linear(K, &Prior::Exponential(1.0)).unwrap(),
        beta_update: BetaUpdate::Collapsed,
        initial_rounds: InitialRounds::default(),
        seed: 3,
    };
    let engine = Host::new(&gaussian_parameters(16, 8, 0.8, 3));
    let run = settings.sample_and_keep(&engine, &BaseDistribution::uniform(16)).unwrap();
    check(&python, &run.states, 50, &run.counted.zeta);
    let mut fewer = KeptStates::default();
    for (row, &at) in run.states.log_f.rows().zip(&run.states.generated_at) {
        if at != 4 {
            fewer.log_f.extend(&Table::from_numbers(K, row.to_vec()));
            fewer.generated_at.push(at);
        }
    }
    check(&python, &fewer, 50, &run.counted.zeta);
}

fn check(python: &std::path::Path, states: &KeptStates, chains: usize, guess: &[f64]) {
    let ours = Mbar::solve(states, chains, guess).unwrap();
    assert!(ours.converged && ours.std_error.is_finite());
    let rows = states.generated_at.len();
    let mut counts = Array1::<i64>::zeros(K);
    states.generated_at.iter().for_each(|&k| counts[k as usize] += 1);
    let folder = tempfile::tempdir().unwrap();
    let [log_f, counts_file] = ["log_f.npy", "counts.npy"].map(|name| folder.path().join(name));
    write_npy(&log_f, &ArrayView2::from_shape((rows, K), states.log_f.as_slice()).unwrap())
        .unwrap();
    write_npy(&counts_file, &counts).unwrap();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pymbar_reference.py");
    let arguments = [script.as_ref(), log_f.as_ref(), counts_file.as_ref()];
    let printed = python::run(python, &arguments).unwrap();
    let theirs: Vec<f64> = serde_json::from_slice(&printed).unwrap();
    assert_eq!(theirs.len(), K);
    for (k, (ours, theirs)) in ours.log_z.iter().zip(&theirs).enumerate() {
        println!("{k}: {ours} {theirs}");
        assert!((ours - theirs).abs() < 1e-6, "temperature {k}: {ours} against {theirs}");
    }
}
