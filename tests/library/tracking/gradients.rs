//! Gradients against finite differences, and their moments against exact ones.

use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BitMatrix, Engine, Host, Matrix};
use ztrack::model::Parameters;
use ztrack::model::exact::{self, mean_log_likelihood};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::{GeometricPath, TemperedChains};
use ztrack::tracking::{ChainTracker, Smoothing};
use ztrack::training::gradient::{Centering, Moments, gradient};

use super::{J, K, M, base, ladder, options};
use crate::statistics::mean_and_deviation;

fn exact_moments(parameters: &Parameters) -> Moments {
    let exact = exact::moments(parameters).unwrap();
    let products: Vec<f32> = exact.products.iter().map(|&x| x as f32).collect();
    let (m, j) = (parameters.n_visible, parameters.n_hidden);
    let products = Matrix::from_rows(m, j, &products, 0.0);
    Moments { visible: exact.visible, hidden: exact.hidden, products }
}

#[test]
fn gradients_are_finite_differences_of_the_exact_log_likelihood() {
    const STEP: f32 = 1.0 / 64.0;
    let (m, j) = (5, 4);
    let parameters = gaussian_parameters(m, j, 0.7, 1);
    let mut stream = Streams::new(1, Purpose::TestSystem, 9).row(0);
    let data = BitMatrix::from_fn(30, m, |_, i| stream.uniform() < 0.2 + 0.1 * i as f64);
    let (positive, negative) =
        (Host::new(&parameters).moments(&data, None), exact_moments(&parameters));
    let slope = |direction: &dyn Fn(&mut Parameters, f32)| {
        let at = |t: f32| {
            let mut moved = parameters.clone();
            direction(&mut moved, t);
            mean_log_likelihood(&moved, &data).unwrap()
        };
        (at(STEP) - at(-STEP)) / (2.0 * f64::from(STEP))
    };
    let mut centering = Centering::new((0..m).map(|i| 0.2 + 0.15 * i as f64).collect(), j);
    centering.hidden = (0..j).map(|j| 0.7 - 0.1 * j as f64).collect();
    let mut zero = Centering::new(vec![0.0; m], j);
    zero.hidden.fill(0.0);
    for (given, Centering { visible: mu, hidden: lam, .. }) in
        [(None, &zero), (Some(&centering), &centering)]
    {
        let found = gradient(&positive, &negative, given);
        // Central differences are off by STEP^2/6 = 4e-5 third derivatives; f32 moments and parameters add 1e-5.
        let near = |a: f64, b: f64, what: String| assert!((a - b).abs() < 2e-4, "{what}: {a} {b}");
        let mut from_hidden = vec![0.0; j];
        for (i, mu) in mu.iter().enumerate() {
            let mut from_visible = 0.0;
            for col in 0..j {
                // A centered weight moves with (v - mu)(h - lam): the plain biases move against it.
                let expected = slope(&|p, t| {
                    p.weights[i * j + col] += t;
                    p.visible_bias[i] -= t * lam[col] as f32;
                    p.hidden_bias[col] -= t * *mu as f32;
                });
                let w = f64::from(found.weights[i * j + col]);
                near(w, expected, format!("w {i} {col}"));
                from_visible += w * lam[col];
                from_hidden[col] += w * mu;
            }
            let expected = slope(&|p, t| p.visible_bias[i] += t) - from_visible;
            near(f64::from(found.visible_bias[i]), expected, format!("c {i}"));
        }
        for (col, from) in from_hidden.into_iter().enumerate() {
            let expected = slope(&|p, t| p.hidden_bias[col] += t) - from;
            near(f64::from(found.hidden_bias[col]), expected, format!("b {col}"));
        }
    }
}

#[test]
fn tempered_weights_give_unbiased_moments_of_the_model() {
    const RUNS: u64 = 30;
    let (base, ladder) = (base(), ladder());
    let parameters = gaussian_parameters(M, J, 0.7, 5);
    let exact = exact::moments(&parameters).unwrap();
    let engine = Host::new(&parameters);
    let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
    // One value per run: its mean over 20 updates of 1000 chains. The bias of a ratio, 1/ESS, is far below its noise.
    let runs: Vec<Vec<f64>> = (0..RUNS)
        .map(|seed| {
            let chains = TemperedChains::new(base.sample(1000, seed, 0), K, seed);
            let mut tracker = ChainTracker::start(&path, chains, options(Smoothing::Kalman, 3)).0;
            let mut sums = vec![0.0; M + J + M * J];
            for _ in 0..20 {
                tracker.step(&path, &path);
                let found = engine.moments(&tracker.chains.visible, Some(&tracker.weights()));
                let products = found.products.to_rows().into_iter().map(f64::from);
                let all = found.visible.into_iter().chain(found.hidden).chain(products);
                sums.iter_mut().zip(all).for_each(|(sum, x)| *sum += x / 20.0);
            }
            sums
        })
        .collect();
    let exact: Vec<f64> =
        exact.visible.into_iter().chain(exact.hidden).chain(exact.products).collect();
    let scores: Vec<f64> = (0..exact.len())
        .map(|i| {
            let values: Vec<f64> = runs.iter().map(|run| run[i]).collect();
            let (mean, deviation) = mean_and_deviation(&values);
            (mean - exact[i]) / (deviation / (RUNS as f64).sqrt())
        })
        .collect();
    let largest = scores.iter().fold(0.0f64, |max, z| max.max(z.abs()));
    let square = scores.iter().map(|z| z * z).sum::<f64>() / scores.len() as f64;
    println!("largest |z| {largest:.2}, mean z^2 {square:.2}");
    // 76 correlated z-scores with 29 degrees of freedom: |z| > 4.7 once in 200 runs.
    assert!(largest < 4.7 && square < 2.5, "{scores:.1?}");
}
