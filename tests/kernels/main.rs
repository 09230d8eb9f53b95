//! Every operation of the fused kernel against the composed reference, on every instruction set of this machine.

mod same_bits;

use burn::tensor::Device;
use proptest::prelude::*;
use ztrack::engine::host::InstructionSet;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BetaGrid, BitMatrix, Composed, Draw, Host, Layer, Matrix, RbmOps, padded};
use ztrack::model::{Parameters, Rbm};

fn random_parameters(n_visible: usize, n_hidden: usize, scale: f64, seed: u64) -> Parameters {
    let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(0);
    let mut normals =
        |n: usize| (0..n).map(|_| (scale * stream.normal()) as f32).collect::<Vec<_>>();
    let (weights, c, b) = (normals(n_visible * n_hidden), normals(n_visible), normals(n_hidden));
    Parameters::new(n_visible, n_hidden, weights, c, b).unwrap()
}

fn random_bits(rows: usize, columns: usize, seed: u64) -> BitMatrix {
    let mut stream = Streams::new(seed, Purpose::TestSystem, 1).row(0);
    BitMatrix::from_fn(rows, columns, |_, _| stream.uniform() < 0.4)
}

type Implementations = Vec<Box<dyn RbmOps>>;

/// The fused kernels on all instruction sets, and the composed reference on all devices.
#[allow(deprecated)] // burn-ndarray is the default backend; see Cargo.toml
fn implementations(parameters: &Parameters) -> (Implementations, Implementations) {
    let fused = InstructionSet::available()
        .into_iter()
        .map(|set| Box::new(Host::with_instruction_set(parameters, set)) as Box<dyn RbmOps>)
        .collect();
    let devices = [
        Device::ndarray(),
        #[cfg(feature = "flex")]
        Device::flex(),
    ];
    let composed = devices
        .iter()
        .map(|device| Box::new(Composed::new(&Rbm::from_parameters(parameters, device))) as _)
        .collect();
    (fused, composed)
}

fn inputs(engine: &dyn RbmOps, layer: Layer, given: &BitMatrix) -> Matrix {
    let mut out = Matrix::filled(given.rows(), engine.n_units(layer), 0.0);
    engine.inputs(layer, given.words(), out.as_mut_slice());
    out
}

#[test]
fn reloaded_kernels_are_those_made_anew() {
    let [old, new] = [1, 2].map(|seed| random_parameters(70, 45, 0.3, seed));
    let (visible, hidden) = (random_bits(20, 70, 3), random_bits(20, 45, 4));
    let (mut reloaded, expected) = (Host::new(&old), Host::new(&new));
    assert!(!reloaded.reload(&random_parameters(45, 70, 0.3, 1)), "another size");
    for expected in [&Host::new(&old), &expected] {
        let given = [(Layer::Hidden, &visible), (Layer::Visible, &hidden)];
        for (layer, given) in given {
            assert_eq!(inputs(&reloaded, layer, given), inputs(expected, layer, given));
        }
        assert_eq!(reloaded.visible_dot(visible.row(0)), expected.visible_dot(visible.row(0)));
        assert!(reloaded.reload(&new));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn fused_kernels_agree_with_the_composed_reference(
        n_visible in 1usize..200, n_hidden in 1usize..300, rows in 1usize..60, seed in 0u64..1000,
    ) {
        let parameters = random_parameters(n_visible, n_hidden, 0.3, seed);
        let (fused, composed) = implementations(&parameters);
        let visible = random_bits(rows, n_visible, seed);
        let hidden = random_bits(rows, n_hidden, seed + 1);
        // A sum of n f32 terms of size about 0.3 in two orders differs by at most n x 2^-23 x its partial sums.
        let tolerance = 2e-7 * (n_visible.max(n_hidden) as f32) * 3.0;
        for (layer, given) in [(Layer::Hidden, &visible), (Layer::Visible, &hidden)] {
            let exact = inputs(composed[0].as_ref(), layer, given);
            let first = inputs(fused[0].as_ref(), layer, given);
            for engine in &composed {
                for (a, b) in inputs(engine.as_ref(), layer, given).as_slice().iter().zip(exact.as_slice()) {
                    prop_assert!((a - b).abs() <= tolerance);
                }
            }
            for engine in &fused {
                let x = inputs(engine.as_ref(), layer, given);
                prop_assert_eq!(&x, &first, "instruction sets differ");
                // Few rows take another way through the kernel than many: the bits must be the same.
                let alone = inputs(engine.as_ref(), layer, &given.select([rows - 1]));
                prop_assert_eq!(alone.row(0), x.row(rows - 1));
                for (a, b) in x.as_slice().iter().zip(exact.as_slice()) {
                    prop_assert!((a - b).abs() <= tolerance, "{} against {}", a, b);
                }
            }
        }
    }

    #[test]
    fn draws_are_the_same_up_to_rounding_of_the_probability(
        n_units in 1usize..300, rows in 1usize..6, seed in 0u64..1000, with_base in any::<bool>(),
    ) {
        let parameters = random_parameters(3, n_units, 2.0, seed);
        let (fused, composed) = implementations(&parameters);
        let x = inputs(fused[0].as_ref(), Layer::Hidden, &random_bits(rows, 3, seed));
        let beta: Vec<f32> = (0..rows).map(|s| s as f32 / rows as f32).collect();
        let mut base = vec![0.5f32; padded(n_units)];
        base[0] = -1.0;
        let base = with_base.then_some(&base[..]);
        let draw = |engine: &dyn RbmOps| {
            let mut out = BitMatrix::zeros(rows, n_units);
            let streams = Streams::new(seed, Purpose::SampleHidden, 5);
            engine.draw(&Draw { n_units, inputs: x.as_slice(), beta: &beta, base, streams, first_row: 3 }, out.words_mut());
            out
        };
        let reference = draw(composed[0].as_ref());
        let first = draw(fused[0].as_ref());
        // A draw differs only when u falls within rounding (about 1e-6) of the probability.
        let differing: u32 =
            first.words().iter().zip(reference.words()).map(|(a, b)| (a ^ b).count_ones()).sum();
        prop_assert!(differing <= 1, "{} of {} draws differ", differing, rows * n_units);
        for engine in &fused {
            prop_assert_eq!(&draw(engine.as_ref()), &first, "instruction sets differ");
        }
    }

    #[test]
    fn softplus_sums_agree_with_the_composed_reference(
        n_units in 1usize..2100, seed in 0u64..1000, bend in 0.5f64..2.0, scale in 0.1f64..5.0,
    ) {
        let parameters = random_parameters(3, n_units, scale, seed);
        let (fused, composed) = implementations(&parameters);
        let x = inputs(fused[0].as_ref(), Layer::Hidden, &random_bits(2, 3, seed));
        for exponent in [1.0, bend] {
            let betas: Vec<f64> = (0..=60).map(|k| (f64::from(k) / 60.0).powf(exponent)).collect();
            let grid = BetaGrid::new(&betas);
            let sums = |engine: &dyn RbmOps| {
                let mut out = vec![0.0; 2 * betas.len()];
                engine.softplus_sums(n_units, x.as_slice(), &grid, &mut out);
                out
            };
            let first = sums(fused[0].as_ref());
            // Each unit's softplus is good to a few f32 roundings of itself.
            for (a, b) in first.iter().zip(sums(composed[0].as_ref())) {
                prop_assert!((a - b).abs() <= 2e-6 * b.abs() + 1e-4, "{} against {}", a, b);
            }
            for engine in &fused {
                prop_assert_eq!(&sums(engine.as_ref()), &first, "instruction sets differ");
            }
        }
    }

    #[test]
    fn outer_products_agree_with_the_composed_reference(
        n_visible in 1usize..150, n_hidden in 1usize..150, rows in 1usize..150, seed in 0u64..1000,
    ) {
        let parameters = Parameters::zeros(n_visible, n_hidden);
        let (fused, composed) = implementations(&parameters);
        let visible = random_bits(rows, n_visible, seed);
        let mut stream = Streams::new(seed, Purpose::TestSystem, 2).row(0);
        let values: Vec<f32> = (0..rows * n_hidden).map(|_| stream.uniform() as f32).collect();
        let hidden = Matrix::from_rows(rows, n_hidden, &values, 0.0);
        let exact = composed[0].outer_products(&visible, &hidden).to_rows();
        for engine in &fused {
            let found = engine.outer_products(&visible, &hidden).to_rows();
            for (a, b) in found.iter().zip(&exact) {
                prop_assert!((a - b).abs() <= 1e-5 * rows as f32);
            }
        }
    }
}

#[test]
fn weighted_means_agree_with_the_composed_reference() {
    for (rows, n_units) in [(1, 1), (7, 33), (40, 500)] {
        let parameters = random_parameters(5, n_units, 2.0, 4);
        let (fused, composed) = implementations(&parameters);
        let x = inputs(fused[0].as_ref(), Layer::Hidden, &random_bits(rows, 5, 9));
        let weights: Vec<f32> = (0..rows).map(|s| (s + 1) as f32 / 50.0).collect();
        let means = |engine: &dyn RbmOps| {
            let mut x = x.clone();
            engine.means(n_units, x.as_mut_slice(), &weights);
            x.to_rows()
        };
        let exact = means(composed[0].as_ref());
        let first = means(fused[0].as_ref());
        for engine in &fused {
            assert_eq!(means(engine.as_ref()), first, "instruction sets differ");
        }
        for (a, b) in first.iter().zip(&exact) {
            assert!((a - b).abs() <= 1e-6, "{a} against {b}");
        }
    }
}

#[test]
fn draws_have_the_right_probability() {
    let parameters = random_parameters(2, 130, 1.5, 7);
    let engine = Host::new(&parameters);
    let x = inputs(&engine, Layer::Hidden, &random_bits(1, 2, 0));
    let n = 20_000;
    let mut counts = vec![0u32; 130];
    for step in 0..n {
        let mut out = BitMatrix::zeros(1, 130);
        let streams = Streams::new(1, Purpose::SampleHidden, step);
        engine.draw(
            &Draw {
                n_units: 130,
                inputs: x.as_slice(),
                beta: &[0.7],
                base: None,
                streams,
                first_row: 0,
            },
            out.words_mut(),
        );
        for (j, count) in counts.iter_mut().enumerate() {
            *count += u32::from(out.get(0, j));
        }
    }
    for (j, count) in counts.iter().enumerate() {
        let p = 1.0 / (1.0 + (-0.7 * f64::from(x.row(0)[j])).exp());
        let z = (f64::from(*count) - n as f64 * p) / (n as f64 * p * (1.0 - p)).sqrt();
        // 130 units: |z| > 4.5 happens by chance in one run of a thousand.
        assert!(z.abs() < 4.5, "unit {j}: z = {z}");
    }
}
