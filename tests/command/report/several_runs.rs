//! Lists and comparisons of runs, and what an extended run leaves of its older end.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{contains, finished, page};
use crate::common::{json, number, run, succeed, summary, text, tiny};
#[cfg(unix)]
use crate::common::{metrics_lines, send, wait_for, ztrack};

/// Finished, extended, and interrupted in the extension: nothing says that it ended where it first did.
#[cfg(unix)]
#[test]
fn an_interrupted_extension_leaves_no_older_end() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    finished(folder.path(), &out, &[]);
    let end = ["summary.json", "last.safetensors", "report.html", "curves.svg"];
    assert!(end.iter().all(|name| out.join(name).exists()));
    // To the same end again: it stays.
    succeed(&["train", "--resume", "-q", "--out", &text(&out)]);
    assert!(end.iter().all(|name| out.join(name).exists()));
    let mut command = ztrack();
    command.args(["train", "--resume", "-q", "--out"]).arg(&out);
    command.args(["--set", "training.updates=1000000", "--set", "audit.every=0"]);
    let child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_for("rows", || metrics_lines(&out) >= 12);
    let listed = succeed(&["runs", &text(&out)]);
    assert!(listed.contains("running"), "{listed}");
    send(&child, "-INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    for name in end {
        assert!(!out.join(name).exists(), "{name} is that of the first end");
    }
    assert!(out.join("best.safetensors").exists());
    let listed = succeed(&["runs", &text(&out)]);
    assert!(listed.contains("interrupted") && listed.contains("of 1000000"), "{listed}");
}

#[test]
fn runs_are_listed_with_their_state() {
    let folder = TempDir::new().unwrap();
    let runs = folder.path().join("runs");
    finished(folder.path(), &runs.join("first"), &[]);
    // Weights beyond all measure end the run with an error.
    let config = tiny(folder.path());
    let failed = text(&runs.join("second"));
    let output = run(&[
        "train",
        &config,
        "-q",
        "--out",
        &failed,
        "--set",
        "training.learning_rate.initial=1e9",
    ]);
    assert!(!output.status.success());
    let listed = succeed(&["runs", &text(&runs)]);
    assert!(
        listed.contains("finished") && listed.contains("failed") && listed.contains("first"),
        "{listed}"
    );
    let json = json(&["runs", &text(&runs), "--json"]);
    let first = json.as_array().unwrap().iter().find(|line| line["name"] == "first").unwrap();
    let best = &summary(&runs.join("first"))["best"];
    assert_eq!(first["best"], best["update"]);
    assert_eq!(first["best_validation_log_likelihood"], best["validation_log_likelihood"]["value"]);
    succeed(&["report", &failed, "--seconds", "0.1"]);
    let html = fs::read_to_string(Path::new(&failed).join("report.html")).unwrap();
    contains(&html, &["The run failed", "diverged", "lower training.learning_rate.initial"]);
}

/// One page with a table to sort, best first, and links to the reports of the runs, whatever their names.
#[test]
fn all_runs_of_a_folder_are_on_one_page() {
    let folder = TempDir::new().unwrap();
    let runs = folder.path().join("runs");
    let names = ["a #1: 50%", "second"];
    finished(folder.path(), &runs.join(names[0]), &["training.updates=5"]);
    finished(folder.path(), &runs.join(names[1]), &["training.updates=60"]);
    fs::remove_file(runs.join("second").join("report.html")).unwrap();
    succeed(&["report", "--all", &text(&runs)]);
    let html = page(&runs.join("report.html"));
    contains(&html, &["sorted", "href=\"./a%20%231%3A%2050%25/report.html\"", "<td>second</td>"]);
    let value = |name: &str| {
        number(&summary(&runs.join(name))["best"]["validation_log_likelihood"]["value"])
    };
    let rows = html.split_once("<tbody>").unwrap().1;
    let first = if value("second") > value(names[0]) { "second" } else { names[0] };
    let other = if first == "second" { names[0] } else { "second" };
    assert!(rows.find(first).unwrap() < rows.find(other).unwrap());
    // Again without a question, and elsewhere with whole paths.
    succeed(&["report", "--all", &text(&runs)]);
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let none = run(&["report", "--all", &text(&elsewhere)]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("no runs in"));
    succeed(&["report", "--all", &text(&runs), "--out", &text(&elsewhere.join("all.html"))]);
    let html = page(&elsewhere.join("all.html"));
    assert!(html.contains("report.html") && !html.contains("href=\"./"));
}

#[test]
fn two_runs_are_compared() {
    let folder = TempDir::new().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    finished(folder.path(), &first, &[]);
    finished(folder.path(), &second, &["training.batch=32", "training.updates=40"]);
    let told = succeed(&["compare", &text(&first), &text(&second)]);
    let value = |out: &Path| number(&summary(out)["best"]["test_log_likelihood"]["value"]);
    let difference = format!("{:+.3} ± 0.000 from log Z, at most", value(&second) - value(&first));
    contains(&told, &["training.batch", "16", "32", &difference, "times", "finished"]);
    assert!(!told.contains("model.hidden"), "{told}");
    let out = folder.path().join("both.html");
    succeed(&["report", &text(&first), &text(&second), "--out", &text(&out)]);
    contains(
        &page(&out),
        &["first", "second", "training.batch", "Validation log-likelihood against seconds"],
    );
}
