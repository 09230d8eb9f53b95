//! All variables of a layer.

use std::sync::Arc;

use super::{Real, Variable};
use crate::engine::random::normal;
use crate::engine::{BitMatrix, words_per_row};
use crate::error::{Error, Result};

/// The variables that the columns of the visible layer stand for, in order.
///
/// As text: the number of columns of each variable, with `+` where "no column is set" is a state, with a factor where several in a row
/// are alike, separated by commas: `60*3+` are 60 variables of three columns with an implicit state, `4,1+` is a one-hot variable of
/// four states and a bit. `bits` are columns of 0 and 1, `plus-minus` columns of -1 and +1 (Ising spins). `10*real` are ten real
/// variables, `real(5.8;0.83)` is one with the mean and the standard deviation of its training rows, and `real` alone makes every column
/// one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables {
    /// `None`: every column has two states.
    pub(super) listed: Option<Arc<[Variable]>>,
    /// The two states of a unit are -1 and +1, in both layers.
    pub(super) plus_minus: bool,
}

impl Variables {
    /// Every column is a bit.
    pub const BITS: Self = Self { listed: None, plus_minus: false };
    /// Every column, and every hidden unit, is -1 or +1. States stay packed bits, and parameters those of 0 and 1
    /// ([`crate::model::plus_minus`]).
    pub const PLUS_MINUS: Self = Self { listed: None, plus_minus: true };

    /// From the number of columns of each variable, and whether it has an implicit state.
    ///
    /// # Errors
    /// A variable without columns, or of one column without an implicit state.
    pub fn new(sizes: impl IntoIterator<Item = (usize, bool)>) -> Result<Self> {
        let of = |(columns, implicit)| Variable { first: 0, columns, implicit, real: None };
        Self::listed(sizes.into_iter().map(of))
    }

    /// These variables, one after the other.
    ///
    /// # Errors
    /// As [`Variables::new`].
    pub(crate) fn listed(variables: impl IntoIterator<Item = Variable>) -> Result<Self> {
        let (mut listed, mut first) = (Vec::new(), 0);
        for variable in variables {
            let Variable { columns, implicit, .. } = variable;
            if columns == 0 || (columns == 1 && !implicit) {
                return Err(Error::Invalid(format!(
                    "variable {} has {} possible states: two or more are needed (`1+` is a bit)",
                    listed.len() + 1,
                    columns
                )));
            }
            listed.push(Variable { first, ..variable });
            first += columns;
        }
        let places = 2 * words_per_row(first)..;
        let reals = listed.iter_mut().filter_map(|variable: &mut Variable| variable.real.as_mut());
        reals.zip(places).for_each(|(real, at)| real.at = at);
        let bits = listed.iter().all(Variable::is_bit);
        Ok(Self { listed: (!bits).then(|| listed.into()), plus_minus: false })
    }

    /// Whether every column has two states, 0 and 1 or -1 and +1.
    pub fn is_bits(&self) -> bool {
        self.listed.is_none()
    }

    /// Whether units are -1 and +1.
    pub fn is_plus_minus(&self) -> bool {
        self.plus_minus
    }

    /// What is added to eta.v in the units' own values: for -1 and +1, eta.v = (eta/2).s + sum_i eta_i/2, so -sum_i eta_i/2; else 0.
    pub fn offset<'a>(&self, eta: impl IntoIterator<Item = &'a f32>) -> f64 {
        match self.plus_minus {
            true => -eta.into_iter().map(|&x| f64::from(x)).sum::<f64>() / 2.0,
            false => 0.0,
        }
    }

    /// All variables if one of them is categorical or real, else none.
    pub fn categorical(&self) -> &[Variable] {
        self.listed.as_deref().unwrap_or_default()
    }

    /// The variables of `columns` columns.
    pub fn of(&self, columns: usize) -> impl Iterator<Item = Variable> + '_ {
        let bits = if self.is_bits() { 0..columns } else { 0..0 };
        self.categorical().iter().copied().chain(bits.map(Variable::bit))
    }

    /// Whether a layer of `columns` columns can have them.
    pub fn fit(&self, columns: usize) -> bool {
        self.categorical().last().is_none_or(|last| last.range().end == columns)
    }

    /// A(eta) of natural parameters, shape `[M]`.
    pub fn log_partition(&self, eta: impl ExactSizeIterator<Item = f64>) -> f64 {
        let (columns, mut eta, mut own) = (eta.len(), eta, Vec::new());
        let mut next = |variable: Variable| {
            own.clear();
            own.extend(eta.by_ref().take(variable.columns));
            variable.log_partition(&own)
        };
        self.of(columns).map(&mut next).sum()
    }

    /// The probabilities A'(eta) that columns are set, from natural parameters, shape `[M]`.
    pub fn means(&self, eta: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut means: Vec<f64> = eta.into_iter().collect();
        self.of(means.len()).for_each(|variable| variable.to_means(&mut means[variable.range()]));
        means
    }

    /// The same probabilities with none below `least`.
    pub fn clamped(&self, mut means: Vec<f64>, least: f64) -> Vec<f64> {
        self.of(means.len())
            .for_each(|variable| variable.clamp(&mut means[variable.range()], least));
        means
    }

    /// Natural parameters with these means, shape `[M]`, and -A of them.
    pub fn natural(&self, mut means: Vec<f64>) -> (Vec<f64>, f64) {
        let columns = means.len();
        let of = |variable: Variable| variable.to_natural(&mut means[variable.range()]);
        let constant = self.of(columns).map(of).sum();
        (means, constant)
    }

    /// [`Variables::natural`] parameters of [`Variables::clamped`] means, in f32.
    pub fn logits(&self, means: Vec<f64>, least: f64) -> Vec<f32> {
        self.natural(self.clamped(means, least)).0.into_iter().map(|x| x as f32).collect()
    }

    /// Natural parameters of `rows` rows with these numbers of ones in their columns, `smoothing` rows added to every state.
    pub(crate) fn logits_of_counts(&self, counts: &[u64], rows: usize, smoothing: f64) -> Vec<f32> {
        let means = self.smoothed(counts, rows, smoothing);
        self.natural(means).0.into_iter().map(|x| x as f32).collect()
    }

    /// The means of the same. Real variables are standardised: their means are 0 and 1 whatever the counts.
    pub fn smoothed(&self, counts: &[u64], rows: usize, smoothing: f64) -> Vec<f64> {
        let mut means = Vec::with_capacity(counts.len());
        for variable in self.of(counts.len()) {
            if variable.real.is_some() {
                means.extend([0.0, 1.0]);
                continue;
            }
            let all = rows as f64 + variable.states() as f64 * smoothing;
            means.extend(counts[variable.range()].iter().map(|&n| (n as f64 + smoothing) / all));
        }
        means
    }

    /// Draws every variable from its means by one number of `uniform` each, real ones by two, into a packed row.
    pub fn draw(&self, means: &[f64], mut uniform: impl FnMut() -> f64, row: &mut [u64]) {
        row.fill(0);
        for variable in self.of(means.len()) {
            let own = &means[variable.range()];
            if let Some(real) = variable.real {
                let deviation = (own[1] - own[0] * own[0]).max(0.0).sqrt();
                real.set(row, (own[0] + deviation * normal(uniform(), uniform())) as f32);
            } else if let Some(i) = variable.draw(own, uniform()) {
                row[i / 64] |= 1 << (i % 64);
            }
        }
    }

    /// Means of `columns` columns that spread the fraction `density` of every variable evenly over its columns; all of it where "no column
    /// is set" is no state.
    pub fn spread(&self, columns: usize, density: f64) -> Vec<f64> {
        let of = |variable: Variable| {
            if variable.real.is_some() {
                return std::iter::repeat_n(1.0, variable.columns);
            }
            let share = if variable.implicit { density } else { 1.0 };
            std::iter::repeat_n(share / variable.columns as f64, variable.columns)
        };
        self.of(columns).flat_map(of).collect()
    }

    /// Writes the most probable state for natural parameters into a packed row.
    pub fn likeliest(&self, eta: &[f64], row: &mut [u64]) {
        row.fill(0);
        for variable in self.of(eta.len()) {
            let own = &eta[variable.range()];
            match variable.real {
                Some(real) => real.set(row, Real::moments(own).0 as f32),
                None => {
                    variable.likeliest(own).into_iter().for_each(|i| row[i / 64] |= 1 << (i % 64))
                }
            }
        }
    }

    /// Sets the first column of each variable without an implicit state that has all its columns among the `missing` cells: rows with
    /// missing cells are then states as well.
    pub fn settle(&self, rows: &mut BitMatrix, missing: &BitMatrix) {
        for variable in self.categorical().iter().filter(|it| !it.implicit && it.real.is_none()) {
            for row in 0..rows.rows() {
                if variable.range().all(|i| missing.get(row, i)) {
                    variable.range().for_each(|i| rows.set(row, i, i == variable.first));
                }
            }
        }
    }

    /// Whether a packed row is a state of these variables.
    pub fn allow(&self, row: &[u64]) -> bool {
        self.broken_in(row).is_none()
    }

    /// The variable that a packed row breaks, and the number of its columns that are set.
    fn broken_in(&self, row: &[u64]) -> Option<(Variable, usize)> {
        let set = |variable: &Variable| {
            variable.range().filter(|i| row[i / 64] >> (i % 64) & 1 == 1).count()
        };
        let several = self.categorical().iter().filter(|it| !it.is_bit() && it.real.is_none());
        let broken = |(variable, set): &(Variable, usize)| match set {
            0 => !variable.implicit,
            set => *set > 1,
        };
        several.map(|variable| (*variable, set(variable))).find(broken)
    }

    /// Refuses rows that are no states of these variables: a model gives them probability 0. `name` is that of the data set.
    ///
    /// # Errors
    /// The first such row.
    pub fn check(&self, rows: &BitMatrix, name: &str) -> Result<()> {
        let broken = |row| self.broken_in(rows.row(row)).map(|broken| (row, broken));
        if rows.rows() > 0 && rows.words_per_row() < self.words(rows.columns()) {
            return Err(Error::Invalid(format!(
                "{name}: rows of zeros and ones, and the model has real variables: Dataset::of_numbers makes rows of both"
            )));
        }
        match (0..rows.rows()).find_map(broken) {
            None => Ok(()),
            Some((row, (variable, set))) => Err(Error::Invalid(format!(
                "{name}, row {}: {set} of the {variable} are set, which are one categorical variable, {} set in each of its states: correct the row, or train a model of other variables (data.variables, or data.groups = false for bits)",
                row + 1,
                if variable.implicit { "at most one" } else { "exactly one" }
            ))),
        }
    }

    /// Number of categorical variables and of bits among `columns` columns.
    pub fn counts(&self, columns: usize) -> (usize, usize) {
        let bits = self.of(columns).filter(Variable::is_bit).count();
        (self.of(columns).count() - bits - self.reals().count(), bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};
    use crate::numerics::softplus;

    fn mixed() -> Variables {
        "2*3+,4,1+".parse().unwrap()
    }

    fn eta(columns: usize, seed: u64) -> Vec<f64> {
        let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(0);
        (0..columns).map(|_| 2.0 * stream.normal()).collect()
    }

    /// A is the log of the sum over all states that are allowed.
    #[test]
    fn the_log_partition_is_the_sum_over_states() {
        let (variables, eta) = (mixed(), eta(11, 2));
        let allowed = (0..1u64 << 11).filter(|state| variables.allow(&[*state]));
        let value =
            |state: u64| (0..11).filter(|i| state >> i & 1 == 1).map(|i| eta[i]).sum::<f64>().exp();
        let values: Vec<f64> = allowed.map(value).collect();
        assert_eq!(values.len(), 4 * 4 * 4 * 2);
        let sum = values.iter().sum::<f64>().ln();
        assert!((sum - variables.log_partition(eta.iter().copied())).abs() < 1e-12);
    }

    /// A' and A'' of a real variable by differences: means of v and v^2, and the variance of v; A by quadrature.
    #[test]
    fn moments_of_a_real_variable_are_the_slopes_of_its_log_partition() {
        let variables: Variables = "1+,real(3;2)".parse().unwrap();
        let eta = [0.3, 0.8, -0.7];
        let a = |by: [f64; 3]| variables.log_partition((0..3).map(|i| eta[i] + by[i]));
        let (means, step) = (variables.means(eta), 1e-4);
        for i in 0..3 {
            let at = |by: f64| a(std::array::from_fn(|j| if i == j { by } else { 0.0 }));
            let slope = (at(step) - at(-step)) / (2.0 * step);
            assert!((slope - means[i]).abs() < 1e-6, "{i}: {slope} {means:?}");
        }
        let curvature =
            (a([0.0, step, 0.0]) - 2.0 * a([0.0; 3]) + a([0.0, -step, 0.0])) / step.powi(2);
        assert!((curvature - (means[2] - means[1].powi(2))).abs() < 1e-5, "{curvature}");
        // Over the table's own numbers, of standard deviation 2.
        let width = 1e-3;
        let density = |n: i32| {
            let v = f64::from(n) * width;
            (eta[1] * v + eta[2] * v * v).exp()
        };
        let integral = 2.0 * width * (-20_000..20_000).map(density).sum::<f64>();
        assert!((integral.ln() + softplus(0.3) - a([0.0; 3])).abs() < 1e-6);
        let (natural, constant) = variables.natural(means);
        assert!(natural.iter().zip(eta).all(|(x, y)| (x - y).abs() < 1e-9), "{natural:?}");
        assert!((constant + a([0.0; 3])).abs() < 1e-9);
    }

    #[test]
    fn clamped_means_are_means() {
        let variables = mixed();
        let clamped = variables.clamped(vec![0.0; 11], 0.01);
        assert!((clamped[..3].iter().sum::<f64>() - 0.03 / 1.03).abs() < 1e-12, "{clamped:?}");
        assert!((clamped[6..10].iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn rows_that_break_a_variable_are_named() {
        let variables: Variables = "2+,2".parse().unwrap();
        let rows = |cells: [[u8; 4]; 2]| BitMatrix::from_fn(2, 4, |row, i| cells[row][i] == 1);
        assert!(variables.check(&rows([[0, 0, 1, 0], [0, 1, 0, 1]]), "x").is_ok());
        for (bad, expected) in [
            ([[0, 0, 1, 0], [1, 1, 0, 1]], "x, row 2: 2 of the columns 1 to 2"),
            ([[0, 0, 0, 0], [1, 0, 0, 1]], "x, row 1: 0 of the columns 3 to 4"),
        ] {
            let message = variables.check(&rows(bad), "x").unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
