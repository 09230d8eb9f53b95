//! Every kernel of the host against its formula in f64, on every instruction set of this machine.

mod same_bits;

use proptest::prelude::*;
use ztrack::engine::host::{InstructionSet, uniform};
use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BetaGrid, BitMatrix, Draw, Engine, Host, Layer, Matrix, padded};
use ztrack::model::Parameters;
use ztrack::numerics::{sigmoid, softplus};

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

/// The kernels on all instruction sets.
fn hosts(parameters: &Parameters) -> Vec<Host> {
    let sets = InstructionSet::available().into_iter();
    sets.map(|set| Host::with_instruction_set(parameters, set)).collect()
}

/// Pre-activations in f64, [rows, units].
fn reference(parameters: &Parameters, layer: Layer, given: &BitMatrix) -> Vec<Vec<f64>> {
    let Parameters { n_visible, n_hidden, weights, visible_bias, hidden_bias, .. } = parameters;
    let weight = |i: usize, j: usize| f64::from(weights[i * n_hidden + j]);
    let value = |row: usize, unit: usize| match layer {
        Layer::Hidden => {
            let set = (0..*n_visible).filter(|&i| given.get(row, i));
            f64::from(hidden_bias[unit]) + set.map(|i| weight(i, unit)).sum::<f64>()
        }
        Layer::Visible => {
            let set = (0..*n_hidden).filter(|&j| given.get(row, j));
            f64::from(visible_bias[unit]) + set.map(|j| weight(unit, j)).sum::<f64>()
        }
    };
    let units = if layer == Layer::Hidden { *n_hidden } else { *n_visible };
    (0..given.rows()).map(|row| (0..units).map(|unit| value(row, unit)).collect()).collect()
}

fn inputs(engine: &Host, layer: Layer, given: &BitMatrix) -> Matrix {
    let mut out = Matrix::filled(given.rows(), engine.n_units(layer), 0.0);
    engine.inputs_of(layer, given.words(), out.as_mut_slice());
    out
}

#[test]
fn reloaded_kernels_are_those_made_anew() {
    let [old, new] = [1, 2].map(|seed| random_parameters(70, 45, 0.3, seed));
    let (visible, hidden) = (random_bits(20, 70, 3), random_bits(20, 45, 4));
    let (mut reloaded, expected) = (Host::new(&old), Host::new(&new));
    assert!(!reloaded.load(&random_parameters(45, 70, 0.3, 1)), "another size");
    for expected in [&Host::new(&old), &expected] {
        let given = [(Layer::Hidden, &visible), (Layer::Visible, &hidden)];
        for (layer, given) in given {
            assert_eq!(inputs(&reloaded, layer, given), inputs(expected, layer, given));
        }
        assert_eq!(reloaded.visible_dot(visible.row(0)), expected.visible_dot(visible.row(0)));
        assert!(reloaded.load(&new));
    }
}

/// Weights are whole numbers times a scale of their column; the mean square error of a sum is at most that of sums of f32 in the order of
/// the units and a tenth, for usual weights, tiny ones, one that is far larger than the others, and many units of one sign.
#[test]
fn sums_are_no_less_accurate_than_those_of_floats_in_order() {
    type Weight = fn(usize, f32) -> f32;
    let kinds: [(&str, Weight); 4] = [
        ("normal", |_, z| 0.3 * z),
        ("tiny", |_, z| 1e-12 * z),
        ("one is large", |i, z| if i == 7 { -3e3 - 100.0 * z } else { 0.1 * z }),
        ("of one sign", |_, z| 0.01 + 0.2 * z.abs()),
    ];
    for (kind, weight) in kinds {
        for (n_visible, n_hidden) in [(784, 100), (90, 500)] {
            let normals = random_parameters(n_visible, n_hidden, 1.0, 9).weights;
            let weights: Vec<f32> =
                normals.iter().enumerate().map(|(i, &z)| weight(i / n_hidden, z)).collect();
            let zeros = Parameters::zeros(n_visible, n_hidden);
            let parameters = Parameters { weights, ..zeros };
            let weight = |i: usize, j: usize| parameters.weights[i * n_hidden + j];
            let engine = Host::new(&parameters);
            for (layer, from) in [(Layer::Hidden, n_visible), (Layer::Visible, n_hidden)] {
                let given = random_bits(40, from, 10);
                let (x, exact) =
                    (inputs(&engine, layer, &given), reference(&parameters, layer, &given));
                let (mut error, mut in_order) = (0.0, 0.0);
                for (row, exact) in exact.iter().enumerate() {
                    for (unit, &exact) in exact.iter().enumerate() {
                        let set = (0..from).filter(|&k| given.get(row, k));
                        let sum = set.fold(0.0_f32, |sum, k| match layer {
                            Layer::Hidden => sum + weight(k, unit),
                            Layer::Visible => sum + weight(unit, k),
                        });
                        error += (f64::from(x.row(row)[unit]) - exact).powi(2);
                        in_order += (f64::from(sum) - exact).powi(2);
                    }
                }
                assert!(
                    error <= 1.1 * in_order,
                    "{kind}, {layer:?}: {error:e} against {in_order:e}"
                );
            }
        }
    }
}

/// A weight that keeps two units from being on together leaves the other weights of both as they are.
#[test]
fn a_huge_weight_does_not_blur_the_others() {
    let (n_visible, n_hidden) = (90, 140);
    for huge in [-1e5, -1e9, 3e38] {
        let mut parameters = random_parameters(n_visible, n_hidden, 0.4, 11);
        parameters.weights[0] = huge;
        let states = hosts(&parameters).into_iter().map(|engine| {
            for (layer, from) in [(Layer::Hidden, n_visible), (Layer::Visible, n_hidden)] {
                for rows in [5, 40] {
                    let mut given = random_bits(rows, from, 12);
                    (0..rows).for_each(|row| given.set(row, 0, row % 4 == 3));
                    let found = inputs(&engine, layer, &given);
                    let exact = reference(&parameters, layer, &given);
                    for (row, exact) in exact.iter().enumerate() {
                        for (a, b) in found.row(row).iter().zip(exact) {
                            let error = (f64::from(*a) - b).abs();
                            assert!(error <= 1e-5 + 1e-6 * b.abs(), "{huge}, {layer:?}: {a} {b}");
                        }
                    }
                }
            }
            let mut visible = random_bits(40, n_visible, 13);
            engine.gibbs(&mut visible, 2, 5, 6);
            visible
        });
        let states: Vec<BitMatrix> = states.collect();
        assert!(states.iter().all(|found| *found == states[0]), "{huge}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn inputs_agree_with_sums_in_f64(
        n_visible in 1usize..200, n_hidden in 1usize..300, rows in 1usize..60, seed in 0u64..1000,
    ) {
        let parameters = random_parameters(n_visible, n_hidden, 0.3, seed);
        let hosts = hosts(&parameters);
        let visible = random_bits(rows, n_visible, seed);
        let hidden = random_bits(rows, n_hidden, seed + 1);
        // A sum of n f32 terms of size about 0.3 is off by at most n x 2^-24 x its partial sums.
        let tolerance = 2e-7 * (n_visible.max(n_hidden) as f64) * 3.0;
        for (layer, given) in [(Layer::Hidden, &visible), (Layer::Visible, &hidden)] {
            let exact = reference(&parameters, layer, given);
            let first = inputs(&hosts[0], layer, given);
            for engine in &hosts {
                let x = inputs(engine, layer, given);
                prop_assert_eq!(&x, &first, "instruction sets differ");
                // Few rows take another way through the kernel than many: the bits must be the same.
                let alone = inputs(engine, layer, &given.select([rows - 1]));
                prop_assert_eq!(alone.row(0), x.row(rows - 1));
                prop_assert_eq!(&Engine::inputs(engine, layer, given), &x, "rows divided among threads");
                for (row, exact) in exact.iter().enumerate() {
                    for (a, b) in x.row(row).iter().zip(exact) {
                        prop_assert!((f64::from(*a) - b).abs() <= tolerance, "{} against {}", a, b);
                    }
                }
            }
        }
    }

    #[test]
    fn draws_are_the_same_up_to_rounding_of_the_probability(
        n_units in 1usize..300, rows in 1usize..6, seed in 0u64..1000, with_base in any::<bool>(),
    ) {
        let parameters = random_parameters(3, n_units, 2.0, seed);
        let hosts = hosts(&parameters);
        let x = inputs(&hosts[0], Layer::Hidden, &random_bits(rows, 3, seed));
        let beta: Vec<f32> = (0..rows).map(|s| s as f32 / rows as f32).collect();
        let mut base = vec![0.5f32; padded(n_units)];
        base[0] = -1.0;
        let base = with_base.then_some(&base[..]);
        let streams = Streams::new(seed, Purpose::SampleHidden, 5);
        let draw = |engine: &Host| {
            let mut out = BitMatrix::zeros(rows, n_units);
            engine.draw(&Draw { n_units, inputs: x.as_slice(), beta: &beta, base, streams, first_row: 3 }, out.words_mut());
            out
        };
        let first = draw(&hosts[0]);
        let expected = BitMatrix::from_fn(rows, n_units, |row, unit| {
            let beta = f64::from(beta[row]);
            let a = base.map_or(0.0, |base| f64::from(base[unit]));
            let eta = beta * f64::from(x.row(row)[unit]) + (1.0 - beta) * a;
            f64::from(uniform(&streams.row(3 + row as u32), unit)) * (1.0 + (-eta).exp()) < 1.0
        });
        // A draw differs only when u falls within rounding (about 1e-6) of the probability.
        let differing: u32 =
            first.words().iter().zip(expected.words()).map(|(a, b)| (a ^ b).count_ones()).sum();
        prop_assert!(differing <= 1, "{} of {} draws differ", differing, rows * n_units);
        for engine in &hosts {
            prop_assert_eq!(&draw(engine), &first, "instruction sets differ");
        }
    }

    #[test]
    fn softplus_sums_agree_with_sums_in_f64(
        n_units in 1usize..2100, seed in 0u64..1000, bend in 0.5f64..2.0, scale in 0.1f64..5.0,
    ) {
        let parameters = random_parameters(3, n_units, scale, seed);
        let hosts = hosts(&parameters);
        let x = inputs(&hosts[0], Layer::Hidden, &random_bits(2, 3, seed));
        for exponent in [1.0, bend] {
            let betas: Vec<f64> = (0..=60).map(|k| (f64::from(k) / 60.0).powf(exponent)).collect();
            let grid = BetaGrid::new(&betas);
            let sums = |engine: &Host| {
                let mut out = vec![0.0; 2 * betas.len()];
                engine.softplus_sums(n_units, x.as_slice(), &grid, &mut out);
                out
            };
            let first = sums(&hosts[0]);
            let exact = (0..2).flat_map(|row| {
                let x = x.row(row);
                betas.iter().map(move |beta| x.iter().map(|&x| softplus(beta * f64::from(x))).sum::<f64>())
            });
            // Each unit's softplus is good to a few f32 roundings of itself.
            for (a, b) in first.iter().zip(exact) {
                prop_assert!((a - b).abs() <= 2e-6 * b.abs() + 1e-4, "{} against {}", a, b);
            }
            for engine in &hosts {
                prop_assert_eq!(&sums(engine), &first, "instruction sets differ");
            }
        }
    }

    #[test]
    fn outer_products_agree_with_sums_in_f64(
        n_visible in 1usize..150, n_hidden in 1usize..150, rows in 1usize..150, seed in 0u64..1000,
    ) {
        let visible = random_bits(rows, n_visible, seed);
        let mut stream = Streams::new(seed, Purpose::TestSystem, 2).row(0);
        let values: Vec<f32> = (0..rows * n_hidden).map(|_| stream.uniform() as f32).collect();
        let hidden = Matrix::from_rows(rows, n_hidden, &values, 0.0);
        for engine in hosts(&Parameters::zeros(n_visible, n_hidden)) {
            let found = engine.outer_products(&visible, &hidden);
            for i in 0..n_visible {
                for (j, a) in found.row(i).iter().enumerate() {
                    let set = (0..rows).filter(|&row| visible.get(row, i));
                    let b: f64 = set.map(|row| f64::from(values[row * n_hidden + j])).sum();
                    prop_assert!((f64::from(*a) - b).abs() <= 1e-5 * rows as f64);
                }
            }
        }
    }
}

#[test]
fn weighted_means_agree_with_the_formula() {
    for (rows, n_units) in [(1, 1), (7, 33), (40, 500)] {
        let hosts = hosts(&random_parameters(5, n_units, 2.0, 4));
        let x = inputs(&hosts[0], Layer::Hidden, &random_bits(rows, 5, 9));
        let weights: Vec<f32> = (0..rows).map(|s| (s + 1) as f32 / 50.0).collect();
        let means = |engine: &Host| {
            let mut x = x.clone();
            engine.means(n_units, x.as_mut_slice(), &weights);
            x
        };
        let first = means(&hosts[0]);
        for engine in &hosts {
            assert_eq!(means(engine), first, "instruction sets differ");
        }
        for (row, w) in weights.iter().enumerate() {
            for (a, x) in first.row(row).iter().zip(x.row(row)) {
                let b = f64::from(*w) * sigmoid(f64::from(*x));
                assert!((f64::from(*a) - b).abs() <= 1e-6, "{a} against {b}");
            }
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
