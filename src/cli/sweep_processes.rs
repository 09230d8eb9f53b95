//! The processes of a sweep: started, watched, and stopped where they cannot win.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::output::LiveLines;
use super::run_folder::RunFolder;
use super::signals;
use super::sweep::{Point, Sweep};
use super::sweep_stop::Curve;
use crate::context::Context;
use crate::report::summary::Summary;
use crate::report::{self, RunFiles};
use crate::training::TrainingState;

/// Time between two looks at running processes.
const LOOK: Duration = Duration::from_millis(50);
/// Looks between two comparisons of their curves.
const COMPARED: usize = 10;

/// A run whose process has not ended.
struct Running<'a> {
    point: &'a Point,
    child: Child,
    /// What it prints, of which warnings are shown when it has ended, and all if it fails: several at once would mix their lines.
    messages: File,
}

/// How far a run is, if it has begun.
fn progress(Running { point, .. }: &Running) -> Option<String> {
    let run = RunFiles::read(&point.folder, true).ok()?;
    let update = run.metrics.update(run.metrics.rows().checked_sub(1)?);
    let of = run.planned().map_or(String::new(), |planned| format!(" of {planned}"));
    let value = run.metrics.last("validation_log_likelihood");
    let value = value.map_or(String::new(), |value| format!(", validation {value:.3}"));
    Some(format!("{}: update {update}{of}{value}", point.name()))
}

impl Sweep {
    /// The curves of all runs so far; none where all are kept.
    fn curves(&self, points: &[Point]) -> Vec<Curve> {
        let read = |point: &Point| RunFiles::read(&point.folder, true).ok();
        let points = points.iter().filter(|_| !self.keep_all);
        points.filter_map(read).map(|run| Curve::of(&run)).collect()
    }

    /// Prints a line, unless only failures are.
    pub(super) fn say(&self, lines: &mut LiveLines, line: &str) {
        if !self.quiet {
            lines.say(line);
        }
    }

    /// Trains what is left; how many failed, and why others were stopped; `None` if interrupted.
    pub(super) fn train(
        &self,
        left: Vec<(&Point, Vec<String>)>,
        points: &[Point],
        context: &Context,
    ) -> Result<Option<(usize, BTreeMap<PathBuf, String>)>> {
        let _listener = signals::listen(context)?;
        let (count, mut failed, mut done) = (left.len(), 0, 0);
        let (mut left, mut running) = (left.into_iter(), Vec::<Running>::new());
        let (mut told, mut lines) = (false, LiveLines::new());
        let mut beaten = BTreeMap::<PathBuf, String>::new();
        let beaten_now = |point: &Point| {
            let run = RunFiles::read(&point.folder, true).ok().filter(|_| !self.keep_all)?;
            Curve::of(&run).beaten_by(&self.curves(points))
        };
        for look in 1.. {
            let stopping = context.is_cancelled();
            while !stopping && running.len() < self.jobs.min(count - done) {
                let Some((point, settings)) = left.next() else { break };
                if let Some(why) = beaten_now(point) {
                    done += 1;
                    self.say(
                        &mut lines,
                        &format!("{done} of {count}: {} stays stopped: {why}", point.name()),
                    );
                    beaten.insert(point.folder.clone(), why);
                    continue;
                }
                running.push(self.start(point, &settings)?);
            }
            if running.is_empty() {
                return Ok((!stopping).then_some((failed, beaten)));
            }
            std::thread::sleep(LOOK);
            if stopping && !std::mem::replace(&mut told, true) {
                running.iter().for_each(|it| interrupt(&it.child));
            }
            if look % COMPARED == 0 && !stopping {
                lines.draw(running.iter().filter_map(progress));
                for Running { point, child, .. } in &running {
                    if !beaten.contains_key(&point.folder)
                        && let Some(why) = beaten_now(point)
                    {
                        interrupt(child);
                        beaten.insert(point.folder.clone(), why);
                    }
                }
            }
            let mut still = Vec::new();
            for mut run in running {
                let Some(status) = run.child.try_wait().context("cannot wait for a run")? else {
                    still.push(run);
                    continue;
                };
                let (name, folder) = (run.point.name(), &run.point.folder);
                let summary = RunFolder::summary(folder);
                if summary.is_none() && stopping {
                    continue;
                }
                done += 1;
                let place = format!("{done} of {count}: {name}");
                if let Some(summary) = summary {
                    self.say(&mut lines, &format!("{place}: {}", outcome(&summary)));
                    let text = text_of(run.messages)?;
                    for line in text.lines().filter(|line| line.starts_with("warning:")) {
                        self.say(&mut lines, &format!("{line} ({name})"));
                    }
                } else if let Some(why) = beaten.get(folder) {
                    self.say(&mut lines, &format!("{place} stopped: {why}"));
                } else {
                    failed += 1;
                    lines.say(&format!("{place} failed ({status})\n{}", text_of(run.messages)?));
                }
            }
            running = still;
        }
        Ok(None)
    }

    /// Starts or resumes a run, away from the Ctrl-C of this terminal: only this process ends it.
    fn start<'a>(&self, point: &'a Point, settings: &[String]) -> Result<Running<'a>> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        let threads = (rayon::current_num_threads() / self.jobs).max(1);
        command.arg("train").arg(&self.what).args(["--quiet", "--threads", &threads.to_string()]);
        command.arg("--out").arg(&point.folder);
        settings.iter().for_each(|setting| {
            command.args(["--set", setting]);
        });
        if let Some(folder) = &self.data_folder {
            command.arg("--data-folder").arg(folder);
        }
        if RunFolder::is_at(&point.folder) {
            command.arg("--resume");
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let messages = tempfile::tempfile().context("cannot make a temporary file")?;
        let copy = messages.try_clone().context("cannot make a temporary file")?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(copy);
        Ok(Running { point, child: command.spawn().context("cannot start a run")?, messages })
    }
}

/// What a run has reached, in a line.
pub(super) fn outcome(summary: &Summary) -> String {
    let (part, value) = match summary.best.validation_log_likelihood {
        Some(held) => ("validation", held),
        None => ("train", summary.best.train_log_likelihood),
    };
    let value = report::with_error(value.value, value.std_error);
    let mut text = format!("{part} {value}, {}", summary.time());
    if summary.best.doubt.is_some() {
        text += ", log Z in doubt";
    }
    let state = summary.training.state;
    if state != TrainingState::Healthy {
        text += &format!(", training {}", state.name());
    }
    text
}

/// What a run has printed.
fn text_of(mut messages: File) -> Result<String> {
    let mut text = Vec::new();
    messages.rewind().context("cannot read the messages of a run")?;
    messages.read_to_end(&mut text).context("cannot read the messages of a run")?;
    Ok(String::from_utf8_lossy(&text).trim_end().into())
}

/// Asks a run to keep its state and end.
#[cfg(unix)]
fn interrupt(child: &Child) {
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
}

#[cfg(not(unix))]
fn interrupt(_: &Child) {}
