//! The tracker of any loop: the same bytes as the trainer's own, its state, what it refuses; training in one call.

use ztrack::Device;
use ztrack::config::Config;
use ztrack::data::{Dataset, Splits, Values};
use ztrack::engine::BitMatrix;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::fit::{Options, fit};
use ztrack::live::{LogZTracker, LogZTrackerBuilder};
use ztrack::model::exact::log_partition;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::record::Run;
use ztrack::training::{StepRecord, Trainer};
use ztrack::{Parameters, Result};

/// Rows of 16 units around two prototypes.
fn rows(count: usize, seed: u64) -> BitMatrix {
    let streams = Streams::new(seed, Purpose::Generator, 1);
    let cells: Vec<Vec<bool>> = (0..count)
        .map(|row| {
            let mut stream = streams.row(row as u32);
            let on = stream.uniform() < 0.5;
            (0..16).map(|i| (on == (i % 3 == 0)) != (stream.uniform() < 0.1)).collect()
        })
        .collect();
    BitMatrix::from_fn(count, 16, |row, i| cells[row][i])
}

/// A run of the trainer whose tracked model is the current one, stepped to at every update.
const RUN: &str = r#"
    seed = 5
    [data]
    source = { name = "files", train = "memory" }
    [model]
    hidden = 16
    [training]
    updates = 120
    batch = 50
    gradient = { kind = "cd" }
    learning_rate = { initial = 0.1 }
    [averaging]
    window = 0.0
    [tempering]
    chains = 100
    every = 1
    settling = { sweeps = 60, most = 240 }
    [evaluation]
    every = 20
    exact = false
    images_every = 0
    [audit]
    every = 0
"#;

/// Leaving out settling at update 0 fails here.
#[test]
fn a_tracker_outside_says_what_the_trainers_own_says_to_the_bit() -> Result<()> {
    says_what_the_trainer_says(&[], |builder| builder.averaging(0.0))
}

/// Steps of the chains are chosen by themselves on both sides, after a two hundredth of the updates: the last of the 440 updates have some
/// without one. A rate of the average that counts from another update fails here.
#[test]
fn a_tracker_of_the_average_says_what_the_trainer_says_of_its_own() -> Result<()> {
    let settings = ["averaging.window=0.1", "tempering.every=\"auto\"", "tempering.share=100.0"];
    let more = ["training.updates=440", "evaluation.every=55"];
    says_what_the_trainer_says(&[settings.as_slice(), &more].concat(), |builder| builder)
}

fn says_what_the_trainer_says(
    settings: &[&str],
    options: impl Fn(LogZTrackerBuilder<'_>) -> LogZTrackerBuilder<'_>,
) -> Result<()> {
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let config = Config::parse(RUN, &settings)?;
    let bits = rows(600, 3);
    let train = Dataset::new("two", Values::Binary(bits.clone()), None, None)?;
    let device = Device::Host;
    let mut trainer =
        Trainer::new(&config, Splits { train, validation: None, test: None }, &device)?;
    let builder = LogZTracker::builder(&bits).hidden(16).seed(5);
    let mut tracker = options(builder.tempering(config.tempering.clone())).build()?;
    let (mut compared, mut inside, mut stepped) = (0, 0, 0);
    while trainer.updates() < trainer.total_updates() {
        let record = match trainer.step()? {
            StepRecord::TrackingStarted(_) => None,
            StepRecord::Updated(record) => record,
            StepRecord::Pretrained => unreachable!("no pre-training was asked for"),
        };
        let evaluated = trainer.evaluation_due(trainer.updates());
        let outside = tracker.update(trainer.current_parameters())?;
        assert_eq!(tracker.parameters(), Some(&trainer.parameters()));
        let measured = |record: Option<ztrack::tracking::TrackRecord>| {
            record.map(|record| (record.measurement.log_z, record.occupancy_error.to_bits()))
        };
        stepped += u64::from(outside.is_some());
        // The trainer knows that an evaluation follows, and steps at once; the tracker hears of it later.
        if !(evaluated && outside.is_none()) {
            assert_eq!(measured(record), measured(outside));
        }
        if evaluated {
            let own = trainer.evaluate(None)?.expect("tracking has started");
            let found = tracker.evaluate()?;
            let both = [&found, &own.log_z].map(|it| (it.value, it.std_error));
            assert_eq!(both[0], both[1], "update {}", trainer.updates());
            assert_eq!(found.trust.names(), own.log_z.trust.names());
            assert_eq!(tracker.log_likelihood(&bits)?, own.train);
            let error = found.value - log_partition(&trainer.parameters())?;
            compared += 1;
            inside += usize::from(error.abs() < 4.0 * found.std_error);
            // Wherever it is saved.
            tracker = LogZTracker::from_bytes(tracker.to_bytes()?)?;
        }
    }
    let averages = config.averaging.window.or(0.1) > 0.0;
    assert_eq!(stepped < trainer.updates(), averages);
    // One beyond four errors would be a rare accident, two are a mistake.
    assert!(compared >= 7 && inside >= compared - 1, "{inside} of {compared}");
    Ok(())
}

/// A model that moves by itself.
fn moving(update: u32) -> Parameters {
    let mut model = gaussian_parameters(16, 8, 0.4, 2);
    model.weights.iter_mut().for_each(|w| *w *= 1.0 + 0.01 * update as f32);
    model
}

#[test]
fn a_saved_tracker_goes_on_to_the_bit_wherever_it_was_saved() -> Result<()> {
    let bits = rows(300, 4);
    for averaging in [0.0, 0.3] {
        let build = || {
            let builder = LogZTracker::builder(&bits).hidden(8).chains(60);
            builder.every(3).averaging(averaging).seed(9).build()
        };
        goes_on_to_the_bit(build()?, build()?)?;
    }
    Ok(())
}

fn goes_on_to_the_bit(mut one: LogZTracker, mut other: LogZTracker) -> Result<()> {
    for update in 0..40 {
        one.update(&moving(update))?;
        other.update(&moving(update))?;
        if update % 7 == 0 {
            assert_eq!(one.evaluate()?, other.evaluate()?);
        }
        let bytes = other.to_bytes()?;
        other = LogZTracker::from_bytes(bytes.clone())?;
        assert_eq!(other.to_bytes()?, bytes);
    }
    one.set_particles(&rows(10, 1))?;
    other.set_particles(&rows(10, 1))?;
    assert_eq!(one.evaluate()?, other.evaluate()?);
    assert_eq!(one.samples()?.visible, other.samples()?.visible);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tracker.state");
    one.save(&path)?;
    assert_eq!(LogZTracker::load(&path)?.evaluate()?, one.evaluate()?);
    Ok(())
}

#[test]
fn marginals_alone_do_and_weights_are_those_of_the_model() -> Result<()> {
    let model = gaussian_parameters(10, 6, 0.8, 3);
    let mut tracker = LogZTracker::builder(&[0.5; 10][..])
        .hidden(6)
        .chains(2000)
        .averaging(0.0)
        .seed(2)
        .build()?;
    for _ in 0..30 {
        tracker.update(&model)?;
    }
    let found = tracker.evaluate()?;
    let exact = log_partition(&model)?;
    assert!((found.value - exact).abs() < 4.0 * found.std_error, "{found:?} {exact}");
    let moments = ztrack::model::exact::moments(&model)?;
    let negative = tracker.negative_phase()?;
    // About 2000/20 chains count at beta = 1, half a unit's deviation each: 0.05; four of these.
    for (found, exact) in negative.visible.iter().zip(&moments.visible) {
        assert!((found - exact).abs() < 0.2, "{found} {exact}");
    }
    let weights = tracker.samples()?.weights;
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    Ok(())
}

/// Chains that follow the model are compared after 60 sweeps. Those of a model that moves further than they can follow have to come from
/// beta = 0 before, here in hundreds of sweeps: after a few they can look independent by chance.
#[test]
fn an_evaluation_of_a_model_that_moves_far_takes_many_sweeps() -> Result<()> {
    let sweeps = |step: f32| -> Result<f64> {
        let rows = rows(100, 1);
        let builder = LogZTracker::builder(&rows).hidden(8).seed(1).averaging(0.0);
        let mut tracker = builder.temperatures(80).build()?;
        let mut model = gaussian_parameters(rows.columns(), 8, 0.3, 1);
        let direction = gaussian_parameters(rows.columns(), 8, 1.0, 2);
        for update in 0..40 {
            let by = if update % 2 == 0 { step } else { -step };
            model.weights.iter_mut().zip(&direction.weights).for_each(|(w, d)| *w += by * d);
            tracker.update(&model)?;
        }
        tracker.evaluate()?;
        Ok(tracker.diagnostics().settling_sweeps.unwrap())
    };
    let (slow, fast) = (sweeps(0.001)?, sweeps(0.6)?);
    assert!(slow < 200.0 && fast >= 300.0, "{slow} {fast}");
    Ok(())
}

#[test]
fn what_cannot_be_tracked_is_refused_and_changes_nothing() -> Result<()> {
    let bits = rows(100, 4);
    let message = |result: Result<LogZTracker>| match result {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    };
    for (builder, expected) in [
        (LogZTracker::builder(&bits), "`hidden` of a tracker must be between 1"),
        (LogZTracker::builder(&bits).hidden(4).chains(1), "`chains`"),
        (LogZTracker::builder(&bits).hidden(4).temperatures(1), "`temperatures`"),
        (LogZTracker::builder(&bits).hidden(4).every(0), "`every`"),
        (LogZTracker::builder(&bits).hidden(4).averaging(1.5), "`averaging`"),
        (LogZTracker::builder(&bits).hidden(4).averaging(f64::NAN), "`averaging`"),
        (LogZTracker::builder(&BitMatrix::zeros(0, 3)).hidden(4), "no data"),
        (LogZTracker::builder(&[0.2, 1.5][..]).hidden(4), "marginal 1 is 1.5"),
    ] {
        let found = message(builder.build());
        assert!(found.contains(expected), "{found}");
    }
    let mut tracker = LogZTracker::builder(&bits).hidden(8).chains(20).build()?;
    assert!(tracker.evaluate().unwrap_err().to_string().contains("call `update` first"));
    tracker.update(&moving(0))?;
    let before = tracker.to_bytes()?;
    let mut diverged = moving(1);
    diverged.weights[3] = f32::NAN;
    for (model, expected) in [
        (diverged, "diverged"),
        (gaussian_parameters(16, 7, 0.1, 1), "16 visible and 8 hidden units, got"),
    ] {
        let found = tracker.update(&model).unwrap_err().to_string();
        assert!(found.contains(expected), "{found}");
    }
    assert!(tracker.log_likelihood(&BitMatrix::zeros(2, 3)).is_err());
    assert!(tracker.set_particles(&BitMatrix::zeros(2, 3)).is_err());
    assert_eq!(tracker.to_bytes()?, before);
    assert!(LogZTracker::from_bytes(b"not a state".to_vec()).is_err());
    let mut damaged = before;
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert!(LogZTracker::from_bytes(damaged).is_err());
    Ok(())
}

/// Averages are of what was handed in, and nobody takes their moments for those of a gradient.
#[test]
fn the_average_is_that_of_the_parameters() -> Result<()> {
    let bits = rows(100, 4);
    let mut tracker = LogZTracker::builder(&bits).hidden(8).chains(20).averaging(1.0).build()?;
    assert!(tracker.parameters().is_none());
    let mut sum = Parameters::zeros(16, 8);
    for update in 0..20 {
        tracker.update(&moving(update))?;
        if update > 0 {
            let weights = moving(update).weights;
            sum.weights.iter_mut().zip(&weights).for_each(|(sum, w)| *sum += w / 19.0);
        }
    }
    let found = tracker.parameters().expect("there were updates");
    for (found, mean) in found.weights.iter().zip(&sum.weights) {
        assert!((found - mean).abs() < 1e-5, "{found} {mean}");
    }
    let exact = log_partition(&tracker.parameters().expect("the same").clone())?;
    let found = tracker.evaluate()?;
    assert!((found.value - exact).abs() < 4.0 * found.std_error);
    let refused = tracker.negative_phase().unwrap_err().to_string();
    assert!(refused.contains("with `averaging` 0"), "{refused}");
    Ok(())
}

/// Parameters times 1e12 are refused; as large as any that are not, log f jumps by more nats than an exponential holds, and the state
/// can be kept nevertheless.
#[test]
fn a_burst_of_parameters_leaves_a_tracker_that_can_be_saved() -> Result<()> {
    let (bits, times) = (rows(100, 4), |factor: f32| {
        let mut model = moving(0);
        model.weights.iter_mut().for_each(|w| *w *= factor);
        model
    });
    for averaging in [0.0, 0.1] {
        let builder = LogZTracker::builder(&bits).hidden(8).chains(50).averaging(averaging);
        let mut tracker = builder.build()?;
        tracker.update(&moving(0))?;
        let before = tracker.to_bytes()?;
        for factor in [1e12, 1e30] {
            let refused = tracker.update(&times(factor)).unwrap_err().to_string();
            assert!(refused.contains("training has diverged"), "{refused}");
        }
        assert_eq!(tracker.to_bytes()?, before);
        let largest = moving(0).weights.iter().fold(0.0f32, |largest, w| largest.max(w.abs()));
        for factor in [900.0 / largest, 1.0] {
            tracker.update(&times(factor))?;
            tracker.evaluate()?;
            let same = LogZTracker::from_bytes(tracker.to_bytes()?)?;
            assert_eq!(same.to_bytes()?, tracker.to_bytes()?);
        }
    }
    Ok(())
}

/// Whoever builds a tracker has options, and no configuration.
#[test]
fn doubts_name_the_options_of_the_builder() -> Result<()> {
    let rows = rows(100, 4);
    let mut tracker = LogZTracker::builder(&rows).hidden(8).chains(2).settling(0, 0).build()?;
    tracker.update(&moving(0))?;
    let text = tracker.evaluate()?.trust.to_string();
    assert!(text.contains("raise `chains`") && !text.contains("tempering."), "{text}");
    Ok(())
}

#[test]
fn an_array_is_trained_on_in_one_call() -> Result<()> {
    let options = Options { hidden: 6, epochs: 100, seed: 1, ..Options::default() };
    let bits = rows(500, 1);
    let found = fit(&bits, options.clone())?;
    let exact = log_partition(&found.parameters)?;
    assert!((found.log_z.value - exact).abs() < 1e-6);
    // Independent units of these rows have an entropy near 16 log 2 = 11.1; two prototypes with a tenth of the cells
    // flipped have log 2 + 16 x 0.325 = 5.9.
    assert!((-7.5..-5.0).contains(&found.train.value), "{}", found.train.value);
    assert!(found.validation.is_some() && found.update > 0);
    assert!(found.curves.series(Run::Train, "log_likelihood").len() >= 20);
    let again = fit(&bits, options.clone())?;
    assert_eq!(again.parameters, found.parameters);
    let bad = fit(&bits, Options { epochs: 0, ..options.clone() });
    assert!(bad.unwrap_err().to_string().contains("`epochs`"));
    let bad = fit(&bits, Options { hidden: 0, ..options.clone() }).unwrap_err().to_string();
    assert!(bad.starts_with("`hidden`: "), "{bad}");
    let rate = Options { settings: vec!["model.hidden=0".into()], ..options.clone() };
    assert!(fit(&bits, rate).unwrap_err().to_string().contains("model.hidden"));
    let bad = fit(&bits, Options { settings: vec!["model.hiden=3".into()], ..options });
    assert!(bad.unwrap_err().to_string().contains("hiden"));
    Ok(())
}
