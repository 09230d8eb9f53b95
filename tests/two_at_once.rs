//! Two trainings at once in one process: each has its own progress, and one is ended without the other.

use std::collections::BTreeSet;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use ztrack::fit::fit_recording;
use ztrack::record::Memory;
use ztrack::{Context, Error, Fit, Options, Result};

const LIMIT: Duration = Duration::from_secs(100);

/// With up to 20 hidden units log Z is enumerated too, with more only annealed.
fn training(hidden: usize, epochs: u64, temperatures: usize, context: &Context) -> Result<Fit> {
    let rows: Vec<[u8; 24]> =
        (0..400).map(|row| std::array::from_fn(|i| (row * 7 / (i + 1) % 2) as u8)).collect();
    let options = Options { hidden, epochs, evaluations: epochs / 10, ..Options::default() };
    let temperatures = format!("audit.temperatures={temperatures}");
    let settings =
        vec!["training.early_stopping=false".into(), "audit.every=1".into(), temperatures];
    fit_recording(&rows, Options { settings, ..options }, &mut Memory::default(), context)
}

#[test]
fn each_has_its_own_progress_and_its_own_end() {
    let alone = training(18, 40, 600, &Context::default()).unwrap();
    let [small, large] = [Context::default(), Context::default()];
    let [of_small, of_large] = [small.watch(), large.watch()];
    let [mut of_small_seen, mut of_large_seen] = [BTreeSet::new(), BTreeSet::new()];
    scope(|scope| {
        let first = scope.spawn(|| training(18, 40, 600, &small));
        // It would be at work for hours.
        let second = scope.spawn(|| training(24, 10_000_000, 800, &large));
        // The limit ends a test that would never see what it waits for.
        let start = Instant::now();
        while (!first.is_finished() || of_large_seen.len() < 2) && start.elapsed() < LIMIT {
            of_small_seen.extend(of_small.now().map(|stage| (stage.what, stage.of)));
            of_large_seen.extend(of_large.now().map(|stage| (stage.what, stage.of)));
            assert!(!second.is_finished());
            sleep(Duration::from_millis(1));
        }
        large.cancel();
        assert!(matches!(second.join().unwrap(), Err(Error::Interrupted)));
        let first = first.join().unwrap().unwrap();
        assert_eq!(first.parameters, alone.parameters);
        assert_eq!(first.log_z.value, alone.log_z.value);
    });
    assert!(large.is_cancelled() && !small.is_cancelled());
    let lengths = |seen: &BTreeSet<(&str, usize)>, what: &str| -> BTreeSet<usize> {
        seen.iter().filter(|stage| stage.0 == what).map(|stage| stage.1).collect()
    };
    let [small, large] = [&of_small_seen, &of_large_seen].map(|seen| lengths(seen, "annealing up"));
    assert!(!small.is_empty() && !large.is_empty() && small.is_disjoint(&large));
    let [small, large] =
        [&of_small_seen, &of_large_seen].map(|seen| lengths(seen, "enumerated states"));
    assert!(!small.is_empty() && large.is_empty(), "{small:?} {large:?}");
}
