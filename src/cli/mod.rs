//! The command line: one file per command, each parse -> build -> run -> report.

mod device;
mod run_folder;
mod train;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

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
    /// Train a model, log Z and log-likelihoods tracked on the fly
    Train(train::Train),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            // One line: what failed, and why, from the outermost context inwards.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    if let Some(threads) = arguments.threads {
        anyhow::ensure!(threads > 0, "--threads: at least 1 is needed");
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    match arguments.command {
        Command::Train(command) => command.run(),
    }
}
