//! The report of a run: its numbers are those of summary.json, it needs nothing else, and a part that is missing takes nothing
//! else away.

mod hostile_names;
mod several_runs;

use std::fs;
use std::path::Path;

use roxmltree::{Document, ParsingOptions};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{number, run, shared, succeed, summary, text, tiny, train};

/// Largest page, in bytes.
const LARGEST: usize = 2 << 20;

/// The page, once it has been found to be what every page must be.
fn page(path: &Path) -> String {
    let html = fs::read_to_string(path).unwrap();
    assert!(html.len() < LARGEST, "{} bytes", html.len());
    // Pictures are letters and digits of any order.
    let words: String =
        html.split("base64,").map(|part| part.split_once('"').map_or(part, |p| p.1)).collect();
    // Pages of several runs sort their table by a script of their own.
    let scripts: Vec<&str> = words.split("<script>").skip(1).collect();
    assert!(scripts.iter().all(|script| script.starts_with("addEventListener('click'")));
    let words = words.replace("<script>addEventListener", "");
    for foreign in ["http", "<script", "url(", "@import", "NaN", "inf "] {
        assert!(!words.contains(foreign), "{foreign}: {words:.200}");
    }
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&html, options).unwrap();
    let mut figures = 0;
    for figure in document.descendants().filter(|node| node.has_tag_name("figure")) {
        let parts = |name| figure.descendants().filter(move |node| node.has_tag_name(name));
        let title = parts("h3").next().unwrap().text().unwrap();
        let shown = parts("svg").chain(parts("img")).chain(parts("table")).chain(parts("pre"));
        assert!(shown.count() > 0, "{title}");
        let sentence = parts("figcaption").next().unwrap().text().unwrap();
        assert!(sentence.starts_with("Healthy: ") && sentence.contains("; here: "), "{title}");
        assert!(!sentence.contains("here: .") && sentence.ends_with('.'), "{title}: {sentence}");
        assert!(!sentence.ends_with(".."), "{title}: {sentence}");
        figures += 1;
    }
    assert!(figures >= 1, "no figure");
    words
}

fn contains(page: &str, expected: &[&str]) {
    for text in expected {
        assert!(page.contains(text), "`{text}` is missing");
    }
}

/// A finished tiny run.
fn finished(folder: &Path, out: &Path, settings: &[&str]) {
    train(&tiny(folder), out, settings, &["-q"]);
}

/// Samples are letters with their logos, or cells with the names of columns and states.
#[test]
fn samples_are_in_the_words_of_the_data() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let sequences = file("s.fasta", ">a\nACAGT-\n>b\nAC-TAA\n>c\nTTGTAA\n".repeat(60));
    let pets =
        file("p.csv", format!("kind,size\n{}", "cat,small\ndog,big\ndog,small\n".repeat(60)));
    let page_of = |data: &str| {
        let out = format!("{data}.run");
        let settings = ["--set", "training.updates=200", "--set", "model.hidden=3", "-q"];
        succeed(&[&["train", data, "--out", &out], &settings[..]].concat());
        page(&Path::new(&out).join("report.html"))
    };
    let of_sequences = page_of(&sequences);
    let expected =
        ["Letters of states of the model, above", "of 6 variables on average", ">A</text>"];
    contains(&of_sequences, &expected);
    let samples = of_sequences.lines().filter(|line| line.contains("row, ")).count();
    assert!(samples >= 8 && of_sequences.contains("two variables"), "{samples}");
    let of_pets = page_of(&pets);
    contains(
        &of_pets,
        &["<th>kind</th><th>size</th>", "<td>dog</td><td>big</td>", "Frequencies of states"],
    );
    assert!(!of_pets.contains("Letters of states"));
}

#[test]
fn the_verdict_has_the_numbers_of_the_summary() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    finished(folder.path(), &out, &[]);
    let page = page(&out.join("report.html"));
    let best = &summary(&out)["best"];
    let test = &best["test_log_likelihood"];
    let expected = format!("{:.3} ± {:.3}", number(&test["value"]), number(&test["std_error"]));
    contains(&page, &[&expected, &format!("{:.3} (exact)", number(&best["log_z"]))]);
    contains(&page, &[&format!("update {} of 20", best["update"]), "Sound: ", "by enumeration"]);
    for heading in [
        "Verdict",
        "Log-likelihood",
        "log Z",
        "Estimates of log Z",
        "Occupancy against the prior",
        "Transitions between temperatures",
        "conductance",
        "Ways of 4 chains",
        "R-hat",
        "Filters",
        "Samples of the model",
        // Judged figures have a mark.
        "✓ Transitions between temperatures",
        "Shares of groups of similar rows",
        "training rows in place of the model's states: correlation",
        "Means of single units",
        "Covariances",
        "Seconds by part",
        "Configuration",
        "reverse AIS",
        "RTS, fresh chains",
        "source",
    ] {
        contains(&page, &[heading]);
    }
    let svg = fs::read_to_string(out.join("curves.svg")).unwrap();
    Document::parse(&svg).unwrap();
    contains(&svg, &["validation", "parameter updates", "nats per row"]);
}

#[test]
fn the_summary_says_what_the_run_was() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    finished(folder.path(), &out, &["training.batch=17"]);
    let summary = summary(&out);
    assert_eq!(
        (&summary["seed"], &summary["version"]),
        (&3.into(), &env!("CARGO_PKG_VERSION").into())
    );
    assert_eq!(summary["configuration"]["training"]["batch"], 17);
    assert!(summary["command"].as_str().unwrap().contains("--set training.batch=17"));
    assert!(summary["date"].as_str().unwrap().starts_with("20"));
    assert!(summary["threads"].as_u64().unwrap() >= 1);
    assert_eq!(summary["data"]["training"].as_str().unwrap().len(), 64);
    let times = summary["times"].as_object().unwrap();
    let known: f64 = times.values().map(number).sum();
    assert!(times.len() == 7 && known > 0.0 && known <= number(&summary["seconds"]), "{times:?}");
}

/// The best simple model on held-out rows stands beside the RBM, with the error of the mean of the differences: a model that is too small
/// is below it, and the last lines and the verdict say so.
#[test]
fn a_run_that_is_worse_than_a_simple_model_says_so() {
    let folder = TempDir::new().unwrap();
    // Two bits of ten are copies of others: a tree has them, one hidden unit after few updates not.
    let row = |n: usize| {
        let bit = |i: usize| (n * 2_654_435_761) >> (i % 8 + 3) & 1;
        (0..10).map(|i| bit(i).to_string()).collect::<Vec<_>>().join(",") + "\n"
    };
    let data = folder.path().join("rows.csv");
    fs::write(&data, (0..900).map(row).collect::<String>()).unwrap();
    let out = folder.path().join("out");
    let settings = ["--set", "model.hidden=1", "--set", "training.updates=100", "-q"];
    let said = succeed(&[&["train", &text(&data), "--out", &text(&out)], &settings[..]].concat());
    assert!(said.contains("the simple models (Chow-Liu tree"), "{said}");
    assert!(said.contains("nats per row worse: more hidden units"), "{said}");
    contains(&page(&out.join("report.html")), &["nats per row worse: more hidden units"]);
    let summary = summary(&out);
    let (best, simple) = (&summary["best"]["test_log_likelihood"], &summary["comparison"]);
    assert_eq!(simple["part"], "test");
    let difference = number(&best["value"]) - number(&simple["mean"]);
    assert!((difference - number(&simple["difference"])).abs() < 1e-9);
    let (error, apart) = (
        number(&simple["difference_std_error"]),
        number(&best["std_error"]).hypot(number(&simple["std_error"])),
    );
    assert!(
        difference < -2.0 * error && error > 0.0 && error < 5.0 * apart,
        "{difference} {error}"
    );
    // One that overfits is not told to grow: training rows score clearly better than others. A notice of it alone is not enough, nor is that where
    // weights make the mean over training rows another one.
    let remedy = |ahead: f64, similarity: Value| {
        let mut changed = summary.clone();
        changed["notices"]["overfits"] = 1.into();
        changed["configuration"]["data"]["similarity"] = similarity;
        let parts = ["train", "validation"].map(|part| format!("{part}_log_likelihood"));
        let error = parts.each_ref().map(|part| number(&changed["best"][part]["data_std_error"]));
        let value = number(&changed["best"][&parts[1]]["value"]);
        let above = ahead * error[0].hypot(error[1]);
        changed["best"][&parts[0]]["value"] = (value + above).into();
        fs::write(out.join("summary.json"), changed.to_string()).unwrap();
        succeed(&["report", &text(&out)]);
        let page = page(&out.join("report.html"));
        ["it overfits; weight decay", "more hidden units (model.hidden) or a longer run"]
            .map(|words| page.contains(&format!("nats per row worse: {words}")))
    };
    assert_eq!(remedy(2.1, Value::Null), [true, false]);
    for (ahead, similarity) in [(1.9, Value::Null), (-3.0, Value::Null), (2.1, 0.9.into())] {
        assert_eq!(remedy(ahead, similarity), [false, true], "{ahead}");
    }
}

/// The same page is made again from the folder alone, but for the path it is called by.
#[test]
fn the_command_makes_the_page_again() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    finished(folder.path(), &out, &[]);
    let before = fs::read_to_string(out.join("report.html")).unwrap();
    fs::remove_file(out.join("report.html")).unwrap();
    succeed(&["report", &text(&out), "--seconds", "3"]);
    assert_eq!(fs::read_to_string(out.join("report.html")).unwrap(), before);
    let elsewhere = text(&folder.path().join("elsewhere.html"));
    succeed(&["report", &text(&out), "--out", &elsewhere]);
    page(Path::new(&elsewhere));
    let output = run(&["report", &text(&out), "--out", &elsewhere]);
    assert!(
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("--force")
    );
}

#[test]
fn what_is_missing_is_left_out_and_takes_nothing_else_away() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    finished(folder.path(), &out, &[]);
    let report = || {
        succeed(&["report", &text(&out), "--seconds", "0.1"]);
        page(&out.join("report.html"))
    };
    // As an older version left it: no new fields, no new columns.
    let old = fs::read_to_string(out.join("summary.json")).unwrap();
    let mut fields: Value = serde_json::from_str(&old).unwrap();
    for name in ["version", "command", "date", "threads", "seed", "data", "times", "configuration"]
    {
        fields.as_object_mut().unwrap().remove(name).unwrap();
    }
    fs::write(out.join("summary.json"), fields.to_string()).unwrap();
    let metrics = fs::read_to_string(out.join("metrics.csv")).unwrap();
    let few = |line: &str| line.split(',').take(7).collect::<Vec<_>>().join(",") + "\n";
    fs::write(out.join("metrics.csv"), metrics.lines().map(few).collect::<String>()).unwrap();
    contains(&report(), &["Verdict", "Sound: ", "Training and validation rows", "Configuration"]);
    // A damaged summary is told; an interrupted run has none.
    fs::write(out.join("summary.json"), "{").unwrap();
    contains(
        &report(),
        &[
            "summary.json cannot be read",
            "How the run ended cannot be read; its metrics end at update 20",
        ],
    );
    fs::remove_file(out.join("summary.json")).unwrap();
    for name in ["best.safetensors", "last.safetensors"] {
        fs::remove_file(out.join(name)).unwrap();
    }
    contains(&report(), &["interrupted at update 20", "--resume", "Occupancy against the prior"]);
    // Killed before its first checkpoint, with one evaluation; then with none.
    fs::remove_dir_all(out.join("checkpoints")).unwrap();
    fs::write(
        out.join("metrics.csv"),
        metrics.lines().take(2).map(|l| format!("{l}\n")).collect::<String>(),
    )
    .unwrap();
    contains(&report(), &["there is no model yet", "at update 0"]);
    fs::remove_file(out.join("metrics.csv")).unwrap();
    succeed(&["report", &text(&out)]);
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    contains(&html, &["before its first evaluation", "Configuration"]);
    // Without its data.
    let config = fs::read_to_string(out.join("config.toml")).unwrap();
    let source = config.find("[data.source]").unwrap();
    let end = source + config[source..].find("\n\n").unwrap();
    let gone = "[data.source]\nname = \"files\"\ntrain = \"gone.csv\"\n";
    fs::write(out.join("config.toml"), format!("{}{gone}{}", &config[..source], &config[end..]))
        .unwrap();
    fs::write(out.join("metrics.csv"), &metrics).unwrap();
    let kept = run(&["report", &text(&out)]);
    let told = String::from_utf8_lossy(&kept.stderr);
    assert!(!kept.status.success() && told.contains("report.html is kept"), "{told}");
    assert_eq!(fs::read_to_string(out.join("report.html")).unwrap(), html);
    succeed(&["report", &text(&out), "--force"]);
    fs::remove_file(out.join("report.html")).unwrap();
    contains(&report(), &["are left out", "gone.csv", "Training and validation rows"]);
    let output = run(&["report", &text(folder.path())]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is no run folder"));
}

#[test]
fn a_report_that_cannot_be_written_does_not_lose_the_run() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    finished(folder.path(), &out, &["training.updates=10"]);
    fs::remove_file(out.join("report.html")).unwrap();
    // A folder with something in it is in the way: it can be neither removed nor replaced by a file.
    fs::create_dir_all(out.join("report.html/x")).unwrap();
    let output = run(&["train", "--resume", "--out", &text(&out)]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("no report was written"), "{stderr}");
    assert_eq!(summary(&out)["updates"], 10);
}

/// What decides is in metrics.csv, so that the stopping decision can be followed from the folder alone.
#[test]
fn the_stopping_decision_is_followed_from_the_metrics() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let stopping = "training.early_stopping={ patience = 3, patience_factor = 1.0 }";
    let settings = [stopping, "training.updates=5000", "training.learning_rate.initial=0.3"];
    finished(folder.path(), &out, &settings);
    assert!(succeed(&["runs", &text(&out), "--json"]).contains("stopped early"));
    contains(
        &page(&out.join("report.html")),
        &[
            "Early stopping ended the run",
            "patience 3",
            ", 3 evaluations count against patience; early stopping",
        ],
    );
}

/// A run whose log Z can only be sampled, on rows that are no pictures.
#[test]
fn rows_that_are_no_pictures_have_a_report_too() {
    let Some(datasets) = shared("datasets") else { return };
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/dna.toml");
    let settings = [
        "training.updates=20",
        "model.hidden=24",
        "tempering.chains=20",
        "tempering.temperatures=10",
        "evaluation.every=10",
        "audit.every=1",
        "audit.chains=10",
        "audit.temperatures=50",
        "checkpoint.every=20",
    ];
    train(&text(&config), &out, &settings, &["-q", "--data-folder", &text(&datasets)]);
    let page = page(&out.join("report.html"));
    contains(
        &page,
        &[
            "by an audit of its own (the automatic estimate",
            "lower bound",
            "nearest training row below",
            "by audit",
        ],
    );
    assert!(!page.contains("Filters"));
}
