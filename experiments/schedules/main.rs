//! SCHEDULES (Kiwaki 2015) Tables 1 and 2 and Figures 1 to 6: effective sample size of AIS by annealing schedule, on RBMs trained
//! here by PCD, CD-1 and CD-25; log Z is enumerated where there are at most 20 hidden units.
//!
//!     cargo run --release --example schedules [-- --quick] [--hidden 500 --updates 5000 --temperatures 1000,3162 --schedules LINEAR,VAROPT.009]
//!
//! ZTRACK_DATA: the folder with MNIST; without it bars and stripes are used. Numbers of temperatures go up to the paper's
//! 100000 unless given, which takes an hour or two. Writes a CSV and charts to DIR (results/schedules).

#[path = "../support/mod.rs"]
mod support;

mod figures;
mod models;
mod rivals;

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use models::{MODELS, data, train};
use rivals::{RIVALS, Rival, Survey};
use ztrack::engine::BitMatrix;
use ztrack::model::exact::log_partition;
use ztrack::tempering::{BaseDistribution, Keep, Ladder, Prior, TemperedPath, anneal};
use ztrack::{Error, Parameters, Result};

const SEED: u64 = 1;
/// Most hidden units that are enumerated.
const ENUMERATED: usize = 20;
/// Points of a chart along beta.
const POINTS: usize = 100;

/// Options.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: support::Options,
    /// Hidden units
    #[arg(long, default_value_t = 20)]
    hidden: usize,
    /// Updates that models are trained for
    #[arg(long, default_value_t = 30_000)]
    updates: usize,
    /// Learning rate, which the paper does not tell
    #[arg(long, default_value_t = 0.05)]
    rate: f64,
    /// Models: PCD, CD1, CD25
    #[arg(long, value_delimiter = ',', default_values_t = MODELS.map(|model| model.0.to_string()))]
    models: Vec<String>,
    /// Schedules, by name [default: all]
    #[arg(long, value_delimiter = ',')]
    schedules: Vec<String>,
    /// Numbers of temperatures
    #[arg(long, value_delimiter = ',', default_values_t = [1000, 3162, 10_000, 31_623, 100_000])]
    temperatures: Vec<usize>,
    /// Annealing chains
    #[arg(long, default_value_t = 1000)]
    chains: usize,
    /// Where annealing starts
    #[arg(long, default_value = "marginals")]
    base: Base,
}

/// Where annealing starts; the paper does not say.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Base {
    /// The marginals of the data
    Marginals,
    /// All states alike
    Uniform,
}

/// One AIS run.
pub struct Run {
    /// Index into [`MODELS`].
    pub model: usize,
    pub schedule: &'static str,
    pub temperatures: usize,
    pub log_z: f64,
    pub std_error: f64,
    pub ess: f64,
    /// ESS of the weights so far, by beta.
    pub ess_along: Vec<(f64, f64)>,
    pub seconds: f64,
    /// NaN where it is not known.
    pub exact: f64,
}

fn main() -> ExitCode {
    let mut options = Options::parse();
    options.common = options.common.named("schedules");
    support::exit_code(options.run().map(|()| true))
}

impl Options {
    fn run(mut self) -> Result<()> {
        if self.common.quick {
            (self.updates, self.chains, self.temperatures) = (500, 200, vec![200, 400]);
            self.models.truncate(2);
        }
        self.temperatures.sort_unstable();
        let (models, rivals) = self.chosen()?;
        let data = data(SEED)?;
        let base = match self.base {
            Base::Marginals => {
                BaseDistribution::from_marginals(&data, 1.0, &ztrack::units::Variables::BITS)?
            }
            Base::Uniform => BaseDistribution::uniform(data.columns()),
        };
        let mut runs = Vec::new();
        for &model in &models {
            let parameters = self.train(&data, model)?;
            let enumerated = self.hidden <= ENUMERATED;
            let exact = if enumerated { log_partition(&parameters)? } else { f64::NAN };
            let found = if enumerated { format!(", log Z = {exact:.3}") } else { String::new() };
            eprintln!("{}: trained{found}", MODELS[model].0);
            let survey = Survey::new(&parameters, &base, SEED)?;
            if rivals.iter().any(|rival| rival.name.starts_with("VAROPT")) {
                let chart = figures::schedules(MODELS[model].0, self.hidden, survey.variance()?)?;
                self.common.save_chart(&format!("schedules-{}.svg", MODELS[model].0), &chart)?;
            }
            runs.extend(self.anneal_all((model, exact), &survey, &rivals)?);
        }
        println!(
            "\nmodels of our own, {} updates at a rate of {}, {} chains\n",
            self.updates, self.rate, self.chains
        );
        print!("{}", figures::table(self.hidden, &models, &rivals, &runs));
        print!("{}", figures::needed(&models, &runs));
        let (header, rows) = figures::rows(&runs);
        self.common.save_csv("schedules.csv", &header, &rows)?;
        for &model in &models {
            for (name, chart) in figures::charts(self.hidden, model, &rivals, &runs) {
                self.common.save_chart(&format!("{name}-{}.svg", MODELS[model].0), &chart)?;
            }
        }
        Ok(())
    }

    /// Indices of the models, and the schedules, that were asked for.
    fn chosen(&self) -> Result<(Vec<usize>, Vec<&'static Rival>)> {
        let unknown = |what: &str, name: &str, known: Vec<&str>| {
            Error::Invalid(format!("--{what} {name}: known are {}", known.join(", ")))
        };
        let model = |name: &String| {
            let known = || MODELS.iter().map(|model| model.0);
            known()
                .position(|known| known == name)
                .ok_or_else(|| unknown("models", name, known().collect()))
        };
        let rival = |name: &String| {
            let known = || RIVALS.iter().map(|rival| rival.name).collect();
            RIVALS
                .iter()
                .find(|rival| rival.name == name)
                .ok_or_else(|| unknown("schedules", name, known()))
        };
        if self.temperatures.iter().any(|k| *k < 2) || self.chains < 2 || self.hidden == 0 {
            return Err(Error::Invalid(
                "2 temperatures, 2 chains and 1 hidden unit at least".into(),
            ));
        }
        let rivals = match self.schedules.is_empty() {
            true => RIVALS.iter().collect(),
            false => self.schedules.iter().map(rival).collect::<Result<_>>()?,
        };
        Ok((self.models.iter().map(model).collect::<Result<_>>()?, rivals))
    }

    fn train(&self, data: &BitMatrix, model: usize) -> Result<Parameters> {
        train(data, self.hidden, MODELS[model].1, (self.updates, self.rate), SEED)
    }

    fn anneal_all(
        &self,
        (model, exact): (usize, f64),
        survey: &Survey<'_>,
        rivals: &[&'static Rival],
    ) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for &temperatures in &self.temperatures {
            for rival in rivals {
                let schedule = rival.name;
                let betas = match (rival.betas)(survey, temperatures) {
                    Ok(betas) => betas,
                    Err(error) => {
                        eprintln!("  {schedule}, {temperatures} temperatures: {error}");
                        continue;
                    }
                };
                let clock = Instant::now();
                let ladder = Ladder::new(&betas, &Prior::Uniform)?;
                let path = survey.geometric(&ladder);
                let annealed = anneal(&path, self.chains, SEED, 0, Keep::All);
                let last = annealed.mean_weight(temperatures - 1);
                let every = temperatures.div_ceil(POINTS);
                let so_far = |k: usize| (betas[k], annealed.mean_weight(k).effective);
                let shown = (0..temperatures - 1).step_by(every).chain([temperatures - 1]);
                let ess_along = shown.map(so_far).collect();
                let seconds = clock.elapsed().as_secs_f64();
                let (log_z, ess) = (path.log_z_base() + last.log_mean, last.effective);
                eprintln!(
                    "  {} {schedule}, {temperatures} temperatures: {log_z:.3}, ESS {ess:.0}, {seconds:.1} s",
                    MODELS[model].0
                );
                let std_error = last.std_error;
                runs.push(Run {
                    model,
                    schedule,
                    temperatures,
                    log_z,
                    std_error,
                    ess,
                    ess_along,
                    seconds,
                    exact,
                });
            }
        }
        Ok(runs)
    }
}
