//! Options for inverse temperatures and the path of annealing.

use clap::{Args, ValueEnum};

use crate::estimators::{PathKind, Schedule, ScheduleSettings};

/// Paths by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PathName {
    /// Mixtures of log f with the base distribution
    Geometric,
    /// Over models whose moments are averages (annealed estimators only)
    Moments,
}

/// Where inverse temperatures lie
#[derive(Args)]
#[command(next_help_heading = "Schedule and path")]
pub struct ScheduleOptions {
    /// Schedule: linear, salakhutdinov-murray, geometric, varopt, gms13, automatic, or a file with one inverse temperature a line
    #[arg(long, default_value = "linear", value_name = "NAME|FILE", value_parser = schedule)]
    schedule: Schedule,
    /// Longest step of beta allowed; the others are stretched
    #[arg(long, value_name = "MAX_STEP")]
    deceleration: Option<f64>,
    /// Path of annealed estimators
    #[arg(long, value_enum, default_value_t = PathName::Geometric)]
    path: PathName,
}

impl ScheduleOptions {
    /// The library's settings.
    pub fn settings(&self) -> ScheduleSettings {
        let path = match self.path {
            PathName::Geometric => PathKind::Geometric,
            PathName::Moments => PathKind::Moments,
        };
        ScheduleSettings { schedule: self.schedule.clone(), deceleration: self.deceleration, path }
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
