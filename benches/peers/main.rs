//! Our side of `benches/peers/run.py`: works on one thing, when and as often as it is told, like every peer.
//!
//! Lines of standard input, fields divided by tabs: `setup WORK VISIBLExHIDDENxCHAINS`, answered by `ready`, and
//! `go CALLS`, answered by the milliseconds they took.

use std::io::{BufRead, Write};
use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor};
use ztrack::config::Config;
use ztrack::data::{Dataset, Source, SplitOptions, Splits, Values, load};
use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BitMatrix, Engine, Host, OnBurn};
use ztrack::model::{Parameters, test_systems::gaussian_parameters};
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, GeometricPath, Ladder, Prior, TemperedChains,
};
use ztrack::training::Trainer;
use ztrack::training::gradient::Particles;
use ztrack::units::Variables;

/// Sweeps of tempered chains, or of chains on a device, in one call.
const TEMPERED_SWEEPS: usize = 5;
const DEVICE_SWEEPS: usize = 20;
/// Rows of random data.
const TRAINING_ROWS: usize = 6000;
/// Updates before the first one that is timed; on a device, where the states do not matter for the time.
const FIRST_UPDATES: usize = 300;
const FIRST_ON_DEVICE: usize = 10;
/// States of every variable of a categorical sweep.
const STATES: usize = 4;

type Failure = Box<dyn std::error::Error>;

fn particles(chains: usize, n_visible: usize) -> Particles {
    let mut stream = Streams::new(1, Purpose::ChainStart, 0).row(0);
    let visible = BitMatrix::from_fn(chains, n_visible, |_, _| stream.uniform() < 0.5);
    Particles { visible, seed: 1, sweeps: 0 }
}

/// One PCD-1 update with plain gradient ascent, as scikit-learn's `BernoulliRBM._fit`.
fn update(parameters: &mut Parameters, data: &BitMatrix, particles: &mut Particles) {
    let engine = Host::new(parameters);
    let data = engine.moments(data, None);
    particles.sweep(&engine, 1);
    let model = engine.moments(&particles.visible, None);
    let j = parameters.n_hidden;
    for (i, weights) in parameters.weights.chunks_exact_mut(j).enumerate() {
        let rows = data.products.row(i).iter().zip(model.products.row(i));
        weights.iter_mut().zip(rows).for_each(|(w, (d, m))| *w += 1e-4 * (d - m));
    }
}

/// What a work does when it is called.
type Work = Box<dyn FnMut()>;

/// Sweeps of tempered chains; under a flat pseudo-prior, which costs no time to find and makes sweeps no cheaper.
fn tempered(
    parameters: &Parameters,
    chains: usize,
    update: BetaUpdate,
    k: usize,
) -> Result<Work, Failure> {
    let engine = Host::new(parameters);
    let ladder = Ladder::linear(k, &Prior::Uniform)?;
    let base = BaseDistribution::uniform(parameters.n_visible);
    let mut chains = TemperedChains::new(base.sample(chains, 1, 0), k, 1);
    Ok(Box::new(move || {
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        // As in training, where some sweeps are made at once: the last one evaluates log f at all temperatures.
        drop(chains.sweep(&path, &vec![0.0; k], update, TEMPERED_SWEEPS, None));
    }))
}

/// Updates of the shipped trainer: PCD-1, as many particles as rows in a batch; its tracker never moves. On MNIST where
/// ZTRACK_DATA names the folder of data sets, else on random rows; after updates that make the particles look like the rows.
fn training(
    n_visible: usize,
    n_hidden: usize,
    chains: usize,
    device: &ztrack::Device,
) -> Result<Work, Failure> {
    let text = format!(
        r#"
        seed = 1
        [data]
        source = {{ name = "bars-and-stripes", side = 3 }}
        binarization = {{ threshold = 0.5 }}
        validation_fraction = 0.0
        test_fraction = 0.0
        [model]
        hidden = {n_hidden}
        [training]
        updates = 1000000000
        batch = {chains}
        gradient = {{ kind = "pcd", particles = {chains} }}
        centering = true
        learning_rate = {{ initial = 0.05 }}
        early_stopping = false
        [tempering]
        every = 10000000
        initial_rounds = {{ sweeps = 1, most = 1, annealed_start = false }}
        chains = 10
        temperatures = 2
        [evaluation]
        every = 10000000
        [audit]
        every = 0
        "#
    );
    let config = Config::parse(&text, &[])?;
    let train = match std::env::var_os("ZTRACK_DATA") {
        Some(folder) if n_visible == 784 => {
            let options = SplitOptions { validation_fraction: 0.0, test_fraction: 0.0, seed: 1 };
            load(&Source::Mnist {}, &options, folder.as_ref())?.train
        }
        _ => {
            let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
            let rows = BitMatrix::from_fn(TRAINING_ROWS.max(chains), n_visible, |_, _| {
                stream.uniform() < 0.2
            });
            Dataset::new("random", Values::Binary(rows), None, None)?
        }
    };
    let splits = Splits { train, validation: None, test: None };
    let mut trainer = Trainer::new(&config, splits, device)?;
    let host = *device == ztrack::Device::Host;
    for _ in 0..if host { FIRST_UPDATES } else { FIRST_ON_DEVICE } {
        trainer.step()?;
    }
    Ok(Box::new(move || {
        trainer.step().expect("training at a usual rate does not diverge");
    }))
}

/// The device that run.py's option names.
fn device() -> Result<Device, Failure> {
    match std::env::var("ZTRACK_DEVICE")?.as_str() {
        #[allow(deprecated)] // as below
        "ndarray" => Ok(Device::ndarray()),
        #[cfg(feature = "vulkan")]
        "vulkan" => Ok(Device::vulkan(burn::tensor::DeviceKind::DefaultDevice)),
        #[cfg(feature = "wgpu")]
        "wgpu" => Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
        #[cfg(feature = "cuda")]
        "cuda" => Ok(Device::cuda(0)),
        name => Err(format!("this build has no device {name}").into()),
    }
}

/// Both products of some sweeps in Burn, and nothing else.
fn products(n_visible: usize, n_hidden: usize, chains: usize) -> Result<Work, Failure> {
    let device = device()?;
    let bits =
        |columns| Tensor::<2>::random([chains, columns], Distribution::Bernoulli(0.5), &device);
    let (visible, hidden) = (bits(n_visible), bits(n_hidden));
    let weights = Tensor::<2>::random([n_visible, n_hidden], Distribution::Default, &device);
    Ok(Box::new(move || {
        for _ in 1..DEVICE_SWEEPS {
            drop(visible.clone().matmul(weights.clone()));
            drop(hidden.clone().matmul(weights.clone().transpose()));
        }
        let last = hidden.clone().matmul(weights.clone().transpose());
        drop(last.slice([0..1, 0..1]).into_data());
    }))
}

#[allow(deprecated)] // burn-ndarray is the default backend; see Cargo.toml
fn work(what: &str, setting: &str) -> Result<Work, Failure> {
    let sizes: Vec<usize> = setting.split('x').map(str::parse).collect::<Result<_, _>>()?;
    let [n_visible, n_hidden, chains] = sizes[..] else {
        return Err(format!("{setting}: VISIBLExHIDDENxCHAINS is expected").into());
    };
    let mut parameters = gaussian_parameters(n_visible, n_hidden, 0.1, 1);
    let fused = Host::new(&parameters);
    let mut states = particles(chains, n_visible);
    if let Some((update, k)) =
        what.strip_prefix("ztrack tempered sweep, ").and_then(|rest| rest.split_once(", K = "))
    {
        let update = match update {
            "joint" => BetaUpdate::Joint(1),
            _ => BetaUpdate::Collapsed,
        };
        return tempered(&parameters, chains, update, k.parse()?);
    }
    match what {
        "ztrack sweep" => Ok(Box::new(move || states.sweep(&fused, 1))),
        "burn-ndarray composed sweep" => {
            states.sweep(&fused, 10);
            let on_burn = OnBurn::new(&parameters, &Device::ndarray());
            Ok(Box::new(move || states.sweep(&on_burn, 1)))
        }
        "ztrack categorical sweep" => {
            let variables = Variables::new((0..n_visible / STATES).map(|_| (STATES, false)))?;
            let engine = Host::new(&parameters.of(variables)?);
            states.sweep(&engine, 1);
            Ok(Box::new(move || states.sweep(&engine, 1)))
        }
        "ztrack real sweep" => {
            let variables: Variables = format!("{n_visible}*real(0;1)").parse()?;
            let base = BaseDistribution::uniform(2 * n_visible).of(&variables);
            let mut parameters = gaussian_parameters(2 * n_visible, n_hidden, 0.1, 1);
            for (first, _) in variables.reals() {
                parameters.weights[(first + 1) * n_hidden..][..n_hidden].fill(0.0);
                parameters.visible_bias[first + 1] = -0.5;
            }
            let engine = Host::new(&parameters.of(variables)?);
            states.visible = base.sample(chains, 1, 0);
            Ok(Box::new(move || states.sweep(&engine, 1)))
        }
        "ztrack update" => {
            let data = particles(chains, n_visible).visible;
            Ok(Box::new(move || update(&mut parameters, &data, &mut states)))
        }
        "ztrack training update" => training(n_visible, n_hidden, chains, &ztrack::Device::Host),
        "ztrack device sweeps" => {
            let engine = OnBurn::new(&parameters, &device()?);
            Ok(Box::new(move || states.sweep(&engine, DEVICE_SWEEPS)))
        }
        "ztrack device training update" => training(n_visible, n_hidden, chains, &device()?.into()),
        "burn device products" => products(n_visible, n_hidden, chains),
        _ => Err(format!("no work is called {what}").into()),
    }
}

fn main() -> Result<(), Failure> {
    // On a thread of the pool, as the command does.
    Ok(rayon::scope(|_| serve().map_err(|failure| failure.to_string()))?)
}

fn serve() -> Result<(), Failure> {
    let mut current: Option<Work> = None;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["setup", what, setting] => {
                let work = current.insert(work(what, setting)?);
                (0..3).for_each(|_| work());
                println!("ready");
            }
            ["go", calls] => {
                let work = current.as_mut().ok_or("go comes after setup")?;
                let calls: usize = calls.parse()?;
                let start = Instant::now();
                (0..calls).for_each(|_| work());
                println!("{}", start.elapsed().as_secs_f64() * 1e3);
            }
            _ => return Err(format!("{line}: neither setup nor go").into()),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}
