//! Moments of states of the model beside those of training rows.

use super::curves::picture;
use super::diagnosis::Diagnosis;
use super::page::Section;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams};
use crate::numerics::statistics::correlation;
use crate::record::markup::Element;
use crate::record::{Chart, Look, Series};
use crate::training::Trainer;
use crate::units::Variables;

/// Pairs of units whose joint means are compared.
const PAIRS: usize = 400;
/// Training rows whose covariances are taken.
const ROWS: usize = 20_000;

/// Moments of states of the model and of training rows.
pub fn moments(
    section: Section,
    trainer: &Trainer,
    diagnosis: &Diagnosis,
    samples: &BitMatrix,
) -> Section {
    let (rows, variables) = (trainer.train_rows(), &diagnosis.parameters.variables);
    let (single, pairs) = match variables {
        it if it.has_reals() => (
            "Frequencies of states, means of real columns and of their squares, standardised",
            "Covariances of pairs of states and of real columns, standardised",
        ),
        it if it.is_bits() => ("Means of single units", "Covariances of pairs of units"),
        _ => ("Frequencies of states", "Covariances of pairs of states of two variables"),
    };
    let states = &diagnosis.states;
    let (ours, theirs) = (unit_means(states, variables), unit_means(rows, variables));
    let (our_pairs, their_pairs) = pair_covariances(states, rows, variables);
    // Rows of the data as perfect samples, as many as there are independent ones.
    let (perfect, all) = (rows.spread(samples.rows()), rows.rows());
    let compared = |(ours, theirs): (&[f64], &[f64]), perfect: &[f64]| {
        let few = match samples.rows() < all {
            true => format!("; {} of {all} training rows", samples.rows()),
            false => "; the training rows".into(),
        } + " in place of the model's states: ";
        moment_words(ours, theirs) + &few + &moment_words(perfect, theirs)
    };
    let of_units = compared((&ours, &theirs), &unit_means(&perfect, variables));
    let perfect_pairs = pair_covariances(&perfect, rows, variables).0;
    let of_pairs = compared((&our_pairs, &their_pairs), &perfect_pairs)
        + &format!("; {} states of {} chains", states.rows(), samples.rows());
    section
        .figure(
            single,
            scatter(["mean over training rows", "mean over states of the model"], &theirs, &ours),
            ("points on the diagonal", of_units),
        )
        .figure(
            pairs,
            scatter(
                ["covariance over training rows", "covariance over states of the model"],
                &their_pairs,
                &our_pairs,
            ),
            ("points along the diagonal, scattered by the number of states alone", of_pairs),
        )
}

/// Mean of each unit; of real variables those of v and v^2.
pub fn unit_means(rows: &BitMatrix, variables: &Variables) -> Vec<f64> {
    let mut sums = vec![0.0; rows.columns()];
    for row in 0..rows.rows() {
        variables.statistics(rows.row(row), rows.columns(), |i, t| sums[i] += t);
    }
    sums.into_iter().map(|sum| sum / rows.rows() as f64).collect()
}

/// A chart of values against others, and the diagonal.
pub fn scatter(label: [&str; 2], x: &[f64], y: &[f64]) -> Vec<Element> {
    let low = x.iter().chain(y).copied().fold(f64::INFINITY, f64::min);
    let high = x.iter().chain(y).copied().fold(f64::NEG_INFINITY, f64::max);
    let points = x.iter().copied().zip(y.iter().copied()).collect();
    let diagonal = Series::line("", vec![(low, low), (high, high)]).look(Look::Dashed).colour(6);
    let series = vec![diagonal, Series::line("", points).look(Look::Marks).colour(0)];
    picture(&Chart::of(label[0], label[1], series))
}

fn moment_words(samples: &[f64], rows: &[f64]) -> String {
    let largest = samples.iter().zip(rows).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    format!("correlation {:.3}, largest difference {largest:.3}", correlation(samples, rows))
}

/// Covariances of the same randomly chosen pairs of units, of different variables and without squares, in samples and rows.
fn pair_covariances(
    samples: &BitMatrix,
    rows: &BitMatrix,
    variables: &Variables,
) -> (Vec<f64>, Vec<f64>) {
    let columns = rows.columns();
    let variable_of: Vec<usize> = variables
        .of(columns)
        .enumerate()
        .flat_map(|(n, variable)| variable.range().map(move |_| n))
        .collect();
    let squares = variables.squares(columns);
    let apart = |(i, j): &(usize, usize)| {
        variable_of[*i] != variable_of[*j] && !squares[*i] && !squares[*j]
    };
    let mut stream = Streams::new(0, Purpose::Choice, 0).row(0);
    let mut unit = || (stream.uniform() * columns as f64) as usize;
    let pairs: Vec<(usize, usize)> = (0..PAIRS).map(|_| (unit(), unit())).filter(apart).collect();
    let of = |rows: &BitMatrix| {
        let means = unit_means(rows, variables);
        let mut joint = vec![0.0; pairs.len()];
        for row in 0..rows.rows() {
            let mut values = vec![0.0; columns];
            variables.statistics(rows.row(row), columns, |i, t| values[i] = t);
            for (sum, (i, j)) in joint.iter_mut().zip(&pairs) {
                *sum += values[*i] * values[*j];
            }
        }
        let n = rows.rows() as f64;
        let covariance = |(sum, (i, j)): (&f64, &(usize, usize))| sum / n - means[*i] * means[*j];
        joint.iter().zip(&pairs).map(covariance).collect()
    };
    (of(samples), of(&rows.select(0..rows.rows().min(ROWS))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Values};

    #[test]
    fn covariances_of_equal_rows_are_equal() {
        let rows = BitMatrix::from_fn(50, 12, |row, unit| (row * 7 + unit * unit) % 5 < 2);
        let (ours, theirs) = pair_covariances(&rows, &rows, &Variables::BITS);
        assert!(ours == theirs && ours.iter().any(|c| c.abs() > 0.05));
        assert!(
            moment_words(&ours, &theirs).starts_with("correlation 1.000, largest difference 0.000")
        );
    }
    /// A bit and a real variable, in three rows: means of the bit, of v and of v^2, and no covariance with v^2.
    #[test]
    fn real_variables_have_moments_of_their_numbers() {
        let variables: Variables = "1+,real(0;1)".parse().unwrap();
        let cells = [1.0, 2.0, 0.0, -1.0, 1.0, 5.0];
        let data = Dataset::of_numbers("x", 2, &cells, &variables, &[]).unwrap();
        let Values::Binary(rows) = &data.values else { panic!("grey levels") };
        assert_eq!(unit_means(rows, &variables), [2.0 / 3.0, 2.0, 10.0]);
        let (found, _) = pair_covariances(rows, rows, &variables);
        // (1 x 2 + 1 x 5)/3 - (2/3) x 2.
        assert!(!found.is_empty() && found.iter().all(|it| (it - 1.0).abs() < 1e-12), "{found:?}");
    }
}
