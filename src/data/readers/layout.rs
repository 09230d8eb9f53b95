//! The use of each column of a table: a unit, the label, or nothing.

use std::collections::HashSet;

use super::FileOptions;
use super::cells::{Cells, unescaped};
use super::encoding::{is_missing, is_value, number, pointed};
use crate::data::limits::Checked;
use crate::data::{Column, Separator};
use crate::nearest::meant;

/// A column with one of these names, in any case, has the labels, unless another one is given or it is chosen as a unit.
const LABEL_NAMES: [&str; 3] = ["class", "label", "target"];
/// Longest line of names that is kept in model files, in bytes.
const LONGEST_NAMES: usize = 1 << 20;
/// Number of cells of a line that, if all different, can only be names: a line of data has two values, a label and perhaps a number.
const ENOUGH_NAMES: usize = 5;
/// Names shown in a message.
const SHOWN: usize = 10;

/// The use of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Unit(usize),
    Label,
    Weight,
    Unused,
}

/// The columns of a table.
pub(super) struct Layout {
    /// One a column.
    pub roles: Vec<Role>,
    /// Number of units.
    pub units: usize,
    /// Whether the column of labels, if there is one, was inferred from its name.
    guessed: bool,
    names: Vec<String>,
}

/// Whether the first record of a table holds the names of its columns: none of its cells is a value and not all are missing ones, or there are
/// five or more and all are different, as in the 0,1,2,3,4,... that some programs write. In a table of grey levels such numbers follow one another.
pub(super) fn is_header(record: &[u8], separator: Separator, grey: bool) -> bool {
    let cells = || Cells::of(record, separator);
    if cells().all(is_missing) {
        return false;
    } else if cells().all(|cell| !is_value(&pointed(cell, separator))) {
        return true;
    } else if grey {
        let numbers: Vec<f64> = cells().filter_map(number).collect();
        let follow = numbers.windows(2).all(|two| two[1] == two[0] + 1.0);
        return follow && numbers.len() >= ENOUGH_NAMES && matches!(numbers[0], 0.0 | 1.0);
    }
    let mut seen = HashSet::new();
    cells().all(|cell| seen.insert(cell)) && seen.len() >= ENOUGH_NAMES
}

/// The names in a header.
pub(super) fn names(header: &[u8], separator: Separator) -> Vec<String> {
    Cells::of(header, separator)
        .map(|cell| String::from_utf8_lossy(&unescaped(cell)).into())
        .collect()
}

impl Layout {
    /// Of a table with `count` columns; `names` is empty where it has none.
    ///
    /// # Errors
    /// Columns that are not there, that are named twice, or a choice that leaves no units.
    pub fn new(names: Vec<String>, count: usize, options: &FileOptions) -> Checked<Self> {
        let mut layout = Self {
            roles: vec![Role::Unused; count],
            units: 0,
            guessed: options.label.is_none(),
            names,
        };
        let known: Vec<Column> = options.titles.iter().cloned().map(Column::Text).collect();
        let by_name = (!layout.names.is_empty() && !known.is_empty()).then_some(&known);
        let chosen = match by_name.and_then(|known| layout.chosen(known).ok()) {
            None => options.chosen.as_ref().map(|chosen| layout.chosen(chosen)).transpose()?,
            found => found,
        };
        let label = match &options.label {
            Some(column) => Some(layout.one(column)?),
            None => layout
                .usual_label()
                .filter(|label| chosen.as_ref().is_none_or(|chosen| !chosen.contains(label))),
        };
        if let Some(column) = label {
            layout.roles[column] = Role::Label;
        }
        if let Some(column) = &options.weights {
            let column = layout.one(column)?;
            if layout.roles[column] == Role::Label {
                return Err(format!("column {} holds labels, not weights", layout.name(column)));
            }
            layout.roles[column] = Role::Weight;
        }
        let all = || (0..count).filter(|&column| layout.roles[column] == Role::Unused).collect();
        let units: Vec<usize> = chosen.unwrap_or_else(all);
        for (unit, column) in units.into_iter().enumerate() {
            match layout.roles[column] {
                Role::Unused => layout.roles[column] = Role::Unit(unit),
                Role::Label | Role::Weight => {
                    let name = layout.name(column);
                    return Err(format!("column {name} holds labels or weights and is no unit"));
                }
                Role::Unit(_) => {
                    return Err(format!("column {} is chosen twice", layout.name(column)));
                }
            }
            layout.units += 1;
        }
        if layout.units == 0 {
            return Err("no column is left for units".into());
        }
        let titles = layout.unit_titles();
        let mut pairs = titles.iter().zip(&options.titles);
        if titles.len() == options.titles.len()
            && let Some((name, known)) = pairs.find(|(name, known)| name != known)
        {
            return Err(format!(
                "column `{name:.32}` stands where the training rows have `{known:.32}`: give the columns the names of the training rows, in any order, or delete the line of names if the columns are the same in the same order"
            ));
        }
        Ok(layout)
    }

    /// A column for messages: its number, and its name if it has one.
    pub fn name(&self, column: usize) -> String {
        match self.names.get(column) {
            Some(name) if !name.is_empty() => {
                format!("{} ({:.32})", column + 1, name)
            }
            _ => (column + 1).to_string(),
        }
    }

    /// The name of a column, else its number.
    pub fn title(&self, column: usize) -> String {
        let name = self.names.get(column).filter(|name| !name.is_empty());
        name.cloned().unwrap_or_else(|| format!("column {}", column + 1))
    }

    /// Names of the unit columns in their order; none without a line of names, or if they are too long for a model file.
    pub fn unit_titles(&self) -> Vec<String> {
        let length: usize = self.names.iter().map(String::len).sum();
        if !(1..=LONGEST_NAMES).contains(&length) {
            return Vec::new();
        }
        self.unit_columns().into_iter().map(|column| self.title(column)).collect()
    }

    /// The columns of the units, in the order of these.
    pub fn unit_columns(&self) -> Vec<usize> {
        let mut columns = vec![0; self.units];
        for (column, role) in self.roles.iter().enumerate() {
            if let Role::Unit(unit) = role {
                columns[*unit] = column;
            }
        }
        columns
    }

    /// The column of labels, if none was given.
    pub(crate) fn guessed_label(&self) -> Option<String> {
        let column = self.roles.iter().position(|role| *role == Role::Label);
        column.filter(|_| self.guessed).map(|column| self.name(column))
    }

    fn usual_label(&self) -> Option<usize> {
        let usual =
            |name: &String| LABEL_NAMES.iter().any(|usual| name.eq_ignore_ascii_case(usual));
        let mut found = (0..self.names.len()).filter(|&column| usual(&self.names[column]));
        found.next().filter(|_| found.next().is_none() && self.roles.len() > 1)
    }

    fn chosen(&self, columns: &[Column]) -> Checked<Vec<usize>> {
        let mut chosen = Vec::new();
        for column in columns {
            chosen.extend(self.several(column)?);
            // Ranges may be given any number of times.
            if chosen.len() > self.roles.len() {
                break;
            }
        }
        Ok(chosen)
    }

    fn one(&self, column: &Column) -> Checked<usize> {
        match self.several(column)?.collect::<Vec<_>>()[..] {
            [one] => Ok(one),
            _ => Err("one column of labels or weights is wanted, not several".into()),
        }
    }

    fn several(&self, column: &Column) -> Checked<std::ops::Range<usize>> {
        let text = match column {
            Column::Number(number) => return self.range(*number, *number),
            Column::Text(text) => text,
        };
        let mut found = (0..self.names.len()).filter(|&column| self.names[column] == *text);
        if let Some(first) = found.next() {
            return match found.next() {
                Some(_) => Err(format!("several columns are named `{text}`: give a number")),
                None => Ok(first..first + 1),
            };
        }
        if let Ok(number) = text.parse() {
            return self.range(number, number);
        }
        let range = text.split_once('-').and_then(|(from, to)| {
            let last = if to.is_empty() { Some(self.roles.len()) } else { to.parse().ok() };
            Some((from.parse().ok()?, last?))
        });
        match range {
            Some((from, to)) => self.range(from, to),
            None => Err(self.unknown(text)),
        }
    }

    /// Columns by their numbers from 1, the last one included.
    fn range(&self, from: usize, to: usize) -> Checked<std::ops::Range<usize>> {
        if from == 0 || from > to || to > self.roles.len() {
            let asked = if from == to { from.to_string() } else { format!("{from}-{to}") };
            return Err(format!("no column {asked}: there are columns 1 to {}", self.roles.len()));
        }
        Ok(from - 1..to)
    }

    fn unknown(&self, text: &str) -> String {
        if self.names.is_empty() {
            return format!("no column `{text}`: the table has no line of names, give a number");
        }
        let meant = meant(text, self.names.iter().map(String::as_str));
        let shown: Vec<_> =
            self.names.iter().take(SHOWN).map(|name| format!("{name:.32}")).collect();
        let more = if self.names.len() > SHOWN { ", ..." } else { "" };
        format!("no column `{text}`{meant}; the names are {}{more}", shown.join(", "))
    }
}
