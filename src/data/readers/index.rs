//! Columns of a table with another value in every row: names of rows, or the index that pandas writes.

use std::collections::HashSet;
use std::path::Path;

use super::cells::{BYTE_ORDER_MARK, Cells, find_separator, is_record};
use super::encoding::{is_missing, number, pointed};
use super::file::open_table;
use super::layout::{Layout, Role, is_header, names};
use super::{FileOptions, states};
use crate::data::Column;
use crate::data::input::Input;
use crate::error::Result;
use crate::units::Variables;

/// Fewest rows of which a column with a name and another value in each is taken for their index.
const INDEXED: usize = 20;
/// Rows that are looked at: columns with so many states are refused.
const ROWS: usize = 2 * states::MOST_STATES;

/// The index columns of a table, and the others.
pub struct Index {
    /// Their numbers and names.
    names: Vec<String>,
    /// The other units, by ranges of numbers.
    rest: Vec<String>,
}

impl Index {
    /// That of a text table or a Parquet file; `None` if there is none, or the file is of another format.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of(path: &Path, options: &FileOptions) -> Result<Option<Self>> {
        let Some((mut input, options)) = open_table(path, options)? else { return Ok(None) };
        Self::find(&mut input, &options)
    }

    /// The same of the text of a table of training rows. Columns of real numbers that were not chosen are an index if they count the rows. What
    /// is wrong with a table is for its reader to say.
    pub(super) fn find(input: &mut Input<'_>, options: &FileOptions) -> Result<Option<Self>> {
        let reals = options.reals.is_some() || options.mixed;
        let known = |it: &Variables| {
            it.categorical().iter().any(|it| it.real.is_some_and(|real| real.scale > 0.0))
        };
        let known = options.categories.is_some() || options.reals.as_ref().is_some_and(known);
        if known || (reals && options.chosen.is_some()) {
            return Ok(None);
        }
        let separator = options.separator.unwrap_or_else(|| find_separator(input.head()));
        let mut columns: Option<(Layout, Vec<Seen>)> = None;
        let (mut line, mut titles, mut rows) = (Vec::new(), None, 0);
        while rows < ROWS && input.line(&mut line, 1)? {
            let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
            for record in line.split(|&byte| byte == b'\r').filter(|record| is_record(record)) {
                if titles.is_none() {
                    let header = is_header(record, separator, options.grey);
                    titles = Some(if header { names(record, separator) } else { Vec::new() });
                    if header {
                        continue;
                    }
                }
                let (layout, seen) = match &mut columns {
                    Some(columns) => columns,
                    none => {
                        let titles = titles.clone().unwrap_or_default();
                        let count = Cells::of(record, separator).count();
                        if !titles.is_empty() && titles.len() != count {
                            return Ok(None);
                        }
                        let Ok(layout) = Layout::new(titles, count, options) else {
                            return Ok(None);
                        };
                        none.insert((layout, vec![Seen::default(); count]))
                    }
                };
                if Cells::of(record, separator).count() != layout.roles.len() {
                    return Ok(None);
                }
                let cells = Cells::of(record, separator).map(|cell| pointed(cell, separator));
                cells.zip(seen).for_each(|(cell, seen)| seen.add(&cell));
                rows += 1;
            }
        }
        let Some((layout, seen)) = columns else { return Ok(None) };
        // pandas gives its index no name.
        let unnamed = |i: usize| titles.iter().flatten().nth(i).is_some_and(String::is_empty);
        let is_unit = |column: usize| matches!(layout.roles[column], Role::Unit(_));
        let differ = |i: usize| (rows >= INDEXED || unnamed(i)) && seen[i].is_index(reals);
        let is_index = |column: usize| is_unit(column) && differ(column);
        let all = 0..layout.roles.len();
        let names: Vec<String> =
            all.clone().filter(|&i| is_index(i)).map(|i| layout.name(i)).collect();
        if names.is_empty() || names.len() == layout.units {
            return Ok(None);
        }
        let rest: Vec<usize> = all.filter(|&i| is_unit(i) && !is_index(i)).collect();
        let rest = rest.chunk_by(|a, b| a + 1 == *b);
        let range = |part: &[usize]| match *part {
            [one] => (one + 1).to_string(),
            [first, ..] if part.ends_with(&[layout.roles.len() - 1]) => format!("{}-", first + 1),
            _ => format!("{}-{}", part[0] + 1, part[0] + part.len()),
        };
        Ok(Some(Self { names, rest: rest.map(range).collect() }))
    }

    /// What is said of it: what it is, and what to type.
    pub fn text(&self) -> String {
        let (s, it) = if self.names.len() == 1 { ("", "it") } else { ("s", "them") };
        let (names, rest) = (self.names.join(", "), self.rest.join(","));
        format!(
            "column{s} {names}: another value in every row, as names of rows or an index of pandas have: leave {it} out by --set data.source.columns={rest} (--columns {rest}), or in pandas by to_csv(..., index=False)"
        )
    }

    /// The columns without it.
    pub fn rest(&self) -> Vec<Column> {
        self.rest.iter().cloned().map(Column::Text).collect()
    }
}

/// The values of a column.
#[derive(Clone, Default)]
struct Seen {
    values: HashSet<Vec<u8>>,
    /// Numbers that are not whole, missing cells, values that were there before.
    others: bool,
    text: bool,
    /// The last number, and whether each was one more than that before.
    last: Option<f64>,
    gaps: bool,
}

impl Seen {
    fn add(&mut self, cell: &[u8]) {
        if self.others {
            return;
        }
        let number = number(cell);
        self.others = is_missing(cell)
            || number.is_some_and(|x| x.fract() != 0.0)
            || !self.values.insert(cell.to_vec());
        self.text |= number.is_none();
        self.gaps |= self.last.is_some_and(|last| number != Some(last + 1.0));
        self.last = number;
    }

    fn is_index(&self, reals: bool) -> bool {
        !self.others && (!reals || self.text || !self.gaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, options: &FileOptions) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        Index::of(&path, options).unwrap().map(|index| index.text())
    }

    #[test]
    fn columns_with_another_value_in_every_row() {
        let table = |rows: usize, row: &dyn Fn(usize) -> String| {
            "a,b,c,d\n".to_string() + &(0..rows).map(row).collect::<String>()
        };
        let usual = FileOptions::default();
        let first = table(30, &|i| format!("p{i},{},{},1\n", i % 3, i % 2));
        assert!(
            found(&first, &usual).unwrap().contains("column 1 (a): another value in every row")
        );
        assert!(found(&first, &usual).unwrap().contains("--columns 2-)"));
        let two = table(600, &|i| format!("{},x{i},{},{i}\n", i % 3, i % 2));
        let text = found(&two, &usual).unwrap();
        assert!(text.contains("columns 2 (b), 4 (d)") && text.contains("--columns 1,3)"), "{text}");
        for (rows, row) in [
            (19, &(|i| format!("{i},1,0,1\n")) as &dyn Fn(usize) -> String),
            (40, &|i| format!("{},1,0,1\n", i / 2)),
            (40, &|i| format!("{}.5,1,0,1\n", i)),
            (40, &|i| format!("{i},1\n")),
        ] {
            assert_eq!(found(&table(rows, row), &usual), None);
        }
        // All columns: nothing would be left.
        assert_eq!(found(&(0..30).map(|i| format!("x{i}\n")).collect::<String>(), &usual), None);
    }

    #[test]
    fn whole_numbers_among_real_ones_are_an_index_if_they_count_the_rows() {
        let reals = "real".parse().ok();
        let usual = FileOptions { reals, ..FileOptions::default() };
        let table = |step: usize| {
            let row = |i: usize| format!("{},{}.25\n", step * i % 97, i * i % 11);
            (0..60).map(row).collect::<String>()
        };
        assert!(found(&table(1), &usual).unwrap().contains("column 1: another"));
        assert_eq!(found(&table(7), &usual), None);
        let chosen = Some(vec![Column::Text("1-".into())]);
        assert_eq!(found(&table(1), &FileOptions { chosen, ..usual }), None);
    }
}
