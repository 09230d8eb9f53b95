//! `ztrack train --dry-run`: requirements of a run, without running it.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::Result;

use crate::config::Config;
use crate::data::Splits;
use crate::memory::{free_memory, size};
use crate::report::duration;
use crate::training::{StepRecord, Trainer};

/// Seconds and updates of the measurement, which ends at the first of the two.
const MEASURED: (f64, u64) = (2.0, 100);

/// Sizes of the parts of the data, before they move into the trainer.
pub fn rows(splits: &Splits) -> String {
    let mut text =
        format!("{} columns; {} rows to train on", splits.train.columns(), splits.train.rows());
    for (name, part) in splits.parts().skip(1) {
        let _ = write!(text, ", {} {name}", part.rows());
    }
    text
}

/// The first updates of a run.
struct Measured {
    /// Seconds of an update with a step of the tracker, and of the start.
    update: f64,
    starting: f64,
    /// Updates that were made.
    updates: u64,
}

fn measure(trainer: &mut Trainer, config: &Config) -> Result<Measured> {
    let start = Instant::now();
    while trainer.tracker().is_none() && (config.is_tracked() || trainer.pretraining_left()) {
        if let StepRecord::TrackingStarted(_) = trainer.step()? {
            break;
        }
    }
    let starting = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut updates = 0;
    // An evaluation would be counted as an update.
    let last = trainer.total_updates().min(config.evaluation.every.saturating_sub(1));
    while updates < last.clamp(1, MEASURED.1) && start.elapsed().as_secs_f64() < MEASURED.0 {
        trainer.step()?;
        updates += 1;
    }
    Ok(Measured { update: start.elapsed().as_secs_f64() / updates as f64, starting, updates })
}

/// Seconds of an update of the whole run, with its tracking and audits, by the first updates.
pub fn seconds_per_update(trainer: &mut Trainer, config: &Config) -> Result<f64> {
    let Measured { update, .. } = measure(trainer, config)?;
    let forecast = trainer.forecast();
    let all = forecast.training + forecast.tracking + forecast.audits;
    Ok(all / forecast.first_update * update / forecast.updates as f64)
}

/// Makes the first updates, in memory, and prints the requirements of the whole run.
pub fn forecast(trainer: &mut Trainer, config: &Config, rows: &str) -> Result<String> {
    let Measured { update, starting, updates: measured } = measure(trainer, config)?;
    let forecast = trainer.forecast();
    let all = forecast.training + forecast.tracking + forecast.audits;
    let seconds = all / forecast.first_update * update + starting;
    let percent = |part: f64| 100.0 * part / all;
    let stopping = match &config.training.early_stopping {
        Some(_) => "at most ",
        None => "",
    };
    let free =
        free_memory().map_or(String::new(), |free| format!(" of {} that are free", size(free)));
    let tracking = if config.is_tracked() { ", with a step of the tracker each" } else { "" };
    let audits = match (config.audit.every, forecast.exact_audits) {
        (0, _) => "none before the end".to_string(),
        (every, true) => format!("exact, {}", at_every(every)),
        (every, false) => format!(
            "annealed importance sampling with {} temperatures, {}",
            trainer.audit_temperatures(),
            at_every(every)
        ),
    };
    let variables = match trainer.grouping() {
        Some(found) => format!("variables   {found}\n"),
        None if trainer.current_parameters().variables.is_plus_minus() => {
            "variables   -1 and +1, in both layers (data.variables = \"bits\": 0 and 1)\n".into()
        }
        None if trainer.current_parameters().variables.has_reals() => {
            let model = trainer.current_parameters();
            format!("variables   {}\n", model.variables.kinds(model.n_visible))
        }
        None => String::new(),
    };
    let weights = trainer.effective_rows();
    let weights = weights.map_or(String::new(), |rows| {
        format!("weights     the training rows count as {rows:.0} independent ones\n")
    });
    Ok(format!(
        "data        {rows}\n{variables}{weights}\
         model       {} hidden units, {} parameters\n\
         memory      about {}{free}, beside the data\n\
         length      {stopping}{} updates, {:.1} epochs of {} updates; evaluated every {} updates\n\
         an update   {:.3} ms, measured over the first {measured}{tracking}; {starting:.1} s to start\n\
         audits      {audits}\n\
         time        {stopping}about {}: training {:.0} %, tracking {:.0} %, audits {:.0} %; then the last audits and the report\n\
         nothing was written\n",
        config.model.hidden,
        forecast.parameters,
        size(forecast.bytes),
        forecast.updates,
        forecast.updates as f64 / forecast.updates_per_epoch as f64,
        forecast.updates_per_epoch,
        config.evaluation.every,
        1000.0 * update,
        duration(seconds),
        percent(forecast.training),
        percent(forecast.tracking),
        percent(forecast.audits),
    ))
}

fn at_every(evaluations: u64) -> String {
    match evaluations {
        1 => "at every evaluation".into(),
        n => format!("every {n} evaluations"),
    }
}
