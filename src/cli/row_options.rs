//! Options that name rows of data for a model.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};

use super::data_options::{Data, DataOptions};
use super::model_options::Model;
use super::output::tell;
use crate::data::{Dataset, each_block};
use crate::engine::BitMatrix;

/// Which rows of which data.
#[derive(Args)]
pub struct RowOptions {
    /// Data: dna, mnist, binarized-mnist, bars-and-stripes, dna-like, a file, or a run folder or configuration (.toml)
    /// whose data and splits are taken; train, validation or test for such rows of the model's run. Its training marginals
    /// are the base distribution [default: the data of the run that the model is from]
    #[arg(long, value_name = "NAME|PATH")]
    data: Option<String>,
    /// Rows [default: all]
    #[arg(long, value_enum)]
    split: Option<Split>,
    #[command(flatten)]
    options: DataOptions,
}

/// A part of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Split {
    /// Training rows
    Train,
    /// Validation rows
    Validation,
    /// Test rows
    Test,
    /// Each of them that the data has
    All,
}

/// The name of rows that are no part of something.
const WHOLE: &str = "rows";

/// Rows as zeros and ones.
pub struct NamedRows {
    /// The name of their split.
    pub split: &'static str,
    /// Shape [rows, visible units].
    pub bits: BitMatrix,
    /// Their missing cells, if there are any.
    pub missing: Option<BitMatrix>,
}

impl RowOptions {
    /// Calls `use_it` with the selected rows and their data, split by split; a large file by itself comes in blocks, each as data of its
    /// own. `missing`: cells may be missing. Returns the name of the data.
    pub fn each(
        &self,
        model: &Model,
        seed: u64,
        missing: bool,
        use_it: &mut dyn FnMut(&Data, NamedRows) -> Result<()>,
    ) -> Result<String> {
        let (name, split) = self.data(model)?;
        let large = matches!(split, Split::Train | Split::All);
        let large = if large { self.options.large(&name, model, missing)? } else { None };
        if let Some((path, options)) = large {
            let mut first = true;
            each_block(&path, &options, &mut |rows| {
                let data = self.options.block(rows, model, seed)?;
                if std::mem::take(&mut first) {
                    data.compare(model.file.trained_on.as_ref())?;
                    data.tell_conversion();
                    data.splits.notice("--columns 1-").iter().for_each(|notice| tell(notice));
                }
                let train = &data.splits.train;
                let (bits, missing) = (data.binarized(train)?, train.missing.clone());
                use_it(&data, NamedRows { split: WHOLE, bits, missing })
            })?;
            return Ok(name);
        }
        let data = self.options.load(&name, model, seed, missing)?;
        data.compare(model.file.trained_on.as_ref())?;
        for (split, dataset) in splits(&data, &name, split)? {
            let (bits, missing) = (data.binarized(dataset)?, dataset.missing.clone());
            use_it(&data, NamedRows { split, bits, missing })?;
        }
        Ok(name)
    }

    /// Name of the data and which rows of it.
    fn data(&self, model: &Model) -> Result<(String, Split)> {
        let run = model.run.as_ref().map(|run| run.to_string_lossy().to_string());
        let asked = self.split.unwrap_or(Split::All);
        match (&self.data, run) {
            (None, Some(run)) => Ok((run, asked)),
            (None, None) => {
                bail!("--data: name the data to evaluate; only models in a run folder know theirs")
            }
            (Some(name), run) if !Path::new(name).exists() => {
                let split = match Split::from_str(name, false) {
                    Ok(split) => split,
                    Err(_) => return Ok((name.clone(), asked)),
                };
                let Some(run) = run else {
                    bail!(
                        "--data {name}: the model is in no run folder: name the data, and the rows with --split {name}"
                    );
                };
                ensure!(
                    self.split.is_none_or(|asked| asked == split),
                    "--data {name} and --split name different rows"
                );
                Ok((run, split))
            }
            (Some(name), _) => Ok((name.clone(), asked)),
        }
    }
}

/// The selected rows.
fn splits<'a>(
    data: &'a Data,
    data_name: &str,
    split: Split,
) -> Result<Vec<(&'static str, &'a Dataset)>> {
    let splits = &data.splits;
    let all = [
        (Split::Train, if data.is_whole() { WHOLE } else { "train" }, Some(&splits.train)),
        (Split::Validation, "validation", splits.validation.as_ref()),
        (Split::Test, "test", splits.test.as_ref()),
    ];
    let mut chosen = Vec::new();
    for (which, name, dataset) in all {
        match dataset {
            Some(dataset) if split == which || split == Split::All => chosen.push((name, dataset)),
            None if split == which => bail!(
                "--split {name}: `{data_name}` has no {name} rows; split some off with --{name}-fraction"
            ),
            _ => {}
        }
    }
    Ok(chosen)
}
