//! Enumeration against closed forms, brute force over (v, h), finite differences and a published model.

use super::*;
use crate::engine::BitMatrix;
use crate::model::Parameters;
use crate::model::test_systems::{
    TestSystem, gaussian_parameters, independent_units, one_hidden_unit,
};

/// log f(v, h) by definition.
fn log_joint(p: &Parameters, v: usize, h: usize) -> f64 {
    let on = |state: usize, unit: usize| (state >> unit & 1) as f64;
    let mut log_f = 0.0;
    for i in 0..p.n_visible {
        log_f += on(v, i) * f64::from(p.visible_bias[i]);
        for j in 0..p.n_hidden {
            log_f += on(v, i) * on(h, j) * f64::from(p.weights[i * p.n_hidden + j]);
        }
    }
    log_f + (0..p.n_hidden).map(|j| on(h, j) * f64::from(p.hidden_bias[j])).sum::<f64>()
}

/// log sum_h exp(beta log f(v,h) + (1 - beta) a.v) of every v, straight from the definition.
fn brute_log_f(p: &Parameters, logits: &[f64], beta: f64) -> Vec<f64> {
    let base = |v: usize| (0..p.n_visible).map(|i| (v >> i & 1) as f64 * logits[i]).sum::<f64>();
    (0..1 << p.n_visible)
        .map(|v| {
            let terms = (0..1 << p.n_hidden).map(|h| (beta * log_joint(p, v, h)).exp());
            terms.sum::<f64>().ln() + (1.0 - beta) * base(v)
        })
        .collect()
}

#[test]
fn closed_forms_are_reproduced() {
    let biases = gaussian_parameters(30, 9, 2.0, 1);
    let zero_weights = |n_visible, n_hidden| TestSystem {
        name: "zero weights",
        parameters: Parameters::zeros(n_visible, n_hidden),
        log_partition: (n_visible + n_hidden) as f64 * std::f64::consts::LN_2,
    };
    let systems: Vec<TestSystem> = vec![
        zero_weights(1, 1),
        zero_weights(784, 10),
        zero_weights(3, 500),
        independent_units(biases.visible_bias.clone(), biases.hidden_bias).unwrap(),
        one_hidden_unit(biases.weights[..30].to_vec(), biases.visible_bias, 0.7).unwrap(),
    ];
    for TestSystem { name, parameters, log_partition: expected } in systems {
        let found = log_partition(&parameters).unwrap();
        assert!((found - expected).abs() < 1e-11 * expected.abs(), "{name}: {found} {expected}");
    }
}

#[test]
fn every_temperature_and_shape_agrees_with_brute_force() {
    for (n_visible, n_hidden, scale) in [(5, 7, 1.0), (7, 5, 1.5), (6, 6, 0.3), (1, 9, 3.0)] {
        let p = gaussian_parameters(n_visible, n_hidden, scale, 2);
        let logits: Vec<f64> = (0..n_visible).map(|i| 0.3 * i as f64 - 1.0).collect();
        for beta in [0.0, 0.3, 1.0] {
            let log_f = brute_log_f(&p, &logits, beta);
            let log_z = log_f.iter().map(|x| x.exp()).sum::<f64>().ln();
            let found = log_partition_at(&p, &logits, beta).unwrap();
            assert!(
                (found - log_z).abs() < 1e-10,
                "{n_visible}x{n_hidden} at {beta}: {found} {log_z}"
            );
            let table = log_probabilities_of_visible_at(&p, &logits, beta).unwrap();
            for (v, found) in table.iter().enumerate() {
                assert!((found - (log_f[v] - log_z)).abs() < 1e-10);
            }
            assert!((table.iter().map(|x| x.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn exchanging_the_layers_changes_nothing() {
    for (n_visible, n_hidden, scale) in [(100, 12, 1.0), (13, 13, 2.0), (9, 60, 80.0)] {
        let p = gaussian_parameters(n_visible, n_hidden, scale, 3);
        let (one, other) = (log_partition(&p).unwrap(), log_partition(&p.transposed()).unwrap());
        assert!((one - other).abs() < 1e-12 * one.abs(), "{one} {other}");
    }
}

#[test]
fn weights_far_beyond_the_range_of_exp_are_no_trouble() {
    // Almost surely one state dominates: log Z is its log f, which dwarfs everything exp could hold.
    let p = gaussian_parameters(8, 5, 500.0, 4);
    let best = (0..1 << 13).map(|s| log_joint(&p, s & 255, s >> 8)).fold(f64::MIN, f64::max);
    let found = log_partition(&p).unwrap();
    assert!(best > 1000.0 && (found - best).abs() < 1e-6 * best, "{found} {best}");
    let sum: f64 = moments(&p).unwrap().products.iter().sum();
    assert!((sum - sum.round()).abs() < 1e-6);
}

#[test]
fn moments_are_the_derivatives_of_log_z() {
    for (n_visible, n_hidden) in [(20, 11), (11, 20)] {
        let mut p = gaussian_parameters(n_visible, n_hidden, 0.8, 5);
        // Multiples of 2^-12, so that f32 holds every moved value exactly.
        for values in [&mut p.weights, &mut p.visible_bias, &mut p.hidden_bias] {
            values.iter_mut().for_each(|x| *x = (*x * 4096.0).round() / 4096.0);
        }
        let found = moments(&p).unwrap();
        // Fourth-order central difference; its error is about step^4/30 times a fifth cumulant, 2e-9.
        let derivative = |change: &dyn Fn(&mut Parameters, f32)| {
            let at = |step| {
                let mut moved = p.clone();
                change(&mut moved, step);
                log_partition(&moved).unwrap()
            };
            let step = 1.0 / 64.0;
            let near = at(step) - at(-step);
            (8.0 * near - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * f64::from(step))
        };
        for (i, expected) in found.visible.iter().enumerate() {
            let numeric = derivative(&|p, step| p.visible_bias[i] += step);
            assert!((numeric - expected).abs() < 1e-7, "c {i}: {numeric} {expected}");
        }
        for (j, expected) in found.hidden.iter().enumerate() {
            let numeric = derivative(&|p, step| p.hidden_bias[j] += step);
            assert!((numeric - expected).abs() < 1e-7, "b {j}: {numeric} {expected}");
        }
        for (k, expected) in found.products.iter().enumerate().step_by(7) {
            let numeric = derivative(&|p, step| p.weights[k] += step);
            assert!((numeric - expected).abs() < 1e-7, "W {k}: {numeric} {expected}");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let p = gaussian_parameters(50, 13, 1.0, 6);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (log_partition(&p).unwrap().to_bits(), moments(&p).unwrap()))
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

#[test]
fn likelihood_is_the_mean_of_the_table() {
    let p = gaussian_parameters(10, 8, 1.0, 7);
    let data = BitMatrix::from_fn(40, 10, |row, i| (row * 7 + i * i) % 3 == 0);
    let table = log_probabilities_of_visible(&p).unwrap();
    let index = |row| (0..10).filter(|&i| data.get(row, i)).map(|i| 1 << i).sum::<usize>();
    let expected = (0..40).map(|row| table[index(row)]).sum::<f64>() / 40.0;
    let found = mean_log_likelihood(&p, &data).unwrap();
    assert!((found - expected).abs() < 1e-11, "{found} {expected}");
}

#[test]
fn impossible_requests_are_refused_with_the_reason() {
    let message = |result: crate::Result<f64>| result.unwrap_err().to_string();
    let large = message(log_partition(&Parameters::zeros(784, 26)));
    assert!(large.contains("784x26") && large.contains("2^26"), "{large}");
    assert!(moments(&Parameters::zeros(30, 26)).is_err());
    assert!(log_probabilities_of_visible(&Parameters::zeros(17, 2)).is_err());
    let p = Parameters::zeros(4, 2);
    assert!(message(log_partition_at(&p, &[0.0; 3], 0.5)).contains("3 logits"));
    assert!(message(mean_log_likelihood(&p, &BitMatrix::zeros(2, 5))).contains("5 columns"));
    assert!(message(mean_log_likelihood(&p, &BitMatrix::zeros(0, 4))).contains("no rows"));
}

#[test]
fn a_huge_weight_leaves_the_digits_of_the_others() {
    for huge in [-1e6f32, -1e12, -1e20, -1e30] {
        let mut model = gaussian_parameters(12, 14, 0.5, 3);
        // Unit 3 of the smaller layer and unit 5 of the other never come together: Z = Z(without 3) + Z(with 3, without 5).
        model.weights[3 * 14 + 5] = huge;
        let (mut without, mut with) = (model.clone(), model.clone());
        let zero = |row: &mut [f32]| row.fill(0.0);
        zero(&mut without.weights[3 * 14..4 * 14]);
        without.visible_bias[3] = -100.0;
        for i in 0..12 {
            with.weights[i * 14 + 5] = 0.0;
        }
        with.hidden_bias[5] = -100.0;
        let constant = f64::from(with.visible_bias[3]);
        with.visible_bias[3] = 0.0;
        for j in 0..14 {
            with.hidden_bias[j] += with.weights[3 * 14 + j];
        }
        zero(&mut with.weights[3 * 14..4 * 14]);
        with.visible_bias[3] = -100.0;
        let parts = [without, with].map(|part| log_partition(&part).unwrap());
        let expected = crate::numerics::LogSumExp::of([parts[0], constant + parts[1]]);
        for turned in [model.clone(), model.transposed()] {
            let found = log_partition(&turned).unwrap();
            assert!((found - expected).abs() < 1e-5, "{huge}: {found} {expected}");
        }
        let p = moments(&model).unwrap().products[3 * 14 + 5];
        assert!(p.abs() < 1e-12, "{huge}: {p}");
    }
}

#[test]
fn sums_that_cancel_are_right_or_refused() {
    let mut model = gaussian_parameters(6, 8, 0.5, 3);
    let expected =
        |model: &Parameters| crate::numerics::LogSumExp::of(brute_log_f(model, &[0.0; 6], 1.0));
    // Units 0 and 1 together push unit 2 by nothing, alone by 1e20 down.
    let plain = expected(&model);
    model.visible_bias[0] = -1e20;
    let mut off = model.clone();
    off.visible_bias[0] = -100.0;
    let found = log_partition(&model).unwrap();
    assert!((found - expected(&off)).abs() < 1e-9 && found < plain, "{found}");
    // With unit 0 on, its bias and a weight to hidden unit 2 cancel: what is left of the others has no digits.
    model.weights[2] = 1e20;
    let message = log_partition(&model).unwrap_err().to_string();
    assert!(
        message.contains("double precision") && message.contains("make them smaller"),
        "{message}"
    );
    assert!(samples(&model, 3, 1).is_err() && moments(&model).is_err());
}
