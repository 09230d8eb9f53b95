//! All variables of a layer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::Variable;
use crate::engine::BitMatrix;
use crate::error::{Error, Result};

/// The variables that the columns of the visible layer stand for, in order.
///
/// As text: the number of columns of each variable, with `+` where "no column is set" is a state, with a factor where several in a row
/// are alike, separated by commas: `60*3+` are 60 variables of three columns with an implicit state, `4,1+` is a one-hot variable of
/// four states and a bit. `bits` are columns of 0 and 1, `plus-minus` columns of -1 and +1 (Ising spins).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// `None`: every column has two states.
    listed: Option<Arc<[Variable]>>,
    /// The two states of a unit are -1 and +1, in both layers.
    plus_minus: bool,
}

/// Longest list in a text.
const MOST: usize = 10_000_000;
/// The name of units that are -1 and +1.
const PLUS_MINUS: &str = "plus-minus";

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
        let (mut listed, mut first) = (Vec::new(), 0);
        for (columns, implicit) in sizes {
            if columns == 0 || (columns == 1 && !implicit) {
                return Err(Error::Invalid(format!(
                    "variable {} has {} possible states: two or more are needed (`1+` is a bit)",
                    listed.len() + 1,
                    columns
                )));
            }
            listed.push(Variable { first, columns, implicit });
            first += columns;
        }
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

    /// All variables if one of them is categorical, else none.
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

    /// The means of the same.
    pub fn smoothed(&self, counts: &[u64], rows: usize, smoothing: f64) -> Vec<f64> {
        let mut means = Vec::with_capacity(counts.len());
        for variable in self.of(counts.len()) {
            let all = rows as f64 + variable.states() as f64 * smoothing;
            means.extend(counts[variable.range()].iter().map(|&n| (n as f64 + smoothing) / all));
        }
        means
    }

    /// Draws every variable from its means by one number of `uniform` each; calls `set` with the columns that are set.
    pub fn draw(
        &self,
        means: &[f64],
        mut uniform: impl FnMut() -> f64,
        mut set: impl FnMut(usize),
    ) {
        for variable in self.of(means.len()) {
            if let Some(column) = variable.draw(&means[variable.range()], uniform()) {
                set(column);
            }
        }
    }

    /// Means of `columns` columns that spread the fraction `density` of every variable evenly over its columns; all of it where "no column
    /// is set" is no state.
    pub fn spread(&self, columns: usize, density: f64) -> Vec<f64> {
        let of = |variable: Variable| {
            let share = if variable.implicit { density } else { 1.0 };
            std::iter::repeat_n(share / variable.columns as f64, variable.columns)
        };
        self.of(columns).flat_map(of).collect()
    }

    /// The most probable state for natural parameters; calls `set` with the columns that are set.
    pub fn likeliest(&self, eta: &[f64], set: impl FnMut(usize)) {
        let of = |variable: Variable| variable.likeliest(&eta[variable.range()]);
        self.of(eta.len()).filter_map(of).for_each(set);
    }

    /// Sets the first column of each variable without an implicit state that has all its columns among the `missing` cells: rows with
    /// missing cells are then states as well.
    pub fn settle(&self, rows: &mut BitMatrix, missing: &BitMatrix) {
        for variable in self.categorical().iter().filter(|variable| !variable.implicit) {
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
        let several = self.categorical().iter().filter(|variable| !variable.is_bit());
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
        (self.of(columns).count() - bits, bits)
    }
}

impl fmt::Display for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plus_minus {
            return f.write_str(PLUS_MINUS);
        }
        let same = |a: &Variable, b: &Variable| (a.columns, a.implicit) == (b.columns, b.implicit);
        for (n, alike) in self.categorical().chunk_by(same).enumerate() {
            let separator = if n > 0 { "," } else { "" };
            let times = if alike.len() > 1 { format!("{}*", alike.len()) } else { String::new() };
            let implicit = if alike[0].implicit { "+" } else { "" };
            write!(f, "{separator}{times}{}{implicit}", alike[0].columns)?;
        }
        Ok(())
    }
}

impl FromStr for Variables {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |part: &str| {
            Error::Invalid(format!(
                "`{part}` is no variable: the number of its columns is expected, with + where \"no column is set\" is a state, and a factor before several alike, as in 60*3+,4,1+"
            ))
        };
        match text.trim() {
            PLUS_MINUS => return Ok(Self::PLUS_MINUS),
            "bits" => return Ok(Self::BITS),
            _ => {}
        }
        let mut sizes = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (times, size) = part.split_once('*').unwrap_or(("1", part));
            let (columns, implicit) = match size.strip_suffix('+') {
                Some(columns) => (columns, true),
                None => (size, false),
            };
            let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong(part));
            let (times, columns) = (number(times)?, number(columns)?);
            if times.max(columns) > MOST || sizes.len() + times > MOST {
                return Err(wrong(part));
            }
            sizes.extend(std::iter::repeat_n((columns, implicit), times));
        }
        Self::new(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    fn mixed() -> Variables {
        "2*3+,4,1+".parse().unwrap()
    }

    fn eta(columns: usize, seed: u64) -> Vec<f64> {
        let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(0);
        (0..columns).map(|_| 2.0 * stream.normal()).collect()
    }

    #[test]
    fn text_names_the_variables() {
        assert_eq!(mixed().to_string(), "2*3+,4,1+");
        assert_eq!("3*1+".parse::<Variables>().unwrap(), Variables::BITS);
        assert_eq!(Variables::BITS.to_string(), "");
        assert!(mixed().fit(11) && !mixed().fit(12) && Variables::BITS.fit(5));
        assert_eq!(mixed().counts(11), (3, 1));
        for bad in ["0", "1", "3++", "x", "2*", "99999999999999999999*3", "99999999*3+", "-1"] {
            assert!(bad.parse::<Variables>().is_err(), "{bad}");
        }
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
