//! Tables with categories in their cells: every distinct value of a column is a state, or a real number where these are allowed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::FileOptions;
use super::cells::unescaped;
use super::encoding::{Encoding, number, shown, whole};
use super::labels::LONGEST;
use super::layout::Layout;
use crate::data::limits::{Checked, check_shape};
use crate::data::numbers::furthest;
use crate::data::{Categories, Category};
use crate::engine::BitMatrix;
use crate::memory::{make_room, reserve};
use crate::units::Variables;

/// Most states of a column of text, and of a column of integers, which are counts or measurements if they are more.
pub(super) const MOST_STATES: usize = 256;
const MOST_INTEGERS: usize = 50;
/// Rows of each number of a column, on average, from which on few numbers are states where others are real.
const REPEATS: usize = 10;
/// What is said of a column with many numbers.
const REAL: &str = "; real numbers are trained as such by data.variables = \"real\" (--set data.variables=real), beside columns of words by \"mixed\"";
/// What is said of a few more whole numbers beside 0 and 1.
const COUNTS: &str = "; where cells are counts, give 1 for each that is not 0, or numbers such as their logarithms as real ones (data.variables = \"real\", beside columns of words \"mixed\")";
/// Different numbers from which on a table looks like one of grey levels.
const LOOK_GREY: usize = 10;
/// What is said of one.
const GREY: &str = "; if the cells are grey levels, give data.binarization (--binarization): stochastic, or a threshold such as 0.5";
/// Values beside 0 and 1 in less than this share of the rows are mistakes.
const MISTAKES: f64 = 0.01;
/// Cells from which on growth is compared with the free memory.
const MANY: usize = 1 << 22;

/// Cells as they are read.
#[derive(Default)]
pub(super) struct StateRows {
    columns: Vec<Column>,
    /// Row after row, one number a unit column.
    codes: Vec<u16>,
    rows: usize,
    /// The cells as numbers, in the same places, where columns may be real; NaN for others.
    numbers: Option<Vec<f64>>,
    /// Those of the training rows, where these are other rows, and their variables, if means and scales are known.
    given: Option<Arc<Categories>>,
    variables: Option<Variables>,
    /// Whether columns get a state for values of other rows.
    unseen: bool,
}

/// The rows as units: states, the columns, and the variables if one is real.
pub(super) struct Units {
    pub bits: BitMatrix,
    pub categories: Arc<Categories>,
    pub reals: Option<Variables>,
}

/// The name of a cell's state: 1.0 and +1 are 1, as programs write whole numbers of which some rows have none.
fn state_of(cell: &[u8]) -> Cow<'_, [u8]> {
    let spelled = cell.iter().any(|byte| matches!(byte, b'.' | b'+'));
    match whole(cell).filter(|_| spelled) {
        Some(x) => x.to_string().into_bytes().into(),
        None => unescaped(cell),
    }
}

/// Distinct values of a column, with their numbers by first appearance.
#[derive(Default)]
struct Column {
    known: BTreeMap<Vec<u8>, Value>,
    /// Whether a cell is no number.
    text: bool,
    /// Whether there are numbers beyond the most states, and no words: it is real.
    crowded: bool,
}

struct Value {
    code: u16,
    rows: usize,
    line: usize,
}

impl StateRows {
    pub fn new(options: &FileOptions) -> Self {
        let given = options.categories.clone();
        let real = given.as_ref().map_or(options.mixed, |given| given.has_reals());
        let variables = options.reals.clone().filter(|_| real);
        let numbers = real.then(Vec::new);
        Self { numbers, given, variables, unseen: options.unseen, ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    /// Begins a row of so many unit columns.
    pub fn begin(&mut self, columns: usize) -> Checked<()> {
        if let Some(given) = self.given.as_ref().filter(|given| given.columns().len() != columns) {
            let expected = given.columns().len();
            return Err(format!("{columns} columns are units, the training rows have {expected}"));
        }
        self.columns.resize_with(columns.max(self.columns.len()), Column::default);
        self.rows += 1;
        let all = self.codes.len() + columns;
        let bytes = if self.numbers.is_some() { 10.0 } else { 2.0 };
        let growth = (columns, 1024 * columns);
        make_room(&mut self.codes, growth, (MANY, bytes, "the cells of the rows to come"))?;
        self.codes.resize(all, 0);
        if let Some(numbers) = &mut self.numbers {
            let more = self.codes.capacity() - numbers.len();
            reserve(numbers, more)?;
            numbers.resize(all, f64::NAN);
        }
        Ok(())
    }

    /// The next cell of the row.
    pub fn push(&mut self, unit: usize, cell: &[u8], place: (usize, usize)) -> Checked<()> {
        if cell.len() > LONGEST {
            return Err(format!("`{}...` is longer than {LONGEST} bytes", shown(cell)));
        }
        let (at, column) = (self.codes.len() - self.columns.len() + unit, &mut self.columns[unit]);
        if let Some(numbers) = &mut self.numbers {
            let number = number(cell).filter(|x| x.is_finite());
            numbers[at] = number.unwrap_or(f64::NAN);
            column.text |= number.is_none();
            match &self.given {
                Some(given) if given.columns()[unit].real && column.text => {
                    let cell = shown(cell);
                    return Err(format!("`{cell}` is no number, as the training rows have here"));
                }
                Some(given) if given.columns()[unit].real => return Ok(()),
                None if column.crowded && !column.text => return Ok(()),
                _ => {}
            }
        }
        let state = state_of(cell);
        let code = match column.known.get_mut(&*state) {
            Some(value) => {
                value.rows += 1;
                value.code
            }
            None => {
                if std::str::from_utf8(&state).is_err() {
                    let cell = shown(cell);
                    return Err(format!("`{cell}` is not in UTF-8: save the table as UTF-8"));
                }
                let code = column.known.len() as u16;
                if column.known.len() >= MOST_STATES {
                    if self.numbers.is_some() && self.given.is_none() && !column.text {
                        column.crowded = true;
                        return Ok(());
                    }
                    let grey = number(cell).is_some_and(|x| (0.0..=255.0).contains(&x));
                    return Err(format!(
                        "`{}` is one value more than the {MOST_STATES} states that a column may have: group the values, or choose other columns by data.source.columns (--columns){}{}",
                        shown(cell),
                        if number(cell).is_some() { REAL } else { "" },
                        if grey { GREY } else { "" }
                    ));
                }
                column.known.insert(state.into_owned(), Value { code, rows: 1, line: place.0 });
                code
            }
        };
        self.codes[at] = code;
        Ok(())
    }

    /// Whether most of these names of unit columns are values in their columns: then they are a row and no line of names.
    pub fn know<'a>(&self, names: impl Iterator<Item = (usize, &'a [u8])>) -> bool {
        let known =
            names.filter(|(unit, name)| self.columns[*unit].known.contains_key(&*state_of(name)));
        2 * known.count() > self.columns.len()
    }

    /// Whether all cells are numbers from 0 to 255, and more of them differ than categories do.
    fn look_grey(&self) -> bool {
        let values: HashSet<&[u8]> =
            self.columns.iter().flat_map(|column| column.known.keys().map(Vec::as_slice)).collect();
        let level = |value: &&[u8]| number(value).is_some_and(|x| (0.0..=255.0).contains(&x));
        values.len() >= LOOK_GREY && values.iter().all(level)
    }

    /// The rows as one-hot units and real numbers.
    pub fn finish(self, layout: &Layout) -> Checked<Units> {
        let columns = layout.unit_columns().into_iter();
        let names: Vec<_> =
            columns.map(|column| (layout.title(column), layout.name(column))).collect();
        let categories = match &self.given {
            Some(given) => given.clone(),
            None => {
                let grey = if self.look_grey() { GREY } else { "" };
                let columns = self.columns.iter().zip(&names);
                let reals = self.numbers.is_some();
                let found = columns.map(|(column, name)| column.category(name, self.rows, reals));
                let mut found =
                    found.collect::<Checked<Vec<_>>>().map_err(|problem| problem + grey)?;
                if self.unseen {
                    found.iter_mut().for_each(Category::add_unseen);
                }
                Arc::new(Categories::new(found))
            }
        };
        let mut maps = Vec::new();
        let mut first = 0;
        for ((column, category), (_, name)) in
            self.columns.iter().zip(categories.columns()).zip(&names)
        {
            maps.push(column.units(category, name, first)?);
            first += category.units();
        }
        check_shape(self.rows, first, true)?;
        let width = self.columns.len().max(1);
        let numbers = self.numbers.filter(|_| categories.has_reals());
        let numbers_of = |n: usize| numbers.iter().flatten().skip(n).step_by(width).copied();
        let variables = self.variables.unwrap_or_else(|| categories.variables());
        let variables = variables.seen(numbers_of).map_err(|error| error.to_string())?;
        let mut bits = variables.states(self.rows, first);
        for (row, codes) in self.codes.chunks_exact(width).enumerate() {
            for (map, &code) in maps.iter().zip(codes) {
                if let Some(unit) = map[code as usize] {
                    bits.set(row, unit, true);
                }
            }
        }
        let reals = variables.categorical().iter().enumerate();
        for (n, real) in reals.filter_map(|(n, it)| Some((n, it.real?))) {
            for (row, number) in numbers_of(n).enumerate().filter(|(_, number)| !number.is_nan()) {
                let value = real.standardised(number);
                if !value.is_finite() {
                    let name = &names[n].1;
                    return Err(format!("column {name}, {}", furthest(numbers_of(n))));
                }
                real.set(bits.row_mut(row), value);
            }
        }
        let reals = categories.has_reals().then_some(variables);
        Ok(Units { bits, categories, reals })
    }
}

impl Column {
    /// The states of this column among `rows` rows, sorted; its name, and its number with it for messages. With `reals`, numbers that are
    /// many, or do not repeat, are real.
    fn category(
        &self,
        (title, name): &(String, String),
        rows: usize,
        reals: bool,
    ) -> Checked<Category> {
        let is_bit = |value: &&Vec<u8>| Encoding::default().bit(value, (0, 0)).is_ok();
        let others: Vec<_> = self.known.iter().filter(|(value, _)| !is_bit(value)).collect();
        let few: usize = others.iter().map(|(_, value)| value.rows).sum();
        let mut encoding = Encoding::default();
        let one_encoding = self.known.keys().all(|value| encoding.bit(value, (0, 0)).is_ok());
        if one_encoding || self.crowded {
            return Ok(Category { name: title.clone(), states: Vec::new(), real: self.crowded });
        }
        let mistakes = |rows_of: usize| rows_of as f64 <= (MISTAKES * rows as f64).max(1.0);
        // Python writes None for a missing value; among words it is an answer.
        let none =
            self.known.len() > 1 && others.len() == 1 && others[0].0.eq_ignore_ascii_case(b"none");
        let count = |value: &[u8]| number(value).is_some_and(|x| x > 1.0 && x.fract() == 0.0);
        let counts = others.iter().all(|(value, _)| count(value));
        if let Some((value, first)) = others.first()
            && (none || mistakes(few))
            && !(reals && counts)
        {
            let meant = if none { " (an empty cell is a missing one)" } else { "" };
            let counts = if counts { COUNTS } else { "" };
            return Err(format!(
                "line {}, column {name}: `{}` is neither 0 nor 1, as the other cells of this column are: correct it{meant}, or choose other columns by data.source.columns (--columns){counts}",
                first.line,
                shown(value)
            ));
        }
        let finite = |value: &Vec<u8>| number(value).filter(|x| x.is_finite());
        let numbers: Vec<f64> = self.known.keys().filter_map(finite).collect();
        let words: Vec<_> = self.known.iter().filter(|it| finite(it.0).is_none()).collect();
        let mut states: Vec<String> =
            self.known.keys().map(|value| String::from_utf8_lossy(value).into()).collect();
        let whole = numbers.iter().all(|x| x.fract() == 0.0);
        let many = numbers.len() > MOST_INTEGERS;
        let measured = many || (reals && REPEATS * numbers.len() > rows);
        // Whole numbers among words can be codes.
        let stray = mistakes(words.iter().map(|(_, value)| value.rows).sum()) || !whole;
        if let Some((word, first)) = words.first()
            && measured
            && stray
            && words.len() < numbers.len()
        {
            return Err(format!(
                "line {}, column {name}: `{}` is no number, as other cells of this column are: correct it, leave the cell empty if its value is missing, or choose other columns by data.source.columns (--columns)",
                first.line,
                shown(word)
            ));
        }
        if words.is_empty() {
            if reals && measured {
                return Ok(Category { name: title.clone(), states: Vec::new(), real: true });
            }
            if !reals && (many || !whole) {
                return Err(format!(
                    "column {name} has {} different numbers{}: put them into at most {MOST_INTEGERS} classes, or choose other columns by data.source.columns (--columns){REAL}",
                    numbers.len(),
                    if whole { "" } else { ", not all whole" }
                ));
            }
            let mut order: Vec<usize> = (0..states.len()).collect();
            order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
            states = order.into_iter().map(|i| std::mem::take(&mut states[i])).collect();
        }
        Ok(Category { name: title.clone(), states, real: false })
    }

    /// The unit that each value sets, if any, by its number; the units of this column start at `first`.
    fn units(&self, category: &Category, name: &str, first: usize) -> Checked<Vec<Option<usize>>> {
        let mut map = vec![None; self.known.len().max(1)];
        for (value, Value { code, line, .. }) in &self.known {
            let text = String::from_utf8_lossy(value);
            let state = match &category.states[..] {
                _ if category.real => Some(None),
                [] => Encoding::default().bit(value, (0, 0)).ok().map(|bit| bit.then_some(0)),
                states => states
                    .iter()
                    .position(|state| *state == text)
                    .or_else(|| category.unseen())
                    .map(Some),
            };
            let Some(state) = state else {
                return Err(format!(
                    "line {line}, column {name}: `{}` is no value that the training rows have: correct it, leave out the row, or train with data.unseen = true",
                    shown(value)
                ));
            };
            map[*code as usize] = state.map(|state| first + state);
        }
        Ok(map)
    }
}
