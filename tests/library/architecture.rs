//! The rooms of docs/architecture.md: what a module of src imports lies below it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules from the lowest to the highest; those of one line do not know each other.
const FLOORS: [&str; 20] = [
    "error",
    "nearest memory trust numerics keys",
    "limited",
    "units",
    "collective",
    "context",
    "engine",
    "model",
    "data",
    "tempering",
    "checkpoint",
    "record",
    "tracking",
    "estimators",
    "config",
    "training",
    "live fit",
    "report",
    "cli",
    // The crate's root names them all.
    "lib main",
];

/// Imports that go upwards: module, what it imports, why.
const UPWARDS: [(&str, &str, &str); 4] = [
    ("units", "engine", "rows of packed bits are checked by the variables they are of"),
    (
        "engine",
        "model",
        "an engine is loaded with `Parameters`, and the one on Burn holds an `Rbm`",
    ),
    ("data", "checkpoint", "a download is written atomically"),
    ("config", "training", "the settings of rules, rates and early stopping lie beside these"),
];

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs") {
            out.push(path);
        }
    }
}

/// The modules of this crate that a text names after `crate::`, in a path or in braces.
fn named(code: &str) -> BTreeSet<String> {
    let word = |text: &str| {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            None => {
                found.insert(word(after));
            }
            Some(list) => {
                let (mut depth, mut start) = (0, true);
                for (i, c) in list.char_indices() {
                    if start && depth == 0 && !c.is_whitespace() {
                        found.insert(word(&list[i..]));
                    }
                    start = (c == ',' && depth == 0) || (start && c.is_whitespace());
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

/// Code without comments and without what follows `#[cfg(test)]`, which ends a file here.
fn code(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.split(' ').any(|name| name == module))
}

#[test]
fn imports_go_downwards() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut wrong, mut used) = (Vec::new(), Vec::new(), BTreeSet::new());
    sources(&root, &mut files);
    files.retain(|path| !path.components().any(|part| part.as_os_str() == "tests"));
    assert!(files.len() > 200, "{} files", files.len());
    let mut arrows = 0;
    for path in &files {
        let inside = path.strip_prefix(&root).unwrap();
        if inside.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs");
        let Some(own) = floor(module) else {
            wrong.push(format!("{module} has no floor in this table"));
            continue;
        };
        for other in named(&code(&std::fs::read_to_string(path).unwrap())) {
            let Some(theirs) = floor(&other).filter(|_| other != module) else { continue };
            arrows += 1;
            if theirs >= own {
                match UPWARDS.iter().position(|it| (it.0, it.1) == (module, other.as_str())) {
                    Some(exception) => drop(used.insert(exception)),
                    None => wrong.push(format!("{} imports {other}", inside.display())),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "imports that go upwards:\n{}", wrong.join("\n"));
    assert!(arrows > 500, "{arrows} imports found");
    let over: Vec<_> = (0..UPWARDS.len()).filter(|i| !used.contains(i)).collect();
    assert!(over.is_empty(), "exceptions that do not occur: {over:?}");
}

#[test]
fn names_in_braces_are_found() {
    let found = named("use crate::{ a::b, c::{d, e},\n f };\nuse crate::g::{h};\ncrate::i::j()");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "c", "f", "g", "i"]);
}

/// Crates that docs/architecture.md has a replacement for, and the one file that may name them.
const REPLACEABLE: [(&str, &str); 5] = [
    ("protobuf::", "record/messages.rs"),
    ("tensorboard_proto::", "record/messages.rs"),
    ("tensorboard_rs::", "record/messages.rs"),
    ("Device::ndarray()", "cli/device.rs"),
    ("Device::flex()", "cli/device.rs"),
];

#[test]
fn crates_to_be_replaced_are_named_in_one_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for (name, owner) in REPLACEABLE {
        let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
        let named: Vec<_> = files.iter().filter(|path| text(path).contains(name)).collect();
        assert_eq!(named, [&root.join(owner)], "{name}");
    }
}

/// Constants that have a name and a value in common and stand for different things, or that a kernel wants as its own: name, value.
const COINCIDENCES: [(&str, &str); 17] = [
    ("BLOCK", "64"),
    ("CHAINS", "100"),
    ("INDENT", "4"),
    ("LANES", "16"),
    ("LANES", "8"),
    ("LARGE", "64 << 20"),
    ("LONGEST", "1 << 16"),
    ("LONGEST", "256 << 20"),
    ("MANY", "1 << 22"),
    ("MOST_ROWS", "400"),
    ("MOST_STATES", "100_000"),
    ("PSEUDO_COUNT", "1.0"),
    ("ROUNDING", "1e-3"),
    ("SHOWN", "100"),
    ("SHOWN", "80"),
    ("STRETCH", "20"),
    ("TASK", "256"),
];

/// Name and value of a constant that is a number or a text.
fn constant(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once("const ").filter(|(before, _)| {
        let before = before.trim();
        before.is_empty() || before.starts_with("pub")
    })?;
    let (name, rest) = rest.split_once(':')?;
    let (_, value) = rest.split_once(" = ")?;
    let value = value.strip_suffix(';')?;
    value.starts_with(|c: char| c.is_ascii_digit() || c == '"').then_some((name, value))
}

/// A threshold that is written down twice is changed in one place only.
#[test]
fn a_number_stands_in_one_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut places) = (Vec::new(), BTreeMap::<(String, String), BTreeSet<_>>::new());
    sources(&root, &mut files);
    files.retain(|path| !path.to_string_lossy().contains("tests"));
    for path in &files {
        let text = code(&std::fs::read_to_string(path).unwrap());
        for (name, value) in text.lines().filter_map(constant) {
            let place = path.strip_prefix(&root).unwrap().to_path_buf();
            places.entry((name.into(), value.into())).or_default().insert(place);
        }
    }
    assert!(places.len() > 300, "{} constants", places.len());
    let known: BTreeSet<_> =
        COINCIDENCES.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let twice = places.iter().filter(|(_, files)| files.len() > 1);
    let wrong: Vec<_> = twice.clone().filter(|(constant, _)| !known.contains(*constant)).collect();
    assert!(wrong.is_empty(), "the same number in several files: {wrong:#?}");
    let found: BTreeSet<_> = twice.map(|(constant, _)| constant.clone()).collect();
    assert!(known.is_subset(&found), "no coincidence: {:?}", known.difference(&found));
}
