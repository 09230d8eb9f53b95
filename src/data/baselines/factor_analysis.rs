//! Factor analysis of real columns: v ~ N(0, L L' + P), P diagonal (Rubin and Thayer 1982); other variables by themselves.

use faer::linalg::solvers::Llt;
use faer::prelude::Solve;
use faer::{Mat, Side};

use super::independent::Independent;
use super::{Density, log_likelihoods};
use crate::engine::BitMatrix;
use crate::numerics::statistics::mean;
use crate::units::{Real, Variables};

/// Numbers of factors among which the validation rows choose.
const FACTORS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Steps of expectation maximisation.
const STEPS: usize = 300;
/// Least variance beside the factors, of variances of 1.
const LEAST: f64 = 1e-4;
/// Most real columns whose covariances are taken.
pub(super) const MOST_REALS: usize = 512;

/// Independent columns times the ratio of two densities of the real ones.
pub(super) struct FactorAnalysis {
    independent: Independent,
    reals: Vec<Real>,
    pub factors: usize,
    covariance: Llt<f64>,
    /// log |L L' + P|.
    log_determinant: f64,
}

impl FactorAnalysis {
    /// The number of factors is the best on `validation`, else on the training rows with half log N for each parameter. `None` where a
    /// covariance cannot be inverted.
    pub fn chosen(
        train: &BitMatrix,
        validation: Option<&BitMatrix>,
        variables: &Variables,
    ) -> Option<Self> {
        let reals: Vec<Real> = variables.reals().map(|(_, real)| real).collect();
        let (n, r) = (train.rows() as f64, reals.len());
        let v = Mat::from_fn(train.rows(), r, |row, i| f64::from(reals[i].value(train.row(row))));
        let moments = v.transpose() * &v * faer::Scale(1.0 / n);
        let mut best: Option<(f64, Self)> = None;
        for factors in FACTORS.into_iter().filter(|k| *k == 1 || *k < r) {
            let covariance = fitted(&moments, factors)?.llt(Side::Lower).ok()?;
            let log_determinant = (0..r).map(|i| 2.0 * covariance.L()[(i, i)].ln()).sum();
            let found = Self {
                independent: Independent::fit(train, variables),
                reals: reals.clone(),
                factors,
                covariance,
                log_determinant,
            };
            let value = match validation {
                Some(rows) => mean(&log_likelihoods(&found, rows)),
                None => {
                    let of_parameters = 0.5 * (r * factors) as f64 * n.ln() / n;
                    mean(&log_likelihoods(&found, train)) - of_parameters
                }
            };
            match &best {
                Some((best, _)) if value <= *best => break,
                _ => best = Some((value, found)),
            }
        }
        best.map(|(_, found)| found)
    }
}

/// L L' + P of so many factors, from second moments.
fn fitted(moments: &Mat<f64>, factors: usize) -> Option<Mat<f64>> {
    let r = moments.nrows();
    // From the directions of the largest variances.
    let vectors = moments.self_adjoint_eigen(Side::Lower).ok()?;
    let mut loadings = Mat::from_fn(r, factors, |i, k| {
        0.9 * vectors.S()[r - 1 - k].max(0.0).sqrt() * vectors.U()[(i, r - 1 - k)]
    });
    let rest = |loadings: &Mat<f64>, explained: &Mat<f64>| -> Vec<f64> {
        let of = |i: usize| (0..factors).map(|k| loadings[(i, k)] * explained[(k, i)]).sum::<f64>();
        (0..r).map(|i| (moments[(i, i)] - of(i)).max(LEAST)).collect()
    };
    let mut own = rest(&loadings, &loadings.transpose().to_owned());
    for _ in 0..STEPS {
        // E[factors | v] = B v with B = (1 + L' P^-1 L)^-1 L' P^-1.
        let scaled = Mat::from_fn(factors, r, |k, i| loadings[(i, k)] / own[i]);
        let precision = Mat::<f64>::identity(factors, factors) + &scaled * &loadings;
        let precision = precision.llt(Side::Lower).ok()?;
        let b = precision.solve(&scaled);
        let products = &b * moments;
        let squares = precision.solve(Mat::<f64>::identity(factors, factors));
        let squares = squares + &products * b.transpose();
        let squares = squares.llt(Side::Lower).ok()?;
        loadings = squares.solve(&products).transpose().to_owned();
        own = rest(&loadings, &products);
    }
    let common = &loadings * loadings.transpose();
    Some(Mat::from_fn(r, r, |i, k| common[(i, k)] + if i == k { own[i] } else { 0.0 }))
}

impl Density for FactorAnalysis {
    fn log_probability(&self, row: &[u64]) -> f64 {
        let v: Vec<f64> = self.reals.iter().map(|real| f64::from(real.value(row))).collect();
        let solved = self.covariance.solve(Mat::from_fn(v.len(), 1, |i, _| v[i]));
        let squares: f64 = v.iter().enumerate().map(|(i, v)| v * (v - solved[(i, 0)])).sum();
        self.independent.log_probability(row) + 0.5 * (squares - self.log_determinant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Values};
    use crate::engine::random::{Purpose, Streams};

    /// Rows of two factors in six columns, and a bit: the fit is as good as the truth up to its parameters, independent columns are not.
    #[test]
    fn factors_are_found() {
        let n = 4000;
        let loadings = [[1.0, 0.0], [1.0, 0.5], [0.0, 2.0], [0.3, 0.3], [-1.0, 1.0], [0.0, 0.0]];
        let rows = |seed: u64| -> BitMatrix {
            let streams = Streams::new(seed, Purpose::TestSystem, 0);
            let row = |row: usize| {
                let mut stream = streams.row(row as u32);
                let [a, b] = [stream.normal(), stream.normal()];
                let numbers = loadings.map(|l| l[0] * a + l[1] * b + 0.5 * stream.normal());
                [&numbers[..], &[f64::from(u8::from(stream.uniform() < 0.5))]].concat()
            };
            let cells: Vec<f64> = (0..n).flat_map(row).collect();
            let variables = "6*real(0;1),1+".parse().unwrap();
            match Dataset::of_numbers("x", 7, &cells, &variables, &[]).unwrap().values {
                Values::Binary(rows) => rows,
                Values::Intensity(_) => panic!("grey levels"),
            }
        };
        let variables: Variables = "6*real(0;1),1+".parse().unwrap();
        let (train, test) = (rows(1), rows(2));
        let found = FactorAnalysis::chosen(&train, Some(&rows(3)), &variables).unwrap();
        assert_eq!(found.factors, 2);
        // Entropy of a normal distribution, and of a bit.
        let covariance = Mat::<f64>::from_fn(6, 6, |i, k| {
            let common = loadings[i][0] * loadings[k][0] + loadings[i][1] * loadings[k][1];
            common + if i == k { 0.25 } else { 0.0 }
        });
        let entropy = 0.5 * covariance.determinant().ln()
            + 3.0 * (2.0 * std::f64::consts::PI * std::f64::consts::E).ln()
            + 2.0f64.ln();
        let value = mean(&log_likelihoods(&found, &test));
        // Half a parameter's nat each over n, and the spread of a mean of 6 squares.
        assert!(
            (value + entropy).abs() < 18.0 / n as f64 + 4.5 * (3.0 / n as f64).sqrt(),
            "{value}"
        );
        let others = mean(&log_likelihoods(&Independent::fit(&train, &variables), &test));
        assert!(others < value - 1.0, "{others} {value}");
    }
}
