//! log Z and samples of a fixed model.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use ztrack::estimators::{self, Agreement, Estimate, EstimateSettings, Start};
use ztrack::model::plus_minus::Units;
use ztrack::tempering::{BaseDistribution, Path, Sampler, sampling_ladder};
use ztrack::{Fused, Result};

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
#[pyo3(signature = (weights, visible_bias, hidden_bias, rows, methods, chains, temperatures, sweeps, budget, seed, progress))]
#[allow(clippy::too_many_arguments)]
pub fn log_partition(
    py: Python<'_>,
    weights: &[u8],
    visible_bias: &[u8],
    hidden_bias: &[u8],
    rows: Option<&[u8]>,
    methods: Vec<String>,
    chains: usize,
    temperatures: Option<usize>,
    sweeps: usize,
    budget: f64,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let found = long(py, progress.as_ref(), |tell| {
        let parameters = parameters(weights, visible_bias, hidden_bias)?;
        let rows = rows.map(|rows| bits(rows, parameters.n_visible)).transpose()?;
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
        let found = settings.run(&parameters, rows.as_ref(), &mut |line| {
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

/// `count` samples, one byte a cell, and a word of doubt.
#[pyfunction]
#[pyo3(signature = (weights, visible_bias, hidden_bias, rows, count, chains, temperatures, burn_in, spacing, seed))]
#[allow(clippy::too_many_arguments)]
pub fn sample<'py>(
    py: Python<'py>,
    weights: &[u8],
    visible_bias: &[u8],
    hidden_bias: &[u8],
    rows: Option<&[u8]>,
    count: usize,
    chains: usize,
    temperatures: usize,
    burn_in: usize,
    spacing: usize,
    seed: u64,
) -> PyResult<(Bound<'py, PyBytes>, Option<String>)> {
    let samples = long(py, None, |_tell| {
        let parameters = parameters(weights, visible_bias, hidden_bias)?;
        let base = match rows {
            Some(rows) => {
                let rows = bits(rows, parameters.n_visible)?;
                BaseDistribution::from_column_counts(&rows.column_counts(), rows.rows(), 1.0)?
            }
            None => Start::VisibleBias.base(&parameters, Units::Binary, seed)?,
        };
        let (ops, ladder) = (Fused::new(&parameters), sampling_ladder(temperatures)?);
        let path = Path { ops: &ops, ladder: &ladder, base: &base };
        Sampler { chains, burn_in, spacing, seed }.run(path, count)
    })?;
    Ok((PyBytes::new(py, &cells(&samples.visible)), samples.doubt()))
}
