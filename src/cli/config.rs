//! `ztrack config`: the configurations that are built in, and what every key means.

use anyhow::Result;
use clap::{Args, Subcommand};

use super::failure::mistake;
use super::output::print;
use crate::config::{SHIPPED, explain, markdown, schema, shipped};
use crate::nearest::did_you_mean;

/// List and show built-in configurations, explain keys
#[derive(Args)]
pub struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the configurations that are built in
    List,
    /// Print one of them
    Show {
        /// Its name
        name: String,
    },
    /// Explain a key, a section, or list all keys: what it takes, default, unit, meaning
    Explain {
        /// A key, as in training.gradient; all keys without it
        key: Option<String>,
        /// All keys as Markdown: docs/configuration.md
        #[arg(long, conflicts_with = "key")]
        markdown: bool,
    },
    /// Print the JSON schema of a configuration, with which editors complete and check one: configs/schema.json
    Schema,
}

impl Config {
    /// Prints the requested text.
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::List => {
                SHIPPED.iter().try_for_each(|it| print(&format!("{:<18}{}\n", it.name, it.what)))
            }
            Command::Show { name } => match shipped(&name) {
                Some(shipped) => print(shipped.text),
                None => {
                    let names: Vec<_> = SHIPPED.iter().map(|shipped| shipped.name).collect();
                    let problem = format!("is not built in; {}", did_you_mean(&name, &names));
                    Err(mistake(&name, problem))
                }
            },
            Command::Schema => print(&schema()),
            Command::Explain { markdown: true, .. } => print(&markdown()),
            Command::Explain { key, .. } => print(&explain(key.as_deref())?),
        }
    }
}
