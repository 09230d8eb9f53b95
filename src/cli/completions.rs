//! `ztrack completions`: completions of shells and man pages, from the definition of the command line.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
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
    #[arg(value_parser = target())]
    target: Target,
    /// Folder for man pages, one a command [default: the page of ztrack itself on standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy)]
enum Target {
    Shell(Shell),
    Man,
}

/// The shells that clap knows, and man pages.
fn target() -> impl TypedValueParser<Value = Target> {
    let shells = Shell::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(shells.chain([PossibleValue::new("man")]))
        .map(|name| name.parse().map_or(Target::Man, Target::Shell))
}

impl Completions {
    /// Prints or writes.
    pub fn run(self) -> Result<()> {
        let mut command = super::Arguments::command();
        let Target::Shell(shell) = self.target else { return self.man_pages(command) };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "ztrack", &mut script);
        print_bytes(&script)
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
