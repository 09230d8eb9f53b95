//! COMPARISON Tables 1 to 3: exact, TAP, AIS and RTS on the MNIST models with 10, 20 and 100 hidden units.
//!
//!     cargo run --release --example comparison [-- --quick] [--out DIR]
//!
//! The settings are the paper's: AIS with 10,000 equally spaced temperatures and 100 chains, its base distribution from the
//! data or uniform (Fig. 5); TAP of second order. RTS is that of Carlson et al. with the paper's 100 temperatures and half a million
//! sweeps. The method that the paper calls RTS draws inverse temperatures uniformly and is different (algorithms.md, section 5), so its
//! column is printed but need not agree. Models and MNIST are read from ../shared (or `--shared`); without them a small
//! random model is used.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use ztrack::checkpoint::ModelFile;
use ztrack::data::{Binarization, Binarizer, Source, SplitOptions, load};
use ztrack::engine::Host;
use ztrack::estimators::{Ais, Estimate, Rts, Tap, TapOrder, exact};
use ztrack::model::exact::MAX_UNITS;
use ztrack::model::{Parameters, test_systems};
use ztrack::record::{Chart, Look, Series};
use ztrack::tempering::{BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior};

/// COMPARISON Tables 1 to 3 beside our own values
#[derive(Parser)]
struct Options {
    /// The first model alone, with a tenth of the temperatures and sweeps
    #[arg(long)]
    quick: bool,
    /// Folder with models/ and datasets/
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared"))]
    shared: PathBuf,
    /// Folder for CSV and picture
    #[arg(long, default_value = "results/comparison")]
    out: PathBuf,
}

/// The paper's line for a model.
#[derive(Clone, Copy)]
struct Printed {
    truth: Option<f64>,
    tap: f64,
    /// Mean and three standard deviations.
    ais: (f64, f64),
    rts: f64,
    /// Seconds of AIS and RTS on its laptop.
    seconds: (f64, f64),
}

struct Subject {
    name: &'static str,
    parameters: Parameters,
    /// Best value known: enumerated, or from long runs (algorithms.md, section 6).
    reference: Option<f64>,
    printed: Option<Printed>,
}

const PRINTED: [(&str, Option<f64>, Printed); 3] = [
    (
        "mnist-h10",
        None,
        Printed {
            truth: Some(226.11),
            tap: 212.32,
            ais: (226.05, 0.1762),
            rts: 226.2707,
            seconds: (77.38, 68.28),
        },
    ),
    (
        "mnist-h20",
        None,
        Printed {
            truth: None,
            tap: 214.85,
            ais: (221.11, 0.2329),
            rts: 218.8993,
            seconds: (63.03, 87.42),
        },
    ),
    (
        "mnist-h100",
        Some(348.407),
        Printed {
            truth: None,
            tap: 342.02,
            ais: (348.45, 0.2460),
            rts: 347.3684,
            seconds: (92.87, 164.34),
        },
    ),
];

fn subjects(shared: &Path, quick: bool) -> Result<Vec<Subject>> {
    let mut found = Vec::new();
    for (name, reference, printed) in
        PRINTED.into_iter().take(if quick { 1 } else { PRINTED.len() })
    {
        let path = shared.join("models").join(name).with_extension("npz");
        if path.exists() {
            let parameters = ModelFile::load(&path)?.parameters;
            found.push(Subject { name, parameters, reference, printed: Some(printed) });
        } else {
            println!(
                "skipped {name}: {} is missing (give its folder with --shared)",
                path.display()
            );
        }
    }
    if found.is_empty() {
        println!("a random 100 x 10 model stands in; the paper's numbers do not apply to it");
        let parameters = test_systems::gaussian_parameters(100, 10, 0.5, 1);
        found.push(Subject { name: "stand-in", parameters, reference: None, printed: None });
    }
    Ok(found)
}

/// Marginals of the MNIST training images at threshold 1/2; `None` and a word where they are missing.
fn marginals(shared: &Path, n_visible: usize) -> Result<Option<BaseDistribution>> {
    let folder = shared.join("datasets");
    if n_visible != 784 || !folder.join("mnist").exists() {
        println!(
            "no MNIST for this model: its visible bias is the base distribution instead of marginals"
        );
        return Ok(None);
    }
    let splits = load(&Source::Mnist {}, &SplitOptions::default(), &folder)?;
    let rows = Binarizer::new(Binarization::Threshold(0.5))?.binarize(&splits.train, 0, 0)?;
    Ok(Some(BaseDistribution::from_marginals(&rows, 1.0, &ztrack::units::Variables::BITS)?))
}

/// One line of the table.
struct Line {
    what: &'static str,
    estimate: Estimate,
    paper: Option<String>,
}

fn lines(subject: &Subject, base: &BaseDistribution, quick: bool) -> Result<Vec<Line>> {
    let Subject { name, parameters, printed, .. } = subject;
    let engine = Host::new(parameters);
    let mut lines = Vec::new();
    let mut add = |what, estimate: Estimate, paper: Option<String>| {
        eprint!("\r{name}: {what} done {:20}", "");
        lines.push(Line { what, estimate, paper });
    };
    let paper = |text: &dyn Fn(&Printed) -> String| printed.as_ref().map(text);
    if parameters.n_visible.min(parameters.n_hidden) <= MAX_UNITS {
        add("exact", exact(parameters)?, printed.and_then(|p| p.truth).map(|t| format!("{t:.2}")));
    }
    for (what, order, damping) in [
        ("TAP naive", TapOrder::Naive, 0.5),
        ("TAP 2nd order", TapOrder::Second, 0.5),
        ("TAP 3rd order", TapOrder::Third, 0.5),
        ("TAP 2nd, undamped", TapOrder::Second, 0.0),
    ] {
        let halve_after = if damping > 0.0 { Tap::default().halve_after } else { 0 };
        let tap = Tap { order, damping, halve_after, ..Tap::default() };
        let printed = (order == TapOrder::Second).then(|| paper(&|p| format!("{:.2}", p.tap)));
        add(what, tap.run(parameters)?, printed.flatten());
    }
    // What the paper ran: from means of 0, hidden units first, undamped.
    for (what, iterations) in [("TAP from 0, 100 it.", 100), ("TAP from 0, 4000 it.", 4000)] {
        let (damping, halve_after, undamped_too) = (0.0, 0, false);
        let tap =
            Tap { starts: 2, damping, halve_after, undamped_too, iterations, ..Tap::default() };
        let value = tap.solutions(parameters)?[1].value;
        let printed = paper(&|p| format!("{:.2}", p.tap));
        add(what, Estimate { value, ..tap.run(parameters)? }, printed);
    }
    let (scale, chains) = (if quick { 10 } else { 1 }, 100);
    let ais = Ais { chains, ladder: Ladder::linear(10_000 / scale, &Prior::Uniform)?, seed: 1 };
    let printed_ais =
        paper(&|p| format!("{:.2} +- {:.2} (3 sd), {:.0} s", p.ais.0, p.ais.1, p.seconds.0));
    add("AIS, b initialised", ais.run(&engine, base)?, printed_ais);
    add(
        "AIS from uniform",
        ais.run(&engine, &BaseDistribution::uniform(parameters.n_visible))?,
        None,
    );
    let rts = Rts {
        chains,
        sweeps: 5000 / scale,
        ladder: Ladder::linear(100, &Prior::Uniform)?,
        beta_update: BetaUpdate::Collapsed,
        initial_rounds: InitialRounds::default(),
        seed: 1,
    };
    let printed_rts = paper(&|p| format!("{:.2}, {:.0} s; not RTS", p.rts, p.seconds.1));
    add("RTS", rts.run(&engine, base)?, printed_rts);
    Ok(lines)
}

/// Prints the table of one model and writes its lines to the CSV; returns errors by method, for the chart.
fn report(subject: &Subject, lines: &[Line], csv: &mut csv::Writer<File>) -> Result<Series> {
    let exact = lines.iter().find(|line| line.what == "exact").map(|line| line.estimate.value);
    let reference = exact.or(subject.reference);
    println!(
        "{:<19}{:>10}{:>8}{:>9}{:>8}  {:<33}doubt",
        "method", "log Z", "+-", "error", "s", "the paper"
    );
    let mut points = Vec::new();
    for (place, Line { what, estimate, paper }) in lines.iter().enumerate() {
        let error = reference.map(|reference| estimate.value - reference);
        let shown = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.3}"));
        let std_error = (estimate.std_error > 0.0).then_some(estimate.std_error);
        println!(
            "{what:<19}{:>10.3}{:>8}{:>9}{:>8.1}  {:<33}{}",
            estimate.value,
            shown(std_error),
            shown(error),
            estimate.seconds,
            paper.as_deref().unwrap_or("-"),
            if estimate.trust.is_sound() { String::new() } else { estimate.trust.to_string() }
        );
        csv.serialize((
            subject.name,
            what,
            estimate.value,
            std_error,
            reference,
            estimate.seconds,
            estimate.gibbs_sweeps,
            estimate.trust.to_string(),
        ))?;
        points.extend(error.map(|error| ((place + 1) as f64, error, std_error.unwrap_or(0.0))));
    }
    Ok(Series {
        name: subject.name.into(),
        points: points.iter().map(|&(x, error, _)| (x, error)).collect(),
        errors: points.iter().map(|&(_, _, std_error)| std_error).collect(),
        look: Look::Marks,
        ..Series::default()
    })
}

fn main() -> Result<()> {
    let options = Options::parse();
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot create {}", options.out.display()))?;
    let mut csv = csv::Writer::from_path(options.out.join("comparison.csv"))?;
    csv.write_record([
        "model",
        "method",
        "log_z",
        "std_error",
        "reference",
        "seconds",
        "sweeps",
        "doubt",
    ])?;
    let mut series = Vec::new();
    for subject in subjects(&options.shared, options.quick)? {
        let (m, j) = (subject.parameters.n_visible, subject.parameters.n_hidden);
        println!("\n{}, {m} x {j}", subject.name);
        let base = match marginals(&options.shared, m)? {
            Some(base) => base,
            None => BaseDistribution::from_logits(&subject.parameters.visible_bias)?,
        };
        let lines = lines(&subject, &base, options.quick)?;
        eprint!("\r{:60}\r", "");
        series.push(report(&subject, &lines, &mut csv)?);
        csv.flush()?;
    }
    println!(
        "\nReference: enumeration; for mnist-h100 348.407 +- .024 from long AIS and BAR runs. TAP has no error bar."
    );
    Chart {
        title: "Error of log Z, nats".into(),
        x_label: "method, in the order of the table".into(),
        y_label: "estimate - reference".into(),
        series,
        ..Chart::default()
    }
    .save(&options.out.join("comparison.svg"))?;
    println!("CSV and picture: {}", options.out.display());
    Ok(())
}
