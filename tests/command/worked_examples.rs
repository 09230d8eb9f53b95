//! The commands of the worked examples in docs/choose-a-size.md, score-rows.md and fill-in-cells.md run as they stand there, on small tables
//! in place of the digits, with some rows of dna and few updates.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::common::{shared, ztrack};

const PAGES: [&str; 3] = ["choose-a-size", "score-rows", "fill-in-cells"];
/// Sizes and lengths that take seconds.
const SHORT: [(&str, &str); 3] = [
    ("16,64,256", "16,64"),
    ("10,50,200", "22,200"),
    ("training.updates=6000", "training.updates=60"),
];

/// Rows of each part of dna.
const DNA_ROWS: usize = 100;

/// The commands of the examples of a page, without their comments.
fn commands(page: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{page}.md"));
    let text = fs::read_to_string(path).unwrap();
    let examples = text.split("\n## ").filter(|part| part.starts_with("Example: "));
    let lines = examples.flat_map(str::lines).filter_map(|line| line.strip_prefix("    "));
    let words = |line: &str| {
        let line = line.split("  #").next().unwrap().replace('"', "");
        let short = SHORT.iter().fold(line, |line, (long, short)| line.replace(long, short));
        short.split_whitespace().map(String::from).collect()
    };
    lines.map(words).collect()
}

fn done(output: &Output, command: &[String]) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{}: {text}", command.join(" "));
    text
}

#[test]
fn the_commands_of_the_pages_run() {
    let Some(dna) = shared("datasets/dna") else { return };
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    fs::create_dir_all(here.join("datasets/dna")).unwrap();
    for name in ["dna.scale.tr", "dna.scale.val", "dna.scale.t"] {
        let rows = fs::read_to_string(dna.join(name)).unwrap();
        let rows: Vec<&str> = rows.lines().take(DNA_ROWS).collect();
        fs::write(here.join("datasets/dna").join(name), rows.join("\n") + "\n").unwrap();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::os::unix::fs::symlink(root.join("examples"), here.join("examples")).unwrap();
    // In place of the digits: 64 cells in two kinds of rows.
    let cell = |row: usize, i: usize, hole: bool| match (row * 7 + i * 5) % 11 {
        0 if hole => "?",
        0 | 1 => "1",
        _ if (i < 32) == row.is_multiple_of(2) => "1",
        _ => "0",
    };
    for (name, rows, hole) in
        [("digits.csv", 120, false), ("new.csv", 20, false), ("new-holes.csv", 20, true)]
    {
        let line = |row| (0..64).map(|i| cell(row, i, hole)).collect::<Vec<_>>().join(",") + "\n";
        fs::write(here.join(name), (0..rows).map(line).collect::<String>()).unwrap();
    }
    let mut ran = 0;
    for command in PAGES.iter().flat_map(|page| commands(page)) {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = match words[..] {
            // scikit-learn and a download.
            [_, _, "digits"] | ["ztrack", "data", "fetch", _] => continue,
            ["ztrack", "sweep", ..] => {
                let few = ["--set", "training.updates=60", "--set", "audit.models=1"];
                ztrack().current_dir(here).args(&words[1..]).args(few).output().unwrap()
            }
            ["ztrack", ..] => ztrack().current_dir(here).args(&words[1..]).output().unwrap(),
            _ => Command::new(words[0]).current_dir(here).args(&words[1..]).output().unwrap(),
        };
        let text = done(&output, &command);
        let expected = match words[1..] {
            ["sweep", ..] => "from the best",
            [_, "filled", ..] => "% right; the commonest value",
            [_, "higher", ..] => "of 100 rows score higher",
            [_, "dna", ..] => "dna-holes.csv: 100 rows of 180 columns",
            ["evaluate", ..] => "the run's audit",
            _ => "missing cells of",
        };
        assert!(text.contains(expected), "{}: {text}", command.join(" "));
        ran += 1;
    }
    assert_eq!(ran, 11);
}
