//! Output of a failed command: one line on standard error that begins with `error:`.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::output::tell;
use crate::config::{all_keys, called_elsewhere};

/// Exit code of any other failure.
const FAILURE: u8 = 1;
/// Exit code of an invalid command line or configuration.
const USAGE: u8 = 2;
/// Exit code of a result in doubt, with `--strict`.
const IN_DOUBT: u8 = 3;

/// Exit code of a command that has a result.
pub fn strict_code(strict: bool, sound: bool) -> ExitCode {
    if strict && !sound { ExitCode::from(IN_DOUBT) } else { ExitCode::SUCCESS }
}

/// An error and its causes, from the outermost context inwards.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // Errors of this library include their cause in the text, and are links of the chain as well.
        if !message.contains(&cause) {
            message += if message.is_empty() { "" } else { ": " };
            message += &cause;
        }
    }
    message
}

/// A failed command. Returns its exit code.
pub fn of_command(error: &anyhow::Error) -> u8 {
    tell(&format!("error: {}", one_line(&with_causes(error))));
    let mistake = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(crate::Error::Config { place: Some(_), .. }))
    };
    if error.chain().any(mistake) { USAGE } else { FAILURE }
}

/// The typed command line is invalid.
pub fn mistake(typed: &str, problem: impl Into<String>) -> anyhow::Error {
    crate::Error::config_at(typed, problem).into()
}

/// A command line that cannot be parsed, or one for help or the version.
pub fn of_arguments(error: &clap::Error) -> ExitCode {
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if asked {
        return match error.print() {
            Err(problem) if problem.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
            _ => ExitCode::from(error.exit_code() as u8),
        };
    }
    let mut message = shortened(&error.to_string());
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && let Some(set) = setting_meant(option, std::env::args().skip(1))
    {
        message =
            format!("error: there is no option {option}: keys of a configuration are set by {set}");
    } else if error.get(ContextKind::InvalidArg).is_some_and(is_verbose) {
        message = "error: there is no option for more output here: progress and warnings are shown, and -q shows less; `ztrack --version` prints the version".into();
    }
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(command) = command_meant(word)
    {
        message = format!("error: there is no `ztrack {word}`: use {command}");
    }
    tell(&message);
    ExitCode::from(USAGE)
}

/// Whether an argument asks for more output, or by `-v` for the version.
fn is_verbose(argument: &ContextValue) -> bool {
    matches!(argument, ContextValue::String(option) if ["-v", "-vv", "--verbose"].contains(&option.as_str()))
}

/// What does the work of a command that other programs have under this name.
fn command_meant(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "resume" | "continue" | "restart" => "ztrack train --resume --out RUN",
        "fit" | "run" | "learn" => "ztrack train my.csv",
        "score" | "score_samples" | "score-samples" | "predict" | "likelihood" => {
            "ztrack evaluate RUN --data my.csv --per-row scores.csv"
        }
        "test" | "validate" => "ztrack evaluate RUN --data test",
        "generate" | "draw" => "ztrack sample RUN --count 100 --out samples.csv",
        "fill" | "complete" | "inpaint" => "ztrack impute RUN my.csv --out filled.csv",
        "features" | "encode" | "embed" => "ztrack transform RUN --out features.npy",
        "plot" | "show" | "view" => "ztrack report RUN (figures on one page)",
        "serve" | "web" | "dashboard" => {
            "ztrack report --all runs (one page of all runs, to open in a browser)"
        }
        "list" | "ls" | "status" => "ztrack runs",
        "tune" | "grid" | "search" => "ztrack sweep my.csv --over model.hidden=16,64",
        "logz" | "log-z" | "partition" | "ais" => "ztrack estimate MODEL",
        "describe" | "info" | "inspect" => "ztrack data describe my.csv",
        "fetch" | "download" => "ztrack data fetch NAME",
        "tensorboard" => "tensorboard --logdir runs",
        "watch" => {
            "tensorboard --logdir runs, or a build with the feature watch (cargo install --path . --features watch)"
        }
        _ => return None,
    })
}

/// Commands that take `--set`.
const WITH_KEYS: [&str; 4] = ["train", "sweep", "init", "data"];

/// How to set a key whose name was typed as an option, as in `--epochs 5`; `typed`: all that was typed.
fn setting_meant(option: &str, mut typed: impl Iterator<Item = String>) -> Option<String> {
    typed.find(|word| WITH_KEYS.contains(&word.as_str()))?;
    let name = option.trim_start_matches('-').split('=').next()?;
    let word = name.replace('-', "_");
    let key = called_elsewhere(&word).or_else(|| all_keys().find(|key| key.last() == word))?;
    let at = typed.find(|part| part.trim_start_matches('-').split('=').next() == Some(name))?;
    let value = match at.split_once('=') {
        Some((_, value)) => Some(value.to_string()),
        None => typed.next().filter(|next| !next.starts_with('-')),
    };
    let value = value.unwrap_or_else(|| key.example.trim_matches('"').into());
    Some(format!("--set {}={value}", key.name))
}

/// The paragraphs of clap on one line, without the usage, which `--help` shows better.
fn shortened(message: &str) -> String {
    let paragraphs = message.split("\n\n").filter(|paragraph| {
        let start = paragraph.trim_start();
        !["Usage:", "For more information", "tip: to pass"]
            .iter()
            .any(|useless| start.starts_with(useless))
    });
    let texts: Vec<String> = paragraphs.map(one_line).filter(|text| !text.is_empty()).collect();
    format!("{}; --help tells more", texts.join("; "))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_other_programs_lead_to_keys() {
        let meant = |typed: &[&str]| {
            let option = typed.iter().find(|part| part.starts_with('-')).unwrap();
            setting_meant(option, typed.iter().map(ToString::to_string))
        };
        for (typed, expected) in [
            (&["train", "x", "--epochs", "5"][..], "--set training.epochs=5"),
            (&["train", "--lr=0.1", "x"], "--set training.learning_rate=0.1"),
            (&["train", "--batch-size", "50"], "--set training.batch=50"),
            (&["train", "--hidden", "64"], "--set model.hidden=64"),
            (&["train", "--log", "50"], "--set evaluation.every=50"),
        ] {
            assert_eq!(meant(typed).as_deref(), Some(expected));
        }
        assert_eq!(meant(&["train", "--nonsense", "5"]), None);
        assert_eq!(meant(&["estimate", "model.safetensors", "--batch", "5"]), None);
    }

    #[test]
    fn commands_of_other_programs_lead_to_those_that_are_there() {
        for (word, expected) in [
            ("resume", "train --resume --out"),
            ("fit", "ztrack train"),
            ("score", "--per-row"),
            ("generate", "ztrack sample"),
            ("Plot", "ztrack report"),
            ("serve", "report --all"),
        ] {
            assert!(command_meant(word).unwrap().contains(expected), "{word}");
        }
        assert_eq!(command_meant("frobnicate"), None);
    }

    #[test]
    fn messages_become_one_line() {
        let message = "error: unexpected argument '--sed' found\n\n  tip: a similar argument exists: '--seed'\n\nUsage: ztrack estimate\n\nFor more information, try '--help'.\n";
        assert_eq!(
            shortened(message),
            "error: unexpected argument '--sed' found; tip: a similar argument exists: '--seed'; --help tells more"
        );
    }
}
