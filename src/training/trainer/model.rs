//! A model as the trainer hands it around: parameters on the host and the operations made from them.

use std::sync::Arc;

use burn::tensor::Device;

use crate::config::Kernel;
use crate::model::{Parameters, Rbm};
use crate::ops::{Composed, Fused, RbmOps};

/// Parameters and their operations; a clone shares both.
#[derive(Clone)]
pub(super) struct Model {
    pub parameters: Arc<Parameters>,
    pub ops: Arc<dyn RbmOps>,
}

impl Model {
    pub fn new(parameters: Parameters, kernel: Kernel, device: &Device) -> Self {
        let ops: Arc<dyn RbmOps> = match kernel {
            Kernel::Fused => Arc::new(Fused::new(&parameters)),
            Kernel::Composed => Arc::new(Composed::new(&Rbm::from_parameters(&parameters, device))),
        };
        Self { parameters: Arc::new(parameters), ops }
    }
}
