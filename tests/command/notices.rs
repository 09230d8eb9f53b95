//! Notices of a run: told once and counted, kept in notices.jsonl, counted in summary.json, and what `--quiet` leaves of them.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{summary, tiny, train};

#[test]
fn quiet_keeps_warnings_and_the_result_and_every_notice_is_counted() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    // Steps so large that the tracker complains.
    let settings = [
        "training.updates=300",
        "training.learning_rate.initial=5",
        "training.gradient={ kind = \"tempered\" }",
        "training.largest_step=1e9",
        "training.preconditioning=false",
        "evaluation.exact=false",
    ];
    let start = |name: &str, more: &[&str]| {
        let output = train(&config, &folder.path().join(name), &settings, more);
        let words = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (words(output.stdout), words(output.stderr))
    };
    let (result, told) = start("quiet", &["--quiet"]);
    assert!(result.contains("best model") && result.contains("validation log-lik."), "{result}");
    assert!(told.lines().all(|line| line.starts_with("warning: ")), "{told}");
    // The same run, not quiet: the same warnings, and more beside them.
    let (_, all) = start("loud", &[]);
    let warnings: Vec<&str> = all.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(told.lines().collect::<Vec<_>>(), warnings);
    assert!(all.contains("initial rounds converged"), "{all}");

    let path = folder.path().join("quiet");
    let lines = fs::read_to_string(path.join("notices.jsonl")).unwrap();
    assert_eq!(lines, fs::read_to_string(folder.path().join("loud/notices.jsonl")).unwrap());
    let (mut counts, mut first, mut last) = (BTreeMap::new(), BTreeMap::new(), 0);
    for line in lines.lines() {
        let notice: Value = serde_json::from_str(line).unwrap();
        let update = notice["update"].as_u64().unwrap();
        assert!(update >= last, "{line}");
        last = update;
        let kind = notice["kind"].as_str().unwrap().to_string();
        *counts.entry(kind.clone()).or_insert(0u64) += 1;
        first.entry(kind).or_insert((update, notice["level"].clone(), notice["text"].clone()));
    }
    assert_eq!(summary(&path)["notices"], serde_json::to_value(&counts).unwrap());
    assert!(counts["model-moved"] > 1, "{counts:?}");
    for (kind, count) in &counts {
        let (update, level, words) = &first[kind];
        if level != "warning" {
            continue;
        }
        let whole = format!("warning: update {update}: {}", words.as_str().unwrap());
        assert_eq!(told.lines().filter(|line| *line == whole).count(), 1, "{whole}\n{told}");
        // Said again at 10 and 100, and at the end.
        let again = told.lines().filter(|line| line.contains(&format!("({kind}, "))).count();
        assert!(again <= 3, "{told}");
        assert_eq!(again > 0, *count > 1, "{kind}: {count}\n{told}");
        let total = format!("({kind}, {count} times since update {update})");
        assert!(*count == 1 || told.contains(&total), "{total}\n{told}");
    }
}

/// A model that moves fast is information, in the first updates in words of their own; chains that lose the ladder later are a warning.
#[test]
fn leaps_are_information_and_a_lost_ladder_is_a_warning() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), folder.path().join("run"));
    let settings = [
        "training.updates=300",
        "training.learning_rate.initial=50",
        "training.gradient={ kind = \"tempered\" }",
        "training.largest_step=1e30",
        "training.preconditioning=false",
        "evaluation.exact=false",
        "evaluation.every=300",
    ];
    train(&config, &out, &settings, &[]);
    let lines = fs::read_to_string(out.join("notices.jsonl")).unwrap();
    let notices: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| notices.iter().filter(|n| n["kind"] == kind).cloned().collect::<Vec<_>>();
    let (first, later) = (of("first-corrections"), of("model-moved"));
    assert!(!first.is_empty() && !later.is_empty(), "{lines}");
    assert!(first.iter().all(|n| n["update"].as_u64() < Some(100) && n["level"] == "info"));
    assert!(later.iter().all(|n| n["update"].as_u64() >= Some(100) && n["level"] == "info"));
    let lost = of("ladder-lost");
    assert!(!lost.is_empty() && lost.iter().all(|n| n["level"] == "warning"), "{lines}");
}
