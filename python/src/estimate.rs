//! log Z and samples of a fixed model.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use ztrack::Result;
use ztrack::estimators::{
    self, Agreement, Automatic, Equilibrium, Estimate, EstimateSettings, Known,
};
use ztrack::tempering::BaseDistribution;
use ztrack::tempering::schedules::linear;

use super::arrays::{bits, cells, parameters};
use super::errors::{ARGUMENTS, named, of_arguments};
use super::long_call::long;

#[derive(Serialize)]
struct Found {
    estimates: Vec<Estimate>,
    bound: Option<estimators::Bound>,
    agreement: Agreement,
    skipped: Vec<String>,
}

/// JSON of all estimates.
#[pyfunction]
#[pyo3(signature = (weights, visible_bias, hidden_bias, groups, rows, states, methods, chains, temperatures, sweeps, budget, seed, progress))]
#[allow(clippy::too_many_arguments)]
pub fn log_partition(
    py: Python<'_>,
    weights: &[u8],
    visible_bias: &[u8],
    hidden_bias: &[u8],
    groups: &str,
    rows: Option<&[u8]>,
    states: Option<&[u8]>,
    methods: Vec<String>,
    chains: usize,
    temperatures: Option<usize>,
    sweeps: usize,
    budget: f64,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let found = long(py, progress.as_ref(), true, |tell| {
        let parameters = parameters(weights, visible_bias, hidden_bias, &groups.parse()?)?;
        let all = |rows: Option<&[u8]>, name: &str| -> Result<_> {
            let Some(rows) = rows else { return Ok(None) };
            let rows = bits(rows, parameters.n_visible)?;
            parameters.variables.check(&rows, name)?;
            Ok(Some(rows))
        };
        let (rows, states) = (all(rows, "`data`")?, all(states, "`states`")?);
        let methods = methods.iter().map(|name| name.parse()).collect::<Result<_>>()?;
        let settings = EstimateSettings {
            methods,
            chains,
            temperatures,
            sweeps,
            budget,
            seed,
            ..EstimateSettings::default()
        };
        let found =
            settings.run_with(&parameters, rows.as_ref(), states.as_ref(), &mut |line| {
                // Nobody listens any more where the call is being ended.
                let _ = tell.send(line.to_string());
            })?;
        let (mut estimates, mut agreement, bound) = (found.estimates, found.agreement, found.bound);
        for estimate in &mut estimates {
            estimate.trust = std::mem::take(&mut estimate.trust).reworded(ARGUMENTS);
        }
        let sentences = |texts: Vec<String>| texts.iter().map(|text| of_arguments(text)).collect();
        agreement.disagreements = sentences(agreement.disagreements);
        Ok(Found { estimates, bound, agreement, skipped: sentences(found.skipped) })
    })?;
    serde_json::to_string(&found).map_err(|error| named(py, "InternalError", error.to_string()))
}

/// `count` samples, one byte a cell, and words of doubt.
#[pyfunction]
#[pyo3(signature = (weights, visible_bias, hidden_bias, groups, rows, states, count, chains, temperatures, burn_in, spacing, budget, seed))]
#[allow(clippy::too_many_arguments)]
pub fn sample<'py>(
    py: Python<'py>,
    weights: &[u8],
    visible_bias: &[u8],
    hidden_bias: &[u8],
    groups: &str,
    rows: Option<&[u8]>,
    states: Option<&[u8]>,
    count: usize,
    chains: usize,
    temperatures: usize,
    burn_in: usize,
    spacing: usize,
    budget: f64,
    seed: u64,
) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
    let samples = long(py, None, false, |_tell| {
        let parameters = parameters(weights, visible_bias, hidden_bias, &groups.parse()?)?;
        let all = |rows: Option<&[u8]>, name: &str| -> Result<_> {
            let Some(rows) = rows else { return Ok(None) };
            let rows = bits(rows, parameters.n_visible)?;
            parameters.variables.check(&rows, name)?;
            Ok(Some(rows))
        };
        let (rows, states) = (all(rows, "`data`")?, all(states, "`states`")?);
        let marginals = rows
            .as_ref()
            .map(|rows| BaseDistribution::from_marginals(rows, 1.0, &parameters.variables));
        let marginals = marginals.transpose()?;
        let (rows, states) = (rows.as_ref(), states.as_ref());
        let known = Known { marginals: marginals.as_ref(), rows, states, ..Known::default() };
        let ladder = Automatic::ladder(&linear(temperatures)?)?;
        let settings = Automatic { chains, ladder, sweeps: burn_in, budget, seed };
        Equilibrium::of(&parameters, &settings, known, (count, spacing), &mut |_| ())
    })?;
    let doubts = samples.trust.doubts().iter().map(|doubt| doubt.text.clone()).collect();
    Ok((PyBytes::new(py, &cells(&samples.visible)), doubts))
}
