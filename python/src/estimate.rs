//! log Z and samples of a fixed model.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::Serialize;
use ztrack::estimators::{
    self, Agreement, Automatic, Equilibrium, Estimate, EstimateSettings, Known, Starting,
};
use ztrack::tempering::BaseDistribution;
use ztrack::tempering::schedules::linear;
use ztrack::{BitMatrix, Context, Interface, Parameters, Result};

use super::arrays::{cells, parameters, rows, table_columns};
use super::errors::{named, of_arguments};
use super::long_call::{Message, long};

#[derive(Serialize)]
struct Found {
    estimates: Vec<Estimate>,
    bound: Option<estimators::Bound>,
    agreement: Agreement,
    skipped: Vec<String>,
}

/// A model and what is known of it, as bytes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Given {
    weights: PyBackedBytes,
    visible_bias: PyBackedBytes,
    hidden_bias: PyBackedBytes,
    groups: String,
    data: Option<PyBackedBytes>,
    states: Option<PyBackedBytes>,
}

/// The same, checked.
pub(super) struct Problem {
    pub parameters: Parameters,
    pub data: Option<BitMatrix>,
    pub states: Option<BitMatrix>,
}

impl Given {
    pub(super) fn problem(&self) -> Result<Problem> {
        let variables = self.groups.parse()?;
        let parameters =
            parameters(&self.weights, &self.visible_bias, &self.hidden_bias, &variables)?;
        let all = |rows: &Option<PyBackedBytes>, name: &str| -> Result<_> {
            let Some(rows) = rows else { return Ok(None) };
            let rows = self::rows(
                rows,
                table_columns(parameters.n_visible, &parameters.variables),
                &parameters.variables,
            )?;
            parameters.variables.check(&rows, name)?;
            Ok(Some(rows))
        };
        let (data, states) = (all(&self.data, "`data`")?, all(&self.states, "`states`")?);
        Ok(Problem { parameters, data, states })
    }
}

/// Settings of estimates.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    methods: Vec<String>,
    chains: usize,
    temperatures: Option<usize>,
    sweeps: usize,
    budget: f64,
    seed: u64,
}

/// JSON of all estimates.
#[pyfunction]
#[pyo3(signature = (given, settings, progress))]
pub fn log_partition(
    py: Python<'_>,
    given: Given,
    settings: Settings,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let found = long(py, progress.as_ref(), true, Context::default(), |tell, turn| {
        let at_work = turn.begin()?;
        let Problem { parameters, data, states } = given.problem()?;
        let Settings { methods, chains, temperatures, sweeps, budget, seed } = settings;
        let methods = methods.iter().map(|name| name.parse()).collect::<Result<_>>()?;
        let settings = EstimateSettings {
            methods,
            chains,
            temperatures,
            sweeps,
            budget,
            seed,
            context: at_work.context().clone(),
            ..EstimateSettings::default()
        };
        let (rows, states) = (data.as_ref(), states.as_ref());
        let start = Starting { rows, states, ..Starting::default() };
        let found = settings.run(&parameters, start, &mut |step| {
            if step.begins || !step.line.is_empty() {
                // Nobody listens any more where the call is being ended.
                let _ = tell.send(Message::Line(step.to_string()));
            }
        })?;
        let (mut estimates, mut agreement, bound) = (found.estimates, found.agreement, found.bound);
        for estimate in &mut estimates {
            estimate.trust = estimate.trust.kept(Interface::Python);
        }
        let sentences = |texts: Vec<String>| texts.iter().map(|text| of_arguments(text)).collect();
        agreement.disagreements = sentences(agreement.disagreements);
        Ok(Found { estimates, bound, agreement, skipped: sentences(found.skipped) })
    })?;
    serde_json::to_string(&found).map_err(|error| named(py, "InternalError", error.to_string()))
}

/// Settings of samples.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Draws {
    count: usize,
    chains: usize,
    temperatures: usize,
    burn_in: usize,
    spacing: Option<usize>,
    budget: f64,
    seed: u64,
}

/// `count` samples, one byte a cell and words of doubt.
#[pyfunction]
#[pyo3(signature = (given, draws, progress))]
pub fn sample<'py>(
    py: Python<'py>,
    given: Given,
    draws: Draws,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
    let (samples, variables) =
        long(py, progress.as_ref(), true, Context::default(), |tell, turn| {
            let at_work = turn.begin()?;
            let Problem { parameters, data, states } = given.problem()?;
            let marginals = data.as_ref().map(|rows| {
                let smoothing = BaseDistribution::PSEUDO_COUNT;
                BaseDistribution::from_marginals(rows, smoothing, &parameters.variables)
            });
            let marginals = marginals.transpose()?;
            let (rows, states) = (data.as_ref(), states.as_ref());
            let known = Known { marginals: marginals.as_ref(), rows, states, ..Known::default() };
            let Draws { count, chains, temperatures, burn_in, spacing, budget, seed } = draws;
            let ladder = Automatic::ladder(&linear(temperatures)?)?;
            let settings = Automatic {
                chains,
                ladder,
                sweeps: burn_in,
                budget,
                context: at_work.context().clone(),
                ..Automatic::new(seed)?
            };
            let samples =
                Equilibrium::of(&parameters, &settings, known, (count, spacing), &mut |line| {
                    let _ = tell.send(Message::Line(line.to_string()));
                })?;
            Ok((samples, parameters.variables))
        })?;
    let doubts = samples.trust.doubts().iter().map(|doubt| doubt.text(Interface::Python)).collect();
    Ok((PyBytes::new(py, &cells(&samples.visible, &variables)), doubts))
}
