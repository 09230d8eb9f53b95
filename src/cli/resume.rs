//! Resuming a run: its state, its records, and whether they fit together.

use anyhow::{Context as _, Result, bail};

use super::about::about;
use super::output::tell;
use super::run_folder::{RunFolder, remove_if_there};
use super::search::chosen;
use super::shared_start::Waiting;
use crate::checkpoint::write_bytes;
use crate::config::Config;
use crate::context::Context;
use crate::data::Splits;
use crate::record::{About, Csv, NoticeLog, Recorder, Run, TensorBoard};
use crate::training::{Changes, Identity, Trainer};

/// Recorders of the run folder.
pub type Recorders = Vec<Box<dyn Recorder>>;

/// Recorders of a run that starts.
pub fn create_recorders(folder: &RunFolder, about: About) -> Result<Recorders> {
    Ok(vec![
        Box::new(TensorBoard::create(folder.path())?.about(about)),
        Box::new(Csv::create(folder.metrics())?),
        Box::new(NoticeLog::create(folder.notices())?),
    ])
}

/// The run at its last checkpoint, with its recorders. Nothing in the folder changes before everything was found to fit; `changes` says
/// whether a misfit is an error, or is recorded in the run. The other ranks get the state that the run continues from.
pub fn resume(
    config: &Config,
    splits: Splits,
    context: &Context,
    folder: &RunFolder,
    changes: Changes,
    others: &Waiting<'_>,
) -> Result<(Trainer, Recorders)> {
    let cannot = || format!("cannot resume {}", folder.path().display());
    let about = about(config, &splits)?;
    if folder.newest_state()?.is_none()
        && let Some(trial) = chosen(folder.path())?
    {
        folder.take_over(&trial)?;
    }
    let (mut trainer, before) = match folder.newest_state()? {
        Some(state) => {
            others.send(&splits, Some(&state), changes)?;
            let trainer =
                Trainer::resume(config, splits, context, &state, changes).with_context(cannot)?;
            let before = Identity::read(&state)?.forced().len();
            (trainer, before)
        }
        None => {
            others.send(&splits, None, changes)?;
            let mut trainer = Trainer::new(config, splits, context)?;
            if let Some(problem) = states_lost(folder, config)? {
                allow(&mut trainer, problem, changes).with_context(cannot)?;
            }
            (trainer, 0)
        }
    };
    // A checkpoint is written after the records of its update; before tracking there are none.
    let update = trainer.tracker().is_some().then(|| trainer.updates());
    if let Some(update) = update {
        check_records(&mut trainer, folder, update, changes).with_context(cannot)?;
    }
    let forced = trainer.identity().forced();
    forced[before.min(forced.len())..]
        .iter()
        .for_each(|notice| tell(&format!("warning: forced: {notice}")));
    write_bytes(RunFolder::config_path(folder.path()), config.to_toml()?.as_bytes())?;
    let recorders: Recorders = match update {
        Some(update) => vec![
            Box::new(TensorBoard::resume(folder.path(), update)?.about(about)),
            Box::new(Csv::resume(folder.metrics(), update)?),
            Box::new(NoticeLog::resume(folder.notices(), update)?),
        ],
        None => {
            remove_records(folder)?;
            create_recorders(folder, about)?
        }
    };
    Ok((trainer, recorders))
}

/// An error, or a notice that the run records.
fn allow(trainer: &mut Trainer, problem: String, changes: Changes) -> Result<()> {
    if changes == Changes::Refused {
        bail!("{problem}; put it back, or continue without it with --force");
    }
    trainer.identity_mut().force(problem);
    Ok(())
}

/// Why a folder without a state is not that of a run killed before its first checkpoint, if so.
fn states_lost(folder: &RunFolder, config: &Config) -> Result<Option<String>> {
    let last = Csv::written(folder.metrics(), u64::MAX)?.last.unwrap_or(0);
    Ok((last > config.checkpoint.every).then(|| {
        format!("no state is left of a run whose metrics.csv goes to update {last}: it would start from its beginning")
    }))
}

/// Whether the records up to the checkpoint are complete.
fn check_records(
    trainer: &mut Trainer,
    folder: &RunFolder,
    update: u64,
    changes: Changes,
) -> Result<()> {
    let recorded = trainer.recorded();
    let metrics = Csv::written(folder.metrics(), update)?;
    let mut logs = vec![("metrics.csv", metrics)];
    let validation =
        trainer.identity().rows().contains_key("validation").then_some(Run::Validation);
    for run in [Run::Train].into_iter().chain(validation) {
        logs.push((run.folder(), TensorBoard::written(folder.path(), run, update)?));
    }
    for (log, found) in logs {
        if let Some(gap) = recorded.missing_in(found, trainer.identity().lost(log)) {
            allow(trainer, format!("{log} {gap}"), changes)?;
            trainer.identity_mut().lose(log, recorded.records.saturating_sub(found.records));
        }
    }
    trainer.take_rows(metrics.sum);
    Ok(())
}

/// Records of a run that was killed before tracking started, so that they can be written again.
fn remove_records(folder: &RunFolder) -> Result<()> {
    TensorBoard::remove(folder.path())?;
    Ok(remove_if_there(&folder.metrics())?)
}
