//! The command line: one file per command, each parse -> build -> run -> report.

mod about;
mod column_options;
mod compare;
mod curves;
mod data;
mod data_options;
mod device;
mod estimate;
mod evaluate;
mod failure;
mod log_z;
mod method;
mod model_options;
mod output;
mod problem;
mod provenance;
mod report;
mod resume;
mod run_folder;
mod run_lock;
mod runs;
mod sample;
mod schedule_options;
mod signals;
mod start_options;
mod summary;
mod table;
mod teller;
pub mod terminal;
mod train;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::ops::cpu::InstructionSet;

/// Each thread takes memory; more than this is a slip of the finger.
const MOST_THREADS: usize = 1024;

/// Train restricted Boltzmann machines and see log Z, with an error bar, while they train.
#[derive(Parser)]
#[command(name = "ztrack", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Threads for kernels; the result does not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
}

#[derive(Subcommand)]
enum Command {
    Train(train::Train),
    Estimate(estimate::Estimate),
    Evaluate(evaluate::Evaluate),
    Sample(sample::Sample),
    Report(report::Report),
    Runs(runs::Runs),
    Compare(compare::Compare),
    Data(data::Data),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => run(arguments).unwrap_or_else(|error| failure::of_command(&error)),
        Err(error) => failure::of_arguments(&error),
    }
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    InstructionSet::check_wish()?;
    if let Some(threads) = arguments.threads {
        anyhow::ensure!(
            (1..=MOST_THREADS).contains(&threads),
            "--threads: {threads} is not between 1 and {MOST_THREADS}"
        );
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .with_context(|| format!("--threads {threads}"))?;
    }
    match arguments.command {
        Command::Train(command) => command.run(),
        Command::Estimate(command) => command.run(),
        Command::Evaluate(command) => command.run(),
        Command::Sample(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Runs(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Data(command) => command.run(),
    }
}
