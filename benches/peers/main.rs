//! Our side of `benches/peers/run`: whole sweeps and updates, timed like every peer, one JSON line each.
//!
//! `cargo bench --bench peers -- --seconds 1` times all sizes in the threads RAYON_NUM_THREADS says.

use std::time::Instant;

use burn::tensor::Device;
use ztrack::model::{Parameters, Rbm, test_systems::gaussian_parameters};
use ztrack::ops::random::{Purpose, Streams};
use ztrack::ops::{BitMatrix, Composed, Fused, RbmOps};
use ztrack::training::gradient::{Particles, moments};

const SIZES: [(usize, usize); 2] = [(180, 500), (784, 500)];
const CHAINS: [usize; 3] = [100, 500, 2000];

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

#[allow(deprecated)] // burn-ndarray is the default backend; see Cargo.toml
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let seconds = arguments
        .iter()
        .position(|argument| argument == "--seconds")
        .and_then(|i| arguments.get(i + 1))
        .and_then(|value| value.parse().ok())
        .unwrap_or(1.0);
    for (n_visible, n_hidden) in SIZES {
        let parameters = gaussian_parameters(n_visible, n_hidden, 0.1, 1);
        let fused = Fused::new(&parameters);
        let composed = Composed::new(&Rbm::from_parameters(&parameters, &Device::ndarray()));
        for chains in CHAINS {
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
            report("burn-ndarray composed sweep", sweep(&composed, seconds / 4.0));
            let mut learned = parameters.clone();
            let data = particles(chains, n_visible).visible;
            let mut states = particles(chains, n_visible);
            report("ztrack update", median(seconds, || update(&mut learned, &data, &mut states)));
        }
    }
}
