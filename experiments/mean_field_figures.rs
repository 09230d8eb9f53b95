//! MEAN-FIELD (Prat Pou et al. 2024) Figs. 1, 3, 6 and 7: log Z by AIS from several base distributions, against the number of
//! temperatures, the size and the temperature of a model, the tolerated error, and the updates of a training.
//!
//!     cargo run --release --example mean_field_figures [-- --quick] [--out DIR]
//!
//! The paper gives figures without numbers. It uses 1024 chains; here there are 200. Figs. 1 (left) and 7 need the shared models and
//! MNIST and are left out without them. Fig. 5 and the text on Fig. 4: `mean_field_starts`.

#[path = "mean_field_starts/gaussian_moments.rs"]
mod gaussian_moments;
mod support;

use gaussian_moments::gaussian_moments;
use support::{Options, mnist};
use ztrack::Device;
use ztrack::Result;
use ztrack::config::Config;
use ztrack::data::{Dataset, Splits, Values};
use ztrack::engine::Host;
use ztrack::estimators::starts::from_means;
use ztrack::estimators::{Ais, Start};
use ztrack::model::plus_minus::Units;
use ztrack::model::{Parameters, exact};
use ztrack::record::{Chart, Series};
use ztrack::tempering::{BaseDistribution, Ladder, Prior};
use ztrack::training::Trainer;

const CHAINS: usize = 200;
const SEED: u64 = 1;
/// The starts of the paper: B = 0, the pseudo-inverse, and signs of random hidden states.
const STARTS: [(&str, Start); 3] =
    [("uniform", Start::Uniform), ("pinv", Start::Pinv), ("signs", Start::Signs)];
/// What the paper calls right.
const RIGHT: f64 = 0.05;

fn anneal(
    parameters: &Parameters,
    base: &BaseDistribution,
    temperatures: usize,
    seed: u64,
) -> Result<f64> {
    let ladder = Ladder::linear(temperatures, &Prior::Uniform)?;
    Ok(Ais { chains: CHAINS, ladder, seed }.run(&Host::new(parameters), base)?.value)
}

/// Rows of numbers on standard output and in a CSV.
fn table(options: &Options, file: &str, header: &[&str], rows: &[Vec<String>]) -> Result<()> {
    let line = |cells: &[&str]| cells.iter().map(|cell| format!("{cell:>14}")).collect::<String>();
    println!("{}", line(header));
    for row in rows {
        println!("{}", line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    options.save_csv(file, header, rows)?;
    println!();
    Ok(())
}

/// Fig. 1: AIS from the uniform distribution against the number of temperatures, of mnist-h20 and of ten models with Gaussian
/// weights. The paper draws the ratio to the truth of each; it is no number to average, since log Z of some is nearly 0.
fn figure_1(options: &Options) -> Result<()> {
    println!("Fig. 1: log Z by AIS from the uniform distribution, by the number of temperatures");
    let (sizes, models, (m, j)) = match options.quick {
        true => (vec![16, 64, 256], 3, (12, 40)),
        false => (vec![16, 64, 256, 1024, 4096, 16_384], 10, (20, 180)),
    };
    let published = mnist::shared_model("mnist-h20");
    let truth = published.as_ref().map(exact::log_partition).transpose()?;
    let systems: Vec<_> =
        (0..models).map(|seed| gaussian_moments(m, j, seed)).collect::<Result<_>>()?;
    let mut rows = Vec::new();
    for temperatures in sizes {
        let mut row = vec![temperatures.to_string()];
        row.push(match (&published, truth) {
            (Some(model), Some(truth)) => {
                let base = BaseDistribution::uniform(model.n_visible);
                format!("{:.2}", anneal(model, &base, temperatures, SEED)? - truth)
            }
            _ => "-".into(),
        });
        let mut ratios = Vec::new();
        for system in &systems {
            let base = BaseDistribution::uniform(m);
            let value = anneal(&system.parameters, &base, temperatures, SEED)?;
            ratios.push(value / system.log_partition);
        }
        let right = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= RIGHT).count();
        ratios.sort_by(f64::total_cmp);
        row.push(format!("{right} of {models}"));
        row.push(format!("{:.3}", ratios[ratios.len() / 2]));
        rows.push(row);
    }
    let header = ["temperatures", "h20 - exact", "GWGM in 5 %", "median ratio"];
    table(options, "fig1.csv", &header, &rows)
}

/// Fig. 3: the share within 5 % from the uniform distribution and from exact means, by hidden units and inverse temperature. 14
/// visible units, not 20: every cell enumerates its models.
fn figure_3(options: &Options) -> Result<()> {
    println!("Fig. 3: % of models within 5 %, from the uniform distribution / from exact means");
    let (m, hidden, models, temperatures) = match options.quick {
        true => (10, vec![10, 40], 3, 100),
        false => (14, vec![14, 42, 126, 378], 20, 1000),
    };
    let betas = [0.01, 0.1, 1.0, 10.0];
    let mut rows = Vec::new();
    for j in hidden {
        let mut row = vec![j.to_string()];
        for beta in betas {
            let mut right = [0; 2];
            for seed in 0..models {
                let mut model = gaussian_moments(m, j, seed)?.parameters;
                let scale = |values: &mut [f32]| values.iter_mut().for_each(|x| *x *= beta as f32);
                model.arrays_mut().into_iter().for_each(scale);
                let truth = exact::log_partition(&model)?;
                let means = from_means(exact::moments(&model)?.visible, &model.variables)?;
                for (right, base) in right.iter_mut().zip([BaseDistribution::uniform(m), means]) {
                    let ratio = anneal(&model, &base, temperatures, seed)? / truth;
                    *right += usize::from((ratio - 1.0).abs() <= RIGHT);
                }
            }
            let percent = right.map(|right| 100 * right / models as usize);
            row.push(format!("{} / {}", percent[0], percent[1]));
        }
        rows.push(row);
    }
    let header = ["hidden units", "beta .01", "beta .1", "beta 1", "beta 10"];
    table(options, "fig3.csv", &header, &rows)
}

/// Fig. 6: the share within a relative error, by start, of models with Gaussian weights.
fn figure_6(options: &Options) -> Result<()> {
    println!("Fig. 6: % of GWGM models within a relative error of log Z");
    let (models, (m, j), temperatures) =
        if options.quick { (4, (12, 40), 100) } else { (100, (20, 180), 1000) };
    let allowed = [1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5];
    let mut errors: [Vec<f64>; STARTS.len()] = Default::default();
    for seed in 0..models {
        let system = gaussian_moments(m, j, seed)?;
        for ((_, start), errors) in STARTS.iter().zip(&mut errors) {
            let base = start.base(&system.parameters, Units::Binary, seed)?;
            let value = anneal(&system.parameters, &base, temperatures, seed)?;
            errors.push((value / system.log_partition - 1.0).abs());
        }
    }
    let share = |errors: &[f64], allowed: f64| {
        100.0 * errors.iter().filter(|error| **error <= allowed).count() as f64 / models as f64
    };
    let rows: Vec<Vec<String>> = allowed
        .iter()
        .map(|&allowed| {
            let shares = errors.iter().map(|errors| format!("{:.0}", share(errors, allowed)));
            std::iter::once(allowed.to_string()).chain(shares).collect()
        })
        .collect();
    let series = STARTS.iter().zip(&errors).map(|((name, _), errors)| {
        Series::line(*name, allowed.iter().map(|&x| (x, share(errors, x))).collect())
    });
    let chart = Chart {
        title: "AIS of GWGM models (MEAN-FIELD Fig. 6)".into(),
        x_label: "relative error of log Z".into(),
        y_label: "models within, %".into(),
        log_x: true,
        series: series.collect(),
        ..Chart::default()
    };
    options.save_chart("fig6.svg", &chart)?;
    let header = ["within", STARTS[0].0, STARTS[1].0, STARTS[2].0];
    table(options, "fig6.csv", &header, &rows)
}

/// Fig. 7: AIS from each start along training on MNIST with 500 hidden units, beside AIS from the data's marginals, which the
/// paper takes as the truth, and the tracked value.
fn figure_7(options: &Options) -> Result<()> {
    let Some(rows) = mnist::training_rows() else {
        println!("Fig. 7 is left out: no MNIST");
        return Ok(());
    };
    println!("Fig. 7: log Z along training on MNIST, minus that of AIS from the marginals");
    let (hidden, updates, temperatures) =
        if options.quick { (20, 100, 100) } else { (500, 4000, 4096) };
    let text = format!(
        r#"
        seed = {SEED}
        [data]
        source = {{ name = "files", train = "memory" }}
        validation_fraction = 0.0
        [model]
        hidden = {hidden}
        [training]
        updates = {updates}
        learning_rate = 0.05
        early_stopping = false
        [evaluation]
        every = {}
        images_every = 0
        [audit]
        every = 0
        "#,
        updates / 10
    );
    let config = Config::parse(&text, &[])?;
    let train = Dataset::new("mnist", Values::Binary(rows), None, None)?;
    let splits = Splits { train, validation: None, test: None };
    let mut trainer = Trainer::new(&config, splits, Device::default())?;
    let mut rows = Vec::new();
    while let Some(evaluation) = trainer.next_evaluation()? {
        let model = trainer.parameters();
        let reference = anneal(&model, trainer.base(), temperatures, SEED)?;
        let mut row = vec![trainer.updates().to_string(), format!("{reference:.2}")];
        for (_, start) in &STARTS {
            let base = start.base(&model, Units::Binary, SEED)?;
            row.push(format!("{:.2}", anneal(&model, &base, temperatures, SEED)? - reference));
        }
        let (log_z, std_error) = (evaluation.log_z.value, evaluation.log_z.std_error);
        row.push(format!("{:.2} +- {std_error:.2}", log_z - reference));
        rows.push(row);
    }
    let header = ["update", "marginals", STARTS[0].0, STARTS[1].0, STARTS[2].0, "tracked"];
    table(options, "fig7.csv", &header, &rows)
}

fn main() -> Result<()> {
    let options = Options::read("mean_field_figures");
    for figure in [figure_1, figure_3, figure_6, figure_7] {
        figure(&options)?;
    }
    Ok(())
}
