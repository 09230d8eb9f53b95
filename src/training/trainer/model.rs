//! A model as the trainer hands it around: parameters on the host and the operations made from them.

use std::sync::Arc;

use burn::tensor::Device;

use crate::collective;
use crate::config::Kernel;
use crate::model::{Parameters, Rbm};
use crate::ops::Composed;
use crate::tracking::Model;

/// The model with the operations of the configuration. Ranks share the work of the fused kernels; each does that of the others,
/// which are there to compare with, for itself.
pub(super) fn model(
    parameters: impl Into<Arc<Parameters>>,
    kernel: Kernel,
    device: &Device,
) -> Model {
    let parameters = parameters.into();
    match kernel {
        Kernel::Fused => Model::fused_on(parameters, collective::current()),
        Kernel::Composed => {
            let ops = Arc::new(Composed::new(&Rbm::from_parameters(&parameters, device)));
            Model { parameters, ops }
        }
    }
}
