//! The command `ztrack`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: ztrack::cli::Allocator = ztrack::cli::Allocator;

fn main() -> ExitCode {
    ztrack::cli::main()
}
