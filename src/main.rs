//! The command `ztrack`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ztrack::cli::main()
}
