//! Kernels of the Gibbs sweep, one row of the report each, with the composed Burn reference as their peer.
//!
//! `cargo bench --bench kernels -- 180x500` runs one size; RAYON_NUM_THREADS sets the threads of whole sweeps and outer
//! products (the other rows run in one thread). States are those of chains at equilibrium, not coin flips.

use std::hint::black_box;
use std::time::Duration;

use burn::tensor::Device;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BetaGrid, BitMatrix, Draw, Engine, Host, Layer, Matrix, OnBurn};
use ztrack::model::{Parameters, test_systems::gaussian_parameters};
use ztrack::training::gradient::Particles;

const SIZES: [(usize, usize); 2] = [(180, 500), (784, 500)];
const CHAINS: [usize; 3] = [100, 500, 2000];

fn particles(chains: usize, n_visible: usize) -> Particles {
    let mut stream = Streams::new(1, Purpose::ChainStart, 0).row(0);
    let visible = BitMatrix::from_fn(chains, n_visible, |_, _| stream.uniform() < 0.5);
    Particles { visible, seed: 1, sweeps: 0 }
}

#[allow(deprecated)] // burn-ndarray is the default backend; see Cargo.toml
fn on_burn(parameters: &Parameters) -> OnBurn {
    OnBurn::new(parameters, &Device::ndarray())
}

fn kernels(criterion: &mut Criterion) {
    for (n_visible, n_hidden) in SIZES {
        let parameters = gaussian_parameters(n_visible, n_hidden, 0.1, 1);
        let engine = Host::new(&parameters);
        let on_burn = on_burn(&parameters);
        for chains in CHAINS {
            let mut group = criterion.benchmark_group(format!("{n_visible}x{n_hidden}/{chains}"));
            group.sample_size(20).measurement_time(Duration::from_secs(2));
            let mut states = particles(chains, n_visible);
            states.sweep(&engine, 10);
            parts(&mut group, &engine, &states, n_hidden);
            group.bench_function("sweep", |bencher| bencher.iter(|| states.sweep(&engine, 1)));
            group.sample_size(10);
            group.bench_function("sweep, burn-ndarray", |bencher| {
                bencher.iter(|| states.sweep(&on_burn, 1));
            });
            group.finish();
        }
    }
}

/// What sweeps and gradients are made of, in the order of a sweep: each part takes what the last one left.
fn parts(
    group: &mut BenchmarkGroup<'_, WallTime>,
    engine: &Host,
    states: &Particles,
    n_hidden: usize,
) {
    let (chains, n_visible) = (states.visible.rows(), states.visible.columns());
    let mut hidden_inputs = Matrix::filled(chains, n_hidden, 0.0);
    let mut visible_inputs = Matrix::filled(chains, n_visible, 0.0);
    let mut hidden = BitMatrix::zeros(chains, n_hidden);
    let beta = vec![1.0; chains];

    group.bench_function("hidden inputs", |bencher| {
        bencher.iter(|| {
            let given = black_box(states.visible.words());
            engine.inputs_of(Layer::Hidden, given, hidden_inputs.as_mut_slice());
        });
    });
    group.bench_function("hidden draw", |bencher| {
        let mut step = 0;
        bencher.iter(|| {
            step += 1;
            let draw = Draw {
                n_units: n_hidden,
                inputs: black_box(hidden_inputs.as_slice()),
                beta: &beta,
                base: None,
                streams: Streams::new(1, Purpose::ParticleHidden, step),
                first_row: 0,
            };
            engine.draw(&draw, hidden.words_mut());
        });
    });
    group.bench_function("visible inputs", |bencher| {
        bencher.iter(|| {
            let given = black_box(hidden.words());
            engine.inputs_of(Layer::Visible, given, visible_inputs.as_mut_slice());
        });
    });
    let grid: Vec<f64> = (0..100).map(|k| f64::from(k) / 99.0).collect();
    let grid = BetaGrid::new(&grid);
    let mut sums = vec![0.0; chains * 100];
    group.bench_function("softplus sums at 100 temperatures", |bencher| {
        bencher.iter(|| {
            let inputs = black_box(hidden_inputs.as_slice());
            engine.softplus_sums(n_hidden, inputs, &grid, &mut sums);
        });
    });
    group.bench_function("outer products", |bencher| {
        bencher.iter(|| engine.outer_products(black_box(&states.visible), &hidden_inputs));
    });
}

/// Whole sweeps of 60 variables of four states beside those of as many bits.
fn categorical(criterion: &mut Criterion) {
    let bits = gaussian_parameters(240, 500, 0.1, 1);
    let variables = "60*4".parse().expect("variables");
    let categorical = bits.clone().of(variables).expect("240 columns");
    let mut group = criterion.benchmark_group("240x500/2000");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for (name, parameters) in [("sweep, bits", bits), ("sweep, 60 variables", categorical)] {
        let engine = Host::new(&parameters);
        let mut states = particles(2000, 240);
        states.sweep(&engine, 10);
        group.bench_function(name, |bencher| bencher.iter(|| states.sweep(&engine, 1)));
    }
    group.finish();
}

/// The product for few rows, where summing set bits and looking sums up cross.
fn crossover(criterion: &mut Criterion) {
    let engine = Host::new(&gaussian_parameters(784, 500, 0.1, 1));
    let mut group = criterion.benchmark_group("crossover");
    group.sample_size(20).measurement_time(Duration::from_secs(1));
    for rows in [4, 8, 12, 16, 20, 24, 32, 48] {
        let states = particles(rows, 784).visible;
        let mut out = Matrix::filled(rows, 500, 0.0);
        group.bench_function(format!("{rows} rows"), |bencher| {
            let given = black_box(states.words());
            bencher.iter(|| engine.inputs_of(Layer::Hidden, given, out.as_mut_slice()));
        });
    }
    group.finish();
}

/// The parameters in the layout of the kernels, once per update.
fn layout(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("layout");
    group.sample_size(20).measurement_time(Duration::from_secs(1));
    for (n_visible, n_hidden) in SIZES {
        let parameters = gaussian_parameters(n_visible, n_hidden, 0.1, 1);
        let mut engine = Host::new(&parameters);
        group.bench_function(format!("{n_visible}x{n_hidden}"), |bencher| {
            bencher.iter(|| engine.load(black_box(&parameters)));
        });
    }
    group.finish();
}

criterion_group!(benches, kernels, categorical, crossover, layout);
criterion_main!(benches);
