//! The trial runs by which `training.preset = "best"` chose settings.

use super::page::{Section, cell, number_cell, table};
use super::results::difference;
use super::run_files::RunFiles;

/// Folder of the trial runs in the folder of the run.
pub const SEARCH: &str = "search";

/// The trials, best first; empty for a run without.
pub fn section(run: &RunFiles) -> Section {
    let section = Section::new("Settings tried");
    let entries = std::fs::read_dir(run.folder.join(SEARCH)).into_iter().flatten().flatten();
    let read = |entry: std::fs::DirEntry| RunFiles::read(&entry.path(), false).ok();
    let mut tried: Vec<RunFiles> = entries.filter_map(read).collect();
    if tried.is_empty() {
        return section;
    }
    tried.sort_by(|a, b| b.score().total_cmp(&a.score()).then_with(|| a.name.cmp(&b.name)));
    let columns = [
        "trial",
        "hidden units",
        "weight decay",
        "learning rate",
        "updates",
        "validation",
        "from the best",
        "time",
    ];
    let row = |trial: &RunFiles| {
        let cell = |column| match column {
            "trial" => cell(trial.name.clone()),
            "from the best" => number_cell(difference(&tried[0], trial, "validation")),
            column => number_cell(trial.result(column)),
        };
        columns.map(cell).into()
    };
    section
        .paragraph("Short runs before this one, best first. Validation rows decided; a setting was changed only for a difference larger than its error.")
        .with(table(&columns, tried.iter().map(row).collect()))
}
