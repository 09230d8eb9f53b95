//! Log-likelihoods of simple densities on a data set, for comparison with those of an RBM.
//!
//! All are fitted to the training rows and normalised, so their log-likelihoods are exact, in nats per row.

mod chow_liu;
mod factor_analysis;
mod independent;
mod product_mixture;

use rayon::prelude::*;
use serde::Serialize;

use self::chow_liu::ChowLiu;
use self::factor_analysis::{FactorAnalysis, MOST_REALS};
use self::independent::Independent;
use self::product_mixture::ProductMixture;
pub use self::product_mixture::{Groups, MOST_COMPONENTS};
use crate::context::progress::Progress;
use crate::engine::BitMatrix;
use crate::error::Result;
use crate::numerics::statistics::mean_with_error;
use crate::units::{Variables, counted};

/// Pseudo-counts of a bit's two values together (Krichevsky and Trofimov 1981: a half each); other variables have a half for each state.
const PSEUDO_COUNT: f64 = 1.0;
/// Most columns for which all pairs are counted.
const MOST_PAIRED: usize = 4096;

/// Set bits of the training rows times components, beyond which a mixture takes more than some ten seconds.
const MOST_WORK: f64 = 1e8;

/// Most components of a mixture whose fit to rows with so many set bits does not take more than some ten seconds.
pub fn affordable_components(set_bits: u64) -> usize {
    MOST_COMPONENTS.min((MOST_WORK / set_bits.max(1) as f64) as usize)
}

/// A normalised density of rows of zeros and ones.
trait Density: Sync {
    /// log p(v) of a packed row, in nats.
    fn log_probability(&self, row: &[u64]) -> f64;
}

/// A fitted density and its log-likelihoods on each part of the data.
#[derive(Clone, Debug, Serialize)]
pub struct Baseline {
    /// Its name.
    pub name: &'static str,
    /// A choice of the fit, such as the number of components.
    pub detail: String,
    /// One for each part of the data.
    pub parts: Vec<PartLikelihood>,
}

/// Mean log-likelihood of the rows of a part.
#[derive(Clone, Debug, Serialize)]
pub struct PartLikelihood {
    /// train, validation or test.
    pub part: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Mean over the rows, in nats.
    pub mean: f64,
    /// Standard error of the mean over the rows.
    pub std_error: f64,
    /// log p of each row, nats.
    #[serde(skip)]
    pub values: Vec<f64>,
}

/// Fits all baselines to the training rows (the first part), and says what they make of every part. The number of
/// components of the mixture, at most `components`, is the one that is best on the validation rows (the part of that name), else on a
/// tenth of the training rows, which then does not count for the fit.
///
/// Cost: rows x columns^2 / 64 for the tree; rows x columns x components x iterations for the mixture.
///
/// # Errors
/// Parts without rows.
pub fn baselines(
    parts: &[(&'static str, &BitMatrix)],
    variables: &Variables,
    components: usize,
    seed: u64,
    progress: &Progress,
) -> Result<Vec<Baseline>> {
    let Some((_, train)) = parts.first() else { return Ok(Vec::new()) };
    let mut found =
        vec![of("independent sites", String::new(), &Independent::fit(train, variables), parts)];
    let validation = parts.iter().find(|(part, _)| *part == "validation").map(|(_, rows)| *rows);
    if variables.has_reals() {
        // The others count states. Where covariances cannot be inverted, independent columns are the comparison.
        let few = variables.reals().count() <= MOST_REALS;
        let factors = few.then(|| FactorAnalysis::chosen(train, validation, variables));
        if let Some(fit) = factors.flatten() {
            found.push(of("factor analysis", counted(fit.factors, "factor"), &fit, parts));
        }
        return Ok(found);
    }
    if train.columns() <= MOST_PAIRED {
        let tree = ChowLiu::fit(train, variables);
        found.push(of("Chow-Liu tree", format!("{} edges", tree.edges()), &tree, parts));
    }
    let mixture = ProductMixture::chosen(train, validation, variables, components, seed, progress);
    let detail = counted(mixture.components(), "component");
    found.push(of("mixture of products", detail, &mixture, parts));
    Ok(found)
}

fn of(
    name: &'static str,
    detail: String,
    density: &dyn Density,
    parts: &[(&'static str, &BitMatrix)],
) -> Baseline {
    let likelihood = |(part, rows): &(&'static str, &BitMatrix)| {
        let values = log_likelihoods(density, rows);
        let (mean, std_error) = mean_with_error(&values);
        PartLikelihood { part, rows: rows.rows(), mean, std_error, values }
    };
    Baseline { name, detail, parts: parts.iter().map(likelihood).collect() }
}

/// log p(v) of rows.
fn log_likelihoods(density: &dyn Density, rows: &BitMatrix) -> Vec<f64> {
    (0..rows.rows()).into_par_iter().map(|row| density.log_probability(rows.row(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    /// Rows around two patterns, each unit flipped with probability .1.
    pub(super) fn two_patterns(rows: usize, columns: usize, seed: u64) -> BitMatrix {
        let streams = Streams::new(seed, Purpose::TestSystem, 0);
        let mut draws: Vec<_> = (0..rows).map(|row| streams.row(row as u32)).collect();
        let mut bits = BitMatrix::zeros(rows, columns);
        for (row, draw) in draws.iter_mut().enumerate() {
            let pattern = draw.uniform() < 0.5;
            for column in 0..columns {
                let flipped = draw.uniform() < 0.1;
                bits.set(row, column, (pattern ^ (column % 3 == 0)) ^ flipped);
            }
        }
        bits
    }

    /// Probabilities of all states of few units sum to one.
    #[test]
    fn densities_are_normalised() {
        for kind in ["", "3+,2,2*1+", "7"] {
            let variables: Variables = kind.parse().unwrap();
            let allowed = || (0..128u64).filter(|v| variables.allow(&[*v]));
            let rows: Vec<u64> = allowed().cycle().take(50).collect();
            let train = BitMatrix::from_fn(50, 7, |row, i| rows[row * row % 50] >> i & 1 == 1);
            let all: Vec<Box<dyn Density>> = vec![
                Box::new(Independent::fit(&train, &variables)),
                Box::new(ChowLiu::fit(&train, &variables)),
                Box::new(ProductMixture::fit(&train, &variables, 3, 5)),
            ];
            for density in all {
                let total: f64 = allowed().map(|v| density.log_probability(&[v]).exp()).sum();
                assert!((total - 1.0).abs() < 1e-9, "`{kind}`: {total}");
            }
        }
    }

    /// The truth is a mixture of two: it is found, and a tree and independent units fall behind in this order.
    #[test]
    fn baselines_are_as_good_as_they_can_be() {
        let columns = 12;
        let (train, test) = (two_patterns(4000, columns, 2), two_patterns(4000, columns, 3));
        let parts = [("train", &train), ("validation", &test), ("test", &test)];
        let found =
            baselines(&parts, &Variables::BITS, MOST_COMPONENTS, 4, &Progress::default()).unwrap();
        let means: Vec<f64> = found.iter().map(|baseline| baseline.parts[2].mean).collect();
        assert!(means[0] < means[1] && means[1] < means[2], "{means:?}");
        // log p of a row under the truth: a half for each pattern.
        let truth = |row: &[u64]| {
            let of = |pattern: bool| -> f64 {
                let wrong = (0..columns)
                    .filter(|i| (row[0] >> i & 1 == 1) != (pattern ^ (i % 3 == 0)))
                    .count() as f64;
                0.5 * 0.1f64.powf(wrong) * 0.9f64.powf(columns as f64 - wrong)
            };
            (of(true) + of(false)).ln()
        };
        let truth = (0..4000).map(|row| truth(test.row(row))).sum::<f64>() / 4000.0;
        // 25 parameters cost about 25/(2 x 4000) nats a row beyond the fit; 5 times that.
        assert!((truth - means[2]).abs() < 0.016, "{} beside {truth}", means[2]);
        // One unit of entropy log 2 each: independent units know nothing of the patterns.
        assert!((means[0] + columns as f64 * std::f64::consts::LN_2).abs() < 0.05, "{means:?}");
        let error = found[0].parts[2].std_error;
        assert!(error > 0.0 && error < 0.05, "{error}");
    }
}
