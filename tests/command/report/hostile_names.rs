//! Names that try to be more than text: of runs, files, columns and states.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::page;
use crate::common::{succeed, text};

/// Every mark of Unicode that changes the direction of the text after it.
const MARKS: [char; 12] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// Nothing in a page reorders text, is markup, or is a control character, whatever the names are that the page shows.
#[test]
fn names_are_text_and_keep_the_direction_of_the_text_around_them() {
    let folder = TempDir::new().unwrap();
    let marks: String = MARKS.iter().collect();
    let evil = |word: &str| format!("{word}{marks}<script>\u{1b}[31m");
    let rows = [
        format!("{},{},class\n", evil("kind"), evil("size")),
        format!("{},{},0\ndog,big,1\ndog,{},1\n", evil("cat"), evil("small"), evil("small"))
            .repeat(40),
    ];
    let data = folder.path().join(evil("data").replace('/', "") + ".csv");
    fs::write(&data, rows.concat()).unwrap();
    let runs = ["one", "two"].map(|name| text(&folder.path().join(evil(name))));
    for run in &runs {
        let short = ["--set", "training.updates=40", "--set", "model.hidden=3", "-q"];
        succeed(&[&["train", &text(&data), "--out", run], &short[..]].concat());
    }
    let several = text(&folder.path().join("several.html"));
    succeed(&["report", &runs[0], &runs[1], "--out", &several]);
    let of_run = |name| Path::new(&runs[0]).join(name);
    for path in [of_run("report.html"), several.into()] {
        let shown = page(&path);
        assert!(shown.contains("one\u{fffd}"), "the name of the run is not shown: {path:?}");
    }
    for path in [of_run("report.html"), of_run("curves.svg"), folder.path().join("several.html")] {
        let written = fs::read_to_string(&path).unwrap();
        let found = written.chars().find(|&c| MARKS.contains(&c) || c != '\n' && c.is_control());
        assert_eq!(found, None, "{path:?}");
    }
}
