//! Computations that are cancelled at any place where they can be left.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::Context;
use crate::collective::on_ranks;
use crate::config::Config;
use crate::data::{Dataset, Splits, Values};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::estimators::{Asked, EstimateSettings, Starting};
use crate::live::LogZTracker;
use crate::model::test_systems::gaussian_parameters;
use crate::record::{Memory, Run};
use crate::training::{NoCheckpoints, StopReason, Trainer, run};

impl Context {
    /// Is cancelled when so many questions have been asked.
    fn cancelled_after(self, questions: usize) -> Self {
        self.end.asked[1].store(questions, Ordering::Relaxed);
        self
    }

    pub(super) fn count(&self) {
        let [asked, last] = &self.end.asked;
        if asked.fetch_add(1, Ordering::Relaxed) + 1 == last.load(Ordering::Relaxed) {
            self.cancel();
        }
    }
}

#[test]
fn only_interruptible_work_is_left_and_only_when_it_was_cancelled() {
    let context = Context::default();
    let done = AtomicUsize::new(0);
    let work = || {
        (0..64).into_par_iter().for_each(|_| {
            done.fetch_add(usize::from(!context.is_interrupted()), Ordering::Relaxed);
        });
        Ok(done.swap(0, Ordering::Relaxed))
    };
    assert!(matches!(context.interruptible(work), Ok(64)));
    context.cancel();
    assert!(matches!(work(), Ok(64)));
    assert!(matches!(context.interruptible(work), Err(Error::Interrupted)));
    assert!(context.check().is_ok(), "the end was told once");
    // Whoever is around work that was left is told too, whatever is made of the error in between.
    let around = context.interruptible(|| Ok(context.interruptible(work).unwrap_or(7)));
    assert!(matches!(around, Err(Error::Interrupted)));
    let error = context.interruptible(|| {
        context.is_interrupted();
        Err::<(), _>(Error::Invalid("what follows from meaningless values".into()))
    });
    assert!(matches!(error, Err(Error::Interrupted)));
}

/// The numbers of questions after which it is cancelled: few, and then more and more.
fn ends(of: impl Fn(usize) -> bool) -> usize {
    let ends = (1..).scan(1usize, |at, _| {
        *at += 1 + *at / 2;
        Some(*at)
    });
    ends.take_while(|&at| of(at)).count()
}

#[test]
fn estimates_end_at_any_place() {
    let parameters = gaussian_parameters(20, 24, 0.8, 1);
    let rows = BitMatrix::from_fn(100, 20, |row, i| (row * i) % 3 == 0);
    let estimate = |context: Context, methods: &[&str]| {
        let methods = methods.iter().map(|name| name.parse::<Asked>().unwrap()).collect();
        let settings =
            EstimateSettings { methods, sweeps: 20, budget: 0.2, context, ..Default::default() };
        let start = Starting { rows: Some(&rows), ..Starting::default() };
        let found = settings.run(&parameters, start, &mut |_| {})?;
        Ok(found.estimates.iter().map(|it| it.value).collect::<Vec<_>>())
    };
    for methods in [&["all"][..], &["auto"], &["exact"]] {
        let whole = estimate(Context::default(), methods).unwrap();
        let early = ends(|at| match estimate(Context::default().cancelled_after(at), methods) {
            Err(Error::Interrupted) => true,
            found => {
                let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&found.unwrap()), bits(&whole));
                false
            }
        });
        assert!(early > 5, "{methods:?}: {early}");
    }
}

/// Loops of any length are left, and not gone through without work.
#[test]
fn long_loops_are_left_soon() {
    let parameters = gaussian_parameters(20, 24, 0.8, 1);
    for method in
        ["rts", "mbar", "ti-rb", "mixed", "sams", "wang-landau", "ais", "sandwich", "auto"]
    {
        for at in [40, 400] {
            let context = Context::default().cancelled_after(at);
            let settings = EstimateSettings {
                methods: vec![method.parse().unwrap()],
                sweeps: 100_000,
                temperatures: Some(if ["ais", "sandwich"].contains(&method) {
                    100_000
                } else {
                    10
                }),
                enumerates: false,
                context: context.clone(),
                ..Default::default()
            };
            let found = settings.run(&parameters, Starting::default(), &mut |_| {});
            assert!(matches!(found, Err(Error::Interrupted)), "{method} {at}");
            let asked = context.end.asked[0].load(Ordering::Relaxed);
            assert!(asked < at + 2000, "{method} {at}: {asked} questions");
        }
    }
}

#[test]
fn trackers_end_at_any_place() {
    let rows = BitMatrix::from_fn(100, 20, |row, i| (row * i) % 3 == 0);
    let track = |context: Context| -> Result<f64> {
        let builder = LogZTracker::builder(&rows).hidden(10).chains(20).within(context);
        let mut tracker = builder.every(1).build()?;
        // Steps that are too large for the chains.
        for update in 0..20 {
            tracker.update(&gaussian_parameters(20, 10, 0.2 * f64::from(update), 1))?;
        }
        Ok(tracker.evaluate()?.value)
    };
    let whole = track(Context::default()).unwrap();
    let early = ends(|at| match track(Context::default().cancelled_after(at)) {
        Err(Error::Interrupted) => true,
        found => {
            assert_eq!(found.unwrap().to_bits(), whole.to_bits());
            false
        }
    });
    assert!(early > 10, "{early}");
}

const CONFIG: &str = r#"
    seed = 3
    data = { source = "bars-and-stripes", validation_fraction = 0.0, test_fraction = 0.0 }
    model = { hidden = 14, start = "exact" }
    evaluation = { every = 4, exact = false }
    audit = { every = 1, chains = 20, temperatures = 20 }
    tempering = { chains = 20, temperatures = 6 }
    [training]
    updates = 8
    batch = 16
    gradient = { kind = "pcd", particles = 30 }
    learning_rate = { initial = 0.3 }
"#;

/// What the evaluations of a run say, and why it ended.
fn trained(context: &Context) -> Result<(Vec<(u64, f64)>, StopReason)> {
    let config = Config::parse(CONFIG, &[])?;
    let rows = BitMatrix::from_fn(60, 16, |row, unit| (row * 31 + unit * unit) % 7 < 2);
    let train = Dataset::new("rows", Values::Binary(rows), None, None)?;
    let mut trainer =
        Trainer::new(&config, Splits { train, validation: None, test: None }, context)?;
    let mut memory = Memory::default();
    let reason = run(&mut trainer, &mut memory, &mut NoCheckpoints)?.reason;
    trainer.last_audits().map(|_| ()).or_else(|error| match error {
        Error::Interrupted => Ok(()),
        error => Err(error),
    })?;
    Ok((memory.series(Run::Tracker, "log_z"), reason))
}

/// A run that is ended anywhere has recorded nothing but what the whole run has; ranks end together, whichever of them was cancelled.
#[test]
fn trainings_end_at_any_place() {
    let (whole, reason) = trained(&Context::default()).unwrap();
    assert!(reason == StopReason::Finished && whole.len() == 3, "{whole:?}");
    let is_early = |(values, reason): &(Vec<(u64, f64)>, StopReason)| {
        assert_eq!(values[..], whole[..values.len()]);
        *reason == StopReason::Interrupted
    };
    let early = ends(|at| is_early(&trained(&Context::default().cancelled_after(at)).unwrap()));
    assert!(early > 10, "{early}");
    for at in [1, 3, 30, 300, 3000] {
        let found = on_ranks(3, |context| {
            let cancelled = context.ranks().rank() == at % 3;
            trained(&if cancelled { context.cancelled_after(at) } else { context }).unwrap()
        });
        let ends = found.iter().map(is_early).collect::<Vec<_>>();
        assert!(ends.iter().all(|end| *end == ends[0]) && (ends[0] || at > 300), "{at}: {ends:?}");
        assert!(found.iter().all(|it| it.0.len() == found[0].0.len()));
    }
}

/// On a device of Burn every rank does all of the work, and the others would wait for one that leaves it.
#[cfg(feature = "burn")]
#[test]
fn ranks_that_do_the_same_end_together() {
    let device = || crate::context::Device::from(burn::tensor::Device::default());
    let whole = trained(&Context::from(device())).unwrap();
    for at in [1, 30] {
        let found = on_ranks(2, |context| {
            let context = context.on(device());
            let cancelled = context.ranks().rank() == 1;
            trained(&if cancelled { context.cancelled_after(at) } else { context }).unwrap()
        });
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0].0[..], whole.0[..found[0].0.len()]);
        assert_eq!(found[0].1, StopReason::Interrupted);
    }
}
