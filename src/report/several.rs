//! Several runs on one page: a table, and their curves in one chart.

use std::collections::BTreeSet;
use std::path::Path;

use super::curves::picture;
use super::page::{Section, UPDATES, cell, document, number_cell, table};
use super::run_files::RunFiles;
use crate::record::markup::Element;
use crate::record::{Chart, Look, Series};
use crate::training::fields;

/// Columns of metrics.csv that are drawn, with their names.
const OVERLAID: [(&str, &str, &str); 3] = [
    ("validation_log_likelihood", "Validation log-likelihood", "mean log-likelihood, nats per row"),
    ("train_log_likelihood", "Training log-likelihood", "mean log-likelihood, nats per row"),
    ("log_z_std_error", "Standard error of tracked log Z", "nats"),
];

/// Columns of the table of runs.
const COLUMNS: [&str; 10] =
    ["run", "state", "updates", "best at", "train", "validation", "test", "log Z", "sound", "time"];

/// Most runs whose curves are drawn: more could not be told apart.
const DRAWN: usize = 12;
/// Sorts a table by the column whose name is clicked, numbers by value. Without characters that HTML and XML read differently.
const SORTING: &str = "\
addEventListener('click',function(e){var h=e.target.closest('.sorted th');if(!h)return;\
var b=h.closest('table').tBodies[0],n=h.cellIndex,down=h.dataset.down=h.dataset.down?'':'1';\
function key(r){var c=r.cells[n],s=c.dataset.value||c.textContent,x=parseFloat(s);return x!=x||n==0?s:x}\
function order(p,q){var x=key(p),y=key(q),a=typeof x=='number',b=typeof y=='number';\
if(a!=b)return a?-1:1;var c=a?x-y:x.localeCompare(y,undefined,{numeric:true});return (down?1:0)==(n?1:0)?-c:c}\
Array.from(b.rows).sort(order).forEach(function(r){b.appendChild(r)})});";

/// The page as HTML, for a file `out`. Curves are of the first runs, where there are many.
pub fn page(runs: &[RunFiles], out: &Path) -> String {
    let all = runs;
    let runs = &all[..all.len().min(DRAWN)];
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let title = if all.len() == runs.len() && runs.len() < 5 {
        names.join(", ")
    } else {
        format!("{} runs", all.len())
    };
    let mut curves = Section::new("Curves");
    if all.len() > runs.len() {
        curves = curves.paragraph(format!("Of the first {DRAWN} of {} runs.", all.len()));
    }
    for (column, title, label) in OVERLAID {
        for (x, x_label) in [("update", UPDATES), ("seconds", "seconds")] {
            let chart = overlaid(runs, column, (x, x_label), label);
            let title = format!("{title} against {x_label}");
            let words = words(runs, column);
            let healthy = if column.contains("error") {
                "small against differences between runs"
            } else {
                "a rise that flattens"
            };
            curves = curves.figure(&title, picture(&chart), (healthy, words));
        }
    }
    let sections = vec![
        Section::new("Runs")
            .paragraph(
                "A click on the name of a column sorts by it; the name of a run opens its report.",
            )
            .with(Element::new("div").class("sorted").with(overview(all, out)))
            .with(Element::new("script").text(SORTING)),
        curves,
        Section::new("Settings that differ").with(settings(all)),
    ];
    document(&title, "several runs compared by ztrack", sections)
}

/// A link to the report of a run, from the folder of `out`; its name alone where there is none.
fn link(run: &RunFiles, out: &Path) -> Element {
    let report = run.folder.join("report.html");
    if !report.is_file() {
        return cell(run.name.clone());
    }
    let here = out.parent().filter(|here| !here.as_os_str().is_empty());
    let path = match here {
        Some(here) => report.strip_prefix(here).map(Path::to_path_buf),
        None => Ok(report.clone()),
    };
    let path = path.or_else(|_| report.canonicalize()).unwrap_or(report);
    let mut address = String::new();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b',' | b'=' => {
                address.push(char::from(byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    // `./`: a name with a colon is no scheme.
    let address = if path.is_absolute() { address } else { format!("./{address}") };
    Element::new("td").with(Element::new("a").set("href", address).text(run.name.clone()))
}

fn overlaid(runs: &[RunFiles], column: &str, (x, x_label): (&str, &str), label: &str) -> Chart {
    let curve = |(i, run): (usize, &RunFiles)| {
        let rows = run.metrics.rows_with(column);
        let points = rows.map(|row| (run.metrics.number(x, row), run.metrics.number(column, row)));
        Series::line(run.name.clone(), points.collect()).look(Look::Band).colour(i)
    };
    let series: Vec<Series> = runs.iter().enumerate().map(curve).collect();
    let log_y = column.contains("error");
    Chart { log_y, ..Chart::of(x_label, label, series) }
}

fn words(runs: &[RunFiles], column: &str) -> String {
    let end =
        |run: &RunFiles| Some(format!("{} ends at {:.3}", run.name, run.metrics.last(column)?));
    let ends: Vec<String> = runs.iter().filter_map(end).collect();
    if ends.is_empty() { "no run has it".into() } else { ends.join(", ") }
}

/// Settings that differ, by key, with the value of each run; every run if one cannot be read.
pub fn differing(runs: &[RunFiles]) -> Vec<(String, Vec<String>)> {
    let all: Vec<_> = runs.iter().map(|run| fields(&run.config_text).unwrap_or_default()).collect();
    let keys: BTreeSet<&String> = all.iter().flat_map(|fields| fields.keys()).collect();
    let row = |key: &String| {
        let values = all.iter().map(|fields| fields.get(key).cloned().unwrap_or_default());
        (key.clone(), values.collect::<Vec<String>>())
    };
    keys.into_iter()
        .map(row)
        .filter(|(_, values)| values.iter().any(|value| *value != values[0]))
        .collect()
}

fn settings(runs: &[RunFiles]) -> Element {
    let columns: Vec<&str> =
        std::iter::once("setting").chain(runs.iter().map(|run| run.name.as_str())).collect();
    let row = |(key, values): (String, Vec<String>)| {
        std::iter::once(cell(key)).chain(values.into_iter().map(cell)).collect()
    };
    table(&columns, differing(runs).into_iter().map(row).collect())
}

fn overview(runs: &[RunFiles], out: &Path) -> Element {
    let row = |run: &RunFiles| {
        let cell = |column| match column {
            "run" => link(run, out),
            "time" => {
                number_cell(run.result(column)).set("data-value", run.seconds().unwrap_or(0.0))
            }
            column => number_cell(run.result(column)),
        };
        COLUMNS.map(cell).into()
    };
    table(&COLUMNS, runs.iter().map(row).collect())
}
