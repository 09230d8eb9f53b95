//! MEAN-FIELD Fig. 5 (and 2, 4): how often is AIS within 5 % of log Z, for several base distributions?
//!
//!     cargo run --release --example mean_field_starts [-- --quick] [--models N] [--temperatures K] [--out DIR]
//!
//! Random models of the paper's recipes: Gaussian weights with Gaussian moments, 20 x 180, as they are and with layers
//! exchanged; Ising models and spin glasses on rings of 200 and 16 x 16 (glass: 6 x 6) tori at the paper's temperatures, all
//! with exact log Z. As in the paper 100 models per set, 1024 chains and 4096 temperatures, some hours on 2 cores; one run per model
//! instead of the paper's ten.

mod gaussian_moments;
mod kaufman;
mod lattices;
mod sets;
mod spins;
mod transfer_matrix;

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Parser;
use sets::{Draw, Model, SETS};
use ztrack::engine::Host;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::estimators::{Ais, Start};
use ztrack::model::exact;
use ztrack::model::plus_minus::to_binary;
use ztrack::numerics::logit;
use ztrack::record::{Chart, Look, Series};
use ztrack::tempering::{BaseDistribution, Ladder, Prior};

/// What counts as right: |estimate - log Z| <= 5 % of |log Z|.
const RIGHT: f64 = 0.05;
/// A distribution that AIS starts from.
enum Begin {
    Guess(Start),
    /// The exact means, where they can be enumerated, so far from 0 and 1 at least; the library's own starts: .01.
    Means(f64),
}
const STARTS: [(&str, Begin); 5] = [
    ("uniform", Begin::Guess(Start::Uniform)),
    ("pinv", Begin::Guess(Start::Pinv)),
    ("signs", Begin::Guess(Start::Signs)),
    ("exact means", Begin::Means(0.01)),
    ("cut at 1e-6", Begin::Means(1e-6)),
];
/// Exact means cost six enumerations.
const LARGEST_FOR_MEANS: usize = 20;

/// How often AIS is within 5 % of log Z, by its start (MEAN-FIELD Fig. 5)
#[derive(Parser)]
struct Options {
    /// A few seconds instead of hours
    #[arg(long)]
    quick: bool,
    /// Models of every set [default: 100, quick 4]
    #[arg(long)]
    models: Option<u64>,
    /// AIS chains [default: 1024, quick 50]
    #[arg(long)]
    chains: Option<usize>,
    /// AIS temperatures [default: 4096, quick 100]
    #[arg(long)]
    temperatures: Option<usize>,
    /// Sets, by name [default: all]
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// Folder for CSV and picture
    #[arg(long, default_value = "results/mean_field_starts")]
    out: PathBuf,
}

/// Share of right estimates, with a standard error that is not zero where all or none are right.
#[derive(Clone, Copy)]
struct Share {
    right: u64,
    total: u64,
}

impl Share {
    fn percent(self) -> f64 {
        100.0 * self.right as f64 / self.total as f64
    }

    fn error(self) -> f64 {
        let p = (self.right as f64 + 1.0) / (self.total as f64 + 2.0);
        100.0 * (p * (1.0 - p) / self.total as f64).sqrt()
    }
}

/// How much is done.
struct Size {
    quick: bool,
    models: u64,
    chains: usize,
    temperatures: usize,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let quick = options.quick;
    let known = |name: &String| SETS.iter().any(|(set, _)| set == name);
    if let Some(unknown) = options.sets.iter().find(|name| !known(name)) {
        let names = SETS.map(|(set, _)| set).join(", ");
        bail!("--sets {unknown}: known are {names}");
    }
    let size = Size {
        quick,
        models: options.models.unwrap_or(if quick { 4 } else { 100 }).max(1),
        chains: options.chains.unwrap_or(if quick { 50 } else { 1024 }),
        temperatures: options.temperatures.unwrap_or(if quick { 100 } else { 4096 }),
    };
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot create {}", options.out.display()))?;
    let mut csv = csv::Writer::from_path(options.out.join("mean_field_starts.csv"))?;
    csv.write_record([
        "set",
        "transposed",
        "model",
        "start",
        "log_z",
        "estimate",
        "std_error",
        "relative_error",
    ])?;
    print_head(&size);
    let mut rows: Vec<Row> = Vec::new();
    let chosen = |set: &str| options.sets.is_empty() || options.sets.iter().any(|name| name == set);
    for (set, draw) in SETS.into_iter().filter(|(set, _)| chosen(set)) {
        let of_set = size.run(set, draw, &mut csv)?;
        csv.flush()?;
        eprint!("\r{:40}\r", "");
        of_set.iter().for_each(Row::print);
        rows.extend(of_set);
    }
    if options.sets.is_empty() {
        statements(&rows);
    }
    picture(&rows).save(&options.out.join("mean_field_starts.svg"))?;
    println!("\nCSV and picture: {}", options.out.display());
    Ok(())
}

fn print_head(size: &Size) {
    let Size { quick, models, chains, temperatures } = size;
    println!(
        "Share of models (%) whose AIS estimate is within 5 % of log Z, +- its standard error.\n\
         {models} models a set, {chains} chains, {temperatures} temperatures; GWGM {}.\n",
        if *quick {
            "12 x 108 instead of 20 x 180, 2DSG 4 x 4 instead of 6 x 6"
        } else {
            "20 x 180"
        }
    );
    print!("{:<17}", "set");
    STARTS.iter().for_each(|(name, _)| print!("{name:>14}"));
    println!();
}

/// One model with its layers in one order.
struct Case {
    model: Model,
    transposed: bool,
    /// Exact means of the visible units, where they can be enumerated.
    means: Option<Vec<f64>>,
}

impl Case {
    /// The model as it is and, where its layers differ in size, with layers exchanged.
    fn both(model: Model) -> Result<Vec<Self>> {
        let own = &model.own;
        let smaller = own.n_visible.min(own.n_hidden);
        let binary = to_binary(own, model.units)?.parameters;
        // One enumeration serves both orders of the layers.
        let means = (smaller <= LARGEST_FOR_MEANS).then(|| exact::moments(&binary)).transpose()?;
        let (visible, hidden) = means.map(|means| (means.visible, means.hidden)).unzip();
        let exchanged = (own.n_visible != own.n_hidden).then(|| Self {
            model: Model { own: own.transposed(), ..model },
            transposed: true,
            means: hidden,
        });
        let as_it_is = Self { model, transposed: false, means: visible };
        Ok(std::iter::once(as_it_is).chain(exchanged).collect())
    }

    /// The distribution of a start; `None` where it needs means that are not known.
    fn base(&self, start: &Begin, seed: u64) -> ztrack::Result<Option<BaseDistribution>> {
        match (start, &self.means) {
            (Begin::Guess(start), _) => {
                start.base(&self.model.own, self.model.units, seed).map(Some)
            }
            (Begin::Means(cut), Some(means)) => from_means(means, *cut).map(Some),
            (Begin::Means(_), None) => Ok(None),
        }
    }
}

impl Size {
    /// The lines of one set, one for each order of the layers.
    fn run(&self, set: &str, draw: Draw, csv: &mut csv::Writer<File>) -> Result<Vec<Row>> {
        let mut rows: Vec<Row> = Vec::new();
        for seed in 0..self.models {
            eprint!("\r{set:<17} model {} of {} ", seed + 1, self.models);
            let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(100);
            let cases = Case::both(draw(&mut stream, seed, self.quick)?)?;
            for (place, case) in cases.iter().enumerate() {
                if rows.len() == place {
                    let name =
                        if case.transposed { format!("{set} transposed") } else { set.to_string() };
                    rows.push(Row { name, shares: [None; STARTS.len()] });
                }
                self.anneal(case, set, seed, &mut rows[place], csv)?;
            }
        }
        Ok(rows)
    }

    /// AIS of one model from every start.
    fn anneal(
        &self,
        case: &Case,
        set: &str,
        seed: u64,
        row: &mut Row,
        csv: &mut csv::Writer<File>,
    ) -> Result<()> {
        let Model { own, units, log_partition } = &case.model;
        let converted = to_binary(own, *units)?;
        let engine = Host::new(&converted.parameters);
        for ((name, start), share) in STARTS.iter().zip(&mut row.shares) {
            let Some(base) = case.base(start, seed)? else { continue };
            let ladder = Ladder::linear(self.temperatures, &Prior::Uniform)?;
            let found = Ais { chains: self.chains, ladder, seed }.run(&engine, &base)?;
            let value = found.value + converted.log_constant;
            let error = value / log_partition - 1.0;
            let share = share.get_or_insert(Share { right: 0, total: 0 });
            share.right += u64::from(error.abs() <= RIGHT);
            share.total += 1;
            csv.serialize((
                set,
                case.transposed,
                seed,
                name,
                log_partition,
                value,
                found.std_error,
                error,
            ))?;
        }
        Ok(())
    }
}

/// The product distribution with these means, so far from 0 and 1 at least.
fn from_means(means: &[f64], cut: f64) -> ztrack::Result<BaseDistribution> {
    let logits = means.iter().map(|mean| logit(mean.clamp(cut, 1.0 - cut)) as f32);
    BaseDistribution::from_logits(&logits.collect::<Vec<f32>>())
}

/// One line of the table.
struct Row {
    name: String,
    shares: [Option<Share>; STARTS.len()],
}

impl Row {
    fn print(&self) {
        print!("{:<17}", self.name);
        for share in self.shares {
            match share {
                Some(share) => print!("{:>9.0} +- {:<2.0}", share.percent(), share.error()),
                None => print!("{:>14}", "-"),
            }
        }
        println!();
    }

    fn percent(&self, start: usize) -> f64 {
        self.shares[start].map_or(f64::NAN, Share::percent)
    }
}

/// What the paper says of its figures (their bars are not given as numbers), and what was found.
fn statements(rows: &[Row]) {
    let beside_uniform = |start: usize| {
        let difference = |row: &Row| row.percent(start) - row.percent(0);
        let above = rows.iter().filter(|row| difference(row) > 0.0).count();
        let below = rows.iter().filter(|row| difference(row) < 0.0).count();
        format!("above in {above}, below in {below}")
    };
    let without_field = rows.iter().filter(|row| row.name.starts_with("2D"));
    let apart = without_field
        .flat_map(|row| [1, 2].map(|start| (row.percent(start) - row.percent(0)).abs()))
        .fold(0.0, f64::max);
    println!("\n{:<82}here", "the paper");
    for (said, found) in [
        (
            "Fig. 5: Pinv and Signs_h outperform B = 0 in most sets",
            format!(
                "Pinv {}; Signs_h {}; of {} sets",
                beside_uniform(1),
                beside_uniform(2),
                rows.len()
            ),
        ),
        (
            "Fig. 5: without fields (2D sets) all three are alike and very good",
            format!("at most {apart:.0} points apart"),
        ),
        (
            "Fig. 4: from exact means about 20 % of the GWGM models are far off as they are",
            format!("{:.0} % of them not within 5 %", 100.0 - rows[0].percent(3)),
        ),
        (
            "Fig. 4: ... and none with layers exchanged",
            format!("{:.0} %", 100.0 - rows[1].percent(3)),
        ),
    ] {
        println!("{said:<82}{found}");
    }
}

fn picture(rows: &[Row]) -> Chart {
    let series = STARTS.iter().enumerate().map(|(start, (name, _))| {
        let found = || {
            rows.iter().enumerate().filter_map(|(place, row)| row.shares[start].map(|s| (place, s)))
        };
        // A little to the side of each other.
        let x = |place: usize| (place + 1) as f64 + 0.12 * (start as f64 - 1.5);
        Series {
            name: (*name).into(),
            points: found().map(|(place, share)| (x(place), share.percent())).collect(),
            errors: found().map(|(_, share)| share.error()).collect(),
            look: Look::Marks,
            ..Series::default()
        }
    });
    Chart {
        title: "AIS within 5 % of log Z, by start".into(),
        x_label:
            "1 GWGM, 2 transposed, 3-5 1DIsing, 6-8 1DSG, 9-11 2DIsing, 12-13 2DSG (T falling)"
                .into(),
        y_label: "models, %".into(),
        series: series.collect(),
        ..Chart::default()
    }
}
