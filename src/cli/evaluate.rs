//! `ztrack evaluate`: mean log-likelihood of data under a model file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Serialize;

use super::completed::{complete, warn};
use super::data_options::Data;
use super::failure::strict_code;
use super::log_z::LogZOptions;
use super::model_options::{Model, ModelOptions};
use super::output::{print_report, tell_density};
use super::row_file;
use super::row_options::{NamedRows, RowOptions};
use super::run_folder::RunFolder;
use super::table::{answer, chosen, remarks, table};
use crate::context::Context;
use crate::engine::{BitMatrix, Engine};
use crate::estimators::{
    Agreement, Bias, Bound, Completing, Estimate, Estimates, Method, Starting,
};
use crate::report::shown_error;
use crate::tracking::{LogLikelihood, MeanLogF};
use crate::trust::{Doubt, Trust};

/// Log-likelihood of rows, with its standard error: the mean, or of each row; missing cells are summed out
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack evaluate runs/dna\n  \
    ztrack evaluate runs/mnist --data test\n  \
    ztrack evaluate runs/dna/last.safetensors --data dna --split test\n  \
    ztrack evaluate runs/dna --data test --per-row scores.csv\n  \
    ztrack evaluate model.npz --data mnist --binarization stochastic --method rts,ais --json")]
pub struct Evaluate {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    rows: RowOptions,
    /// Also write the log-likelihood and the free energy of every row to this file: .csv, or .npy with the columns of the table; rows are
    /// counted from 0
    #[arg(long, value_name = "FILE")]
    per_row: Option<PathBuf>,
    /// Overwrite the file of --per-row
    #[arg(long, requires = "per_row")]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    log_z: LogZOptions,
}

#[derive(Serialize)]
struct Report {
    model: PathBuf,
    data: String,
    /// The update at which the run audited log Z, where that value was taken.
    audited_at: Option<u64>,
    estimates: Vec<Estimate>,
    /// A lower bound of log Z; none if it is exact.
    bound: Option<Bound>,
    agreement: Agreement,
    /// One for each split and estimate.
    log_likelihoods: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    split: &'static str,
    rows: usize,
    /// Rows with missing cells, which are summed out of their likelihoods.
    with_missing_cells: usize,
    method: &'static str,
    #[serde(flatten)]
    log_likelihood: LogLikelihood,
}

/// log f of the rows of a split, missing cells summed out.
#[derive(Default)]
struct Scores {
    split: &'static str,
    log_f: Vec<f64>,
    /// Weights of the rows, if they have some.
    weights: Option<Vec<f64>>,
    /// Rows with missing cells, the number of these, and the standard error of log f.
    open: Vec<(usize, u32, f64)>,
    /// Rows in doubt.
    doubtful: Vec<(usize, Trust)>,
    /// Logarithm of the largest sum of f over the distinct rows of a block, a lower bound of log Z; -infinity for rows with missing cells.
    bound: f64,
}

impl Evaluate {
    /// Prints the log-likelihood of each split.
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let model = self.model.load()?;
        if let Some(path) = &self.per_row {
            row_file::check(path, self.force)?;
        }
        let context = &context.clone().on(self.log_z.device.device()?);
        tell_density(&model.file.parameters.variables);
        let engine = model.file.parameters.engine(context);
        let engine = engine.as_ref();
        let (mut log_z, mut scores, mut sound) = (None, Vec::<Scores>::new(), true);
        let name = self.rows.each(&model, self.log_z.seed, true, &mut |data, rows| {
            if log_z.is_none() {
                log_z = Some(self.log_z(&model, data, engine, context)?);
            }
            if scores.last().is_none_or(|last| last.split != rows.split) {
                let bound = f64::NEG_INFINITY;
                scores.push(Scores { split: rows.split, bound, ..Scores::default() });
            }
            let Some(last) = scores.last_mut() else { return Ok(()) };
            let weights = if rows.split == "train" { data.weights(&rows.bits)? } else { None };
            last.weights = weights.or(last.weights.take());
            last.add(&rows, &model, engine, self.log_z.seed)
        })?;
        let (audited_at, found) = log_z.context("no rows")?;
        let Estimates { mut estimates, bound, mut agreement, .. } = found;
        // Of a large file, the search for modes has seen the first block alone.
        let known = scores.iter().map(|found| found.bound).fold(f64::NEG_INFINITY, f64::max);
        if bound.is_some_and(|bound| known > bound.value) {
            estimates.iter_mut().for_each(|estimate| estimate.refuse_below(known));
            agreement = Agreement::of(&estimates);
            agreement.doubt_others(&mut estimates);
        }
        let mut log_likelihoods = Vec::new();
        for found in &mut scores {
            let mean = MeanLogF::without_bound(&found.log_f, found.weights.as_deref());
            let holes = found.open.len();
            sound &= warn(std::mem::take(&mut found.doubtful), holes);
            for estimate in &estimates {
                log_likelihoods.push(Line {
                    split: found.split,
                    rows: mean.rows,
                    with_missing_cells: holes,
                    method: estimate.method.name(),
                    log_likelihood: mean.log_likelihood(estimate.value, estimate.std_error),
                });
            }
        }
        if let Some(path) = &self.per_row {
            per_row(path, &scores, chosen(&estimates, &agreement))?;
        }
        let model = model.path;
        let report =
            Report { model, data: name, audited_at, estimates, bound, agreement, log_likelihoods };
        print_report(&report, self.json, |it| it.text(self.log_z.verbose))?;
        Ok(strict_code(self.log_z.strict, report.agreement.sound && sound))
    }

    /// log Z as the run of the model audited it, with the update; else estimated. Both are held against the rows and states that are known.
    fn log_z(
        &self,
        model: &Model,
        data: &Data,
        engine: &dyn Engine,
        context: &Context,
    ) -> Result<(Option<u64>, Estimates)> {
        let training = data.binarized_or_drawn()?;
        let base = data.base(&training)?;
        let held_out = data.all_held_out()?;
        let start = Starting {
            base: Some(&base),
            given: true,
            informed: true,
            rows: Some(&training),
            held_out: held_out.as_ref(),
            states: model.file.states.as_ref(),
        };
        if let Some((update, mut audit)) = audited(model).filter(|_| self.log_z.are_default()) {
            let sampled = audit.bias != Bias::None;
            let bound = if sampled { start.bound(engine) } else { None };
            bound.iter().for_each(|bound| audit.refuse_below(bound.value));
            let estimates = vec![audit];
            let agreement = Agreement::of(&estimates);
            let (skipped, how) = (Vec::new(), Vec::new());
            let found = Estimates { estimates, skipped, kept: None, bound, agreement, how };
            return Ok((Some(update), found));
        }
        Ok((None, self.log_z.run(&model.file.parameters, start, false, context)?))
    }
}

/// log Z in summary.json, if it is that of this model.
fn audited(model: &Model) -> Option<(u64, Estimate)> {
    let best = RunFolder::summary(model.run.as_ref()?)?.best;
    let name = if best.candidates_audited > 0 { "best.safetensors" } else { "last.safetensors" };
    let update = model.file.metadata.get("update")?.parse::<u64>().ok()?;
    let same = update == best.update && model.path.file_name().is_some_and(|it| it == name);
    let method = *Method::LIST.iter().find(|method| method.name() == best.audit_method)?;
    let bias = if method == Method::Exact { Bias::None } else { Bias::Consistent };
    let (at_least, doubt) =
        (best.log_z_at_least, best.doubt.map(|text| Doubt::other("audit", text)));
    let estimate = Estimate {
        bias,
        at_least,
        trust: Trust::unless(doubt),
        ..Estimate::new(method, best.log_z, best.log_z_std_error)
    };
    same.then_some((update, estimate))
}

/// log Z of the best model of a run, for chains that have to find it: as the run audited it, if its checks passed; before the run has
/// ended as its tracker found it, whose value was sound, or the model would not be the best.
pub(super) fn known_log_z(model: &Model) -> Option<(f64, f64)> {
    if let Some((_, audit)) = audited(model) {
        return audit.trust.is_sound().then_some((audit.value, audit.std_error));
    }
    let best = model.path.file_name().is_some_and(|it| it == "best.safetensors");
    let ended = RunFolder::summary(model.run.as_ref()?).is_some();
    let number = |name| model.file.metadata.get(name)?.parse::<f64>().ok();
    let found = (number("log_z")?, number("log_z_std_error")?);
    (best && !ended && found.0.is_finite()).then_some(found)
}

impl Scores {
    /// Adds rows of the same split.
    fn add(
        &mut self,
        rows: &NamedRows,
        model: &Model,
        engine: &dyn Engine,
        seed: u64,
    ) -> Result<()> {
        let NamedRows { bits, missing, .. } = rows;
        let (first, log_f) = (self.log_f.len(), engine.log_f(bits));
        self.log_f.extend(&log_f);
        let Some(cells) = missing else {
            self.bound = self.bound.max(MeanLogF::of(&log_f, bits, None).log_z_bound);
            return Ok(());
        };
        let count = |row: usize| cells.row(row).iter().map(|word| word.count_ones()).sum::<u32>();
        let open: Vec<usize> = (0..bits.rows()).filter(|&row| count(row) > 0).collect();
        let of = |rows: &BitMatrix| rows.select(open.iter().copied());
        let asked = Completing { seed, ..Completing::default() };
        for (&row, found) in open.iter().zip(complete(model, &of(bits), &of(cells), asked)?) {
            self.log_f[first + row] = found.log_f;
            self.open.push((first + row, count(row), found.std_error));
            if !found.trust.is_sound() {
                self.doubtful.push((first + row, found.trust));
            }
        }
        Ok(())
    }
}

/// Writes log-likelihood and free energy of every row, with the recommended value of log Z, whose error is the same for all rows; with
/// missing cells also their number, and the error of summing them out, which is each row's own.
fn per_row(path: &Path, scores: &[Scores], log_z: Option<&Estimate>) -> Result<()> {
    let mut columns = vec!["row", "log_likelihood", "free_energy", "log_z_std_error"];
    let holes = scores.iter().any(|split| !split.open.is_empty());
    columns.extend(if holes { &["missing_units", "row_std_error"][..] } else { &[] });
    let (value, error) = log_z.map_or((f64::NAN, f64::NAN), |e| (e.value, e.std_error));
    row_file::write(path, &columns, |file| {
        for Scores { split, log_f, open, .. } in scores {
            let mut open = open.iter().peekable();
            for (row, log_f) in log_f.iter().enumerate() {
                let (_, count, own) =
                    open.next_if(|(at, ..)| *at == row).copied().unwrap_or_default();
                let line = [row as f64, log_f - value, -log_f, error, f64::from(count), own];
                file.add(split, &line[..columns.len()])?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

impl Report {
    fn text(&self, verbose: bool) -> String {
        let mut text = String::new();
        let of = chosen(&self.estimates, &self.agreement).map(|it| it.method.name());
        for line in self.log_likelihoods.iter().filter(|line| Some(line.method) == of) {
            text += &line.text();
        }
        let by = self.audited_at.map(|update| {
            let method = of.unwrap_or_default();
            format!("{method}, the run's audit of update {update}; --method auto estimates it anew")
        });
        text += &answer(&self.estimates, &self.agreement, by.as_deref());
        if verbose || self.estimates.len() > 1 {
            text += &format!("\n{}\n", table(&self.estimates));
            self.log_likelihoods
                .iter()
                .for_each(|it| text += &format!("{:<10} {}", it.method, it.text()));
        }
        text + &remarks(&self.estimates, self.bound.as_ref(), &self.agreement)
    }
}

impl Line {
    fn text(&self) -> String {
        let LogLikelihood { value, std_error, data_std_error, log_z_std_error } =
            self.log_likelihood;
        let holes = match self.with_missing_cells {
            0 => String::new(),
            n => format!(", {n} of them with missing cells"),
        };
        let [all, of_rows] = [std_error, data_std_error].map(|error| shown_error(error, 4));
        format!(
            "{:<10} {value:.4} ± {all} nats per row ({} rows{holes}; ± {of_rows} from the rows, ± {log_z_std_error:.4} from log Z)\n",
            self.split, self.rows
        )
    }
}
