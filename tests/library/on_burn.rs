//! The engine on Burn's devices beside the host: the same numbers where nothing is drawn, the same distributions where something is, live
//! log Z of small models against enumeration, and the same bytes when a run on one device is resumed.

use burn::tensor::Device as BurnDevice;
use ztrack::checkpoint::{StateReader, StateWriter};
use ztrack::data::load;
use ztrack::engine::{
    Base, BetaGrid, BitMatrix, Engine, Host, Layer, OnBurn, Route, States, SweepStreams, padded,
};
use ztrack::estimators::{EstimateSettings, Starting};
use ztrack::model::Parameters;
use ztrack::model::exact::{log_partition, moments};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::mixture::MixtureBase;
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Keep, Ladder, MixturePath, Prior,
    TemperedPath, anneal,
};
use ztrack::tracking::{Model, ModelTracker, Parts, Settling, Smoothing, Start, TrackerOptions};
use ztrack::training::Changes;
use ztrack::units::Variables;
use ztrack::{Config, Device, LogZTracker, Trainer};

use crate::common;

/// Kinds of visible variables of 12 columns.
const KINDS: [&str; 6] =
    ["12*1+", "plus-minus", "3*4", "2*3+,6*1+", "2*1+,2*real,4,real(3;2)", "6*real"];

#[allow(deprecated)] // burn-ndarray is the default backend; see Cargo.toml
fn devices() -> Vec<(&'static str, BurnDevice)> {
    vec![
        ("burn-ndarray", BurnDevice::ndarray()),
        #[cfg(feature = "flex")]
        ("burn-flex", BurnDevice::flex()),
        #[cfg(feature = "vulkan")]
        ("vulkan", BurnDevice::vulkan(burn::tensor::DeviceKind::DefaultDevice)),
        #[cfg(feature = "cuda")]
        ("cuda", BurnDevice::cuda(0)),
    ]
}

fn model(kind: &str) -> Parameters {
    let variables: Variables = kind.parse().unwrap();
    let mut model = gaussian_parameters(12, 7, 0.6, 3);
    for (first, _) in variables.reals() {
        model.visible_bias[first + 1] = -0.6 - 0.1 * first as f32;
        model.weights[(first + 1) * 7..][..7].fill(0.0);
    }
    model.of(variables).unwrap()
}

fn product(parameters: &Parameters, shift: f32) -> BaseDistribution {
    let logits: Vec<f32> = (0..12).map(|i| shift + 0.1 * i as f32 - 0.5).collect();
    BaseDistribution::from_logits(&logits).unwrap().of(&parameters.variables)
}

fn ladder() -> Ladder {
    Ladder::linear(6, &Prior::Uniform).unwrap()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let error = (a - b).abs() / b.abs().max(1.0);
        assert!(error < tolerance, "{what}, {i}: {a} instead of {b}");
    }
}

/// What is not random agrees with the host to the precision of f32 sums: pre-activations, log f at all temperatures from both kinds of
/// base, its slopes, moments.
#[test]
fn numbers_are_those_of_the_host() {
    for (device, kind) in devices().iter().flat_map(|d| KINDS.map(|kind| (d, kind))) {
        let parameters = model(kind);
        let (host, burn) = (Host::new(&parameters), OnBurn::new(&parameters, &device.1));
        let base = product(&parameters, 0.0);
        let mixture =
            MixtureBase::new(vec![base.clone(), product(&parameters, 0.7)], &[0.3, 0.7]).unwrap();
        let visible = base.sample(40, 5, 0);
        let hidden = BitMatrix::from_fn(40, 7, |row, j| (row * 5 + j * 3) % 4 == 0);
        let case = format!("{}, {kind}", device.0);
        for (layer, given) in [(Layer::Hidden, &visible), (Layer::Visible, &hidden)] {
            let wide = |e: &dyn Engine| -> Vec<f64> {
                e.inputs(layer, given).to_rows().into_iter().map(f64::from).collect()
            };
            close(&wide(&burn), &wide(&host), 1e-5, &case);
        }
        close(&burn.log_f(&visible), &host.log_f(&visible), 1e-5, &case);
        let weights: Vec<f64> = (0..40).map(|s| f64::from(s) / 780.0).collect();
        for weights in [None, Some(&weights[..])] {
            let [a, b] = [&burn as &dyn Engine, &host].map(|e| e.moments(&visible, weights));
            close(&a.visible, &b.visible, 1e-6, &case);
            close(&a.hidden, &b.hidden, 1e-6, &case);
            let wide = |m: &[f32]| m.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
            close(&wide(&a.products.to_rows()), &wide(&b.products.to_rows()), 1e-6, &case);
        }
        let ladder = ladder();
        let of = |engine: &dyn Engine, mixed: bool| {
            let (product, mixture) = (
                GeometricPath { engine, ladder: &ladder, base: &base },
                MixturePath { engine, ladder: &ladder, base: &mixture },
            );
            let path: &dyn TemperedPath = if mixed { &mixture } else { &product };
            let slopes = path.slopes(&visible);
            [
                path.evaluate(&visible).log_f.as_slice().to_vec(),
                path.evaluate_at(&visible, &[1, 4]).log_f.as_slice().to_vec(),
                slopes.mean.as_slice().to_vec(),
                slopes.variance.as_slice().to_vec(),
            ]
        };
        for mixed in [false, true] {
            for (a, b) in of(&burn, mixed).iter().zip(of(&host, mixed)) {
                close(a, &b, 3e-5, &case);
            }
        }
    }
}

/// The sums of hundreds of units, in f32 on a device, are those of the host to some roundings of their size.
#[test]
fn sums_of_many_units_keep_their_precision() {
    let parameters = gaussian_parameters(784, 500, 0.3, 1);
    let visible = BaseDistribution::uniform(784).sample(20, 1, 0);
    let exact = Host::new(&parameters).log_f(&visible);
    for (name, device) in devices() {
        let found = OnBurn::new(&parameters, &device).log_f(&visible);
        for (a, b) in found.iter().zip(&exact) {
            assert!((a - b).abs() < 1e-6 * b.abs(), "{name}: {a} instead of {b}");
        }
    }
}

/// Annealing weights average to Z_K/Z_1 for every kind of variable, from a product and from a mixture: its sweeps leave every temperature
/// invariant.
#[test]
fn annealing_finds_log_z() {
    for (device, kind) in devices().iter().flat_map(|d| KINDS.map(|kind| (d, kind))) {
        let parameters = model(kind);
        let (exact, burn) =
            (log_partition(&parameters).unwrap(), OnBurn::new(&parameters, &device.1));
        // Bases of real columns have other variances than the model.
        let (temperatures, most) =
            if parameters.variables.has_reals() { (160, 0.15) } else { (40, 0.05) };
        let ladder = Ladder::linear(temperatures, &Prior::Uniform).unwrap();
        let base = product(&parameters, 0.0);
        let mixture =
            MixtureBase::new(vec![base.clone(), product(&parameters, 0.7)], &[0.3, 0.7]).unwrap();
        let product = GeometricPath { engine: &burn, ladder: &ladder, base: &base };
        let mixed = MixturePath { engine: &burn, ladder: &ladder, base: &mixture };
        for path in [&product as &dyn TemperedPath, &mixed] {
            let annealed = anneal(path, 400, 3, 0, Keep::Last);
            let weight = annealed.mean_weight(0);
            let z = (path.log_z_base() + weight.log_mean - exact) / weight.std_error;
            // 12 or more z-scores.
            assert!(z.abs() < 4.0, "{}, {kind}: {z:.1} errors off", device.0);
            assert!(weight.std_error < most, "{kind}: {}", weight.std_error);
        }
    }
}

/// Gibbs chains reach the model's means within 5 standard errors of independent chains.
#[test]
fn gibbs_chains_have_the_means_of_the_model() {
    for (device, kind) in devices().iter().flat_map(|d| KINDS.map(|kind| (d, kind))) {
        let parameters = model(kind);
        let burn = OnBurn::new(&parameters, &device.1);
        let exact = moments(&parameters).unwrap().visible;
        let n = 4000;
        let mut chains = product(&parameters, 0.0).sample(n, 7, 0);
        burn.gibbs(&mut chains, 30, 9, 0);
        parameters.variables.check(&chains, "chains").unwrap();
        let found = Host::new(&parameters).moments(&chains, None).visible;
        // Var v^2 of a mixture of normals with means below 4 is below 4 E v^2 (4 + variance).
        let reals: Vec<usize> = parameters.variables.reals().map(|(first, _)| first).collect();
        for (i, (found, p)) in found.iter().zip(&exact).enumerate() {
            let variance = match i {
                _ if reals.contains(&i) => exact[i + 1] - p * p,
                _ if i > 0 && reals.contains(&(i - 1)) => 4.0 * p * (4.0 + p),
                _ => p * (1.0 - p),
            };
            let error = (variance / n as f64).sqrt();
            assert!((found - p).abs() < 5.0 * error, "{}, {kind}, column {i}", device.0);
        }
    }
}

/// A walker keeps its states until they are stored, and takes the streams of its first row on.
#[test]
fn walkers_move_rows_of_any_task_alike() {
    let parameters = model(KINDS[1]);
    let grid = BetaGrid::new(&[0.0, 0.4, 1.0]);
    let base = product(&parameters, 0.0);
    let burn = OnBurn::new(&parameters, &devices()[0].1);
    let route = Route { grid: &grid, base: Base::from(&base) };
    let start = base.sample(10, 3, 0);
    let swept = |first: usize, rows: usize| {
        let mut states = start.select(first..first + rows);
        let before = states.clone();
        let mut cached = vec![0.0; rows * padded(burn.cached())];
        let states_of_task = States {
            visible: states.words_mut(),
            cached: &mut cached,
            first_row: first as u32,
            known: false,
        };
        let mut walker = burn.walker(route, states_of_task);
        let at: Vec<u32> = (first..first + rows).map(|s| s as u32 % 3).collect();
        for step in 0..4 {
            walker.sweep(&at, &SweepStreams::tempered(1, step));
        }
        walker.store();
        drop(walker);
        assert_ne!(states, before);
        states
    };
    let (all, part) = (swept(0, 10), swept(4, 3));
    assert_eq!(part, all.select(4..7));
}

/// Live log Z of models that move, against enumeration: on every device the error bar holds.
#[test]
fn tracked_log_z_is_right_on_a_device() {
    for (name, device) in devices() {
        for kind in KINDS {
            let mut parameters = model(kind);
            let on =
                |p: &Parameters| Model::within(p.clone(), &Device::from(device.clone()).into());
            let options = TrackerOptions {
                smoothing: Smoothing::Kalman,
                sweeps: 2,
                weighted: true,
                settling: Settling { sweeps: 20, most: 20 },
                without: Parts::default(),
                beta_update: BetaUpdate::Collapsed,
                initial_rounds: InitialRounds { most: 20, ..InitialRounds::default() },
            };
            let (ladder, base) = (ladder(), product(&parameters, 0.0));
            let (mut tracker, _) = ModelTracker::start(
                Start { model: &on(&parameters), ladder: &ladder, base: &base },
                None,
                60,
                4,
                options,
            );
            for update in 0..10 {
                parameters.weights.iter_mut().for_each(|w| *w *= 1.01);
                parameters.hidden_bias[update % 7] += 0.02;
                tracker.step(on(&parameters));
            }
            let (found, error) = (tracker.chains().log_z(), tracker.chains().std_error());
            let z = (found - log_partition(&parameters).unwrap()) / error;
            assert!(z.abs() < 4.5 && error < 0.3, "{name}, {kind}: {z:.1} errors of {error}");
        }
    }
}

/// A run on a device tracks log Z within 5 errors of enumeration at every evaluation, and resumes with the same bytes.
#[test]
fn a_run_on_a_device_is_right_and_resumes_with_the_same_bytes() {
    let mut of_host = Vec::new();
    let others = devices().into_iter().map(|(name, device)| (name, Device::from(device)));
    for (name, device) in std::iter::once(("host", Device::Host)).chain(others) {
        let config = Config::parse(common::TINY, &["evaluation.exact=false".to_owned()]).unwrap();
        let splits =
            load(&config.data.source, &Default::default(), std::path::Path::new("")).unwrap();
        let evaluate = |trainer: &mut Trainer| {
            let evaluation = trainer.next_evaluation().unwrap()?;
            let exact = log_partition(&trainer.parameters()).unwrap();
            let (value, error) = (evaluation.log_z.value, evaluation.log_z.std_error);
            assert!((value - exact).abs() < 5.0 * error + 1e-4, "{name}: {value} +- {error}");
            Some(value)
        };
        let mut whole = Trainer::new(&config, splits.clone(), &device).unwrap();
        evaluate(&mut whole).unwrap();
        let mut state = StateWriter::new();
        whole.save(&mut state);
        let state = StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap();
        let rest: Vec<f64> = std::iter::from_fn(|| evaluate(&mut whole)).collect();
        let refused = Changes::Refused;
        let mut resumed = Trainer::resume(&config, splits, &device, &state, refused).unwrap();
        let again: Vec<f64> = std::iter::from_fn(|| evaluate(&mut resumed)).collect();
        assert!(rest.len() >= 2);
        assert_eq!(again, rest, "{name}");
        match name {
            "host" => of_host = rest,
            // A device draws its own numbers: the same values would be those of the host.
            _ => assert_ne!(rest, of_host, "{name} was not used"),
        }
    }
}

/// Estimates and a tracker on a device find log Z, by other random numbers than those of the host.
#[test]
fn estimates_and_a_tracker_run_on_a_device() {
    let parameters = model("12*1+");
    let exact = log_partition(&parameters).unwrap();
    let rows = product(&parameters, 0.0).sample(200, 3, 0);
    let estimates = |device: Device| {
        let methods = vec!["rts".parse().unwrap(), "ais".parse().unwrap()];
        let settings = EstimateSettings {
            methods,
            chains: 40,
            temperatures: Some(10),
            sweeps: 100,
            seed: 2,
            context: device.into(),
            ..EstimateSettings::default()
        };
        let found = settings.run(&parameters, Starting::default(), &mut |_| {}).unwrap();
        found.estimates.iter().map(|it| (it.value, it.std_error)).collect::<Vec<_>>()
    };
    let tracked = |device: Device| {
        let builder = LogZTracker::builder(&rows).hidden(7).chains(60).averaging(0.0);
        let mut tracker = builder.within(device).build().unwrap();
        (0..5).for_each(|_| drop(tracker.update(&parameters).unwrap()));
        let found = tracker.evaluate().unwrap();
        vec![(found.value, found.std_error)]
    };
    let on = |device: Device| [estimates(device.clone()), tracked(device)].concat();
    let host = on(Device::Host);
    for (name, device) in devices() {
        for ((value, error), of_host) in on(device.into()).into_iter().zip(&host) {
            assert!((value - exact).abs() < 4.5 * error, "{name}: {value} +- {error}, {exact}");
            // The value can be the certain bound, which is the same everywhere.
            assert_ne!(error, of_host.1, "{name} was not used");
        }
    }
}
