//! Update rules against scalar f64 code written from the formulas, and across a checkpoint.

use super::*;
use crate::checkpoint::{StateReader, StateWriter};
use crate::model::Parameters;
use crate::model::test_systems::gaussian_parameters;

const M: usize = 6;
const J: usize = 4;
const RATE: f64 = 0.05;

fn configs() -> Vec<UpdateRuleConfig> {
    let rms = RmsSpectralConfig { max_step: 1e9, ..Default::default() };
    vec![
        UpdateRuleConfig::Sgd(SgdConfig { momentum: 0.9, nesterov: false }),
        UpdateRuleConfig::Sgd(SgdConfig { momentum: 0.9, nesterov: true }),
        UpdateRuleConfig::Adam(AdamConfig::default()),
        UpdateRuleConfig::RmsSpectral(rms),
        UpdateRuleConfig::RmsSpectral(RmsSpectralConfig { max_step: 0.01, ..rms }),
        UpdateRuleConfig::Ssd {},
    ]
}

/// The gradient of update t: arbitrary numbers of the size of an RBM's.
fn gradient(t: u64) -> Gradient {
    gaussian_parameters(M, J, 0.1, 100 + t)
}

/// The learning rate falls, so that its place in the formulas matters.
fn rate(t: u64) -> f64 {
    RATE / t as f64
}

fn flat(p: &Parameters) -> Vec<f64> {
    p.arrays().concat().into_iter().map(f64::from).collect()
}

fn run(rule: &mut dyn UpdateRule, parameters: &mut Parameters, updates: std::ops::Range<u64>) {
    for t in updates {
        rule.step(parameters, &gradient(t), rate(t));
    }
}

fn start() -> Parameters {
    gaussian_parameters(M, J, 0.01, 99)
}

/// Columns of U S, rows of V' and S by one-sided Jacobi rotations, a different method than the one under test.
struct Svd {
    us: Vec<Vec<f64>>,
    v: Vec<Vec<f64>>,
    s: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn svd_by_jacobi(x: &[f64], rows: usize, columns: usize) -> Svd {
    let column = |j| (0..rows).map(|i| x[i * columns + j]).collect();
    if rows < columns {
        let transpose: Vec<f64> = (0..columns).flat_map(|j| -> Vec<f64> { column(j) }).collect();
        let Svd { us, v, s } = svd_by_jacobi(&transpose, columns, rows);
        // X' = (U S) V' means X = V (U S)': move S to the other side.
        let scaled = |vectors: Vec<Vec<f64>>, power: i32| -> Vec<Vec<f64>> {
            let scale = |(x, s): (Vec<f64>, &f64)| x.iter().map(|x| x * s.powi(power)).collect();
            vectors.into_iter().zip(&s).map(scale).collect()
        };
        return Svd { us: scaled(v, 1), v: scaled(us, -1), s };
    }
    let mut us: Vec<Vec<f64>> = (0..columns).map(column).collect();
    let mut v: Vec<Vec<f64>> =
        (0..columns).map(|i| (0..columns).map(|j| f64::from(i == j)).collect()).collect();
    for _ in 0..60 {
        for p in 0..columns {
            for q in p + 1..columns {
                let (alpha, beta) = (dot(&us[p], &us[p]), dot(&us[q], &us[q]));
                let gamma = dot(&us[p], &us[q]);
                if gamma.abs() < 1e-300 {
                    continue;
                }
                let zeta = (beta - alpha) / (2.0 * gamma);
                let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                for vectors in [&mut us, &mut v] {
                    let (head, tail) = vectors.split_at_mut(q);
                    for (x, y) in head[p].iter_mut().zip(&mut tail[0]) {
                        (*x, *y) = (c * (*x - t * *y), c * (t * *x + *y));
                    }
                }
            }
        }
    }
    let s = us.iter().map(|u| dot(u, u).sqrt()).collect();
    Svd { us, v, s }
}

/// |X|_nuc U V' by its definition.
fn sharp_by_jacobi(x: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let Svd { us, v, s } = svd_by_jacobi(x, rows, columns);
    let largest = s.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> = (0..s.len()).filter(|&k| s[k] > 1e-6 * largest).collect();
    let nuclear: f64 = s.iter().sum();
    let entry = |at: usize| {
        let (i, j) = (at / columns, at % columns);
        nuclear * kept.iter().map(|&k| us[k][i] / s[k] * v[k][j]).sum::<f64>()
    };
    (0..rows * columns).map(entry).collect()
}

/// X# of rounded numbers.
fn sharp_of(x: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    sharp(&x, rows, columns).into_iter().map(f64::from).collect()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn weights(rows: usize, columns: usize, scale: f64, seed: u64) -> Vec<f64> {
    let p = gaussian_parameters(rows, columns, scale, seed);
    p.weights.iter().map(|&x| f64::from(x)).collect()
}

#[test]
fn sharp_is_the_nuclear_norm_times_the_polar_factor() {
    let mut cases = vec![(5, 8, weights(5, 8, 1.0, 1)), (8, 5, weights(8, 5, 1e-12, 2))];
    cases.push((1, 7, weights(1, 7, 1e12, 3)));
    cases.push((6, 6, weights(6, 6, 0.1, 4)));
    // Rank 2: the other directions must be dropped, not blown up.
    let (left, right) = (weights(9, 2, 1.0, 5), weights(2, 7, 1.0, 6));
    let product = |k: usize| (0..2).map(|r| left[k / 7 * 2 + r] * right[r * 7 + k % 7]).sum();
    cases.push((9, 7, (0..63).map(product).map(|x: f64| f64::from(x as f32)).collect()));
    for (rows, columns, x) in cases {
        let found = sharp_of(&x, rows, columns);
        let expected = sharp_by_jacobi(&x, rows, columns);
        let size = expected.iter().fold(0.0f64, |max, x| max.max(x.abs()));
        let bound = if rows == 9 { 1e-3 } else { 1e-6 };
        let error = largest_difference(&found, &expected);
        assert!(error < bound * size, "{rows}x{columns}: {error} of {size}");
    }
    assert!(sharp_of(&[0.0; 6], 2, 3).iter().all(|x| *x == 0.0));
    assert!(sharp_of(&[0.0, f64::NAN, 1.0, 2.0], 2, 2).iter().all(|x| x.is_nan()));
}

#[test]
fn sharp_maximises_its_definition() {
    let x = weights(M, J, 1.0, 7);
    let spectral_norm = |y: &[f64]| svd_by_jacobi(y, M, J).s.into_iter().fold(0.0f64, f64::max);
    let objective = |y: &[f64]| dot(&x, y) - spectral_norm(y).powi(2) / 2.0;
    let best = sharp_of(&x, M, J);
    let nuclear: f64 = svd_by_jacobi(&x, M, J).s.iter().sum();
    assert!((spectral_norm(&best) - nuclear).abs() < 1e-6 * nuclear);
    assert!((dot(&x, &best) - nuclear * nuclear).abs() < 1e-6 * nuclear * nuclear);
    for seed in 0..300 {
        let size = 10f64.powi(-(seed as i32 % 4));
        let rival: Vec<f64> =
            weights(M, J, size, 1000 + seed).iter().zip(&best).map(|(d, b)| b + d).collect();
        assert!(objective(&rival) <= objective(&best) + 1e-5, "competitor {seed} wins");
        let alone = weights(M, J, nuclear * size, 5000 + seed);
        assert!(objective(&alone) <= objective(&best));
    }
}

/// Every rule in scalar f64, straight from the formulas, all parameters in one list: W, c, b.
fn by_hand(config: &UpdateRuleConfig, updates: u64) -> Vec<f64> {
    let mut theta = flat(&start());
    let n = theta.len();
    let (mut first, mut second) = (vec![0.0; n], vec![0.0; n]);
    for t in 1..=updates {
        let g = flat(&gradient(t));
        let eps = rate(t);
        match *config {
            UpdateRuleConfig::Sgd(SgdConfig { momentum, nesterov }) => {
                for k in 0..n {
                    first[k] = momentum * first[k] + eps * g[k];
                    theta[k] += if nesterov { momentum * first[k] + eps * g[k] } else { first[k] };
                }
            }
            UpdateRuleConfig::Adam(AdamConfig { beta1, beta2, epsilon }) => {
                for k in 0..n {
                    first[k] = beta1 * first[k] + (1.0 - beta1) * g[k];
                    second[k] = beta2 * second[k] + (1.0 - beta2) * g[k] * g[k];
                    let mean = first[k] / (1.0 - beta1.powi(t as i32));
                    let square = second[k] / (1.0 - beta2.powi(t as i32));
                    theta[k] += eps * mean / (square.sqrt() + epsilon);
                }
            }
            UpdateRuleConfig::RmsSpectral(c) => {
                let mut root = vec![0.0; n];
                for k in 0..n {
                    second[k] = c.memory * second[k] + (1.0 - c.memory) * g[k] * g[k];
                    root[k] = (second[k] / (1.0 - c.memory.powi(t as i32))).sqrt();
                }
                let d: Vec<f64> = root[..M * J].iter().map(|r| (c.damping + r).sqrt()).collect();
                let scaled: Vec<f64> = (0..M * J).map(|k| g[k] / d[k]).collect();
                let direction: Vec<f64> =
                    sharp_by_jacobi(&scaled, M, J).iter().zip(&d).map(|(x, d)| x / d).collect();
                let largest = direction.iter().fold(0.0f64, |max, x| max.max(x.abs()));
                for k in 0..n {
                    theta[k] += if k < M * J {
                        eps.min(c.max_step / largest) * direction[k]
                    } else {
                        c.bias_learning_rate * eps / RATE * g[k] / (c.damping + root[k])
                    };
                }
            }
            UpdateRuleConfig::Ssd {} => {
                let direction = sharp_by_jacobi(&g[..M * J], M, J);
                for k in 0..n {
                    theta[k] += eps
                        * match k {
                            k if k < M * J => direction[k],
                            k if k < M * J + M => J as f64 * g[k],
                            _ => M as f64 * g[k],
                        };
                }
            }
        }
    }
    theta
}

#[test]
fn every_rule_follows_its_formula() {
    for config in configs() {
        let expected = by_hand(&config, 4);
        let mut parameters = start();
        run(config.build(M, J, RATE).as_mut(), &mut parameters, 1..5);
        let found = flat(&parameters);
        let error = largest_difference(&found, &expected);
        assert!(error < 2e-6, "{config:?}: {error}");
        let moved = largest_difference(&found, &flat(&start()));
        assert!(moved > 1e-3, "{config:?} does not move");
    }
}

#[test]
fn no_weight_moves_further_than_the_cap() {
    let config = UpdateRuleConfig::RmsSpectral(RmsSpectralConfig::default());
    let mut rule = config.build(M, J, 1.0);
    let mut after = start();
    rule.step(&mut after, &gradient(1), 1.0);
    let step = largest_difference(&flat(&after)[..M * J], &flat(&start())[..M * J]);
    assert!((step - 0.01).abs() < 1e-6, "{step}");
}

#[test]
fn a_stored_rule_goes_on_bit_for_bit() {
    for config in configs() {
        let mut expected = start();
        run(config.build(M, J, RATE).as_mut(), &mut expected, 1..8);

        let (mut first, mut found) = (config.build(M, J, RATE), start());
        run(first.as_mut(), &mut found, 1..4);
        let mut state = StateWriter::new();
        first.save(&mut state);
        let state = StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap();
        let mut second = config.build(M, J, RATE);
        second.load(&state).unwrap();
        run(second.as_mut(), &mut found, 4..8);
        assert_eq!(found, expected, "{config:?}");
    }
}

#[test]
fn memory_of_another_size_or_rule_is_refused() {
    let adam = UpdateRuleConfig::Adam(AdamConfig::default());
    let mut state = StateWriter::new();
    adam.build(M, J, RATE).save(&mut state);
    let state = StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap();
    let message = |config: UpdateRuleConfig, n_hidden| {
        config.build(M, n_hidden, RATE).load(&state).unwrap_err().to_string()
    };
    assert!(message(adam, J + 1).contains("6x4 units"));
    assert!(message(configs()[0], J).contains("no `update.velocity.weights`"));
}

#[test]
fn numbers_that_are_not_finite_reach_the_parameters() {
    for config in configs() {
        let (mut bad, mut parameters) = (gradient(1), start());
        bad.weights.fill(f32::NAN);
        config.build(M, J, RATE).step(&mut parameters, &bad, RATE);
        assert!(parameters.not_finite().is_some(), "{config:?} hides NaN");
    }
}

#[test]
fn configuration_reads_as_documented() {
    let read = |text: &str| toml::from_str::<UpdateRuleConfig>(text);
    assert_eq!(read("rule = 'ssd'").unwrap(), UpdateRuleConfig::Ssd {});
    let adam = read("rule = 'adam'\nbeta2 = 0.99").unwrap();
    assert_eq!(adam, UpdateRuleConfig::Adam(AdamConfig { beta2: 0.99, ..Default::default() }));
    let text = toml::to_string(&configs()[3]).unwrap();
    assert_eq!(read(&text).unwrap(), configs()[3], "{text}");
    for unknown in ["rule = 'sdg'", "rule = 'sgd'\nbeta1 = 1", "rule = 'ssd'\nmomentum = 1", ""] {
        assert!(read(unknown).is_err(), "{unknown}");
    }
}
