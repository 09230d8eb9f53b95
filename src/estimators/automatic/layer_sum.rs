//! Sums over a layer in vectors, and A(x) with one logarithm for many units: they are most of a search for modes.

use crate::engine::host::exponentials;
use crate::units::Variables;

/// [`Variables::log_partition`] of x, relative error below 1e-12.
pub(super) fn log_partition(variables: &Variables, x: Vec<f64>) -> f64 {
    match variables.is_bits() {
        true => softplus(x),
        false => of_variables(variables, x),
    }
}

/// Numbers that are added and multiplied side by side: one after the other, each would wait for the last.
const LANES: usize = 8;

/// sum_i a_i b_i of two slices of one length.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// sum_i log(1 + exp x_i) = sum max(x, 0) + log prod (1 + exp(-|x|)): one logarithm for 512 factors of at most 2.
fn softplus(mut x: Vec<f64>) -> f64 {
    // exp(-infinity) adds nothing.
    x.resize(x.len().next_multiple_of(LANES), f64::NEG_INFINITY);
    let mut linear = [0.0; LANES];
    for x in x.as_chunks_mut::<LANES>().0 {
        for (x, linear) in x.iter_mut().zip(&mut linear) {
            *linear += x.max(0.0);
            *x = -x.abs();
        }
    }
    exponentials(&mut x);
    let logarithm = |x: &[f64]| {
        let mut products = [1.0; LANES];
        for x in x.as_chunks::<LANES>().0 {
            products.iter_mut().zip(x).for_each(|(product, x)| *product *= 1.0 + x);
        }
        products.iter().product::<f64>().ln()
    };
    linear.iter().sum::<f64>() + x.chunks(512).map(logarithm).sum::<f64>()
}

/// The same with a factor for each categorical variable.
fn of_variables(variables: &Variables, mut x: Vec<f64>) -> f64 {
    let columns = x.len();
    let (mut linear, mut ranges) = (0.0, Vec::new());
    for variable in variables.of(columns) {
        let own = &mut x[variable.range()];
        if variable.real.is_some() {
            linear += variable.log_partition(own);
            continue;
        }
        let largest = variable.largest(own);
        own.iter_mut().for_each(|x| *x -= largest);
        // The exponential of an implicit state, or none.
        x.push(if variable.implicit { -largest } else { f64::NEG_INFINITY });
        ranges.push(variable.range());
        linear += largest;
    }
    exponentials(&mut x);
    let (own, implicit) = x.split_at(columns);
    let (mut logarithms, mut product) = (0.0, 1.0f64);
    for (range, implicit) in ranges.into_iter().zip(implicit) {
        product *= implicit + own[range].iter().sum::<f64>();
        if product > 1e200 {
            logarithms += product.ln();
            product = 1.0;
        }
    }
    linear + logarithms + product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_any_length_are_summed() {
        for n in 0..20 {
            let [a, b] = [37, 101].map(|step| (0..n).map(|i| f64::from(i * step % 17)).collect());
            let (a, b): (Vec<f64>, Vec<f64>) = (a, b);
            assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>());
        }
    }

    /// Small and large inputs, more factors than one product holds, every kind of variable.
    #[test]
    fn many_logarithms_in_one_are_their_sum() {
        for kinds in ["bits", "3+,4,2*1+", "real,600*5"] {
            let variables: Variables = kinds.parse().unwrap();
            let columns = if kinds == "3+,4,2*1+" { 9 } else { 3002 };
            for scale in [0.001, 0.1, 200.0] {
                let x = |i| scale * (f64::from(i * 37 % 101) * 0.02 - 1.5);
                let x: Vec<f64> = (0..columns).map(x).collect();
                let exact = variables.log_partition(x.iter().copied());
                let found = log_partition(&variables, x);
                assert!((found - exact).abs() < 1e-12 * exact.abs(), "{kinds} {found} {exact}");
            }
        }
    }
}
