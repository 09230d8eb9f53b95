//! Options for the columns of a data file.

use anyhow::{Result, bail};
use clap::Args;

use crate::data::{Column, Columns, Files, Separator, Source};

/// What the columns of a data file are
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub struct ColumnOptions {
    /// Number of columns, for LIBSVM text whose last columns can be all zero; or the columns of a table that are units, by
    /// names, numbers from 1 and ranges, as in a,b,5-9,12-
    #[arg(long, value_name = "N|LIST")]
    pub(super) columns: Option<Columns>,
    /// Column of a table that holds labels, by name or number [default: the one named label, class or target]
    #[arg(long, value_name = "COLUMN")]
    label: Option<Column>,
    /// What separates the columns of a table: comma, semicolon, tab or space [default: found by itself]
    #[arg(long, value_name = "NAME")]
    separator: Option<Separator>,
    /// The number that is white, where cells are grey levels [default: 255 for whole numbers, 1 for fractions]
    #[arg(long, value_name = "LEVEL")]
    white: Option<f64>,
}

impl ColumnOptions {
    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            ("--columns", self.columns.is_some()),
            ("--label", self.label.is_some()),
            ("--separator", self.separator.is_some()),
            ("--white", self.white.is_some()),
        ];
        all.into_iter().find_map(|(option, given)| given.then_some(option))
    }

    /// A source with these options, which only files have.
    pub fn apply(&self, source: Source) -> Result<Source> {
        let Some(option) = self.given() else { return Ok(source) };
        let Source::Files(files) = source else {
            bail!("{option} is for data files, and this data set is none");
        };
        Ok(Source::Files(Files {
            columns: self.columns.clone().or(files.columns),
            label: self.label.clone().or(files.label),
            separator: self.separator.or(files.separator),
            white: self.white.or(files.white),
            ..files
        }))
    }
}
