//! Whether data are those that a run was trained on: its folder names files, which may have changed, or have others of their names beside them.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::run_folder::RunFolder;
use crate::data::Splits;
use crate::training::{Identity, Sums, refuse_other_rows};

/// Checksums of the rows of a run; `None` where neither a summary nor a state has them.
fn sums(run: &Path) -> Option<Sums> {
    let of_state = || Some(Identity::read(&RunFolder::state_at(run).ok()??).ok()?.rows().clone());
    let ended = RunFolder::summary(run).map(|summary| summary.data);
    ended.filter(|sums| !sums.is_empty()).or_else(of_state)
}

/// Refuses data that are not those of a run, if it says which these were.
pub fn check(run: &Path, splits: &Splits) -> Result<()> {
    let found = sums(run).map_or(Ok(()), |saved| refuse_other_rows(&saved, splits));
    found.with_context(|| {
        let run = run.display();
        format!("the data of {run} are not those it was trained on: put these back, or name the file whose rows you mean (--data)")
    })
}
