//! The folder of a run: configuration, metrics, TensorBoard, checkpoints, models, summary.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::run_lock::{LOCK, RunLock};
use crate::checkpoint::{
    ModelFile, StateReader, StateWriter, is_leftover, remove_leftovers, sorted_files, write_bytes,
};
use crate::config::Config;
use crate::engine::BitMatrix;
use crate::model::Parameters;
use crate::record::{HeldFile, Run};
use crate::report::summary::Summary;
use crate::report::{self, Diagnosis, FAILURE, RunFiles, SEARCH};
use crate::training::{Best, Checkpoints, EvaluationRecord, Trainer};

const CONFIG: &str = "config.toml";
const METRICS: &str = "metrics.csv";
const NOTICES: &str = "notices.jsonl";
const CHECKPOINTS: &str = "checkpoints";
const STATE: &str = "state";
const SUMMARY: &str = "summary.json";
const BEST: &str = "best.safetensors";
const LAST: &str = "last.safetensors";
const CURVES: &str = "curves.svg";
/// The report of the run.
pub const REPORT: &str = "report.html";
/// Number of full states kept: the newest, and the one before it in case the newest is damaged.
const STATES_KEPT: usize = 2;

/// A run's folder.
pub struct RunFolder {
    path: PathBuf,
    /// Model checkpoints kept; 0 for all.
    keep: usize,
    lock: RunLock,
    /// The folder of states, held open: a moved folder is not confused with one that a later write created. `None` if the system cannot
    /// open folders.
    states: Option<HeldFile>,
}

impl RunFolder {
    /// Creates a folder; refuses one with content, and leaves it unchanged.
    pub fn create(path: &Path, config: &Config) -> Result<Self> {
        let toml = config.to_toml()?;
        RunLock::refuse_if_taken(path)?;
        refuse_if_used(path)?;
        if path.is_symlink() && !path.exists() {
            bail!("{} is a link to nothing: delete it, or choose another --out", path.display());
        }
        fs::create_dir_all(path)
            .with_context(|| format!("cannot create run folder {}", path.display()))?;
        let (lock, keep) = (RunLock::take(path)?, config.checkpoint.keep);
        let mut folder = Self { path: path.into(), keep, lock, states: None };
        // Another process may have been first, and may have ended since.
        refuse_if_used(path)?;
        remove_leftovers(path)?;
        // Written first, so that the run can be resumed from its beginning.
        write_bytes(path.join(CONFIG), toml.as_bytes())?;
        folder.create_subfolders()?;
        Ok(folder)
    }

    /// Opens the folder of an earlier run.
    pub fn open(path: &Path, lock: RunLock, keep: usize) -> Result<Self> {
        let mut folder = Self { path: path.into(), keep, lock, states: None };
        folder.create_subfolders()?;
        for sub in [folder.path.clone(), folder.models(), folder.states()] {
            remove_leftovers(&sub)?;
        }
        Ok(folder)
    }

    /// Takes over the records and the state of another run, which was trained with the same settings but those of audits. Interrupted, it can
    /// be repeated: the state comes last.
    pub fn take_over(&self, other: &Path) -> Result<()> {
        let [train, validation] = [Run::Train, Run::Validation].map(Run::folder);
        let parts = [METRICS, NOTICES, BEST, train, validation, CHECKPOINTS];
        let mut there = parts.into_iter().filter(|part| other.join(part).exists());
        there.try_for_each(|part| copy(&other.join(part), &self.path.join(part)))
    }

    fn create_subfolders(&mut self) -> Result<()> {
        let states = self.states();
        fs::create_dir_all(&states)
            .with_context(|| format!("cannot create run folder {}", states.display()))?;
        self.states = fs::File::open(&states).ok().map(|file| HeldFile::new(&states, file));
        Ok(())
    }

    /// Whether the folder is still where it was, with the configuration without which it is no run.
    pub fn check(&self) -> crate::Result<()> {
        self.lock.check()?;
        let config = Self::config_path(&self.path);
        let gone =
            "was deleted or moved while this process was using it; put it back to resume the run";
        if config.is_file() { Ok(()) } else { Err(crate::Error::file(&config, gone)) }
    }

    /// Whether this is the folder of a run.
    pub fn is_at(path: &Path) -> bool {
        Self::config_path(path).is_file()
    }

    /// The resolved configuration of a run folder.
    pub fn config_path(path: &Path) -> PathBuf {
        path.join(CONFIG)
    }

    /// metrics.csv
    pub fn metrics(&self) -> PathBuf {
        self.path.join(METRICS)
    }

    /// notices.jsonl
    pub fn notices(&self) -> PathBuf {
        self.path.join(NOTICES)
    }

    /// The folder, and that of TensorBoard's runs, whose names are NAME/train and NAME/validation.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The best model.
    pub fn best_model(&self) -> PathBuf {
        self.path.join(BEST)
    }

    /// Writes summary.json.
    pub fn write_summary(&self, summary: &Summary) -> Result<()> {
        self.check()?;
        let json = serde_json::to_string_pretty(summary)?;
        write_bytes(self.path.join(SUMMARY), format!("{json}\n").as_bytes())?;
        Ok(())
    }

    /// The summary of a run that has ended with these settings and has all its files; `None` where the last audits or the report are
    /// still to be done.
    pub fn ended_summary(&self, config: &Config) -> Result<Option<Summary>> {
        let configuration = serde_json::to_value(config)?;
        let complete = [LAST, REPORT, CURVES].iter().all(|name| self.path.join(name).is_file());
        let summary = Self::summary(&self.path).filter(|it| it.configuration == configuration);
        let best = self.best_model().is_file();
        Ok(summary.filter(|it| complete && (best || it.best.candidates_audited == 0)))
    }

    /// summary.json of a run folder; `None` before its end, or if it cannot be read.
    pub fn summary(path: &Path) -> Option<Summary> {
        report::summary_of(path).ok()?
    }

    /// The newest full state of a run.
    pub fn state_at(path: &Path) -> crate::Result<Option<StateReader>> {
        let states = sorted_files(&path.join(CHECKPOINTS).join(STATE)).unwrap_or_default();
        states.last().map(StateReader::open).transpose()
    }

    /// Removes the files on the end of the run, before it continues: an earlier end must not be confused with the present one. The best
    /// model so far remains the best.
    pub fn remove_end(&self) -> Result<()> {
        self.lock.check()?;
        for name in [SUMMARY, LAST, CURVES, REPORT, FAILURE] {
            remove_if_there(&self.path.join(name))?;
        }
        Ok(())
    }

    /// Writes the error that ended the run, if possible; the error itself is printed in any case.
    pub fn write_failure(&self, error: &str) {
        if self.lock.check().is_ok() {
            let _ = write_bytes(self.path.join(FAILURE), format!("{error}\n").as_bytes());
        }
    }

    /// Writes report.html and curves.svg; `seconds` of work may be used for the diagnosis of the best model.
    pub fn write_report(&self, trainer: &Trainer, seconds: f64) -> Result<()> {
        let run = RunFiles::read(&self.path, false)?;
        let found = Diagnosis::of_run(&run, trainer, seconds)?;
        let html = report::page(&run, &Ok((trainer, found.as_ref())));
        // A folder that was deleted meanwhile is not made again.
        self.check()?;
        write_bytes(self.path.join(REPORT), html.as_bytes())?;
        // A run without an evaluation has no curve.
        if let Ok(svg) = report::likelihoods(&run).svg() {
            self.check()?;
            write_bytes(self.path.join(CURVES), svg.as_bytes())?;
        }
        Ok(())
    }

    fn models(&self) -> PathBuf {
        self.path.join(CHECKPOINTS)
    }

    fn states(&self) -> PathBuf {
        self.models().join(STATE)
    }

    /// The newest full state; `None` if the run was killed before its first checkpoint.
    pub fn newest_state(&self) -> Result<Option<StateReader>> {
        let files = sorted_files(&self.states())?;
        let Some(newest) = files.last() else { return Ok(None) };
        let state = StateReader::open(newest).with_context(|| {
            let before = match files.len() {
                1 => "there is none before it: delete it, and --resume --force starts the run from its beginning",
                _ => "delete it to resume from the one before",
            };
            format!("cannot resume from the last checkpoint ({before})")
        })?;
        Ok(Some(state))
    }

    fn model_file(trainer: &Trainer) -> ModelFile {
        let log_z = trainer.tracked_log_z();
        let log_z = log_z.map_or((f64::NAN, f64::NAN), |it| (it.value, it.std_error));
        let states = trainer.known_states();
        model_file(trainer, trainer.updates(), log_z, trainer.parameters(), states)
    }

    fn write_checkpoint(&mut self, trainer: &Trainer) -> crate::Result<()> {
        let name = trainer.state_name();
        let model = Self::model_file(trainer);
        model.save(self.models().join(format!("{name}.safetensors")))?;
        let mut state = StateWriter::new();
        trainer.save(&mut state);
        self.state_before(&name, &state)?;
        if self.keep > 0 { remove_oldest(&self.models(), self.keep) } else { Ok(()) }
    }

    /// Writes last.safetensors.
    pub fn write_last(&self, trainer: &Trainer) -> Result<()> {
        self.lock.check()?;
        Self::model_file(trainer).save(self.path.join(LAST))?;
        Ok(())
    }

    /// Writes best.safetensors when the run is over.
    pub fn write_best(&self, trainer: &Trainer, best: &Best) -> crate::Result<()> {
        self.lock.check()?;
        let parameters = best.candidate.parameters.as_ref().clone();
        let (update, states) = (best.candidate.update, best.candidate.states.clone());
        model_file(trainer, update, best.log_z(), parameters, states).save(self.best_model())
    }
}

fn model_file(
    trainer: &Trainer,
    update: u64,
    (log_z, std_error): (f64, f64),
    parameters: Parameters,
    states: Option<BitMatrix>,
) -> ModelFile {
    let metadata = BTreeMap::from([
        ("update".into(), update.to_string()),
        ("log_z".into(), log_z.to_string()),
        ("log_z_std_error".into(), std_error.to_string()),
        ("ztrack".into(), env!("CARGO_PKG_VERSION").into()),
    ]);
    let trained_on = Some(trainer.trained_on().clone());
    ModelFile { parameters, metadata, trained_on, states }
}

impl Checkpoints for RunFolder {
    // Writing creates missing folders, so a folder that was moved away would be created again, incomplete.
    fn best(&mut self, trainer: &Trainer, _evaluation: &EvaluationRecord) -> crate::Result<()> {
        self.lock.check()?;
        Self::model_file(trainer).save(self.best_model())
    }

    fn state(&mut self, trainer: &Trainer) -> crate::Result<()> {
        self.lock.check()?;
        let written = self.write_checkpoint(trainer);
        let there = self.states.as_ref().is_none_or(|states| states.check().is_ok());
        if there {
            return written.and_then(|()| self.check());
        }
        // A second write would create a missing folder again, incomplete.
        self.lock.check()?;
        // Only the folder of checkpoints is missing, perhaps deleted a moment ago: the state is written in a new one.
        self.write_checkpoint(trainer)?;
        let problem =
            "was deleted or moved while this process was using it; the last state was written anew";
        Err(crate::Error::file(self.states(), problem))
    }

    fn state_before(&mut self, name: &str, state: &StateWriter) -> crate::Result<()> {
        self.lock.check()?;
        state.write(self.states().join(format!("{name}.state")))?;
        remove_oldest(&self.states(), STATES_KEPT)
    }
}

/// Refuses a folder with anything but a lock, trial runs, or the temporary file of a process killed at its start.
pub fn refuse_if_used(path: &Path) -> Result<()> {
    let used = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            name != LOCK && name != SEARCH && !is_leftover(&entry.path())
        })
    };
    if fs::read_dir(path).is_ok_and(|entries| entries.into_iter().any(used)) {
        let what = match RunFolder::is_at(path) {
            true => "exists: continue it with --resume, or choose another with --out",
            false => {
                "has no config.toml, without which it cannot be resumed: put that back, or choose another with --out"
            }
        };
        bail!("run folder {} {what}", path.display());
    }
    Ok(())
}

/// Copies a file, or a folder with all that is in it, files before folders.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let cannot = || format!("cannot read {}", from.display());
    if !from.is_dir() {
        return Ok(write_bytes(to, &fs::read(from).with_context(cannot)?)?);
    }
    let entries = fs::read_dir(from).with_context(cannot)?;
    let mut paths = entries.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort_by_key(|path| path.is_dir());
    let mut named = paths.iter().filter_map(|path| Some((path, path.file_name()?)));
    named.try_for_each(|(path, name)| copy(path, &to.join(name)))
}

fn remove_oldest(folder: &Path, keep: usize) -> crate::Result<()> {
    let files = sorted_files(folder)?;
    for file in &files[..files.len().saturating_sub(keep)] {
        remove_if_there(file)?;
    }
    Ok(())
}

/// Deletes a file; a missing one is not an error.
pub fn remove_if_there(file: &Path) -> crate::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(crate::Error::io("remove", file)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight digits are not enough from update 10^8 on: the newest is the one with the largest number, not the last by name.
    #[test]
    fn checkpoints_sort_by_number_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let names =
            ["update-100000000", "update-99999999", "pretraining-99999999", "update-00000007"];
        for name in names {
            fs::write(folder.path().join(format!("{name}.state")), "").unwrap();
        }
        remove_oldest(folder.path(), 2).unwrap();
        let left = sorted_files(folder.path()).unwrap();
        let left: Vec<_> =
            left.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
        assert_eq!(left, ["update-99999999", "update-100000000"]);
    }
}
