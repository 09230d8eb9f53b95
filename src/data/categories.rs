//! Names of the variables of a table and of their states: cells become states, and states cells.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::units::{Real, Variable, Variables};

/// The state of values that the training rows do not have.
pub const UNSEEN: &str = "(unseen)";

/// Fewest columns and different numbers that look like pictures.
const GREY: (usize, usize) = (16, 10);

/// The columns of a table as variables with named states. The states of a column are one-hot units, in this order; a column of 0 and 1 is
/// one unit, a column of real numbers the two of a real variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Categories {
    columns: Vec<Category>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Its states; none for a column of 0 and 1 and for one of real numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
    /// Whether its cells are real numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real: bool,
}

impl Category {
    /// Number of units. A column with a single value is one unit that is always set.
    pub(super) fn units(&self) -> usize {
        self.variable().columns
    }

    fn variable(&self) -> Variable {
        match (self.real, self.states.len()) {
            (true, _) => Variable::REAL,
            (false, 0 | 1) => Variable::bit(0),
            (false, columns) => Variable { first: 0, columns, implicit: false, real: None },
        }
    }

    /// Makes [`UNSEEN`] the last state of a column that has states.
    pub(super) fn add_unseen(&mut self) {
        if !self.states.is_empty() {
            self.states.retain(|state| state != UNSEEN);
            self.states.push(UNSEEN.into());
        }
    }

    /// The state of values that are none of the others, if there is one.
    pub(super) fn unseen(&self) -> Option<usize> {
        self.states.iter().rposition(|state| state == UNSEEN)
    }
}

impl Categories {
    /// From columns.
    pub(super) fn new(columns: Vec<Category>) -> Self {
        Self { columns }
    }

    /// All columns, in order.
    pub fn columns(&self) -> &[Category] {
        &self.columns
    }

    /// Number of units.
    pub fn units(&self) -> usize {
        self.columns.iter().map(Category::units).sum()
    }

    /// Names of the units: of columns, with a state where they have several, and with that of its square for a real number.
    pub fn unit_names(&self) -> Vec<String> {
        let named = |column: &Category| match &column.states[..] {
            _ if column.real => vec![column.name.clone(), format!("{}^2", column.name)],
            [] | [_] => vec![column.name.clone()],
            states => states.iter().map(|state| format!("{}={state}", column.name)).collect(),
        };
        self.columns.iter().flat_map(named).collect()
    }

    /// The units of a column.
    pub fn range(&self, column: usize) -> Range<usize> {
        let first = self.columns[..column].iter().map(Category::units).sum();
        first..first + self.columns[column].units()
    }

    /// The variables of the units; of real ones mean and scale are not known.
    pub fn variables(&self) -> Variables {
        Variables::listed(self.columns.iter().map(Category::variable)).unwrap_or_default()
    }

    /// Whether one of the columns holds real numbers.
    pub fn has_reals(&self) -> bool {
        self.columns.iter().any(|column| column.real)
    }

    /// Whether these are the columns of a layer of such variables, whatever the scale of real ones.
    pub(crate) fn are_of(&self, variables: &Variables) -> bool {
        let kind = |it: Variable| (it.range(), it.implicit, it.real.is_some());
        let own = self.variables();
        let (own, others) = (own.of(self.units()), variables.of(self.units()));
        !variables.is_plus_minus() && own.map(kind).eq(others.map(kind))
    }

    /// Whether the columns are positions of sequences: their states are letters, the gap last.
    pub(crate) fn are_positions(&self) -> bool {
        let letter = |state: &String| state.len() == 1;
        let gap = |column: &Category| column.states.last().is_some_and(|state| state == "-");
        self.columns.iter().all(|column| gap(column) && column.states.iter().all(letter))
    }

    /// Whether all columns hold whole numbers from 0 on, of the same few: more likely the grey levels of pictures than names.
    pub(crate) fn look_grey(&self) -> bool {
        let states = || self.columns.iter().flat_map(|column| &column.states);
        let distinct: HashSet<&String> = states().collect();
        let level = |state: &&String| state.parse::<u8>().is_ok();
        !self.has_reals()
            && self.columns.len() >= GREY.0
            && distinct.len() >= GREY.1
            && distinct.iter().all(level)
    }

    /// The cells of a packed row of such variables, one a column; real numbers in the table's own units.
    pub fn all_cells(&self, row: &[u64], variables: &Variables) -> Vec<Cow<'_, str>> {
        let number = |(_, real): (usize, Real)| (real.number(real.value(row)) as f32).to_string();
        let mut reals = variables.reals();
        let real = |column: &Category| if column.real { reals.next().map(number) } else { None };
        let numbers: Vec<Option<String>> = self.columns.iter().map(real).collect();
        let own =
            |(number, cell): (Option<String>, _)| number.map_or(Cow::Borrowed(cell), Cow::Owned);
        numbers.into_iter().zip(self.cells(row)).map(own).collect()
    }

    /// The states of a packed row, one a column, and nothing for real numbers.
    pub fn cells(&self, row: &[u64]) -> Vec<&str> {
        let mut first = 0;
        let mut cells = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let mut units = first..first + column.units();
            first = units.end;
            let start = units.start;
            let set = units.find(|unit| row[unit / 64] >> (unit % 64) & 1 == 1);
            cells.push(match (&column.states[..], set) {
                _ if column.real => "",
                ([], Some(_)) => "1",
                ([], None) => "0",
                ([one], _) => one.as_str(),
                (states, Some(unit)) => states[unit - start].as_str(),
                (_, None) => "",
            });
        }
        cells
    }

    /// From the text of a model file of a model with so many visible units. Their variables may be others, where the configuration says so.
    ///
    /// # Errors
    /// Text that is not of this kind, or of another number of units.
    pub(crate) fn from_json(text: &str, units: usize) -> Result<Self> {
        let wrong = |problem: String| Error::Invalid(format!("names of categories: {problem}"));
        let found: Self = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if found.units() != units {
            let found = found.units();
            return Err(wrong(format!("they are of {found} units, the model has {units}")));
        }
        Ok(found)
    }
}
