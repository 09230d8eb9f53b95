//! Options for inverse temperatures.

use clap::Args;

use crate::estimators::{Schedule, ScheduleSettings};

/// Where inverse temperatures lie
#[derive(Args)]
#[command(next_help_heading = "Schedule")]
pub struct ScheduleOptions {
    /// Schedule: linear, salakhutdinov-murray, geometric, varopt, gms13, automatic, or a file with one inverse temperature a line
    #[arg(long, default_value = "linear", value_name = "NAME|FILE", value_parser = schedule)]
    schedule: Schedule,
    /// Longest step of beta allowed; the others are stretched
    #[arg(long, value_name = "MAX_STEP")]
    deceleration: Option<f64>,
}

impl ScheduleOptions {
    /// The library's settings.
    pub fn settings(&self) -> ScheduleSettings {
        ScheduleSettings { schedule: self.schedule.clone(), deceleration: self.deceleration }
    }
}

fn schedule(text: &str) -> Result<Schedule, String> {
    Ok(match text {
        "linear" => Schedule::Linear,
        "salakhutdinov-murray" => Schedule::SalakhutdinovMurray,
        "geometric" => Schedule::Geometric,
        "varopt" => Schedule::Varopt,
        "gms13" => Schedule::Gms13,
        "automatic" => Schedule::Automatic,
        file if std::path::Path::new(file).is_file() => Schedule::List(file.into()),
        other => {
            return Err(format!(
                "`{other}` is neither linear, salakhutdinov-murray, geometric, varopt, gms13, automatic nor a file"
            ));
        }
    })
}
