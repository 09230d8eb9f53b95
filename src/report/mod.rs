//! A run as one page: HTML without further files, made from the run folder.
//!
//! Missing parts are left out: an old run, one that was interrupted early or one whose data are elsewhere has a report of what exists.

mod chains;
mod curves;
mod diagnosis;
mod estimates;
mod facts;
mod metrics;
mod moments;
mod page;
mod pictures;
mod results;
mod run_files;
pub mod several;
mod stopping;
pub mod summary;
mod tried;
mod verdict;
mod words;

pub use curves::{likelihoods, log_z};
pub use diagnosis::Diagnosis;
pub use metrics::{Audit, Metrics};
pub use page::{duration, shown_error, with_error};
pub use results::{difference, same_rows};
#[cfg(feature = "cli")]
pub(crate) use run_files::summary as summary_of;
pub use run_files::{FAILURE, RunFiles, State, Stopping};
pub use several::differing;

pub use tried::SEARCH;
pub use words::quoted;

use page::Section;

use crate::training::Trainer;

/// Values that are computed again for a report, with the trainer that has the data; or why that is not possible.
pub type Computed<'a> = Result<(&'a Trainer, Option<&'a Diagnosis>), String>;

/// The page of one run, as HTML.
pub fn page(run: &RunFiles, computed: &Computed<'_>) -> String {
    let diagnosis = computed.as_ref().ok().and_then(|(_, diagnosis)| *diagnosis);
    let times = run.summary.as_ref().map(|summary| &summary.times);
    let times = times.or_else(|| Some(computed.as_ref().ok()?.0.times()));
    let mut sections = vec![
        curves::likelihood_section(run),
        curves::log_z_section(run),
        estimates::section(run, diagnosis),
        chains::ladder_section(diagnosis, &run.metrics),
        chains::chains_section(diagnosis, &run.metrics),
        match computed {
            Ok((trainer, Some(diagnosis))) => pictures::section(trainer, diagnosis),
            Ok((_, None)) => missing("there is no model yet"),
            Err(reason) => missing(reason),
        },
        tried::section(run),
        facts::time_section(run, times),
        facts::notices_section(run),
        facts::configuration_section(run),
    ];
    let warnings: Vec<String> = sections.iter().flat_map(Section::warnings).cloned().collect();
    sections.insert(0, verdict::section(run, &warnings));
    let subtitle = format!("a run of ztrack, {}", run.state.name());
    page::document(&run.name, &subtitle, sections)
}

fn missing(reason: &str) -> Section {
    Section::new("Model and data").paragraph(format!(
        "Chains, estimators, samples and moments of the model are left out: {reason}."
    ))
}
