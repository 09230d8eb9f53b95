//! `ztrack sample`: samples of a model file, as an array or a sheet of pictures.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;

use super::completed::Completed;
use super::data_options::{Data, DataOptions};
use super::device::DeviceName;
use super::evaluate::known_log_z;
use super::failure::strict_code;
use super::model_options::{Model, ModelOptions};
use super::output::{may_write, tell};
use super::state_files::{csv, fasta, npy, sheet};
use super::teller::Teller;
use crate::checkpoint::{parent, write_bytes};
use crate::context::Context;
use crate::data::{Categories, ImageShape, Neighbour, nearest_rows};
use crate::engine::BitMatrix;
use crate::error::Error;
use crate::estimators::{
    Completing, Equilibrium, Known, automatic, automatic_settings, check_sizes,
};
use crate::tempering::{BaseDistribution, check_memory, tempering_bytes};
use crate::units::Variables;

/// What helps chains that are in doubt, in the options of this command.
const ADVICE: &str = "raise --budget or --burn-in, or name data near the model by --data";

/// Draw samples from a model, by tempered chains that change modes
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack sample runs/mnist --count 100 --out digits.png\n  \
    ztrack sample model.npz --count 10000 --out samples.npy --data dna\n  \
    ztrack sample runs/survey --given answers.csv --count 20 --out draws.csv\n\n\
    A .csv file names the states of categories; an .npy file holds zeros and ones, uint8, shape [count, visible units].\n    \
    A model of units -1 and +1 gives -1 and 1, int8 in an .npy file.")]
pub struct Sample {
    #[command(flatten)]
    model: ModelOptions,
    /// Number of samples; with --given, of each of its rows
    #[arg(long, value_name = "N")]
    count: usize,
    /// Table in which cells are missing (empty, NA, ?): draws of these given the others, row after row
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nearest", "data"])]
    given: Option<String>,
    /// File to write: .csv for a table, .fasta for sequences, .npy for an array, .png for a sheet of pictures
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
    /// Height and width of a picture [default: square]
    #[arg(long, value_name = "HxW", value_parser = shape)]
    shape: Option<ImageShape>,
    /// Data near the model, whose rows and marginals are places to start from: a name, a file, a run folder or a
    /// configuration; else the marginals in the model file
    #[arg(long, value_name = "NAME|PATH")]
    data: Option<String>,
    /// Also find the training row nearest to each sample, shown at its right in a sheet of pictures, and say whether samples
    /// lie nearer to training rows than held-out rows do; rows of --data, else of the run that the model is from
    #[arg(long)]
    nearest: bool,
    /// Tempered chains
    #[arg(long, default_value_t = automatic::CHAINS, value_name = "N")]
    chains: usize,
    /// Inverse temperatures
    #[arg(long, default_value_t = automatic::TEMPERATURES, value_name = "K")]
    temperatures: usize,
    /// Sweeps between two samples of a chain [default: so many that all samples cost what the check of the chains did, at most 100]
    #[arg(long, value_name = "N")]
    sweeps: Option<usize>,
    /// Sweeps before the first sample, by which the chains are judged
    #[arg(long, default_value_t = automatic::SWEEPS, value_name = "N")]
    burn_in: usize,
    /// Work that may be done while the chains are in doubt, in seconds of one usual core
    #[arg(long, default_value_t = automatic::BUDGET, value_name = "SECONDS")]
    budget: f64,
    /// Device that runs the chains
    #[arg(long, value_enum, default_value_t)]
    device: DeviceName,
    /// Print how the chains were found and judged
    #[arg(long, short)]
    verbose: bool,
    /// Exit with status 3 when the samples are in doubt
    #[arg(long)]
    strict: bool,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    options: DataOptions,
}

enum Format {
    Npy,
    Csv,
    Fasta,
    Png(ImageShape),
}

fn shape(text: &str) -> Result<ImageShape, String> {
    let parsed = text.split_once('x').and_then(|(h, w)| Some((h.parse().ok()?, w.parse().ok()?)));
    match parsed {
        Some((height @ 1.., width @ 1..)) => Ok(ImageShape { height, width }),
        _ => Err("height x width is expected, as in 28x28".into()),
    }
}

impl Sample {
    /// Draws samples and writes the file.
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let (model, format) = self.checked()?;
        if let Some(file) = &self.given {
            return self.given(file, &model, format, context);
        }
        let data = self.rows_near(&model)?;
        let rows = data.as_ref().map(Data::binarized_or_drawn).transpose()?;
        let variables = &model.file.parameters.variables;
        let marginals = match (&data, &rows, &model.file.trained_on) {
            (Some(data), Some(rows), _) => Some(data.base(rows)?),
            (_, _, Some(stored)) => Some(stored.base(BaseDistribution::PSEUDO_COUNT, variables)?),
            _ => None,
        };
        let (marginals, states) = (marginals.as_ref(), model.file.states.as_ref());
        let known = Known { marginals, rows: rows.as_ref(), states, ..Known::default() };
        let known = Known { audited: known_log_z(&model), ..known };
        let Self { chains, temperatures, burn_in, budget, seed, .. } = self;
        let mut settings = automatic_settings(chains, temperatures, burn_in, budget, seed)?;
        settings.context = context.clone().on(self.device.device()?);
        // An unwritable path is reported before the computation.
        let folder = parent(&self.out);
        std::fs::create_dir_all(folder).map_err(Error::io("create folder", folder))?;
        let mut teller = Teller::new(context, self.verbose, "sample");
        let amount = (self.count, self.sweeps);
        let mut told = |line: &str| teller.line(line);
        let samples = Equilibrium::of(&model.file.parameters, &settings, known, amount, &mut told)?;
        drop(teller);
        ensure!(
            !(self.nearest && variables.has_reals()),
            "--nearest counts the states in which rows differ, and real variables have none: leave it out"
        );
        let nearest = match &rows {
            Some(rows) if self.nearest => {
                nearest_rows(&samples.visible, rows, variables).map(|it| (rows, it))
            }
            _ => None,
        };
        self.write(&model, format, &samples.visible, nearest.as_ref())?;
        self.tell(&samples, states.is_some());
        if let (Some((rows, nearest)), Some(data)) = (&nearest, &data) {
            tell_distances(rows, nearest, data, variables)?;
        }
        Ok(strict_code(self.strict, samples.trust.is_sound()))
    }

    /// Writes draws of rows with missing cells.
    fn given(
        &self,
        file: &str,
        model: &Model,
        format: Format,
        context: &Context,
    ) -> Result<ExitCode> {
        let asked = Completing { draws: self.count, seed: self.seed, ..Completing::default() };
        let done = Completed::of(model, file, &self.options, asked, context)?;
        let draws = done.found.iter().map(|it| it.draws.clone());
        let draws = draws.reduce(|all, more| all.followed_by(&more)).context("no rows")?;
        self.write(model, format, &draws, None)?;
        let (out, count) = (self.out.display(), self.count);
        tell(&format!("{out}: {count} samples of each of {} rows", done.found.len()));
        Ok(strict_code(self.strict, done.is_sound()))
    }

    fn write(
        &self,
        model: &Model,
        format: Format,
        rows: &BitMatrix,
        nearest: Option<&(&BitMatrix, Vec<Neighbour>)>,
    ) -> Result<()> {
        let titles = model.file.trained_on.as_ref().map_or(&[][..], |it| &it.titles);
        let bytes = match format {
            Format::Npy => npy(rows, &model.file.parameters.variables),
            Format::Csv => csv(rows, (names(model), titles), &model.file.parameters.variables),
            Format::Fasta => fasta(rows, names(model)),
            Format::Png(shape) => sheet(rows, nearest, shape)?,
        };
        Ok(write_bytes(&self.out, &bytes)?)
    }

    /// The model and the format, after all checks that need no computation.
    fn checked(&self) -> Result<(Model, Format)> {
        ensure!(self.count > 0, "--count: at least 1 is needed");
        for (name, value) in [("--sweeps", self.sweeps.unwrap_or(1)), ("--burn-in", self.burn_in)] {
            ensure!(value > 0, "{name}: at least 1 is needed");
        }
        may_write(&self.out, self.force)?;
        let model = self.model.load()?;
        let (m, j) = (model.file.parameters.n_visible, model.file.parameters.n_hidden);
        let format = self.format(m)?;
        ensure!(
            !matches!(format, Format::Fasta)
                || names(&model).is_some_and(Categories::are_positions),
            "--out {}: only a model of sequences writes .fasta: give a name that ends in .csv",
            self.out.display()
        );
        let bytes = tempering_bytes(self.chains, self.temperatures, m, j);
        check_sizes(self.chains, self.temperatures, bytes)?;
        // Bits, bytes of pixels, and the encoded file.
        check_memory(3.0 * self.count as f64 * m as f64, &format!("{} samples", self.count))
            .map_err(anyhow::Error::msg)?;
        Ok((model, format))
    }

    /// Data near the model: as given, and for `--nearest` those of the run.
    fn rows_near(&self, model: &Model) -> Result<Option<Data>> {
        let of_run = model.run.as_ref().filter(|_| self.nearest);
        let of_run = of_run.map(|run| run.to_string_lossy().to_string());
        ensure!(
            !self.nearest || self.data.is_some() || of_run.is_some(),
            "--nearest: name the data the model was trained on by --data; only models in a run folder tell theirs"
        );
        let name = self.data.clone().or(of_run);
        name.map(|name| self.options.load(&name, model, self.seed, false)).transpose()
    }

    fn tell(&self, samples: &Equilibrium, from_run: bool) {
        for doubt in samples.trust.doubts() {
            tell(&format!("warning: {}: {ADVICE}", doubt.finding()));
        }
        let (out, count) = (self.out.display(), self.count);
        tell(&match samples.chains_used {
            0 => format!("{out}: {count} exact, independent samples, by enumeration"),
            chains if samples.annealed => {
                format!("{out}: {count} samples of {chains} annealed chains")
            }
            chains if from_run => format!(
                "{out}: {count} samples of {chains} tempered chains, which began at states of the run's chains and particles"
            ),
            chains => format!("{out}: {count} samples of {chains} tempered chains"),
        });
    }

    fn format(&self, units: usize) -> Result<Format> {
        match self.out.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => Ok(Format::Npy),
            Some("csv") => Ok(Format::Csv),
            Some("fasta" | "fa") => Ok(Format::Fasta),
            Some("png") => {
                let shape = match self.shape {
                    Some(shape) => shape,
                    None => {
                        let side = units.isqrt();
                        ensure!(
                            side * side == units,
                            "{units} visible units make no square picture: give --shape HxW, or write an .npy file"
                        );
                        ImageShape { height: side, width: side }
                    }
                };
                let ImageShape { height, width } = shape;
                ensure!(
                    height.checked_mul(width) == Some(units),
                    "--shape {height}x{width} does not have the model's {units} visible units"
                );
                Ok(Format::Png(shape))
            }
            _ => bail!(
                "--out {}: the name must end in .csv, .fasta, .npy or .png",
                self.out.display()
            ),
        }
    }
}

/// Names of the variables and states, where the model has them.
fn names(model: &Model) -> Option<&Categories> {
    model.file.trained_on.as_ref()?.names(&model.file.parameters.variables)
}

/// Distances of samples from training rows, and of held-out rows, if there are any.
fn tell_distances(
    rows: &BitMatrix,
    nearest: &[Neighbour],
    data: &Data,
    variables: &Variables,
) -> Result<()> {
    let what = if variables.is_bits() { "units" } else { "variables" };
    let distances = nearest.iter().map(|it| it.distance);
    let mut text = format!("from sample to nearest training row: {}", spread(distances, what));
    if let Some(held_out) = data.held_out()?
        && let Some(theirs) = nearest_rows(&held_out, rows, variables)
    {
        let theirs = spread(theirs.iter().map(|it| it.distance), what);
        text += &format!("; from held-out row: {theirs}");
    }
    tell(&text);
    Ok(())
}

/// Median and quartiles of numbers of units or variables that differ.
fn spread(distances: impl Iterator<Item = u32>, what: &str) -> String {
    let mut sorted: Vec<u32> = distances.collect();
    sorted.sort_unstable();
    let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
    format!("{} {what} differ in the median, quartiles {} and {}", at(0.5), at(0.25), at(0.75))
}
