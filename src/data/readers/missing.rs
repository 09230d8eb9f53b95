//! Cells of a table that hold no value.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::encoding::MISSING;
use super::layout::Layout;
use crate::data::limits::Checked;

/// Columns that are shown.
const SHOWN: usize = 5;

/// The missing cells of a table.
#[derive(Default)]
pub(super) struct Missing {
    /// Row and unit column of each, where they are allowed.
    pub cells: Vec<(usize, usize)>,
    /// Line and column of the first one, and the number of them by column, where they are not.
    first: Option<(usize, usize)>,
    of_columns: BTreeMap<usize, usize>,
}

impl Missing {
    /// Counts a cell that is not allowed to be missing; `place`: its line and column, from 1.
    pub fn count(&mut self, place: (usize, usize)) {
        self.first.get_or_insert(place);
        *self.of_columns.entry(place.1 - 1).or_default() += 1;
    }

    /// # Errors
    /// Cells that were counted, in a table of so many rows.
    pub fn refuse(&self, layout: &Layout, rows: usize) -> Checked<()> {
        let Some((line, column)) = self.first else { return Ok(()) };
        let end = layout.roles.len() - 1;
        if rows > 1 && self.of_columns.len() == 1 && self.of_columns.get(&end) == Some(&rows) {
            return Err(format!(
                "column {}, the last one, is empty in all rows, as where each line ends with a separator: delete the separator at the end of each line, or choose the other columns by data.source.columns (--columns)",
                layout.name(end)
            ));
        }
        let mut each: Vec<(usize, usize)> =
            self.of_columns.iter().map(|(&column, &count)| (column, count)).collect();
        each.sort_by_key(|(_, count)| Reverse(*count));
        let all: usize = each.iter().map(|(_, count)| count).sum();
        let text = |&(column, count)| format!("{count} in {}", layout.name(column));
        let most: Vec<String> = each.iter().take(SHOWN).map(text).collect();
        Err(format!(
            "{all} cell{s} {are} empty or missing ({words}), the first in line {line}, column {column}; by columns {most}{more}: fill them in, as `ztrack impute` does by a model trained on whole rows, leave out these rows (pandas: dropna()), choose other columns by data.source.columns (--columns), or write another word where one of these is an answer",
            s = if all == 1 { "" } else { "s" },
            are = if all == 1 { "is" } else { "are" },
            words = MISSING.join(", "),
            most = most.join(", "),
            more = if each.len() > SHOWN { ", ..." } else { "" },
        ))
    }
}
