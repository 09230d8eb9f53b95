//! Our side of `benches/peers/run.py`: whole sweeps and updates, timed like every peer, one JSON line each.
//!
//! `cargo bench --bench peers -- SECONDS VISIBLExHIDDENxCHAINS...` in the threads RAYON_NUM_THREADS says; at 784x500 with
//! 2000 chains also tempered sweeps by number of temperatures.

use std::time::Instant;

use burn::tensor::Device;
use ztrack::model::{Parameters, Rbm, test_systems::gaussian_parameters};
use ztrack::ops::random::{Purpose, Streams};
use ztrack::ops::{BitMatrix, Composed, Fused, RbmOps};
use ztrack::tempering::{BaseDistribution, BetaUpdate, Ladder, Path, Prior, TemperedChains};
use ztrack::training::gradient::{Particles, moments};

/// The setting at which the number of temperatures grows.
const TEMPERED: [usize; 3] = [784, 500, 2000];
const TEMPERATURES: [usize; 5] = [10, 30, 100, 300, 1000];
const UPDATES: [(&str, BetaUpdate); 2] =
    [("joint", BetaUpdate::Joint { repeats: 1 }), ("collapsed", BetaUpdate::Collapsed)];

/// Calls `work` for about `seconds` (at least three times, after one call to warm up); the median in milliseconds.
fn median(seconds: f64, mut work: impl FnMut()) -> f64 {
    work();
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < 3 || start.elapsed().as_secs_f64() < seconds {
        let call = Instant::now();
        work();
        times.push(call.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn particles(chains: usize, n_visible: usize) -> Particles {
    let mut stream = Streams::new(1, Purpose::ChainStart, 0).row(0);
    let visible = BitMatrix::from_fn(chains, n_visible, |_, _| stream.uniform() < 0.5);
    Particles { visible, seed: 1, sweeps: 0 }
}

/// One PCD-1 update with plain gradient ascent, as scikit-learn's `BernoulliRBM._fit`.
fn update(parameters: &mut Parameters, data: &BitMatrix, particles: &mut Particles) {
    let ops = Fused::new(parameters);
    let data = moments(&ops, data, None);
    particles.sweep(&ops, 1);
    let model = moments(&ops, &particles.visible, None);
    let j = parameters.n_hidden;
    for (i, weights) in parameters.weights.chunks_exact_mut(j).enumerate() {
        let rows = data.products.row(i).iter().zip(model.products.row(i));
        weights.iter_mut().zip(rows).for_each(|(w, (d, m))| *w += 1e-4 * (d - m));
    }
}

/// Sweeps of tempered chains; under a flat pseudo-prior, which costs no time to find and makes sweeps no cheaper.
fn tempered(parameters: &Parameters, chains: usize, seconds: f64, report: impl Fn(&str, f64)) {
    let ops = Fused::new(parameters);
    let base = BaseDistribution::uniform(parameters.n_visible);
    for k in TEMPERATURES {
        let ladder = Ladder::linear(k, &Prior::Uniform).expect("at least two temperatures");
        let path = Path { ops: &ops, ladder: &ladder, base: &base };
        for (name, update) in UPDATES {
            let mut chains = TemperedChains::new(base.sample(chains, 1, 0), k, 1);
            let zeta = vec![0.0; k];
            // As in training, where some sweeps are made at once: the last one evaluates log f at all temperatures.
            const SWEEPS: usize = 5;
            let milliseconds =
                median(seconds, || drop(chains.sweep(&path, &zeta, update, SWEEPS, None)));
            report(
                &format!("ztrack tempered sweep, {name}, K = {k}"),
                milliseconds / SWEEPS as f64,
            );
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let [seconds, settings @ ..] = &arguments[..] else {
        return Err("usage: SECONDS VISIBLExHIDDENxCHAINS...".into());
    };
    let seconds = seconds.parse()?;
    for setting in settings {
        let sizes: Vec<usize> = setting.split('x').map(str::parse).collect::<Result<_, _>>()?;
        let [n_visible, n_hidden, chains] = sizes[..] else {
            return Err(format!("{setting}: VISIBLExHIDDENxCHAINS is expected").into());
        };
        time(n_visible, n_hidden, chains, seconds);
    }
    Ok(())
}

#[allow(deprecated)] // burn-ndarray is the default backend; see Cargo.toml
fn time(n_visible: usize, n_hidden: usize, chains: usize, seconds: f64) {
    let parameters = gaussian_parameters(n_visible, n_hidden, 0.1, 1);
    let fused = Fused::new(&parameters);
    let report = |what: &str, milliseconds: f64| {
        println!(
            "{{\"what\":\"{what}\",\"visible\":{n_visible},\"hidden\":{n_hidden},\"chains\":{chains},\"ms\":{milliseconds:.5}}}"
        );
    };
    let sweep = |ops: &dyn RbmOps, seconds| {
        let mut states = particles(chains, n_visible);
        states.sweep(&fused, 10);
        median(seconds, || states.sweep(ops, 1))
    };
    report("ztrack sweep", sweep(&fused, seconds));
    // Slow, and its growth is that of dense products.
    if n_hidden == 500 && chains <= 2000 {
        let composed = Composed::new(&Rbm::from_parameters(&parameters, &Device::ndarray()));
        report("burn-ndarray composed sweep", sweep(&composed, seconds / 4.0));
    }
    let mut learned = parameters.clone();
    let data = particles(chains, n_visible).visible;
    let mut states = particles(chains, n_visible);
    report("ztrack update", median(seconds, || update(&mut learned, &data, &mut states)));
    if [n_visible, n_hidden, chains] == TEMPERED {
        tempered(&parameters, chains, seconds, report);
    }
}
