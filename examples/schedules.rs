//! SCHEDULES (Kiwaki 2015) Table 1 and Figures 1 and 3: effective sample size of AIS by annealing schedule, on RBMs with 20
//! hidden units trained here by PCD, CD-1 and CD-25, log Z known by enumeration.
//!
//!     cargo run --release --example schedules [-- --quick] [--temperatures K,K,...] [--out DIR]
//!
//! ZTRACK_DATA: the folder with MNIST; without it bars and stripes take its place. Numbers of temperatures go up to the paper's
//! 100000 unless given, which takes an hour or two. Writes a CSV and charts to DIR (results/schedules).

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use ztrack::checkpoint::write_bytes;
use ztrack::data::generators::BarsAndStripes;
use ztrack::data::{Binarization, Binarizer, Source, SplitOptions, find_folder, load};
use ztrack::estimators::{Estimate, MomentAveraging, ais};
use ztrack::model::Parameters;
use ztrack::model::exact::log_partition;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::ops::{BitMatrix, Fused};
use ztrack::record::{Chart, Series};
use ztrack::tempering::schedules::{
    BinnedLinear, SlopeVariance, decelerate, linear, salakhutdinov_murray,
};
use ztrack::tempering::{
    BaseDistribution, GeometricPath, Keep, Ladder, Prior, TemperedPath, anneal,
};
use ztrack::training::gradient::{Centering, Particles, gradient, moments};
use ztrack::training::update::{Sgd, SgdConfig, UpdateRule};
use ztrack::{Error, Result};

const HIDDEN: usize = 20;
const BATCH: usize = 100;
const SEED: u64 = 1;
/// Chains and temperatures of the pass VAROPT goes by, as in the paper.
const SURVEY: (usize, usize) = (100, 1000);
/// Chains and knots of the moments GMS13 goes by, as in the paper.
const MOMENTS: (usize, usize) = (1000, 10);
/// So many of the schedules are along the geometric path.
const GEOMETRIC: usize = 7;
/// How the models are trained: name, sweeps from the batch (0: persistent chains).
const MODELS: [(&str, usize); 3] = [("PCD", 0), ("CD1", 1), ("CD25", 25)];
/// The paper's ESS of 1000 chains at K = 100000, in the order of MODELS (Table 1).
const PAPER: [(&str, [f64; 3]); 9] = [
    ("LINEAR", [517.0, 713.0, 664.0]),
    ("SM08", [f64::NAN; 3]),
    ("VAROPT", [783.0, 87.0, 776.0]),
    ("GMS13", [176.0, 653.0, 176.0]),
    ("VAROPT.009", [809.0, 814.0, 820.0]),
    ("VAROPT.006", [668.0, 803.0, 751.0]),
    ("VAROPT.003", [749.0, 797.0, 617.0]),
    ("moment path", [f64::NAN; 3]),
    ("moments, VAROPT", [f64::NAN; 3]),
];

struct Sizes {
    updates: usize,
    chains: usize,
    temperatures: Vec<usize>,
    fit: MomentAveraging,
    models: usize,
    out: PathBuf,
}

/// One AIS run.
struct Run {
    model: usize,
    schedule: usize,
    temperatures: usize,
    estimate: Estimate,
    exact: f64,
}

fn main() -> ExitCode {
    match sizes().and_then(|sizes| report(&sizes)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn sizes() -> Result<Sizes> {
    let mut sizes = Sizes {
        updates: 30_000,
        chains: 1000,
        temperatures: vec![1000, 3162, 10_000, 31_623, 100_000],
        fit: MomentAveraging { seed: SEED, ..MomentAveraging::default() },
        models: 3,
        out: "results/schedules".into(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let missing = || Error::Invalid(format!("{argument} needs a value"));
            arguments.next().ok_or_else(missing)
        };
        match argument.as_str() {
            "--quick" => {
                let fit = MomentAveraging { chains: 200, updates: 100, ..sizes.fit };
                let temperatures = vec![200, 400];
                sizes = Sizes { updates: 500, chains: 200, temperatures, fit, models: 2, ..sizes };
            }
            "--out" => sizes.out = value()?.into(),
            "--temperatures" => {
                let text = value()?;
                let counts: Option<Vec<usize>> =
                    text.split(',').map(|k| k.parse().ok().filter(|k| *k >= 2)).collect();
                let wrong = || {
                    Error::Invalid(format!(
                        "--temperatures {text}: numbers from 2 on are needed, as in 1000,10000"
                    ))
                };
                sizes.temperatures = counts.ok_or_else(wrong)?;
                sizes.temperatures.sort_unstable();
            }
            other => {
                return Err(Error::Invalid(format!(
                    "{other}: only --quick, --temperatures K,K,... and --out DIR are known"
                )));
            }
        }
    }
    Ok(sizes)
}

fn report(sizes: &Sizes) -> Result<()> {
    std::fs::create_dir_all(&sizes.out).map_err(Error::io("create", &sizes.out))?;
    let data = data()?;
    let base = BaseDistribution::from_marginals(&data, 1.0)?;
    let mut runs = Vec::new();
    for (model, (name, sweeps)) in MODELS.into_iter().enumerate().take(sizes.models) {
        let parameters = train(&data, &base, sweeps, sizes.updates)?;
        let exact = log_partition(&parameters)?;
        eprintln!("{name}: trained, log Z = {exact:.3}");
        runs.extend(anneal_all(sizes, model, &parameters, &base, exact)?);
    }
    let table = table(sizes, &runs);
    println!("{table}{}", needed(sizes, &runs));
    write(sizes, &runs)?;
    println!("Written: {}", sizes.out.display());
    Ok(())
}

/// MNIST with pixels above 1/2 on, or pictures that need no file.
fn data() -> Result<BitMatrix> {
    let folder = find_folder(None);
    if folder.join("mnist").is_dir() {
        let splits = load(&Source::Mnist {}, &SplitOptions::default(), &folder)?;
        return Binarizer::new(Binarization::Threshold(0.5))?.binarize(&splits.train, 0, 0);
    }
    println!(
        "No {}/mnist: bars and stripes instead, whose numbers are not the paper's.",
        folder.display()
    );
    let generator = BarsAndStripes { side: 8, rows: 10_000, noise: 0.05, seed: SEED };
    Binarizer::new(Binarization::None)?.binarize(&generator.generate()?, 0, 0)
}

/// Centered gradient ascent with batches of 100 at a rate of .05; CD-k from the batch, or PCD-1.
fn train(
    data: &BitMatrix,
    base: &BaseDistribution,
    cd: usize,
    updates: usize,
) -> Result<Parameters> {
    let (m, rows) = (data.columns(), data.rows());
    let mut parameters = Parameters {
        visible_bias: base.logits().to_vec(),
        hidden_bias: vec![0.0; HIDDEN],
        ..gaussian_parameters(m, HIDDEN, 0.01, SEED)
    };
    let mut rule = Sgd::new(SgdConfig { momentum: 0.0, nesterov: false }, m, HIDDEN);
    let mut particles = Particles { visible: base.sample(BATCH, SEED, 1), seed: SEED, sweeps: 0 };
    let means = base.logits().iter().map(|&a| 1.0 / (1.0 + f64::from(-a).exp())).collect();
    let mut centering = Centering::new(means, HIDDEN);
    for update in 0..updates {
        if update % 5000 == 0 && update > 0 {
            eprintln!("  {update} of {updates} updates");
        }
        // A stride prime to the number of rows mixes the classes of a sorted file.
        let batch = data.select((0..BATCH).map(|i| (update * BATCH + i) * 7919 % rows));
        let ops = Fused::new(&parameters);
        let positive = moments(&ops, &batch, None);
        centering.follow(&positive);
        if cd > 0 {
            particles.visible = batch;
        }
        particles.sweep(&ops, cd.max(1));
        let negative = moments(&ops, &particles.visible, None);
        rule.step(&mut parameters, &gradient(&positive, &negative, Some(&centering)), 0.05);
    }
    Ok(parameters)
}

fn anneal_all(
    sizes: &Sizes,
    model: usize,
    parameters: &Parameters,
    base: &BaseDistribution,
    exact: f64,
) -> Result<Vec<Run>> {
    let ops = Fused::new(parameters);
    let ladder = |betas: &[f64]| Ladder::new(betas, &Prior::Uniform);
    let survey = ladder(&linear(SURVEY.1)?)?;
    let path = GeometricPath { ops: &ops, ladder: &survey, base };
    let variance = SlopeVariance::from_annealing(&path, SURVEY.0, SEED + 1);
    let moments = anneal(&path, MOMENTS.0, SEED + 1, 0, Keep::All);
    let gms13 = BinnedLinear::from_annealed(&moments, &survey, MOMENTS.1)?;
    let knots = sizes.fit.fit(base, parameters)?;
    let along_moments = SlopeVariance::from_annealing(&knots.path(&survey), SURVEY.0, SEED + 1);
    figure_1(sizes, model, &variance)?;
    let mut runs = Vec::new();
    for &k in &sizes.temperatures {
        let varopt = variance.schedule(k)?;
        let betas: [Result<Vec<f64>>; PAPER.len()] = [
            linear(k),
            salakhutdinov_murray(k),
            Ok(varopt.clone()),
            gms13.schedule(k),
            decelerate(&varopt, 0.009),
            decelerate(&varopt, 0.006),
            decelerate(&varopt, 0.003),
            linear(k),
            along_moments.schedule(k),
        ];
        for (schedule, betas) in betas.into_iter().enumerate() {
            let name = PAPER[schedule].0;
            let Ok(betas) = betas else {
                eprintln!("  {name}: {k} temperatures are too few for its longest step");
                continue;
            };
            let clock = Instant::now();
            let ladder = ladder(&betas)?;
            let (geometric, averaged);
            let path: &dyn TemperedPath = if schedule < GEOMETRIC {
                geometric = GeometricPath { ops: &ops, ladder: &ladder, base };
                &geometric
            } else {
                averaged = knots.path(&ladder);
                &averaged
            };
            let estimate = ais(path, sizes.chains, SEED)?;
            let seconds = clock.elapsed().as_secs_f64();
            eprintln!(
                "  {} {name}, {k} temperatures: ESS {:.0}, {seconds:.1} s",
                MODELS[model].0,
                ess(&estimate)
            );
            runs.push(Run { model, schedule, temperatures: k, estimate, exact });
        }
    }
    Ok(runs)
}

fn ess(estimate: &Estimate) -> f64 {
    estimate.effective_samples.unwrap_or(f64::NAN)
}

/// log Z and ESS at the largest number of temperatures, beside the paper's.
fn table(sizes: &Sizes, runs: &[Run]) -> String {
    let largest = sizes.temperatures.last().copied().unwrap_or(0);
    let mut text = format!(
        "AIS with {} chains and {largest} temperatures; models of our own, {} updates. paper: ESS of 1000 chains at 100000.\n\n{:<16}",
        sizes.chains, sizes.updates, "schedule"
    );
    for (name, _) in &MODELS[..sizes.models] {
        text += &format!("{:>20}", format!("{name}({HIDDEN}) log Z"));
        text += &format!("{:>8}{:>7}", "ESS", "paper");
    }
    for (schedule, (name, paper)) in PAPER.iter().enumerate() {
        text += &format!("\n{name:<16}");
        for (model, paper) in paper.iter().enumerate().take(sizes.models) {
            let run = runs.iter().find(|run| {
                (run.model, run.schedule, run.temperatures) == (model, schedule, largest)
            });
            text += &run.map_or(format!("{:>20}{:>8}", "-", "-"), |run| {
                let Estimate { value, std_error, .. } = run.estimate;
                format!(
                    "{:>20}{:>8.0}",
                    format!("{value:.3} +- {std_error:.3}"),
                    ess(&run.estimate)
                )
            });
            text += &if paper.is_nan() { format!("{:>7}", "-") } else { format!("{paper:>7}") };
        }
    }
    text += "\nexact           ";
    for model in 0..sizes.models {
        let exact = runs.iter().find(|run| run.model == model).map_or(f64::NAN, |run| run.exact);
        text += &format!("{:>20}{:>15}", format!("{exact:.3}"), "");
    }
    text + "\n\n"
}

/// Temperatures that a schedule by VAROPT needs for the linear one's ESS, along the geometric path (also decelerated to steps
/// of .009, as the paper proposes) and along the moment path; by interpolation of ESS against log K.
fn needed(sizes: &Sizes, runs: &[Run]) -> String {
    let mut text = String::from("Temperatures for the same ESS as the linear schedule:\n");
    for (model, (name, _)) in MODELS.iter().enumerate().take(sizes.models) {
        let curve = |schedule: usize| -> Vec<(f64, f64)> {
            runs.iter()
                .filter(|run| run.model == model && run.schedule == schedule)
                .map(|run| (run.temperatures as f64, ess(&run.estimate)))
                .collect()
        };
        for (linear, rivals) in [(0, &[2, 3, 4][..]), (GEOMETRIC, &[GEOMETRIC + 1])] {
            for (k, target) in curve(linear) {
                text += &format!("  {name:<5} ESS {target:>5.0}: {} {k:>6}", PAPER[linear].0);
                for &rival in rivals {
                    text += &format!(", {} {:>8}", PAPER[rival].0, reaches(&curve(rival), target));
                }
                text += "\n";
            }
        }
    }
    text
}

/// The number of temperatures at which a curve of (temperatures, ESS) reaches `target`.
fn reaches(curve: &[(f64, f64)], target: f64) -> String {
    match curve {
        [] => "-".into(),
        [first, ..] if first.1 >= target => format!("< {:.0}", first.0),
        [.., last] => curve.windows(2).find(|pair| pair[1].1 >= target).map_or_else(
            || format!("> {:.0}", last.0),
            |pair| {
                let share = (target - pair[0].1) / (pair[1].1 - pair[0].1);
                format!("{:.0}", pair[0].0 * (pair[1].0 / pair[0].0).powf(share))
            },
        ),
    }
}

/// beta against the share of steps done.
fn figure_1(sizes: &Sizes, model: usize, variance: &SlopeVariance) -> Result<()> {
    let line = |name: &str, betas: Vec<f64>| {
        let last = (betas.len() - 1) as f64;
        let points = betas.into_iter().enumerate().map(|(k, beta)| (k as f64 / last, beta));
        Series::line(name, points.collect())
    };
    let name = MODELS[model].0;
    Chart {
        title: format!("Annealing schedules, {name}({HIDDEN})"),
        x_label: "share of the steps".into(),
        y_label: "beta".into(),
        series: vec![
            line("LINEAR", linear(200)?),
            line("SM08", salakhutdinov_murray(200)?),
            line("VAROPT", variance.schedule(200)?),
            line("VAROPT.009", decelerate(&variance.schedule(200)?, 0.009)?),
        ],
        ..Chart::default()
    }
    .save(&sizes.out.join(format!("schedules-{name}.svg")))
}

/// ESS against temperatures, and every run as CSV.
fn write(sizes: &Sizes, runs: &[Run]) -> Result<()> {
    let mut csv =
        String::from("model,schedule,temperatures,log_z,std_error,exact_log_z,ess,seconds\n");
    for Run { model, schedule, temperatures, estimate, exact } in runs {
        let Estimate { value, std_error, seconds, .. } = estimate;
        csv += &format!(
            "{},\"{}\",{temperatures},{value},{std_error},{exact},{},{seconds}\n",
            MODELS[*model].0,
            PAPER[*schedule].0,
            ess(estimate)
        );
    }
    write_bytes(sizes.out.join("schedules.csv"), csv.as_bytes())?;
    for (model, (name, _)) in MODELS.iter().enumerate().take(sizes.models) {
        let series = (0..PAPER.len()).map(|schedule| {
            let points = runs.iter().filter(|run| (run.model, run.schedule) == (model, schedule));
            let points = points.map(|run| (run.temperatures as f64, ess(&run.estimate)));
            Series::line(PAPER[schedule].0, points.collect())
        });
        Chart {
            title: format!("Effective samples of {} chains, {name}({HIDDEN})", sizes.chains),
            x_label: "temperatures".into(),
            y_label: "ESS".into(),
            log_x: true,
            series: series.collect(),
            ..Chart::default()
        }
        .save(&sizes.out.join(format!("ess-{name}.svg")))?;
    }
    Ok(())
}
