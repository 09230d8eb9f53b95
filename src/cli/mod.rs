//! The command line: one file per command, each parse -> build -> run -> report.

mod about;
mod allocator;
mod column_options;
mod compare;
mod completed;
mod completions;
mod config;
mod curves;
mod data;
mod data_file;
mod data_options;
mod device;
mod dry_run;
mod estimate;
mod evaluate;
mod failure;
mod impute;
mod log_z;
mod machine;
mod model_options;
mod other_rank;
mod output;
mod own_rows;
mod provenance;
mod ranks;
mod recipe;
mod report;
mod resume;
mod row_file;
mod row_options;
mod run_folder;
mod run_lock;
mod runs;
mod sample;
mod schedule_options;
mod search;
mod search_plan;
mod search_trial;
mod search_walk;
mod shared_start;
mod signals;
mod start_options;
mod state_files;
mod summary;
mod sweep;
mod sweep_axis;
mod sweep_processes;
mod sweep_stop;
mod sweep_table;
mod table;
mod teller;
pub mod terminal;
mod train;
mod transform;
#[cfg(feature = "watch")]
mod watch;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

pub use allocator::Allocator;
pub use search::MINUTES;

use crate::context::Context;
use crate::engine::host::{InstructionSet, Tuning};

/// Each thread needs memory; a larger number is a typing mistake.
const MOST_THREADS: usize = 1024;

/// Output of `ztrack` without arguments.
const FIRST_STEPS: &str = "Three commands to try:\n  \
    ztrack train bars-and-stripes    train on a built-in data set, less than a minute\n  \
    ztrack train my.csv              train on a table of your own\n  \
    ztrack config list               configurations that are built in";

/// Train restricted Boltzmann machines and see log Z, with an error bar, while they train.
#[derive(Parser)]
#[command(name = "ztrack", version, disable_version_flag = true, about, max_term_width = 100, after_help = FIRST_STEPS)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Threads for kernels; the result does not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
    /// Print version
    #[arg(short = 'V', long)]
    version: bool,
    /// With --version: processor, instruction sets, and the kernels chosen for them
    #[arg(long, requires = "version")]
    verbose: bool,
}

#[derive(Subcommand)]
enum Command {
    Train(train::Train),
    Sweep(sweep::Sweep),
    Estimate(estimate::Estimate),
    Evaluate(evaluate::Evaluate),
    Sample(sample::Sample),
    Impute(impute::Impute),
    Transform(transform::Transform),
    Report(report::Report),
    Runs(runs::Runs),
    Compare(compare::Compare),
    #[cfg(feature = "watch")]
    Watch(watch::Watch),
    Data(data::Data),
    Config(config::Config),
    Init(data_file::Init),
    Completions(completions::Completions),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => match ranks::Job::begin(arguments.is_shared()) {
            Ok(job) => {
                let result = run(arguments, job.threads(), &job.context());
                job.end(result)
            }
            Err(code) => code,
        },
        Err(error) => failure::of_arguments(&error),
    }
}

impl Arguments {
    /// Whether several processes may run the command together.
    fn is_shared(&self) -> bool {
        matches!(self.command, Some(Command::Train(_) | Command::Estimate(_)))
    }
}

/// Runs a command; `usual`: default number of threads, if not one for each processor.
fn run(arguments: Arguments, usual: Option<usize>, context: &Context) -> Result<ExitCode> {
    InstructionSet::check_wish()?;
    Tuning::check_wish()?;
    let threads = arguments.threads.or(usual);
    if let Some(threads) = threads {
        anyhow::ensure!(
            (1..=MOST_THREADS).contains(&threads),
            "--threads: {threads} is not between 1 and {MOST_THREADS}"
        );
    }
    // Started here, where a lack of memory or of processes is an error with a message.
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build_global()
        .context("cannot start threads; a smaller number of them: --threads N")?;
    let done = |()| ExitCode::SUCCESS;
    if arguments.version {
        let short = concat!("ztrack ", env!("CARGO_PKG_VERSION"), "\n");
        let text = if arguments.verbose { machine::about() } else { short.into() };
        return output::print(&text).map(done);
    }
    let Some(command) = arguments.command else {
        return output::print(&format!("{FIRST_STEPS}\n\nztrack --help tells more\n")).map(done);
    };
    let run = || match command {
        Command::Train(command) => command.run(context),
        Command::Sweep(command) => command.run(context),
        Command::Estimate(command) => command.run(context),
        Command::Evaluate(command) => command.run(context),
        Command::Sample(command) => command.run(context),
        Command::Impute(command) => command.run(context),
        Command::Transform(command) => command.run().map(done),
        Command::Report(command) => command.run().map(done),
        Command::Runs(command) => command.run().map(done),
        Command::Compare(command) => command.run().map(done),
        #[cfg(feature = "watch")]
        Command::Watch(command) => command.run().map(done),
        Command::Data(command) => command.run(context).map(done),
        Command::Config(command) => command.run().map(done),
        Command::Init(command) => command.run().map(done),
        Command::Completions(command) => command.run().map(done),
    };
    // On a thread of the pool, parallel work begins at once; from outside, every call would first have to wake a thread, which takes longer
    // than the work of a small model. MPI is called from the main thread alone.
    if context.ranks().size() > 1 { run() } else { rayon::scope(|_| run()) }
}
