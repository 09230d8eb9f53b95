//! Code shared by the experiments: options, errors over repeats, and the folder of the results.

// Each example is a crate of its own and uses a part of this.
#![allow(dead_code, unused_imports)]

pub mod bootstrap;
pub mod continuous;
pub mod glyphs;
pub mod lattice;
pub mod mnist;
pub mod potts;
pub mod training_sets;

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use ztrack::record::Chart;
use ztrack::{Error, Result, checkpoint};

/// Options of every reproduction.
#[derive(Clone, Parser)]
pub struct Options {
    /// A smaller version, for continuous integration
    #[arg(long)]
    pub quick: bool,
    /// Where the CSV and the pictures go [default: results/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[arg(skip)]
    name: &'static str,
}

impl Options {
    /// From the command line.
    pub fn read(name: &'static str) -> Self {
        Self::parse().named(name)
    }

    /// The same as a part of options of one's own.
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Writes a chart and returns its path for the reader.
    pub fn save_chart(&self, file: &str, chart: &Chart) -> Result<()> {
        let path = self.path(file)?;
        chart.save(&path)?;
        println!("picture: {}", path.display());
        Ok(())
    }

    /// Writes rows of numbers and names.
    pub fn save_csv(&self, file: &str, header: &[&str], rows: &[Vec<String>]) -> Result<()> {
        let path = self.path(file)?;
        let lines = rows.iter().map(|row| row.join(","));
        let text = std::iter::once(header.join(",")).chain(lines).collect::<Vec<_>>().join("\n");
        checkpoint::write_bytes(&path, (text + "\n").as_bytes())?;
        println!("numbers: {}", path.display());
        Ok(())
    }

    /// The folder of `--out`, made where it is missing.
    pub fn folder(&self) -> Result<PathBuf> {
        let folder = self.out.clone().unwrap_or_else(|| PathBuf::from("results").join(self.name));
        std::fs::create_dir_all(&folder).map_err(Error::io("create folder", &folder))?;
        Ok(folder)
    }

    fn path(&self, file: &str) -> Result<PathBuf> {
        Ok(self.folder()?.join(file))
    }
}

/// Failure where what was found is not as it should be, or on an error, which is printed.
pub fn exit_code<E: Display>(outcome: std::result::Result<bool, E>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // `#`: anyhow's errors come with their causes.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A bar on standard error with the time left; hidden where there is no terminal.
pub fn progress(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:40} {wide_bar} {pos}/{len}, {eta} left");
    let bar = ProgressBar::new(steps as u64);
    style.map(|style| bar.clone().with_style(style)).unwrap_or(bar)
}

/// User and system time of this process so far, where the system tells, in ticks of 10 ms.
pub fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the name in parentheses, may hold spaces.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// Errors of repeated estimates of one number.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    pub bias: f64,
    pub rmse: f64,
    /// Standard error of `rmse`, about rmse/sqrt(2n).
    pub rmse_error: f64,
}

impl Errors {
    pub fn of(estimates: &[f64], truth: f64) -> Self {
        let n = estimates.len() as f64;
        let bias = estimates.iter().map(|x| x - truth).sum::<f64>() / n;
        let rmse = (estimates.iter().map(|x| (x - truth).powi(2)).sum::<f64>() / n).sqrt();
        Self { bias, rmse, rmse_error: rmse / (2.0 * n).sqrt() }
    }
}
