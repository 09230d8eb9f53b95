//! `ztrack data`: descriptions of data sets, and downloads.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::column_options::ColumnOptions;
use super::data_file::data_of;
use super::data_options::configured;
use super::output::{print, print_json, tell};
use super::teller::Teller;
use crate::config::DataConfig;
use crate::context::Context;
use crate::data::download::{self, Check, Mirrors, REMOTE_SETS};
use crate::data::{
    Baseline, Binarization, Binarizer, Columns, Description, EVALUATION_EPOCH, FileOptions, Index,
    MOST_COMPONENTS, PartLikelihood, Source, SplitOptions, Splits, baselines, describe,
    find_folder, load_as, resolve_name,
};

/// Describe data sets, or fetch one
#[derive(Args)]
pub struct Data {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Rows, columns, density, labels, duplicates and checksum of each part of a data set
    Describe(Describe),
    /// Download a data set into the data folder and check it
    Fetch(Fetch),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack data describe bars-and-stripes\n  \
    ztrack data describe dna --baselines\n  \
    ztrack data describe runs/dna\n  \
    ztrack data describe my.csv --label class --columns 2-65\n  \
    ztrack data describe mine.libsvm --columns 180 --json")]
struct Describe {
    /// dna, mnist, binarized-mnist, bars-and-stripes, dna-like, a data file, or a run folder or configuration (.toml)
    /// whose data and splits are taken
    #[arg(value_name = "NAME|PATH")]
    data: String,
    #[command(flatten)]
    columns: ColumnOptions,
    /// Data folder [default: the environment variable ZTRACK_DATA, else `datasets`]
    #[arg(long, value_name = "DIR")]
    data_folder: Option<PathBuf>,
    /// Also what simple densities fitted to the training rows make of each part: independent sites, a Chow-Liu tree, a
    /// mixture of products; mean log-likelihoods in nats a row
    #[arg(long)]
    baselines: bool,
    /// Grey levels to zeros and ones: stochastic, or a threshold such as 0.5; then the numbers of a table are grey levels
    #[arg(long, value_name = "HOW")]
    binarization: Option<Binarization>,
    /// Override a key of `data`, as of a configuration, such as data.variables=real
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Print JSON: a list, one description for each part; with --baselines an object of `parts` and `baselines`
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "What is there and right is kept.\n\nExamples:\n  \
    ztrack data fetch mnist\n  \
    ztrack data fetch mushrooms && ztrack train mushrooms/mushrooms\n  \
    ztrack data fetch dna --data-folder /data --mirror http://localhost:8000/dna")]
struct Fetch {
    /// mnist, dna, adult, connect-4, mushrooms or web
    name: String,
    /// Base URL to fetch from instead of the usual ones; may be given several times
    #[arg(long = "mirror", value_name = "URL")]
    mirrors: Vec<String>,
    /// SHA-256 that a file must have, as in mushrooms=HEX; may be given once for each file
    #[arg(long = "sha256", value_name = "FILE=HEX", value_parser = stated_sum)]
    sums: Vec<(String, String)>,
    /// Data folder [default: the environment variable ZTRACK_DATA, else `datasets`]
    #[arg(long, value_name = "DIR")]
    data_folder: Option<PathBuf>,
}

impl Data {
    /// Runs the subcommand.
    pub fn run(self, context: &Context) -> Result<()> {
        match self.command {
            Command::Describe(command) => command.run(context),
            Command::Fetch(command) => command.run(context),
        }
    }
}

impl Describe {
    fn run(self, context: &Context) -> Result<()> {
        let configured = match configured(&self.data, &self.overrides)? {
            None if !self.overrides.is_empty() => {
                let mut data = data_of(&self.data, &self.overrides)?;
                // The whole file, unless a share of it is asked for.
                if !self.overrides.iter().any(|it| it.starts_with("data.validation_fraction")) {
                    data.validation_fraction = 0.0;
                }
                Some((data, 0))
            }
            found => found,
        };
        let (configured, seed) = configured.unzip();
        let own_folder = configured.as_ref().and_then(|data| data.folder.as_deref());
        let folder = find_folder(self.data_folder.as_deref().or(own_folder));
        let (source, split, mut reading) = match &configured {
            Some(data) => (data.source.clone(), data.split(), data.reading()),
            None => {
                let source = resolve_name(&self.data, &folder)?;
                (source, SplitOptions::default(), FileOptions::default())
            }
        };
        let how = self.binarization.or(configured.as_ref().map(|data| data.binarization));
        let how = how.unwrap_or_default();
        reading.grey = how != Binarization::None;
        let mut source = self.columns.apply(source)?;
        let index = match &source {
            Source::Files(files) => files.index(&folder, reading.clone())?,
            _ => None,
        };
        if let (Source::Files(files), Some(index)) = (&mut source, &index) {
            files.columns = Some(Columns::Chosen(index.rest()));
        }
        let splits = load_as(&source, &split, &folder, reading)?;
        let of = |part| Description { index: index.as_ref().map(Index::text), ..describe(part) };
        let descriptions: Vec<_> = splits.parts().map(|(_, part)| of(part)).collect();
        let text = |it: &Description| print(&format!("{}\n", it.to_string().trim_end()));
        if !self.baselines {
            if self.json {
                return print_json(&descriptions);
            }
            return descriptions.iter().try_for_each(text);
        }
        let data = configured.map_or_else(|| data_of(&self.data, &[]), Ok)?;
        let data = DataConfig { binarization: how, ..data };
        let baselines = fit(splits, &data, seed.unwrap_or(0), context)?;
        if self.json {
            return print_json(&Described { parts: &descriptions, baselines: &baselines });
        }
        descriptions.iter().try_for_each(text)?;
        print(&table(&baselines))
    }
}

/// Output of `--baselines --json`.
#[derive(Serialize)]
struct Described<'a> {
    parts: &'a [Description],
    baselines: &'a [Baseline],
}

/// Fits baselines to the training rows as zeros and ones.
fn fit(splits: Splits, data: &DataConfig, seed: u64, context: &Context) -> Result<Vec<Baseline>> {
    let splits = splits.standardised()?;
    let binarizer = Binarizer::new(data.binarization)?;
    let bits = |dataset| {
        binarizer
            .binarize(dataset, EVALUATION_EPOCH, seed)
            .context("--baselines needs --binarization")
    };
    let mut parts = vec![("train", bits(&splits.train)?)];
    for (part, dataset) in splits.parts().skip(1) {
        parts.push((part, bits(dataset)?));
    }
    let parts: Vec<_> = parts.iter().map(|(part, rows)| (*part, rows)).collect();
    let _teller = Teller::new(context, true, "baselines");
    let variables = data.variables(&splits.train, parts[0].1)?;
    for (part, rows) in parts.iter().skip(1) {
        variables.check(rows, part)?;
    }
    Ok(baselines(&parts, &variables, MOST_COMPONENTS, seed, context.progress())?)
}

/// Text of the baselines, one line each.
fn table(baselines: &[Baseline]) -> String {
    let mut text =
        String::from("\nmean log-likelihood in nats a row, fitted to the training rows\n");
    for Baseline { name, detail, parts } in baselines {
        let of = |it: &PartLikelihood| match it.rows {
            // One row has no spread.
            1 => format!("{} {:.3} (one row)", it.part, it.mean),
            _ => format!("{} {:.3} ± {:.3}", it.part, it.mean, it.std_error),
        };
        let parts: Vec<String> = parts.iter().map(of).collect();
        let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        text += &format!("  {name:<22} {}{detail}\n", parts.join("   "));
    }
    text
}

/// A file and its SHA-256, from FILE=HEX.
fn stated_sum(text: &str) -> Result<(String, String), String> {
    let (name, sum) = text.split_once('=').ok_or("FILE=HEX is expected")?;
    Ok((name.into(), sum.to_ascii_lowercase()))
}

impl Fetch {
    fn run(self, context: &Context) -> Result<()> {
        let folder = find_folder(self.data_folder.as_deref());
        let mirrors = match self.mirrors.is_empty() {
            true => Mirrors::Official,
            false => Mirrors::Custom(self.mirrors),
        };
        let teller = Teller::new(context, true, "download");
        let (sums, progress) = (&self.sums, context.progress());
        let mut say = |line: &str| teller.say(line);
        let paths = download::fetch(&self.name, &folder, &mirrors, sums, progress, &mut say);
        drop(teller);
        let set = REMOTE_SETS.iter().find(|set| set.name == self.name);
        let files = set.map_or(&[][..], |set| set.files);
        let paths = paths?;
        for (path, file) in paths.iter().zip(files) {
            let stated = self.sums.iter().any(|(name, _)| name == file.name);
            if stated || !matches!(file.check, Check::Table { .. }) {
                continue;
            }
            let path = path.display();
            tell(&format!(
                "warning: {path}: no checksum is known, so only its numbers of rows and columns were checked, and that it is the file of the first download: compare the sha256 of `sha256sum {path}` with that of a copy you trust, or state it with --sha256 {}=HEX",
                file.name
            ));
        }
        paths.iter().try_for_each(|path| print(&format!("{}\n", path.display())))
    }
}
