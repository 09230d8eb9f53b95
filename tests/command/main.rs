//! Tests of the command `ztrack`: each runs it as users do.

mod cli_bad_input;
mod cli_commands;
#[path = "../common/mod.rs"]
mod common;
mod damaged_runs;
mod data_download;
#[path = "../files/mod.rs"]
mod files;
mod first_minutes;
mod hand_made_states;
mod live_display;
mod memory_limits;
mod missing_cells;
mod mistakes;
mod notices;
mod report;
mod resume;
mod run_folder;
mod run_identity;
mod schedule_options;
#[path = "../server/mod.rs"]
mod server;
#[path = "../attack/shim.rs"]
mod shim;
mod signals;
#[path = "../states/mod.rs"]
mod states;
mod sweep;
mod terminal;
mod worked_examples;
