//! Options of log Z estimates, shared by the commands that need one.

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::device::DeviceName;
use super::output::tell;
use super::schedule_options::ScheduleOptions;
use super::teller::Teller;
use crate::context::Context;
use crate::estimators::{Asked, EstimateSettings, Estimates, Method, Starting};
use crate::model::Parameters;

/// How log Z is estimated
#[derive(Args)]
#[command(next_help_heading = "Estimate of log Z")]
pub struct LogZOptions {
    /// Estimators, several separated by commas [default: exact up to 20 units in the smaller layer, else auto]
    #[arg(long = "method", value_parser = method(), value_delimiter = ',', value_name = "METHOD")]
    methods: Vec<Asked>,
    /// Chains
    #[arg(long, default_value_t = 100, value_name = "N")]
    chains: usize,
    /// Inverse temperatures [default: 100 for tempered chains, 10000 for ais, as many as sweeps for the ais of `all`]
    #[arg(long, value_name = "K")]
    temperatures: Option<usize>,
    /// Counted sweeps of every tempered chain
    #[arg(long, default_value_t = 1000, value_name = "N")]
    sweeps: usize,
    /// Work that `auto` may do while its estimate is in doubt, in seconds of one usual core
    #[arg(long, default_value_t = 20.0, value_name = "SECONDS")]
    budget: f64,
    /// Exit with status 3 when the result is in doubt
    #[arg(long)]
    pub strict: bool,
    /// Do not enumerate small models unless `exact` is given
    #[arg(long, hide = true)]
    no_exact: bool,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub seed: u64,
    /// Device that runs the chains
    #[arg(long, value_enum, default_value_t)]
    pub device: DeviceName,
    /// Print how the estimate was found: starts, runs, methods
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    schedule: ScheduleOptions,
}

/// `--method`: a name of the library's list of estimators, or of several at once.
fn method() -> impl TypedValueParser<Value = Asked> {
    let values = Asked::names().map(|(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(values).map(|name| name.parse().unwrap_or(Asked::All))
}

impl LogZOptions {
    /// Whether no method and no amount of work is asked for, so that a value which is known will do.
    pub fn are_default(&self) -> bool {
        self.methods.is_empty() && !self.no_exact && self.is_usual_work()
    }

    fn is_usual_work(&self) -> bool {
        let it = EstimateSettings::default();
        (self.chains, self.temperatures, self.sweeps, self.budget)
            == (it.chains, it.temperatures, it.sweeps, it.budget)
    }

    /// Estimates of all methods, with progress on standard error; `keep` keeps the shared chains in any case.
    pub fn run(
        &self,
        parameters: &Parameters,
        start: Starting<'_>,
        keep: bool,
        context: &Context,
    ) -> Result<Estimates> {
        let Self { chains, temperatures, sweeps, budget, seed, .. } = *self;
        let settings = EstimateSettings {
            methods: self.methods.clone(),
            chains,
            temperatures,
            sweeps,
            budget,
            enumerates: !self.no_exact,
            seed,
            schedule: self.schedule.settings(),
            context: context.clone().on(self.device.device()?),
            keep,
        };
        let mut teller = Teller::new(context, self.verbose, "start");
        let found = settings.run(parameters, start, &mut |step| teller.step(step))?;
        drop(teller);
        if !self.is_usual_work() && found.estimates.iter().all(|it| it.method == Method::Exact) {
            tell(
                "log Z is enumerated: --chains, --temperatures, --sweeps and --budget are for other methods (--method)",
            );
        }
        Ok(found)
    }
}
