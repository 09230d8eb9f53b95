//! The text of the live display: values with their errors, times, patience, and their layout at a given width.

use super::{Patience, Progress};
use crate::context::progress::Task;

/// Shortest duration of a task that is shown, seconds.
const SHORT: f64 = 0.5;
/// Width of the bar in characters.
const BAR: usize = 16;

/// Parts of a display, each with words that stay together if there is room.
pub(super) struct Parts {
    pub position: Vec<String>,
    pub values: Vec<String>,
    pub standing: Vec<String>,
}

impl Parts {
    /// `waited`: seconds since the progress was taken.
    pub(super) fn of(progress: &Progress, waited: f64) -> Self {
        let position = vec![
            format!("{}/{}", progress.update, progress.updates),
            format!("epoch {:.2}", progress.epoch),
            times(progress, waited),
        ];
        let mut values = Vec::new();
        let mut one = |name: &str, value: Option<(f64, f64)>, more: &str| {
            if let Some((value, error)) = value {
                values.push(format!("{name} {}{more}", estimate(value, error)));
            }
        };
        one("train", progress.train_log_likelihood, "");
        one("validation", progress.validation_log_likelihood, "");
        one("log Z", progress.log_z, &audit(progress));
        if let Some(first) = values.first_mut()
            && progress.evaluated_at != progress.update
        {
            *first = format!("at {}: {first}", progress.evaluated_at);
        }
        let best = progress.best.map(|(update, value)| format!("best {value:.2} at {update}"));
        let patience = progress.patience.filter(|_| best.is_some());
        let patience = patience.map(|patience| waiting(patience, progress));
        let note = progress.note.as_ref().map(|note| format!("({note})"));
        let standing = [best, patience, note].into_iter().flatten().collect();
        Self { position, values, standing }
    }

    /// Everything on one line.
    pub(super) fn line(&self) -> String {
        [&self.position[..], &self.values, &self.standing].concat().join("  ")
    }

    /// Lines of at most `width` characters, the bar first.
    pub(super) fn lines(&self, progress: &Progress, width: usize) -> Vec<String> {
        let mut position = self.position.clone();
        position[0] = format!("{} {}", bar(progress), position[0]);
        let parts = [&position[..], &self.values, &self.standing];
        parts.into_iter().flat_map(|words| flow(words, width)).collect()
    }
}

fn bar(progress: &Progress) -> String {
    let done = progress.update as f64 / progress.updates.max(1) as f64;
    let full = ((done * BAR as f64) as usize).min(BAR);
    let head = if full < BAR { ">" } else { "" };
    format!("[{:<BAR$}]", "=".repeat(full) + head)
}

/// Text of a running task, or of its interruption.
pub(super) fn task(task: Option<&Task>, interrupted: bool) -> Option<String> {
    if interrupted {
        return Some("ending the run and keeping its state; Ctrl-C once more quits at once".into());
    }
    let task = task?;
    let seconds = task.since.elapsed().as_secs_f64();
    if seconds < SHORT {
        return None;
    }
    Some(match task.stage {
        // Fewer steps than the maximum may suffice, so 100 % is never shown.
        Some(stage) if stage.of > 0 => {
            format!("{}: {} %", task.name, (100 * stage.done / stage.of).min(99))
        }
        _ => format!("{}: {}", task.name, duration(seconds)),
    })
}

/// Words separated by two spaces, in as many lines as needed.
fn flow(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + word.chars().count() <= width => {
                line.push_str("  ");
                line.push_str(word);
            }
            _ => lines.extend(wrap(word, width, 0)),
        }
    }
    lines
}

/// Text cut at spaces into lines of at most `width` characters, all but the first indented.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(" ".repeat(indent) + word),
            None => lines.push(word.into()),
        }
    }
    lines
}

/// The audit in parentheses: its value, to as many decimals as the tracked one; of an earlier update how far the tracked value was from it,
/// because log Z has changed since.
fn audit(progress: &Progress) -> String {
    let (Some(audit), Some((_, tracked_error))) = (progress.audited_log_z, progress.log_z) else {
        return String::new();
    };
    if audit.update != progress.evaluated_at {
        return format!(" ({} at {}: {:+.1} errors)", audit.method, audit.update, audit.in_errors);
    }
    let decimals = decimals_of(tracked_error).unwrap_or(4);
    let value = match decimals_of(audit.std_error) {
        None => format!("{:.decimals$}", audit.value),
        Some(_) => estimate(audit.value, audit.std_error),
    };
    let off = match audit.disagrees {
        true => format!(", off by {:.0} errors", audit.in_errors.abs()),
        false => String::new(),
    };
    format!(" ({} {value}{off})", audit.method)
}

fn waiting(patience: Patience, progress: &Progress) -> String {
    let Patience { without_improvement, patience, not_before } = patience;
    let of = if without_improvement > patience { String::new() } else { format!(" of {patience}") };
    let later = not_before > progress.update && not_before < progress.updates;
    let stops = match without_improvement >= patience && later {
        true => format!(", stops at {not_before}"),
        false => String::new(),
    };
    format!("{without_improvement}{of} evaluations without improvement{stops}")
}

fn times(progress: &Progress, waited: f64) -> String {
    let most = if progress.patience.is_some() { "at most " } else { "" };
    let left = progress
        .seconds_left
        // The last update has an evaluation, which may take longer than the pace says.
        .filter(|left| left - waited >= 0.5)
        .map(|left| format!(", {most}{} left", duration(left - waited)));
    format!("{}{}", duration(progress.seconds + waited), left.unwrap_or_default())
}

/// Value ± error to two digits of the error; an exact value to four decimals.
fn estimate(value: f64, error: f64) -> String {
    match decimals_of(error) {
        None => format!("{value:.4}"),
        Some(decimals) => format!("{value:.decimals$} ± {error:.decimals$}"),
    }
}

/// Decimals that show two digits of an error; `None` for the error of an exact value.
fn decimals_of(error: f64) -> Option<usize> {
    let known = error.is_finite() && error > 0.0;
    known.then(|| (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize)
}

/// The two largest of hours, minutes and seconds.
fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s:02}s"),
        (h, m, _) => format!("{h}h {m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use crate::context::progress::Stage;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::record::AuditedLogZ;

    fn progress() -> Progress {
        Progress {
            update: 540,
            updates: 6000,
            epoch: 45.0,
            seconds: 3725.0,
            seconds_left: Some(250.0),
            evaluated_at: 500,
            train_log_likelihood: Some((-88.21234, 0.0523)),
            validation_log_likelihood: Some((-90.1, 0.31)),
            log_z: Some((226.113155, 0.05)),
            audited_log_z: Some(AuditedLogZ {
                method: "ais",
                update: 400,
                value: 226.5,
                std_error: 0.2,
                in_errors: -7.4,
                disagrees: true,
            }),
            best: Some((500, -90.1)),
            patience: Some(Patience { without_improvement: 3, patience: 30, not_before: 1250 }),
            note: Some("in doubt: lag".into()),
        }
    }

    #[test]
    fn everything_is_told_with_its_update() {
        assert_eq!(
            Parts::of(&progress(), 1.0).line(),
            "540/6000  epoch 45.00  1h 02m, at most 4m 09s left  at 500: train -88.212 ± 0.052  validation -90.10 ± 0.31  log Z 226.113 ± 0.050 (ais at 400: -7.4 errors)  best -90.10 at 500  3 of 30 evaluations without improvement  (in doubt: lag)"
        );
        assert!(!Parts::of(&progress(), 249.6).line().contains("left"));
        let mut fresh = progress();
        (fresh.evaluated_at, fresh.note) = (540, None);
        fresh.audited_log_z.as_mut().unwrap().update = 540;
        fresh.patience = Some(Patience { without_improvement: 31, patience: 30, not_before: 1250 });
        let line = Parts::of(&fresh, 0.0).line();
        assert!(line.contains("left  train -88.212"), "{line}");
        assert!(line.contains("(ais 226.50 ± 0.20, off by 7 errors)"), "{line}");
        assert!(line.ends_with("31 evaluations without improvement, stops at 1250"), "{line}");
        fresh.update = 1250;
        let line = Parts::of(&fresh, 0.0).line();
        assert!(line.ends_with("  31 evaluations without improvement"), "{line}");
    }

    #[test]
    fn nothing_is_lost_or_cut_at_any_width() {
        let progress = progress();
        let parts = Parts::of(&progress, 0.0);
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        for width in [40, 60, 80, 120, 200] {
            let lines = parts.lines(&progress, width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
            let mut shown = words(&lines.join(" "));
            let bar = shown.iter().position(|word| word == "540/6000").unwrap();
            shown.drain(..bar);
            assert_eq!(shown, words(&parts.line()), "{width}");
        }
        assert_eq!(
            parts.lines(&progress, 80),
            [
                "[=>              ] 540/6000  epoch 45.00  1h 02m, at most 4m 10s left",
                "at 500: train -88.212 ± 0.052  validation -90.10 ± 0.31",
                "log Z 226.113 ± 0.050 (ais at 400: -7.4 errors)",
                "best -90.10 at 500  3 of 30 evaluations without improvement  (in doubt: lag)",
            ]
        );
        assert_eq!(parts.lines(&progress, 200).len(), 3);
    }

    #[test]
    fn long_tasks_and_interruptions_are_shown() {
        let since = Instant::now() - Duration::from_secs(65);
        let mut at_work = Task { name: "audit".into(), since, stage: None };
        assert_eq!(task(Some(&at_work), false).unwrap(), "audit: 1m 05s");
        let stage = |done| Some(Stage { what: "annealing up", done, of: 200, log_z: None });
        at_work.stage = stage(80);
        assert_eq!(task(Some(&at_work), false).unwrap(), "audit: 40 %");
        at_work.stage = stage(200);
        assert_eq!(task(Some(&at_work), false).unwrap(), "audit: 99 %");
        at_work.since = Instant::now();
        assert_eq!(task(Some(&at_work), false), None);
        assert!(task(Some(&at_work), true).unwrap().contains("Ctrl-C once more"));
        assert_eq!(task(None, false), None);
    }

    #[test]
    fn warnings_are_wrapped_and_indented() {
        let lines = wrap("warning: only 3 of 50 chains carry the gradient", 24, 4);
        assert_eq!(lines, ["warning: only 3 of 50", "    chains carry the", "    gradient"]);
    }
}
