//! `ztrack completions`: completions of shells and man pages, from the definition of the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::output::{print_bytes, tell};

/// Print completions for a shell, or write man pages
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack completions bash > ~/.local/share/bash-completion/completions/ztrack\n  \
    ztrack completions zsh > ~/.zfunc/_ztrack\n  \
    ztrack completions fish > ~/.config/fish/completions/ztrack.fish\n  \
    ztrack completions man --out ~/.local/share/man/man1")]
pub struct Completions {
    /// The shell; man for man pages
    #[arg(value_enum)]
    target: Target,
    /// Folder for man pages, one a command [default: the page of ztrack itself on standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
    Man,
}

impl Completions {
    /// Prints or writes.
    pub fn run(self) -> Result<ExitCode> {
        let mut command = super::Arguments::command();
        let shell = match self.target {
            Target::Bash => Shell::Bash,
            Target::Elvish => Shell::Elvish,
            Target::Fish => Shell::Fish,
            Target::PowerShell => Shell::PowerShell,
            Target::Zsh => Shell::Zsh,
            Target::Man => {
                self.man_pages(command)?;
                return Ok(ExitCode::SUCCESS);
            }
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "ztrack", &mut script);
        print_bytes(&script)?;
        Ok(ExitCode::SUCCESS)
    }

    fn man_pages(&self, command: clap::Command) -> Result<()> {
        let Some(folder) = &self.out else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            return print_bytes(&page);
        };
        let problem = || format!("cannot write man pages to {}", folder.display());
        std::fs::create_dir_all(folder).with_context(problem)?;
        clap_mangen::generate_to(command, folder).with_context(problem)?;
        tell(&format!("man pages written to {}", folder.display()));
        Ok(())
    }
}
