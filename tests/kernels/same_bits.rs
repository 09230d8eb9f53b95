//! The same bits on every instruction set, in every shape and on every machine.

use ztrack::engine::host::{InstructionSet, Shape};
use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BetaGrid, BitMatrix, Draw, Engine, Host, Layer, Matrix, PADDING, padded};
use ztrack::model::Parameters;

use crate::{inputs, random_bits, random_parameters};

/// Kernels that look at a rough probability first settle the rest exactly. A wrong decision is rare, so it takes millions
/// of draws to see one. Tried: a coefficient of the AVX-512 polynomial 1 % off, the base term 0.1 % off.
#[test]
fn instruction_sets_draw_the_same_millions_of_bits() {
    let (rows, n_units) = (1000, 500);
    let mut stream = Streams::new(3, Purpose::TestSystem, 3).row(0);
    let x: Vec<f32> = (0..rows * n_units).map(|_| 3.0 * stream.normal() as f32).collect();
    let x = Matrix::from_rows(rows, n_units, &x, PADDING);
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
                Host::with_instruction_set(&parameters, set).draw(&draw, out.words_mut());
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
    let x = Matrix::from_rows(rows, n_units, &x, PADDING);
    let parameters = Parameters::zeros(1, n_units);
    let draws = InstructionSet::available().into_iter().map(|set| {
        let mut out = BitMatrix::zeros(rows, n_units);
        let streams = Streams::new(1, Purpose::SampleHidden, 0);
        let (inputs, beta, base) = (x.as_slice(), &vec![0.37; rows][..], Some(&base[..]));
        let draw = Draw { n_units, inputs, beta, base, streams, first_row: 0 };
        Host::with_instruction_set(&parameters, set).draw(&draw, out.words_mut());
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
            let engine = Host::with_shape(&parameters, set, shape);
            let floats = [
                inputs(&engine, Layer::Hidden, &visible),
                inputs(&engine, Layer::Visible, &hidden),
                engine.outer_products(&visible, &means),
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

/// Whole sweeps, whose pre-activations are not kept where there are matrix units; more units than one group of draws.
#[test]
fn instruction_sets_sweep_to_the_same_states() {
    for (n_visible, n_hidden, rows) in [(300, 700, 90), (70, 45, 3), (1100, 64, 40)] {
        let parameters = random_parameters(n_visible, n_hidden, 0.2, 3);
        let states = InstructionSet::available().into_iter().map(|set| {
            let mut visible = random_bits(rows, n_visible, 4);
            Host::with_instruction_set(&parameters, set).gibbs(&mut visible, 3, 5, 6);
            visible
        });
        let states: Vec<BitMatrix> = states.collect();
        assert!(states.iter().all(|found| *found == states[0]), "{n_visible}x{n_hidden}");
        assert_ne!(states[0], random_bits(rows, n_visible, 4));
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
        ("hidden inputs", 0xA929_608F_9F3D_3165),
        ("draws", 0x5CA1_D1EC_3CC8_FE51),
        ("visible inputs", 0xE605_CFE2_FCD3_ABF3),
        ("sums of softplus", 0x93EC_C654_0101_8C63),
        ("means", 0xEC1C_C4C7_2EB6_4E17),
        ("outer products", 0xF755_C8AB_E14F_F040),
        ("bias of visible units", 0x3FE0_F77A_1000_0000),
    ];
    for set in InstructionSet::available() {
        let engine = Host::with_instruction_set(&parameters, set);
        let x = inputs(&engine, Layer::Hidden, &visible);
        let mut hidden = BitMatrix::zeros(rows, n_hidden);
        let streams = Streams::new(6, Purpose::SampleHidden, 7);
        let (values, base) = (x.as_slice(), Some(&base[..]));
        let draw =
            Draw { n_units: n_hidden, inputs: values, beta: &beta, base, streams, first_row: 0 };
        engine.draw(&draw, hidden.words_mut());
        let y = inputs(&engine, Layer::Visible, &hidden);
        let mut sums = vec![0.0; rows * grid.betas().len()];
        engine.softplus_sums(n_hidden, x.as_slice(), &grid, &mut sums);
        let mut means = x.clone();
        engine.means(n_hidden, means.as_mut_slice(), &beta);
        let statistics = engine.outer_products(&visible, &means);
        let floats = |values: Vec<f32>| hash(values.into_iter().map(|x| u64::from(x.to_bits())));
        let found = [
            ("hidden inputs", floats(x.to_rows())),
            ("draws", hash(hidden.words().iter().copied())),
            ("visible inputs", floats(y.to_rows())),
            ("sums of softplus", hash(sums.iter().map(|x| x.to_bits()))),
            ("means", floats(means.to_rows())),
            ("outer products", floats(statistics.to_rows())),
            ("bias of visible units", engine.visible_dot(visible.row(0)).to_bits()),
        ];
        assert_eq!(found, expected, "{set:?}");
    }
}
