//! `ztrack train`: from a configuration file to a trained model, curves with error bars and a stopping decision.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::about::about;
use super::device::DeviceName;
use super::dry_run;
use super::failure::{mistake, with_causes};
use super::output::{print, tell, tell_density};
use super::ranks::exchanged;
use super::recipe::Recipe;
use super::resume::{Recorders, create_recorders, resume};
use super::run_folder::{RunFolder, refuse_if_used};
use super::run_lock::RunLock;
use super::search::{MINUTES, Search};
use super::shared_start::{ReadData, Waiting, check_rows};
use super::signals::{self, INTERRUPTED};
use super::terminal;
use crate::Error;
use crate::collective::gather_one;
use crate::config::{Config, Places};
use crate::context::Context;
use crate::record::{ProgressBar, Tee};
use crate::report::summary::Summary;
use crate::training::{Changes, StopReason, Trainer, fields, run};

/// Work for the report at the end of a run, in seconds of one typical core.
const REPORT_SECONDS: f64 = 3.0;

/// Train a model and track log Z and log-likelihoods
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack train bars-and-stripes\n  \
    ztrack train my.csv --set model.hidden=32 --set training.gradient=pcd\n  \
    ztrack train my.toml --dry-run\n  \
    ztrack train --out runs/dna --resume\n\n\
    Built in: bars-and-stripes, dna-like, dna, dna-paper, mnist-exact, mnist (`ztrack config list`)\n\
    What a key means: ztrack config explain KEY\n\
    Watch a run with: tensorboard --logdir runs")]
pub struct Train {
    /// Configuration file (.toml), name of a built-in one, or a data file; may be left out with --resume
    #[arg(value_name = "WHAT")]
    what: Option<PathBuf>,
    /// Run folder [default: runs/NAME, by the configuration or data file]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in the run folder from its last checkpoint
    #[arg(long)]
    resume: bool,
    /// With --resume: continue with other settings or rows, or without lost files; summary.json records it
    #[arg(long)]
    force: bool,
    /// Print the requirements of the run (rows, parameters, memory, time), and write nothing
    #[arg(long, conflicts_with = "resume")]
    pub(super) dry_run: bool,
    /// Override a key of the configuration, as in --set training.epochs=5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Data folder [default: the environment variable ZTRACK_DATA, else `datasets`]
    #[arg(long, value_name = "DIR")]
    pub(super) data_folder: Option<PathBuf>,
    /// Device that trains and tracks; a resume needs the same one for the same bytes
    #[arg(long, value_enum, default_value_t)]
    pub(super) device: DeviceName,
    /// On several ranks (mpirun, srun): who reads the data
    #[arg(long, value_enum, default_value_t, hide = cfg!(not(feature = "mpi")), value_name = "WHO")]
    read_data: ReadData,
    /// With `training.preset=best` for a data file and without `model.hidden`: minutes for the trial runs, of which the best
    /// becomes the run [default: 10]
    #[arg(long, value_name = "MINUTES", conflicts_with = "resume")]
    minutes: Option<f64>,
    /// No progress: only warnings and errors, and the result at the end
    #[arg(long, short)]
    quiet: bool,
}

impl Train {
    /// Trains until the end, early stopping or Ctrl-C.
    pub fn run(mut self, context: &Context) -> Result<ExitCode> {
        let ranks = context.ranks();
        if ranks.rank() > 0 {
            return self.take_part(context);
        }
        let find = |what: &PathBuf| Recipe::find(what, self.data_folder.as_deref());
        let recipe = self.what.as_ref().map(find).transpose()?;
        let out = self.out_folder(recipe.as_ref())?;
        if self.force && !self.resume {
            let remedy = format!("delete {} first, or choose another --out", out.display());
            let why = "--force goes with --resume: a run is never overwritten;";
            return Err(mistake("ztrack train", format!("{why} {remedy}")));
        }
        if let (Some(what), Some(recipe), false) = (&self.what, &recipe, self.resume) {
            let minutes = self.minutes.unwrap_or(MINUTES);
            let data_folder = self.data_folder.as_deref();
            let search = Search::of((what, recipe), &out, &self.overrides, data_folder, minutes);
            match search {
                Some(_) if self.dry_run || ranks.size() > 1 => tell(
                    "preset \"best\": trial runs choose the size first, in one process and not in a dry run; here it is what fits the columns",
                ),
                Some(search) => match search.run(context)? {
                    Some(settings) => {
                        self.overrides.extend(settings);
                        let (config, _) = self.config(Some(recipe), &out)?;
                        RunFolder::create(&out, &config)?;
                        self.resume = true;
                    }
                    None => return Ok(ExitCode::from(INTERRUPTED)),
                },
                None if self.minutes.is_some() => bail!(
                    "--minutes goes with --set training.preset=best for a data file, without model.hidden"
                ),
                None => {}
            }
        }
        let context = &context.clone().on(self.device.device()?);
        let lock = if self.resume { Some(self.lock(&out)?) } else { None };
        let (config, places) = self.config(recipe.as_ref(), &out)?;
        let splits =
            config.data.load(self.data_folder.as_deref()).map_err(|error| places.locate(error))?;
        if let Some(notice) = splits.notice("--set data.source.columns=1-") {
            tell(&notice);
        }
        let started = |splits, context: &Context| {
            Trainer::new(&config, splits, context).map_err(|error| places.locate(error))
        };
        if self.dry_run {
            let rows = dry_run::rows(&splits);
            // The other ranks do not take part in it.
            let mut trainer = started(splits, &context.alone())?;
            print(&dry_run::forecast(&mut trainer, &config, &rows)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let _listener = signals::listen(context)?;
        let others = Waiting { ranks, config: &config, read: self.read_data };
        let (trainer, folder, recorders) = if let Some(lock) = lock {
            let folder = RunFolder::open(&out, lock, config.checkpoint.keep)?;
            let changes = if self.force { Changes::Forced } else { Changes::Refused };
            let (trainer, recorders) = resume(&config, splits, context, &folder, changes, &others)?;
            (trainer, folder, recorders)
        } else {
            let about = about(&config, &splits)?;
            others.send(&splits, None, Changes::Refused)?;
            let trainer = started(splits, context)?;
            let folder = RunFolder::create(&out, &config)?;
            let recorders = create_recorders(&folder, about)?;
            (trainer, folder, recorders)
        };
        check_rows(ranks, &trainer)?;
        self.train(trainer, folder, recorders)
    }

    /// Trains from the current state of the run.
    fn train(
        &self,
        mut trainer: Trainer,
        mut folder: RunFolder,
        mut recorders: Recorders,
    ) -> Result<ExitCode> {
        let context = trainer.context().clone();
        let ranks = context.ranks();
        if !self.quiet {
            let on =
                if ranks.size() > 1 { format!(", {} ranks", ranks.size()) } else { String::new() };
            tell(&format!("run folder {}{on}", folder.path().display()));
            if let Some(found) = trainer.grouping() {
                tell(&format!("columns: {found}; --set data.groups=false takes all as bits"));
            }
            let model = trainer.current_parameters();
            if model.variables.has_reals() {
                tell(&format!("columns: {}", model.variables.kinds(model.n_visible)));
            }
            tell_density(&model.variables);
            if trainer.current_parameters().variables.is_plus_minus() {
                tell("units: -1 and +1, as the cells are; --set data.variables=bits takes 0 and 1");
            }
            if let Some(effective) = trainer.effective_rows() {
                tell(&format!(
                    "weights: the training rows count as {effective:.0} independent ones"
                ));
            }
        }
        if trainer.is_constant() {
            tell("warning: all training rows are the same: there is nothing to learn but this row");
        }
        let ended = match trainer.over() {
            None => folder.remove_end().map(|()| None)?,
            Some(_) => folder.ended_summary(trainer.config())?,
        };
        // The other ranks end with this one.
        gather_one(ranks, u64::from(ended.is_some()));
        if let Some(summary) = ended {
            let remedy = match summary.stop_reason {
                StopReason::EarlyStopping => {
                    "a larger training.early_stopping.patience or patience_factor, or --set training.early_stopping=false,"
                }
                StopReason::Finished | StopReason::Interrupted => "a larger training.updates",
            };
            tell(&format!("this run has ended, and nothing is trained: {remedy} lets it go on"));
            return print(&summary.text(folder.path())).map(|()| ExitCode::SUCCESS);
        }
        recorders.push(Box::new(self.progress(&context)));
        let mut recorder = Tee(recorders);
        let clock = Instant::now();
        let outcome = run(&mut trainer, &mut recorder, &mut folder);
        // Their files are closed, so that there are descriptors for what follows where those are short.
        drop(recorder);
        if let Err(error) = &outcome {
            folder.write_failure(&error.to_string());
        }
        let outcome = outcome.with_context(|| {
            let left = match folder.newest_state() {
                Ok(None) => " before its first checkpoint".into(),
                Ok(Some(_)) => ", its last checkpoint is kept".into(),
                Err(error) => {
                    format!(", and its last checkpoint cannot be read ({})", with_causes(&error))
                }
            };
            format!("run {} failed{left}", folder.path().display())
        })?;
        if !self.quiet && ranks.size() > 1 {
            tell(&exchanged(ranks.traffic(), clock.elapsed().as_secs_f64()));
        }
        if outcome.reason == StopReason::Interrupted {
            return Ok(self.tell_interrupted(&trainer, folder.path()));
        }
        folder.write_last(&trainer)?;
        self.conclude(&trainer, &folder, outcome.reason)
    }

    /// The last audit, summary and report of a completed run.
    fn conclude(
        &self,
        trainer: &Trainer,
        folder: &RunFolder,
        reason: StopReason,
    ) -> Result<ExitCode> {
        let models = trainer.candidates_to_audit().len();
        if !self.quiet && models > 1 {
            tell(&format!("auditing the {models} models that may be the best"));
        }
        // Shows its progress.
        let display = self.progress(trainer.context());
        let concluded = Summary::conclude(trainer, folder, reason);
        drop(display);
        match concluded {
            Ok(summary) => {
                folder.write_summary(&summary)?;
                // The run is complete and saved: it does not matter if a report cannot be made, or is interrupted. The other ranks have
                // done their work.
                match folder.write_report(trainer, REPORT_SECONDS) {
                    Err(error) if matches!(error.downcast_ref(), Some(Error::Interrupted)) => {
                        tell(&format!(
                            "no report was written; to have it: ztrack report {}",
                            folder.path().display()
                        ));
                    }
                    Err(error) => tell(&format!("warning: no report was written: {error:#}")),
                    Ok(()) => {}
                }
                folder.check()?;
                print(&summary.text(folder.path()))?;
                Ok(ExitCode::SUCCESS)
            }
            Err(Error::Interrupted) => Ok(self.tell_interrupted(trainer, folder.path())),
            Err(error) => Err(error.into()),
        }
    }

    fn progress(&self, context: &Context) -> ProgressBar {
        if self.quiet { ProgressBar::quiet() } else { ProgressBar::new(context) }
    }

    /// Prints how to resume, quoted for a shell.
    fn tell_interrupted(&self, trainer: &Trainer, out: &Path) -> ExitCode {
        let program = std::env::args_os().next().unwrap_or_else(|| "ztrack".into());
        let mut command = vec![program, "train".into(), "--resume".into(), "--out".into()];
        command.push(out.into());
        if let Some(folder) = &self.data_folder {
            command.extend(["--data-folder".into(), folder.into()]);
        }
        if self.device != DeviceName::default() {
            command.extend(["--device".into(), self.device.name().into()]);
        }
        let (updates, command) = (trainer.updates(), terminal::command_line(command));
        tell(&format!("interrupted after update {updates}; continue with: {command}"));
        ExitCode::from(INTERRUPTED)
    }

    /// Locks the run folder before anything of it is read.
    fn lock(&self, out: &Path) -> Result<RunLock> {
        let saved = RunFolder::config_path(out);
        if !saved.is_file() {
            refuse_if_used(out)?;
            bail!(
                "cannot resume: {} is not there; start the run without --resume",
                saved.display()
            );
        }
        RunLock::take(out)
    }

    fn out_folder(&self, recipe: Option<&Recipe>) -> Result<PathBuf> {
        match (&self.out, recipe) {
            (Some(out), _) => Ok(out.clone()),
            (None, Some(recipe)) => Ok(Path::new("runs").join(recipe.run_name()?)),
            (None, None) => Err(nothing_to_train("or --out DIR --resume to continue a run")),
        }
    }

    fn config(&self, recipe: Option<&Recipe>, out: &Path) -> Result<(Config, Places)> {
        let saved = RunFolder::config_path(out);
        if !self.resume {
            let Some(recipe) = recipe else {
                let remedy = format!("or --resume to continue {}", out.display());
                return Err(nothing_to_train(&remedy));
            };
            return recipe.config(&self.overrides);
        }
        let (config, places) = Config::load_with_places(&saved, &self.overrides)?;
        if let Some(recipe) = recipe {
            let (given, _) = recipe.config(&self.overrides)?;
            if given != config {
                let (theirs, given) = (fields(&config.to_toml()?)?, fields(&given.to_toml()?)?);
                let names = theirs.keys().chain(given.keys()).collect::<BTreeSet<_>>();
                let differ = names.into_iter().filter(|name| theirs.get(*name) != given.get(*name));
                bail!(
                    "{} gives other values than {}, with which the run was started, to {}: resume by --resume --out {} alone, and change single keys with --set",
                    self.what.as_deref().unwrap_or(out).display(),
                    saved.display(),
                    differ.map(String::as_str).collect::<Vec<_>>().join(", "),
                    out.display()
                );
            }
        }
        Ok((config, places))
    }
}

fn nothing_to_train(or: &str) -> anyhow::Error {
    mistake(
        "ztrack train",
        format!(
            "give a configuration, as in `ztrack train bars-and-stripes`, or a data file, {or}"
        ),
    )
}
