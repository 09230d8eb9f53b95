//! A model in the trainer: parameters on the host and the operations made from them.

use std::sync::Arc;

use crate::collective;
use crate::config::Kernel;
use crate::model::{Device, Parameters};
use crate::tracking::Model;

/// The model with the operations of the configuration. Ranks divide the work of the fused kernels; with the others, which are a reference,
/// each rank does all of it.
pub(super) fn model(
    parameters: impl Into<Arc<Parameters>>,
    kernel: Kernel,
    device: &Device,
) -> Model {
    let parameters = parameters.into();
    match kernel {
        Kernel::Host => Model::fused_on(parameters, collective::current()),
        Kernel::Composed => composed(parameters, device),
    }
}

#[cfg(feature = "burn")]
fn composed(parameters: Arc<Parameters>, device: &Device) -> Model {
    use crate::engine::Composed;
    use crate::model::Rbm;

    let rbm = Rbm::from_parameters(&parameters, device);
    let engine = Arc::new(Composed::new(&rbm).of(parameters.variables.clone()));
    Model { parameters, engine }
}

/// A configuration with it is refused when it is checked.
#[cfg(not(feature = "burn"))]
fn composed(parameters: Arc<Parameters>, _: &Device) -> Model {
    Model::fused_on(parameters, collective::current())
}
