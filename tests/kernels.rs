//! Every operation of the fused kernel against the composed reference, on every instruction set of this machine.

use burn::tensor::Device;
use proptest::prelude::*;
use ztrack::model::{Parameters, Rbm};
use ztrack::ops::cpu::{InstructionSet, Shape};
use ztrack::ops::random::{Purpose, Streams};
use ztrack::ops::{BetaGrid, BitMatrix, Composed, Draw, Fused, Layer, Matrix, RbmOps, padded};

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
        .map(|set| Box::new(Fused::with_instruction_set(parameters, set)) as Box<dyn RbmOps>)
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

fn inputs(ops: &dyn RbmOps, layer: Layer, given: &BitMatrix) -> Matrix {
    let mut out = Matrix::filled(given.rows(), ops.n_units(layer), 0.0);
    ops.inputs(layer, given.words(), out.as_mut_slice());
    out
}

#[test]
fn reloaded_kernels_are_those_made_anew() {
    let [old, new] = [1, 2].map(|seed| random_parameters(70, 45, 0.3, seed));
    let (visible, hidden) = (random_bits(20, 70, 3), random_bits(20, 45, 4));
    let (mut reloaded, expected) = (Fused::new(&old), Fused::new(&new));
    assert!(!reloaded.reload(&random_parameters(45, 70, 0.3, 1)), "another size");
    for expected in [&Fused::new(&old), &expected] {
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
            for ops in &composed {
                for (a, b) in inputs(ops.as_ref(), layer, given).as_slice().iter().zip(exact.as_slice()) {
                    prop_assert!((a - b).abs() <= tolerance);
                }
            }
            for ops in &fused {
                let x = inputs(ops.as_ref(), layer, given);
                prop_assert_eq!(&x, &first, "instruction sets differ");
                // Few rows take another way through the kernel than many: the bits must be the same.
                let alone = inputs(ops.as_ref(), layer, &given.select([rows - 1]));
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
        let draw = |ops: &dyn RbmOps| {
            let mut out = BitMatrix::zeros(rows, n_units);
            let streams = Streams::new(seed, Purpose::SampleHidden, 5);
            ops.draw(&Draw { n_units, inputs: x.as_slice(), beta: &beta, base, streams, first_row: 3 }, out.words_mut());
            out
        };
        let reference = draw(composed[0].as_ref());
        let first = draw(fused[0].as_ref());
        // A draw differs only when u falls within rounding (about 1e-6) of the probability.
        let differing: u32 =
            first.words().iter().zip(reference.words()).map(|(a, b)| (a ^ b).count_ones()).sum();
        prop_assert!(differing <= 1, "{} of {} draws differ", differing, rows * n_units);
        for ops in &fused {
            prop_assert_eq!(&draw(ops.as_ref()), &first, "instruction sets differ");
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
            let sums = |ops: &dyn RbmOps| {
                let mut out = vec![0.0; 2 * betas.len()];
                ops.softplus_sums(n_units, x.as_slice(), &grid, &mut out);
                out
            };
            let first = sums(fused[0].as_ref());
            // Each unit's softplus is good to a few f32 roundings of itself.
            for (a, b) in first.iter().zip(sums(composed[0].as_ref())) {
                prop_assert!((a - b).abs() <= 2e-6 * b.abs() + 1e-4, "{} against {}", a, b);
            }
            for ops in &fused {
                prop_assert_eq!(&sums(ops.as_ref()), &first, "instruction sets differ");
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
        for ops in &fused {
            let found = ops.outer_products(&visible, &hidden).to_rows();
            for (a, b) in found.iter().zip(&exact) {
                prop_assert!((a - b).abs() <= 1e-5 * rows as f32);
            }
        }
    }
}

/// Kernels that look at a rough probability first settle the rest exactly. A wrong decision is rare, so it takes millions
/// of draws to see one. Tried: a coefficient of the AVX-512 polynomial 1 % off, the base term 0.1 % off.
#[test]
fn instruction_sets_draw_the_same_millions_of_bits() {
    let (rows, n_units) = (1000, 500);
    let mut stream = Streams::new(3, Purpose::TestSystem, 3).row(0);
    let x: Vec<f32> = (0..rows * n_units).map(|_| 3.0 * stream.normal() as f32).collect();
    let x = Matrix::from_rows(rows, n_units, &x, ztrack::ops::PADDING);
    let beta: Vec<f32> = (0..rows).map(|s| s as f32 / (rows - 1) as f32).collect();
    let base: Vec<f32> = (0..padded(n_units)).map(|i| (i % 13) as f32 * 0.3 - 2.0).collect();
    let parameters = Parameters::zeros(1, n_units);
    for step in 0..4 {
        for base in [None, Some(&base[..])] {
            let draws = InstructionSet::available().into_iter().map(|set| {
                let mut out = BitMatrix::zeros(rows, n_units);
                let streams = Streams::new(1, Purpose::SampleHidden, step);
                let inputs = x.as_slice();
                let draw = Draw { n_units, inputs, beta: &beta, base, streams, first_row: 0 };
                Fused::with_instruction_set(&parameters, set).draw(&draw, out.words_mut());
                out
            });
            let draws: Vec<BitMatrix> = draws.collect();
            assert!(draws.iter().all(|bits| *bits == draws[0]), "step {step}");
        }
    }
}

/// beta x and (1 - beta) a may be large and cancel; their roundings then decide the draw, so kernels must share them.
#[test]
fn instruction_sets_round_logits_of_cancelling_terms_alike() {
    let (rows, n_units) = (200, 500);
    let mut stream = Streams::new(4, Purpose::TestSystem, 4).row(0);
    let base: Vec<f32> = (0..padded(n_units)).map(|_| 1e6 * stream.normal() as f32).collect();
    let x: Vec<f32> = (0..rows * n_units).map(|i| -base[i % n_units] * (0.63 / 0.37)).collect();
    let x = Matrix::from_rows(rows, n_units, &x, ztrack::ops::PADDING);
    let parameters = Parameters::zeros(1, n_units);
    let draws = InstructionSet::available().into_iter().map(|set| {
        let mut out = BitMatrix::zeros(rows, n_units);
        let streams = Streams::new(1, Purpose::SampleHidden, 0);
        let (inputs, beta, base) = (x.as_slice(), &vec![0.37; rows][..], Some(&base[..]));
        let draw = Draw { n_units, inputs, beta, base, streams, first_row: 0 };
        Fused::with_instruction_set(&parameters, set).draw(&draw, out.words_mut());
        out
    });
    let draws: Vec<BitMatrix> = draws.collect();
    assert!(draws.iter().all(|bits| *bits == draws[0]));
}

/// Sparse and full rows, sizes that leave half words, half panels and single rows over, few rows and many.
#[test]
fn shapes_give_the_same_bits() {
    for (n_visible, n_hidden, rows) in [(97, 75, 21), (300, 130, 70), (64, 32, 16), (31, 200, 5)] {
        let parameters = random_parameters(n_visible, n_hidden, 0.3, 1);
        let mut stream = Streams::new(2, Purpose::TestSystem, 1).row(0);
        let mut bits = |columns: usize| {
            BitMatrix::from_fn(rows, columns, |row, unit| {
                let share = if row % 3 == 0 || unit < 64 { 0.05 } else { 0.6 };
                stream.uniform() < share
            })
        };
        let (visible, hidden) = (bits(n_visible), bits(n_hidden));
        let means = Matrix::from_rows(
            rows,
            n_hidden,
            &(0..rows * n_hidden).map(|i| (i % 89) as f32 * 0.011).collect::<Vec<_>>(),
            0.0,
        );
        let bytes = |set: InstructionSet, shape: Shape| {
            let ops = Fused::with_shape(&parameters, set, shape);
            let floats = [
                inputs(&ops, Layer::Hidden, &visible),
                inputs(&ops, Layer::Visible, &hidden),
                ops.outer_products(&visible, &means),
            ];
            floats.map(|matrix| matrix.to_rows().into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let usual = bytes(InstructionSet::Portable, Shape::USUAL);
        for set in InstructionSet::available() {
            for shape in Shape::all() {
                assert_eq!(bytes(set, shape), usual, "{shape} with {set}, {n_visible}x{n_hidden}");
            }
        }
    }
}

/// Order-dependent hash (FNV-1a over words).
fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    words
        .into_iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3))
}

/// Kernels round as IEEE 754 says and call no libm, so the bits are the same on every processor, operating system and
/// instruction set. The constants are from x86-64; `tests/aarch64.sh` finds them on 64-bit Arm.
#[test]
fn bits_are_the_same_on_every_machine() {
    let (n_visible, n_hidden, rows) = (150, 270, 40);
    let mut stream = Streams::new(5, Purpose::TestSystem, 5).row(0);
    // No normals: their logarithm and cosine are the operating system's.
    let mut uniforms =
        |n: usize| (0..n).map(|_| stream.uniform() as f32 - 0.5).collect::<Vec<f32>>();
    let (weights, c, b) = (uniforms(n_visible * n_hidden), uniforms(n_visible), uniforms(n_hidden));
    let base = uniforms(padded(n_hidden));
    let parameters = Parameters::new(n_visible, n_hidden, weights, c, b).unwrap();
    let visible = random_bits(rows, n_visible, 1);
    let beta: Vec<f32> = (0..rows).map(|s| s as f32 / (rows - 1) as f32).collect();
    let grid = BetaGrid::new(&(0..=20).map(|k| f64::from(k) / 20.0).collect::<Vec<f64>>());
    let expected = [
        ("hidden inputs", 0x24FB_E136_C500_E8EF),
        ("draws", 0x5CA1_D1EC_3CC8_FE51),
        ("visible inputs", 0x84BB_3CDD_1E5F_95CD),
        ("sums of softplus", 0x690E_83DD_4859_3DD4),
        ("means", 0x0960_8423_0801_2F74),
        ("outer products", 0x24E8_1A79_3FE6_4294),
        ("bias of visible units", 0x3FE0_F77A_1000_0000),
    ];
    for set in InstructionSet::available() {
        let ops = Fused::with_instruction_set(&parameters, set);
        let x = inputs(&ops, Layer::Hidden, &visible);
        let mut hidden = BitMatrix::zeros(rows, n_hidden);
        let streams = Streams::new(6, Purpose::SampleHidden, 7);
        let (values, base) = (x.as_slice(), Some(&base[..]));
        let draw =
            Draw { n_units: n_hidden, inputs: values, beta: &beta, base, streams, first_row: 0 };
        ops.draw(&draw, hidden.words_mut());
        let y = inputs(&ops, Layer::Visible, &hidden);
        let mut sums = vec![0.0; rows * grid.betas().len()];
        ops.softplus_sums(n_hidden, x.as_slice(), &grid, &mut sums);
        let mut means = x.clone();
        ops.means(n_hidden, means.as_mut_slice(), &beta);
        let statistics = ops.outer_products(&visible, &means);
        let floats = |values: Vec<f32>| hash(values.into_iter().map(|x| u64::from(x.to_bits())));
        let found = [
            ("hidden inputs", floats(x.to_rows())),
            ("draws", hash(hidden.words().iter().copied())),
            ("visible inputs", floats(y.to_rows())),
            ("sums of softplus", hash(sums.iter().map(|x| x.to_bits()))),
            ("means", floats(means.to_rows())),
            ("outer products", floats(statistics.to_rows())),
            ("bias of visible units", ops.visible_dot(visible.row(0)).to_bits()),
        ];
        assert_eq!(found, expected, "{set:?}");
    }
}

#[test]
fn weighted_means_agree_with_the_composed_reference() {
    for (rows, n_units) in [(1, 1), (7, 33), (40, 500)] {
        let parameters = random_parameters(5, n_units, 2.0, 4);
        let (fused, composed) = implementations(&parameters);
        let x = inputs(fused[0].as_ref(), Layer::Hidden, &random_bits(rows, 5, 9));
        let weights: Vec<f32> = (0..rows).map(|s| (s + 1) as f32 / 50.0).collect();
        let means = |ops: &dyn RbmOps| {
            let mut x = x.clone();
            ops.means(n_units, x.as_mut_slice(), &weights);
            x.to_rows()
        };
        let exact = means(composed[0].as_ref());
        let first = means(fused[0].as_ref());
        for ops in &fused {
            assert_eq!(means(ops.as_ref()), first, "instruction sets differ");
        }
        for (a, b) in first.iter().zip(&exact) {
            assert!((a - b).abs() <= 1e-6, "{a} against {b}");
        }
    }
}

#[test]
fn draws_have_the_right_probability() {
    let parameters = random_parameters(2, 130, 1.5, 7);
    let ops = Fused::new(&parameters);
    let x = inputs(&ops, Layer::Hidden, &random_bits(1, 2, 0));
    let n = 20_000;
    let mut counts = vec![0u32; 130];
    for step in 0..n {
        let mut out = BitMatrix::zeros(1, 130);
        let streams = Streams::new(1, Purpose::SampleHidden, step);
        ops.draw(
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
