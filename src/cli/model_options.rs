//! The model of a command: a file, or the best one of a run.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use super::output::tell;
use super::run_folder::RunFolder;
use crate::checkpoint::{Layout, ModelFile, parent};
use crate::report::RunFiles;

/// Which model
#[derive(Args)]
pub struct ModelOptions {
    /// Model file (safetensors or npz), or a run folder, whose best model is taken, else its last
    #[arg(value_name = "MODEL|RUN")]
    model: PathBuf,
    /// Which side of the weights is visible, if the file does not show it: visible-hidden or hidden-visible
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<Layout>,
}

/// A model, and its origin.
pub struct Model {
    pub file: ModelFile,
    pub path: PathBuf,
    /// The run folder that contains it.
    pub run: Option<PathBuf>,
}

impl ModelOptions {
    /// Reads the model; for a run folder, prints which one it is.
    pub fn load(&self) -> Result<Model> {
        let path = if self.model.is_dir() { of_run(&self.model)? } else { self.model.clone() };
        let file = ModelFile::load_as(&path, self.layout)?;
        if path != self.model {
            let update = file.metadata.get("update");
            let update = update.map_or(String::new(), |update| format!(" of update {update}"));
            tell(&format!("model {}{update}", path.display()));
        }
        let folder = parent(&path);
        let run = [folder.to_path_buf(), folder.join("..")];
        // A checkpoint is one folder deeper.
        let deep = usize::from(folder.file_name().is_some_and(|name| name == "checkpoints"));
        let run = run.into_iter().take(1 + deep).find(|it| RunFolder::is_at(it));
        Ok(Model { file, path, run })
    }
}

impl Model {
    /// Names of the columns of a table of its rows, if it has them, and their number.
    pub fn table_columns(&self) -> (Vec<String>, usize) {
        let ModelFile { trained_on, parameters, .. } = &self.file;
        let categories = trained_on.as_ref().and_then(|it| it.categories.as_ref());
        if let Some(categories) = categories {
            let names = categories.columns().iter().map(|column| column.name.clone());
            return (names.collect(), categories.columns().len());
        }
        let names = trained_on.as_ref().map_or_else(Vec::new, |it| it.titles.clone());
        let variables = parameters.variables.of(parameters.n_visible);
        (names, variables.map(|it| it.table_columns()).sum())
    }
}

/// The model of a run folder.
fn of_run(folder: &Path) -> Result<PathBuf> {
    match RunFiles::model_of(folder) {
        Some(path) => Ok(path),
        None if RunFolder::is_at(folder) => {
            bail!("{}: this run has not saved a model yet", folder.display())
        }
        None => bail!("{} is a folder, but no run folder: it has no config.toml", folder.display()),
    }
}
