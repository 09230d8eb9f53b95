//! RBMs beside other density estimators on public tables: every table is given to `ztrack train --set training.preset=best`, nothing else is
//! set, and the log-likelihood of its test rows is put beside simple densities and the best published figure.
//!
//!     cargo run --release --example yardstick [-- --quick | --only bbc,dna --minutes 5 --threads 1]
//!     cargo run --release --example yardstick -- --table my.train.csv my.valid.csv my.test.csv
//!
//! The tables are those of the data folder (ZTRACK_DATA, or ../shared/datasets). A table that was measured stands in its folder below `--out`
//! and is not measured again; an interrupted run goes on. --set model.hidden=8 trains one model of this size instead of a search.

#[path = "../support/mod.rs"]
mod support;

mod row;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use row::Row;
use support::training_sets::folder;
use tables::Table;
use ztrack::record::{Chart, Guide, Look, Series};
use ztrack::{Error, Result, checkpoint};

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// A table by its files, instead of those of the data folder; without VALID a tenth of the training rows decides
    #[arg(long, num_args = 2..=3, value_names = ["TRAIN", "VALID", "TEST"])]
    table: Option<Vec<PathBuf>>,
    /// Only these of the tables of the data folder
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Minutes of search and run for a table [default: those of the preset]
    #[arg(long)]
    minutes: Option<f64>,
    /// Threads [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// Keys of the configuration to change
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

impl Options {
    fn minutes(&self) -> f64 {
        self.minutes.unwrap_or(if self.common.quick { 0.05 } else { ztrack::cli::MINUTES })
    }

    fn threads(&self) -> usize {
        self.threads.unwrap_or_else(rayon::current_num_threads)
    }
}

fn main() -> ExitCode {
    // Runs are processes of their own: this program again, as the command.
    if std::env::args().nth(1).is_some_and(|first| first == "train") {
        return ztrack::cli::main();
    }
    let mut options = Options::parse();
    options.common = options.common.named("yardstick");
    support::exit_code(report(&options))
}

fn report(options: &Options) -> Result<bool> {
    if let Some(threads) = options.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|error| Error::Invalid(format!("--threads {threads}: {error}")))?;
    }
    let mut out = options.common.folder()?;
    if options.common.quick {
        out.push("quick");
        // Rows of a run before would be taken as they are.
        if out.exists() {
            std::fs::remove_dir_all(&out).map_err(Error::io("remove", &out))?;
        }
        std::fs::create_dir_all(&out).map_err(Error::io("create folder", &out))?;
    }
    let mut tables = match &options.table {
        _ if options.common.quick => vec![Table::generated(&out)?],
        None => Table::of_folder(&folder()),
        Some(files) => vec![Table::of_files(files)?],
    };
    tables.retain(|table| options.only.is_empty() || options.only.contains(&table.name));
    if tables.is_empty() {
        println!("no table: give one by --table, or the data folder by ZTRACK_DATA");
    }
    let mut good = true;
    for table in &tables {
        eprintln!("{}: {}", table.name, table.train.display());
        // The others go on.
        if let Err(error) = Row::of(table, &out.join(&table.name), options) {
            eprintln!("error: {error}");
            good = false;
        }
    }
    let rows = Row::all(&out)?;
    let text = text(&rows);
    println!("{text}");
    checkpoint::write_bytes(out.join("table.md"), text.as_bytes())?;
    if !rows.is_empty() {
        let picture = out.join("yardstick.svg");
        chart(&rows).save(&picture)?;
        println!("picture: {}", picture.display());
    }
    Ok(good)
}

/// The rows as a table in Markdown.
fn text(rows: &[Row]) -> String {
    let mut lines = vec![
        "| table | rows | columns (categorical) | hidden | updates, weight decay, rate | trials, processor seconds | **test log-likelihood** | error of rows, of log Z | by reverse AIS, by AIS | independent | Chow-Liu | mixture | best published |".to_string(),
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|".into(),
    ];
    for row in rows {
        let bounds = match &row.bounds {
            Some(([below, above], _)) => format!("{:.3}, {:.3}", below.value, above.value),
            None => "exact".into(),
        };
        let baseline = |name: &str| {
            let found = row.baselines.iter().find(|(it, ..)| it.contains(name));
            found.map_or("-".into(), |(_, mean, _)| format!("{mean:.2}"))
        };
        let published = Table::published(&row.name);
        let published =
            published.map_or("-".into(), |it| format!("{:.2} ({})", it.value, it.model));
        lines.push(format!(
            "| {}{} | {}, {}, {} | {} ({}) | {} | {}, {}, {} | {}, {:.0} | **{:.3}**{} | {:.3}, {:.3} | {bounds} | {} | {} | {} | {published} |",
            row.name,
            if row.on_validation { " (validation rows)" } else { "" },
            row.rows[0],
            row.rows[1],
            row.rows[2],
            row.columns,
            row.variables[0],
            row.hidden,
            row.updates,
            row.weight_decay,
            row.rate,
            row.trials,
            row.processor_seconds,
            row.test.value,
            if row.doubt.is_some() { " (log Z in doubt)" } else { "" },
            row.test.data_std_error,
            row.test.log_z_std_error,
            baseline("independent"),
            baseline("Chow-Liu"),
            baseline("mixture"),
        ));
    }
    lines.push(String::new());
    let sources = rows.iter().filter_map(|row| Some((&row.name, Table::published(&row.name)?)));
    lines.extend(
        sources
            .map(|(name, it)| format!("- {name}: {:.2}, {}: {}.", it.value, it.model, it.source)),
    );
    lines.join("\n") + "\n"
}

/// Per cent above the best published figure, or above the best simple density where none is known, a table a column.
fn chart(rows: &[Row]) -> Chart {
    let bar = |row: &Row| {
        let simple = row.baselines.iter().map(|(_, mean, _)| *mean);
        let published = Table::published(&row.name).map(|it| it.value);
        published.unwrap_or_else(|| simple.fold(f64::NEG_INFINITY, f64::max))
    };
    let percent = |row: &Row, value: f64| 100.0 * (value - bar(row)) / bar(row).abs();
    let place = |i: usize| i as f64 + 1.0;
    let points = |of: &dyn Fn(&Row) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |(i, row): (usize, &Row)| Some((place(i), percent(row, of(row)?)));
        rows.iter().enumerate().filter_map(point).collect()
    };
    let errors = rows.iter().map(|row| 100.0 * row.test.std_error / bar(row).abs());
    let mut series = vec![Series::line("RBM", points(&|row| Some(row.test.value)))];
    series[0].errors = errors.collect();
    for name in ["mixture of products", "Chow-Liu tree"] {
        let of = |row: &Row| Some(row.baselines.iter().find(|(it, ..)| it == name)?.1);
        series.push(Series::line(name, points(&of)));
    }
    let series = series.into_iter().map(|it| it.look(Look::Marks)).collect();
    let mut guides = vec![Guide::Horizontal(0.0, "best published".into())];
    let name = |(i, row): (usize, &Row)| {
        let known = Table::published(&row.name).is_some();
        Guide::Vertical(place(i), format!("{}{}", row.name, if known { "" } else { " *" }))
    };
    guides.extend(rows.iter().enumerate().map(name));
    Chart {
        title: "Test log-likelihood on public tables".into(),
        guides,
        x_range: Some((0.5, rows.len() as f64 + 1.4)),
        ..Chart::of(
            "table; * none published: the best simple density",
            "per cent above the best published",
            series,
        )
    }
}
