//! `ztrack impute`: missing cells of a table, filled in by a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use super::completed::Completed;
use super::data_options::DataOptions;
use super::failure::strict_code;
use super::model_options::{Model, ModelOptions};
use super::output::tell;
use super::row_file;
use super::state_files::{npy, quoted};
use crate::checkpoint::write_bytes;
use crate::context::Context;
use crate::data::refill;
use crate::engine::BitMatrix;
use crate::estimators::{Completing, Completion};

/// Fill in the missing cells of a table
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack impute runs/survey answers.csv --out filled.csv\n  \
    ztrack impute runs/survey answers.csv --out draw.csv --fill draw --seed 1\n  \
    ztrack impute runs/survey answers.csv --out filled.csv --probabilities cells.csv\n\n\
    A cell is missing if it is empty, NA, N/A, NaN, null, ? or -. Several completions of each row: ztrack sample --given")]
pub struct Impute {
    #[command(flatten)]
    model: ModelOptions,
    /// Table with missing cells (CSV and its relatives)
    #[arg(value_name = "FILE", required_unless_present = "data")]
    file: Option<String>,
    /// The same, as the other commands name it
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "file")]
    data: Option<String>,
    /// File to write: .csv is the table with its missing cells filled in, .npy zeros and ones, uint8, [rows, visible units]
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The state of each cell that is the most probable by itself, or a draw of all missing cells of a row together
    #[arg(long, value_enum, default_value_t = Fill::Likeliest)]
    fill: Fill,
    /// Also write the probability that each visible unit is on, given the cells that are there: .csv or .npy
    #[arg(long, value_name = "FILE")]
    probabilities: Option<PathBuf>,
    /// Overwrite files
    #[arg(long)]
    force: bool,
    /// Exit with status 3 when a row is in doubt
    #[arg(long)]
    strict: bool,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    options: DataOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fill {
    /// The most probable state of each cell
    Likeliest,
    /// One draw of each row
    Draw,
}

impl Impute {
    fn given(&self) -> &str {
        self.file.as_ref().or(self.data.as_ref()).map_or("", String::as_str)
    }

    /// Writes the files.
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let files = std::iter::once(&self.out).chain(&self.probabilities);
        files.clone().try_for_each(|path| row_file::check(path, self.force))?;
        let model = self.model.load()?;
        let draws = usize::from(self.fill == Fill::Draw);
        let means = draws == 0 || self.probabilities.is_some();
        let asked = Completing { means, draws, seed: self.seed, ..Completing::default() };
        let done = Completed::of(&model, self.given(), &self.options, asked, context)?;
        let rows = self.filled(&model, &done.found);
        let (bytes, cells) = match self.out.extension().is_some_and(|end| end == "npy") {
            true => {
                (npy(&rows, &model.file.parameters.variables), done.missing.count_ones() as usize)
            }
            false => self.table(&model, &rows)?,
        };
        write_bytes(&self.out, &bytes)?;
        if let Some(path) = &self.probabilities {
            let names = model.file.trained_on.as_ref();
            let names = names.and_then(|it| it.unit_names(model.file.parameters.n_visible));
            probabilities(path, names, &done.found)?;
        }
        let exact = done.found.iter().all(|it| it.std_error == 0.0);
        let rows_open =
            (0..rows.rows()).filter(|&row| done.missing.row(row).iter().any(|word| *word != 0));
        tell(&format!(
            "{}: {cells} missing cells of {} rows filled in, {}",
            self.out.display(),
            rows_open.count(),
            if exact { "by enumeration" } else { "by tempered chains" }
        ));
        Ok(strict_code(self.strict, done.is_sound()))
    }

    /// Every row with its missing cells filled in.
    fn filled(&self, model: &Model, found: &[Completion]) -> BitMatrix {
        let variables = &model.file.parameters.variables;
        let mut rows = variables.states(found.len(), model.file.parameters.n_visible);
        for (row, it) in found.iter().enumerate() {
            match self.fill {
                Fill::Draw => rows.row_mut(row).copy_from_slice(it.draws.row(0)),
                // Natural parameters grow with probabilities.
                Fill::Likeliest => {
                    let (eta, _) = variables.natural(variables.clamped(it.means.clone(), 1e-12));
                    variables.likeliest(&eta, rows.row_mut(row));
                }
            }
        }
        rows
    }

    /// The table with its cells, and how many were missing.
    fn table(&self, model: &Model, rows: &BitMatrix) -> Result<(Vec<u8>, usize)> {
        let (path, options) = self.options.table(self.given(), model)?;
        let names = model.file.trained_on.as_ref().and_then(|it| it.categories.as_deref());
        let variables = &model.file.parameters.variables;
        let mut cells = 0;
        let text = refill(&path, &options, |row, unit| {
            cells += 1;
            match names {
                Some(names) => quoted(&names.all_cells(rows.row(row), variables)[unit]),
                None if variables.has_reals() => {
                    (variables.cells(rows.row(row), rows.columns())[unit] as f32).to_string()
                }
                None => u8::from(rows.get(row, unit)).to_string(),
            }
        })?;
        Ok((text, cells))
    }
}

/// Writes the probability of every visible unit, row by row, below their names if they have some.
fn probabilities(path: &Path, names: Option<Vec<String>>, found: &[Completion]) -> Result<()> {
    let Some(first) = found.first() else { bail!("no rows") };
    let numbered = || (1..=first.means.len()).map(|i| format!("v{i}")).collect();
    let names: Vec<String> =
        names.map_or_else(numbered, |it| it.iter().map(|name| quoted(name)).collect());
    row_file::write(path, &names, |file| {
        Ok(found.iter().try_for_each(|it| file.add("given", &it.means))?)
    })?;
    Ok(())
}
