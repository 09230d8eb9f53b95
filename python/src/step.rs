//! One update of the trainer with a minibatch of the caller's: centered PCD-1 and plain gradient ascent.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use ztrack::engine::{Engine, Host};
use ztrack::tempering::BaseDistribution;
use ztrack::training::gradient::{Centering, Particles, gradient};
use ztrack::training::update::{Sgd, SgdConfig, UpdateRule};
use ztrack::units::Variables;
use ztrack::{Error, Result};

use super::arrays::{bits, cells, model_bytes, parameters};
use super::long_call::short;

/// Parameters, offsets of the centered gradient and particles after an update.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct State {
    weights: PyBackedBytes,
    visible_bias: PyBackedBytes,
    hidden_bias: PyBackedBytes,
    groups: String,
    /// mu and lambda; `None` before the first update.
    offsets: Option<(Vec<f64>, Vec<f64>)>,
    /// `None` before the first update.
    particles: Option<PyBackedBytes>,
    updates: u64,
    seed: u64,
}

/// The minibatch.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Batch {
    rows: PyBackedBytes,
    /// Weights of the rows, which add up to 1.
    weights: Option<Vec<f64>>,
    learning_rate: f64,
    /// Number of particles, where they are to be drawn.
    particles: usize,
}

type Floats<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);
type Stepped<'py> = (Floats<'py>, (Vec<f64>, Vec<f64>), Bound<'py, PyBytes>);

/// The state after one update with a batch: W, c and b as f32, offsets, particles.
#[pyfunction]
pub fn step<'py>(py: Python<'py>, state: State, batch: Batch) -> PyResult<Stepped<'py>> {
    let (model, centering, particles) = short(py, || taken(&state, &batch))?;
    let particles = cells(&particles.visible, &model.variables);
    let [weights, visible, hidden] = model_bytes(&model).map(|it| PyBytes::new(py, &it));
    let model = (weights, visible, hidden);
    Ok((model, (centering.visible, centering.hidden), PyBytes::new(py, &particles)))
}

fn taken(state: &State, batch: &Batch) -> Result<(ztrack::Parameters, Centering, Particles)> {
    let variables: Variables = state.groups.parse()?;
    let mut model =
        parameters(&state.weights, &state.visible_bias, &state.hidden_bias, &variables)?;
    let rows = bits(&batch.rows, model.n_visible)?;
    variables.check(&rows, "`X`")?;
    let engine = Host::new(&model);
    let ops: &dyn Engine = &engine;
    let data = ops.moments(&rows, batch.weights.as_deref());
    let mut centering = match &state.offsets {
        Some((visible, hidden)) => {
            let mut offsets = Centering::new(visible.clone(), model.n_hidden);
            offsets.hidden.clone_from(hidden);
            offsets
        }
        None => Centering::new(data.visible.clone(), model.n_hidden),
    };
    let visible = match &state.particles {
        Some(particles) => bits(particles, model.n_visible)?,
        None => BaseDistribution::from_marginals(&rows, 1.0, &variables)?.sample(
            batch.particles,
            state.seed,
            1,
        ),
    };
    let mut particles = Particles { visible, seed: state.seed, sweeps: state.updates };
    particles.sweep(ops, 1);
    let negative = ops.moments(&particles.visible, None);
    centering.follow(&data);
    let gradient = gradient(&data, &negative, Some(&centering));
    let (m, j) = (model.n_visible, model.n_hidden);
    Sgd::new(SgdConfig::default(), m, j).step(&mut model, &gradient, batch.learning_rate);
    match model.beyond_measure() {
        Some(what) => Err(Error::Diverged(format!(
            "training diverged at update {}: {what}; lower `learning_rate`",
            state.updates + 1
        ))),
        None => Ok((model, centering, particles)),
    }
}
