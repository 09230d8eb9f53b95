//! What a model says of rows with missing cells.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use ztrack::estimators::{Completing, Completion};
use ztrack::tempering::BaseDistribution;
use ztrack::units::Variables;
use ztrack::{Context, Interface};

use super::arrays::{bits, cells};
use super::estimate::{Given, Problem};
use super::long_call::long;

/// Rows with missing cells, one byte a cell, and what is asked of them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    rows: PyBackedBytes,
    missing: PyBackedBytes,
    means: bool,
    draws: usize,
    seed: u64,
}

/// log f and its standard error `[N]`, means [N, M] as f64 (empty if not asked for), draws [N, draws, M], one byte a cell, and rows with
/// words of doubt.
type Completed<'py> =
    (Vec<f64>, Vec<f64>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<(usize, String)>);

/// Completes every row.
#[pyfunction]
#[pyo3(signature = (given, asked, progress))]
pub fn complete<'py>(
    py: Python<'py>,
    given: Given,
    asked: Asked,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Completed<'py>> {
    let found = long(py, progress.as_ref(), true, Context::default(), |_, turn| {
        let at_work = turn.begin()?;
        let Problem { parameters, data, .. } = given.problem()?;
        let variables = &parameters.variables;
        let base = data.as_ref().map(|rows| {
            BaseDistribution::from_marginals(rows, BaseDistribution::PSEUDO_COUNT, variables)
        });
        let base = base.transpose()?;
        let Asked { rows, missing, means, draws, seed } = asked;
        let mut rows = bits(&rows, parameters.n_visible)?;
        let missing = bits(&missing, parameters.n_visible)?;
        variables.settle(&mut rows, &missing);
        variables.check(&rows, "`data`")?;
        let asked = Completing {
            base: base.as_ref(),
            means,
            draws,
            seed,
            context: Some(at_work.context()),
        };
        asked.run(&parameters, &rows, &missing)
    })?;
    let doubtful = |(row, it): (usize, &Completion)| {
        (!it.trust.is_sound()).then(|| (row, it.trust.text(Interface::Python)))
    };
    let means: Vec<u8> =
        found.iter().flat_map(|it| &it.means).flat_map(|mean| mean.to_le_bytes()).collect();
    let draws: Vec<u8> = found.iter().flat_map(|it| cells(&it.draws, &Variables::BITS)).collect();
    Ok((
        found.iter().map(|it| it.log_f).collect(),
        found.iter().map(|it| it.std_error).collect(),
        PyBytes::new(py, &means),
        PyBytes::new(py, &draws),
        found.iter().enumerate().filter_map(doubtful).collect(),
    ))
}
