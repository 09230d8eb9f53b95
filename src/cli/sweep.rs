//! `ztrack sweep`: a run for every combination of settings, each in a process of its own, and one table of their results.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::Args;

use super::output::{LiveLines, print, tell};
use super::recipe::Recipe;
use super::report::read;
use super::run_folder::{REPORT, RunFolder};
use super::signals::INTERRUPTED;
use super::sweep_axis::{Axis, MOST_RUNS, axis};
use super::sweep_table::table;
use crate::checkpoint::write_bytes;
use crate::config::Config;
use crate::context::Context;
use crate::report::{self, RunFiles};

/// Train with every combination of some settings, and compare the results
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack sweep my.csv --over model.hidden=16,64,256\n  \
    ztrack sweep my.toml --over seed=1..5 --over model.hidden=16,64,256 --jobs 2\n\n\
    Interrupted, the same command continues. Runs that ended are not repeated.")]
pub struct Sweep {
    /// Configuration file (.toml), name of a built-in one, or a data file
    #[arg(value_name = "WHAT")]
    pub(super) what: PathBuf,
    /// A key and its values, as in seed=1..5 (both ends included) or model.hidden=16,64; several times for a grid
    #[arg(long, required = true, value_name = "KEY=VALUES", value_parser = axis)]
    pub(super) over: Vec<Axis>,
    /// Folder of the runs [default: runs/NAME-sweep]
    #[arg(long, short, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Runs at a time, which share the threads
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) jobs: usize,
    /// Also train settings on that cannot win: whose validation curve is below another one at equal cost, and would end below it
    #[arg(long)]
    pub(super) keep_all: bool,
    /// Override a key of the configuration in all runs
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) overrides: Vec<String>,
    /// Data folder [default: the environment variable ZTRACK_DATA, else `datasets`]
    #[arg(long, value_name = "DIR")]
    pub(super) data_folder: Option<PathBuf>,
    /// Whether only failures are printed.
    #[arg(skip)]
    pub(super) quiet: bool,
}

/// One combination of settings.
pub(super) struct Point {
    /// The settings, as for `--set`.
    pub(super) settings: Vec<String>,
    pub(super) folder: PathBuf,
}

/// A run of a sweep.
pub struct Trained {
    /// Its settings, as for `--set`.
    pub settings: Vec<String>,
    /// Its folder.
    pub run: RunFiles,
    /// Why it was stopped, if it was.
    pub stopped: Option<String>,
}

impl Point {
    pub(super) fn name(&self) -> std::borrow::Cow<'_, str> {
        self.folder.file_name().unwrap_or_default().to_string_lossy()
    }
}

impl Sweep {
    /// Runs what has not ended, and prints the table.
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let out = self.out_folder()?;
        let Some((runs, failed)) = self.trained(&out, context)? else {
            return Ok(ExitCode::from(INTERRUPTED));
        };
        let runs: Vec<RunFiles> = runs.into_iter().map(|it| it.run).collect();
        print(&table(&runs, &self.over))?;
        let page = out.join(REPORT);
        write_bytes(&page, report::several::page(&runs, &page).as_bytes())?;
        tell(&format!("report: {}", page.display()));
        ensure!(failed == 0, "{failed} runs failed");
        Ok(ExitCode::SUCCESS)
    }

    fn out_folder(&self) -> Result<PathBuf> {
        if let Some(out) = &self.out {
            return Ok(out.clone());
        }
        let recipe = Recipe::find(&self.what, self.data_folder.as_deref())?;
        let mut name = recipe.run_name()?.into_os_string();
        name.push("-sweep");
        Ok(Path::new("runs").join(name))
    }

    /// Trains what has not ended; all runs below `out`, and how many failed; `None` if interrupted.
    pub(super) fn trained(
        &self,
        out: &Path,
        context: &Context,
    ) -> Result<Option<(Vec<Trained>, usize)>> {
        ensure!(self.jobs > 0, "--jobs: at least 1 is needed");
        let points = self.points(out)?;
        let recipe = Recipe::find(&self.what, self.data_folder.as_deref())?;
        let mut left = Vec::new();
        // All mistakes are found before the first run.
        for point in &points {
            let settings = [&self.overrides[..], &point.settings].concat();
            let (config, _) = recipe.config(&settings)?;
            ensure!(
                !RunFolder::is_at(&point.folder)
                    || Config::load(&RunFolder::config_path(&point.folder), &[])? == config,
                "{} was made with other settings: choose another --out, or delete it",
                point.folder.display()
            );
            if RunFolder::summary(&point.folder).is_none() {
                left.push((point, settings));
            }
        }
        let (all, done) = (points.len(), points.len() - left.len());
        let first = format!("{all} runs in {}, {done} of them done", out.display());
        self.say(&mut LiveLines::new(), &first);
        let Some((failed, mut stopped)) = self.train(left, &points, context)? else {
            tell("interrupted; the same command continues");
            return Ok(None);
        };
        let ended = points.into_iter().filter(|it| RunFolder::is_at(&it.folder));
        let runs = ended.map(|Point { settings, folder }| {
            Ok(Trained { settings, run: read(&folder)?, stopped: stopped.remove(&folder) })
        });
        Ok(Some((runs.collect::<Result<_>>()?, failed)))
    }

    /// The combinations, those of the last key next to each other.
    fn points(&self, out: &Path) -> Result<Vec<Point>> {
        let mut all: Vec<Vec<(&Axis, &String)>> = vec![Vec::new()];
        for (n, axis) in self.over.iter().enumerate() {
            let twice = self.over[..n].iter().any(|before| before.key == axis.key);
            let key = &axis.key;
            ensure!(
                !twice,
                "--over {key} is given twice: give all its values at once, as in {key}=1,2,3"
            );
            let with = |point: &Vec<_>| {
                let point = point.clone();
                axis.values.iter().map(move |value| [&point[..], &[(axis, value)]].concat())
            };
            all = all.iter().flat_map(with).collect();
            ensure!(all.len() <= MOST_RUNS, "--over: more than {MOST_RUNS} combinations");
        }
        let point = |parts: Vec<(&Axis, &String)>| {
            // A name of a folder on any system, and of a run in TensorBoard.
            let name = |(axis, value): &(&Axis, &String)| {
                let safe =
                    |c: char| if c.is_alphanumeric() || "-.+_".contains(c) { c } else { '_' };
                format!("{}={}", axis.name(), value.chars().map(safe).collect::<String>())
            };
            let folder = out.join(parts.iter().map(name).collect::<Vec<_>>().join(","));
            let settings = parts.iter().map(|(axis, value)| format!("{}={value}", axis.key));
            Point { settings: settings.collect(), folder }
        };
        let points: Vec<Point> = all.into_iter().map(point).collect();
        let mut folders: Vec<&PathBuf> = points.iter().map(|point| &point.folder).collect();
        folders.sort();
        if let Some(two) = folders.windows(2).find(|two| two[0] == two[1]) {
            bail!("--over: two runs would be {}: every value once", two[0].display());
        }
        Ok(points)
    }
}
