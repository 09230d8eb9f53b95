//! Shapes of the look-up tables of a product of packed rows with a dense matrix. They differ in their requirements on a processor: size of
//! the L1 cache, loads per cycle, latency of an addition.

use std::fmt;
use std::str::FromStr;

use super::InstructionSet;
use crate::engine::{Groups, PANEL};
use crate::error::{Error, Result};

/// Units in a group.
pub const GROUP: usize = 4;
/// Sums of a group.
pub const SUMS: usize = 1 << GROUP;
const COLUMNS: [usize; 3] = [16, 32, WIDEST];
/// Columns of the widest table.
pub(super) const WIDEST: usize = 64;
const GROUPS: [usize; 2] = [8, 16];
const ROWS: [usize; 3] = [1, 2, 4];

/// Written as `columns x groups x rows`: `32x16x1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns of a table: 16, 32 or 64.
    pub columns: usize,
    /// Groups of units in a table: 8 (half a word) or 16. A table takes columns x groups x 64 bytes.
    pub groups: usize,
    /// Rows that are summed side by side: 1, 2 or 4.
    pub rows: usize,
}

impl Shape {
    /// A good choice on all machines measured.
    pub const USUAL: Self = Self { columns: 32, groups: 16, rows: 1 };

    /// All shapes.
    pub fn all() -> impl Iterator<Item = Self> {
        COLUMNS.into_iter().flat_map(|columns| {
            GROUPS
                .into_iter()
                .flat_map(move |groups| ROWS.map(move |rows| Self { columns, groups, rows }))
        })
    }

    /// Room for the table.
    pub(in crate::engine) fn table(self) -> Groups<i32> {
        Groups::filled(self.groups * SUMS * self.columns / PANEL, 0)
    }

    /// Room for that of any shape.
    pub(super) fn largest_table() -> Groups<i32> {
        Self { columns: COLUMNS[2], groups: GROUPS[1], rows: 1 }.table()
    }

    /// The widest of these shapes for so many columns that are left.
    pub(super) fn within(self, columns: usize) -> Self {
        Self { columns: self.columns.min(columns), ..self }
    }
}

/// Vectors and shape of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    pub set: InstructionSet,
    pub shape: Shape,
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.set.has_tiles() {
            true => write!(f, "{}", self.set),
            false => write!(f, "{} with {}", self.shape, self.set),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.columns, self.groups, self.rows)
    }
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::all().find(|shape| shape.to_string() == text).ok_or_else(|| {
            Error::Unknown(format!(
                "`{text}` is none of the shapes columns x groups x rows: 16, 32 or 64 x 8 or 16 x 1, 2 or 4, such as {}",
                Self::USUAL
            ))
        })
    }
}
