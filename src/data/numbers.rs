//! Tables with real numbers: cells become states of bits, categorical and real variables, and real columns are standardised.

use std::collections::HashSet;

use super::{Dataset, Splits, Values};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::numerics::statistics::{mean, rms};
use crate::units::{Variable, Variables};

impl Dataset {
    /// A table of numbers, row after row, some of whose variables are real: these have one column of the table each, bits one of 0 and 1,
    /// categorical variables one of 0 and 1 for each of their columns. `missing`: the cells without a value, (row, column of the table) each.
    ///
    /// # Errors
    /// Variables that do not have the table's columns, or a cell that is no value of its variable.
    pub fn of_numbers(
        name: &str,
        columns: usize,
        table: &[f64],
        variables: &Variables,
        missing: &[(usize, usize)],
    ) -> Result<Self> {
        let invalid = |problem: String| Error::Invalid(format!("data set `{name}`: {problem}"));
        let variables = variables.over(columns);
        let needed =
            variables.of_table().last().map_or(0, |(first, it)| first + it.table_columns());
        if needed != columns || columns == 0 || !table.len().is_multiple_of(columns) {
            return Err(invalid(format!(
                "variables `{variables}` have {needed} columns, the table {columns}"
            )));
        }
        let firsts: Vec<usize> = variables.of_table().map(|(first, _)| first).collect();
        let variables = variables.seen(|n| table[firsts[n]..].iter().step_by(columns).copied())?;
        let listed: Vec<(usize, Variable)> = variables.of_table().collect();
        let (rows, units) = (table.len() / columns, variables.columns());
        let mut states = variables.states(rows, units);
        let mut absent = BitMatrix::zeros(if missing.is_empty() { 0 } else { rows }, units);
        let missing: HashSet<(usize, usize)> = missing.iter().copied().collect();
        for (row, cells) in table.chunks_exact(columns).enumerate() {
            let is_missing = |column: usize| missing.contains(&(row, column));
            for (first, it) in &listed {
                let place = |column: usize| format!("row {}, column {}", row + 1, column + 1);
                if let Some(real) = it.real {
                    let number = cells[*first];
                    let value = real.standardised(number);
                    match value.is_finite() {
                        _ if is_missing(*first) => {
                            it.range().for_each(|i| absent.set(row, i, true))
                        }
                        true => real.set(states.row_mut(row), value),
                        false => {
                            let numbers = table[*first..].iter().step_by(columns).copied();
                            return Err(invalid(match number.is_finite() {
                                true => format!("column {}, {}", first + 1, furthest(numbers)),
                                false => format!("{}: {number} is no number", place(*first)),
                            }));
                        }
                    }
                    continue;
                }
                for (column, i) in (*first..).zip(it.range()) {
                    match cells[column] {
                        _ if is_missing(column) => absent.set(row, i, true),
                        1.0 => states.set(row, i, true),
                        0.0 => {}
                        x => {
                            return Err(invalid(format!(
                                "{}: {x} is neither 0 nor 1: if the column is of real numbers, write `real` in its place in data.variables",
                                place(column)
                            )));
                        }
                    }
                }
            }
        }
        let missing = (!missing.is_empty()).then_some(absent);
        let dataset = Self::new(name, Values::Binary(states), None, None)?;
        Ok(Self { missing, reals: Some(variables), ..dataset })
    }
}

impl Splits {
    /// The same with real columns standardised by the training rows.
    ///
    /// # Errors
    /// Columns that have one value in all of them.
    pub(crate) fn standardised(mut self) -> Result<Self> {
        let Some(variables) = self.train.reals.clone() else { return Ok(self) };
        let Values::Binary(rows) = &self.train.values else { return Ok(self) };
        let (mut known, mut constant) = (Vec::new(), Vec::new());
        for (n, (column, mut it)) in variables.of_table().enumerate() {
            if let Some(real) = it.real.as_mut().filter(|real| real.scale < 0.0) {
                let values = (0..rows.rows()).map(|row| f64::from(real.value(rows.row(row))));
                let (mean, deviation) = mean_and_deviation(values);
                (real.mean, real.scale) = (real.number(mean), -real.scale * deviation);
                if !(real.scale.is_normal() && deviation > 1e-7 * mean.abs()) {
                    let named = self.train.categories.as_ref().map(|it| &it.columns()[n].name);
                    let title = named.or(self.train.titles.get(column)).cloned();
                    constant.push(title.unwrap_or_else(|| format!("column {}", column + 1)));
                }
            }
            known.push(it);
        }
        if !constant.is_empty() {
            return Err(Error::Invalid(format!(
                "data set `{}`: {} of {} real columns have one value in all training rows, to 7 digits of the largest number, and no variance: leave them out (data.source.columns): {}",
                self.train.name,
                constant.len(),
                variables.reals().count(),
                constant.join(", ")
            )));
        }
        let known = Variables::listed(known)?;
        let parts = [Some(&mut self.train), self.validation.as_mut(), self.test.as_mut()];
        for part in parts.into_iter().flatten() {
            let Values::Binary(rows) = &mut part.values else { continue };
            let Some(own) = part.reals.replace(known.clone()) else { continue };
            for row in 0..rows.rows() {
                for ((_, own), (_, known)) in own.reals().zip(known.reals()) {
                    if own != known {
                        let number = own.number(own.value(rows.row(row)));
                        known.set(rows.row_mut(row), known.standardised(number));
                    }
                }
            }
        }
        Ok(self)
    }
}

impl Variables {
    /// Of a table before it is divided: a real variable whose training rows are not known gets the mean and, with a minus, the standard
    /// deviation of all numbers of its column, so that digits behind a large mean survive in f32. `numbers`: those of the n-th variable, NaN
    /// where one is missing.
    pub(super) fn seen<I: Iterator<Item = f64>>(
        &self,
        numbers: impl Fn(usize) -> I,
    ) -> Result<Self> {
        let of = |(n, mut it): (usize, Variable)| {
            if let Some(real) = it.real.as_mut().filter(|real| real.scale == 0.0) {
                let (mean, deviation) = mean_and_deviation(numbers(n).filter(|x| x.is_finite()));
                let spread = if deviation.is_normal() { deviation } else { 1.0 };
                (real.mean, real.scale) = (if mean.is_finite() { mean } else { 0.0 }, -spread);
            }
            it
        };
        Self::listed(self.categorical().iter().copied().enumerate().map(of))
    }
}

/// What is said of a column whose numbers f32 cannot tell from one another: which of them is too large.
pub(super) fn furthest(numbers: impl Iterator<Item = f64>) -> String {
    let finite = numbers.enumerate().filter(|(_, x)| x.is_finite());
    let most = finite.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let (row, number) = most.unwrap_or((0, f64::NAN));
    format!(
        "row {}: {number:e} is too far from the other numbers: correct it, or give logarithms in this column",
        row + 1
    )
}

/// NaN of no numbers.
fn mean_and_deviation(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let numbers: Vec<f64> = numbers.collect();
    let center = mean(&numbers);
    (center, rms(&numbers.iter().map(|x| x - center).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bit, a one-hot variable and a real one, there and back.
    #[test]
    fn mixed_tables_become_states_and_cells_again() {
        let variables: Variables = "1+,3,2*real".parse().unwrap();
        let table = [1.0, 0.0, 1.0, 0.0, 2.5, -7.0, 0.0, 0.0, 0.0, 1.0, 4.5, -9.0];
        let dataset = Dataset::of_numbers("x", 6, &table, &variables, &[]).unwrap();
        assert_eq!((dataset.rows(), dataset.columns()), (2, 8));
        let splits = Splits { train: dataset, validation: None, test: None };
        let train = splits.standardised().unwrap().train;
        let (variables, Values::Binary(states)) = (train.reals.unwrap(), train.values) else {
            panic!("grey levels");
        };
        assert!(variables.to_string().ends_with("real(3.5;1),real(-8;1)"), "{variables}");
        assert_eq!(variables.to_string().parse::<Variables>().unwrap(), variables);
        let cells: Vec<f64> = (0..2).flat_map(|row| variables.cells(states.row(row), 8)).collect();
        assert_eq!(cells, table);
    }

    #[test]
    fn what_is_no_value_is_named() {
        for (text, cells, expected) in [
            ("1+,real", &[2.0, 1.0][..], "row 1, column 1: 2 is neither 0 nor 1"),
            ("real", &[1.0, f64::NAN], "row 1, column 2: NaN is no number"),
            ("real", &[1.0, 0.0, 2.0, 1e300, 1.0, 1.0], "column 2, row 2: 1e300 is too far"),
            ("3*real", &[1.0, 2.0], "have 3 columns, the table 2"),
        ] {
            let error = Dataset::of_numbers("x", 2, cells, &text.parse().unwrap(), &[]);
            let message = error.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let cells = [3.0, 1.0, 0.1, 3.0, 2.0, 0.1];
        let same = Dataset::of_numbers("x", 3, &cells, &"real".parse().unwrap(), &[]).unwrap();
        let splits = Splits { train: same, validation: None, test: None };
        let message = splits.standardised().unwrap_err().to_string();
        assert!(message.contains("2 of 3 real columns have one value"), "{message}");
        assert!(message.ends_with("column 1, column 3"), "{message}");
    }

    /// Numbers whose mean is 1e10 times their spread, and 1e-200 and 1e140 large ones, are standardised as small ones are.
    #[test]
    fn digits_behind_a_large_mean_survive() {
        let small = [0.0, 1.0, 3.0, 0.0];
        let cells: Vec<f64> =
            small.iter().flat_map(|x| [1e10 + x, 1e-150 * x, 1e140 * x]).collect();
        let table = Dataset::of_numbers("x", 3, &cells, &"real".parse().unwrap(), &[]).unwrap();
        let (train, test) = (table.select(&[0, 1, 2]), table.select(&[3]));
        let splits = Splits { train, validation: None, test: Some(test) };
        let Splits { train, test, .. } = splits.standardised().unwrap();
        let deviation = (14.0f64 / 9.0).sqrt();
        for (part, numbers) in [(train, &small[..3]), (test.unwrap(), &small[3..])] {
            let (variables, Values::Binary(states)) = (part.reals.unwrap(), part.values) else {
                panic!("grey levels");
            };
            for (row, x) in numbers.iter().enumerate() {
                for (i, real) in variables.reals() {
                    let (found, expected) =
                        (real.value(states.row(row)), (x - 4.0 / 3.0) / deviation);
                    assert!((f64::from(found) - expected).abs() < 2e-6, "{i}: {found} {expected}");
                }
            }
        }
    }
}
