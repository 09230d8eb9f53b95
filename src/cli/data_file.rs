//! A configuration for a data set without one: `ztrack init my.csv`, and `ztrack train my.csv`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::failure::mistake;
use super::output::{print, tell};
use crate::checkpoint::write_bytes;
use crate::config::{Config, DataConfig, Suggestion, as_toml, key_and_value};
use crate::data::{SplitOptions, describe, find_folder, load_as, resolve_name};

/// Write a commented configuration that fits a data file
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack init my.csv\n  \
    ztrack train my.toml")]
pub struct Init {
    /// Data file (IDX, LIBSVM text, npy, npz or CSV of 0/1), or the name of a data set
    data: String,
    /// The file to write; - for standard output [default: NAME.toml]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Data folder [default: the environment variable ZTRACK_DATA, else `datasets`]
    #[arg(long, value_name = "DIR")]
    data_folder: Option<PathBuf>,
    /// Set a key of `data` that says how the file is read, such as data.variables=real; it is written too
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

impl Init {
    /// Reads the data and writes the configuration; refuses to overwrite.
    pub fn run(self) -> Result<()> {
        let name = Path::new(&self.data).file_name().map(Path::new);
        let Some(name) = name else {
            return Err(mistake(&self.data, "is no data file; example: ztrack init my.csv"));
        };
        let out = self.out.unwrap_or_else(|| name.with_extension("toml"));
        if name.extension().is_some_and(|extension| extension == "toml") {
            let problem = "is a configuration already; train with it by: ztrack train";
            return Err(mistake(&self.data, format!("{problem} {}", self.data)));
        }
        let to_stdout = out == Path::new("-");
        if !to_stdout && out.exists() {
            let problem = "exists and is left as it is: move it away, or choose another by --out";
            return Err(mistake(&out.display().to_string(), problem));
        }
        let reads = |setting: &&String| {
            setting.starts_with("data.") && !setting.starts_with("data.source=")
        };
        if let Some(other) = self.overrides.iter().find(|setting| !reads(setting)) {
            let problem =
                "does not say how the file is read: add it to the configuration that is written";
            return Err(mistake(&format!("--set {other}"), problem));
        }
        let folder = find_folder(self.data_folder.as_deref());
        let text = suggestion(&self.data, &folder, &self.overrides, &self.overrides)?;
        if to_stdout {
            return print(&text);
        }
        write_bytes(&out, text.as_bytes())?;
        tell(&format!("{} written; train with: ztrack train {0}", out.display()));
        Ok(())
    }
}

/// The section `data` of a data file, or a data set by its name, with the overrides that belong to it.
pub fn data_of(name: &str, overrides: &[String]) -> Result<DataConfig> {
    let of_data: Vec<_> =
        overrides.iter().filter(|setting| setting.starts_with("data.")).cloned().collect();
    let source_alone = format!("[data]\nsource = {}\n[model]\nhidden = 1\n", as_toml(name));
    Ok(Config::parse(&source_alone, &of_data)?.data)
}

/// A configuration for a data file, or a data set by its name. Overrides of `data` say how to read it; those of `written` stand in it.
pub fn suggestion(
    name: &str,
    data_folder: &Path,
    overrides: &[String],
    written: &[String],
) -> Result<String> {
    resolve_name(name, data_folder)?;
    let data = data_of(name, overrides)?;
    let settings = written.iter().map(|it| key_and_value(it)).collect::<crate::Result<Vec<_>>>()?;
    let splits = load_as(&data.source, &SplitOptions::default(), data_folder, data.reading())?;
    let brings = [splits.validation.is_some(), splits.test.is_some()];
    let data = &describe(&splits.train);
    Ok(Suggestion { source: name, settings: &settings, data, brings }.toml())
}
