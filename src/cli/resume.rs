//! Going on with a run: its state, its records, and whether they belong together.

use std::path::Path;

use anyhow::{Context, Result, bail};
use burn::tensor::Device;

use super::output::tell;
use super::run_folder::RunFolder;
use crate::checkpoint::write_bytes;
use crate::config::Config;
use crate::data::Splits;
use crate::record::{Csv, Run, TensorBoard};
use crate::training::{Changes, Trainer};

/// A run with its recorders, at its last checkpoint.
pub struct Resumed {
    pub trainer: Trainer,
    pub tensorboard: TensorBoard,
    pub csv: Csv,
}

/// Loads the last checkpoint. Nothing in the folder is changed before everything has been found to fit; `changes` says
/// whether what does not is refused, or noted in the run for good.
pub fn resume(
    config: &Config,
    splits: Splits,
    device: &Device,
    (folder, out): (&RunFolder, &Path),
    changes: Changes,
) -> Result<Resumed> {
    let cannot = || format!("cannot resume {}", out.display());
    let known = |trainer: &Trainer| trainer.identity().forced().len();
    let (mut trainer, before) = match folder.newest_state()? {
        Some(state) => {
            let trainer =
                Trainer::resume(config, splits, device, &state, changes).with_context(cannot)?;
            let before = state.json::<crate::training::Identity>("identity")?.forced().len();
            (trainer, before)
        }
        None => {
            let mut trainer = Trainer::new(config, splits, device)?;
            if let Some(problem) = states_lost(folder, config)? {
                allow(&mut trainer, problem, changes).with_context(cannot)?;
            }
            (trainer, 0)
        }
    };
    // A checkpoint is taken after the records of its update; before tracking there are none.
    let update = trainer.tracker().is_some().then(|| trainer.updates());
    if let Some(update) = update {
        check_records(&mut trainer, folder, update, changes).with_context(cannot)?;
    }
    let forced = trainer.identity().forced();
    forced[before.min(known(&trainer))..]
        .iter()
        .for_each(|notice| tell(&format!("warning: forced: {notice}")));
    write_bytes(RunFolder::config_path(out), config.to_toml()?.as_bytes())?;
    let (tensorboard, csv) = match update {
        Some(update) => (
            TensorBoard::resume(folder.tensorboard(), update)?,
            Csv::resume(folder.metrics(), update)?,
        ),
        None => {
            remove_records(folder)?;
            (TensorBoard::create(folder.tensorboard())?, Csv::create(folder.metrics())?)
        }
    };
    Ok(Resumed { trainer, tensorboard, csv })
}

/// An error, or a notice the run keeps.
fn allow(trainer: &mut Trainer, problem: String, changes: Changes) -> Result<()> {
    if changes == Changes::Refused {
        bail!("{problem}; put it back, or go on without it with --force");
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

/// Whether the records up to the checkpoint are all there.
fn check_records(
    trainer: &mut Trainer,
    folder: &RunFolder,
    update: u64,
    changes: Changes,
) -> Result<()> {
    let recorded = trainer.recorded();
    let mut logs = vec![("metrics.csv", Csv::written(folder.metrics(), update)?)];
    let runs = [("tensorboard/tracker", Run::Tracker), ("tensorboard/train", Run::Train)];
    let validation = trainer.identity().has_validation();
    let validation = validation.then_some(("tensorboard/validation", Run::Validation));
    for (log, run) in runs.into_iter().chain(validation) {
        logs.push((log, TensorBoard::written(folder.tensorboard(), run, update)?));
    }
    for (log, found) in logs {
        if let Some(gap) = recorded.missing_in(found, trainer.identity().lost(log)) {
            allow(trainer, format!("{log} {gap}"), changes)?;
            trainer.identity_mut().lose(log, recorded.records.saturating_sub(found.records));
        }
    }
    Ok(())
}

/// Records of a run that was killed before tracking started, so that they can be made anew.
fn remove_records(folder: &RunFolder) -> Result<()> {
    for path in [folder.metrics(), folder.tensorboard()] {
        let result = if path.is_dir() {
            std::fs::remove_dir_all(&path)
        } else {
            std::fs::remove_file(&path)
        };
        match result {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}
