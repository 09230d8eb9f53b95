//! A model in the trainer: parameters on the host and the engine made from them.

use std::sync::Arc;

use crate::collective;
use crate::model::{Device, Parameters};
use crate::tracking::Model;

/// The model on a device; ranks divide the work of the host.
pub(super) fn model(parameters: impl Into<Arc<Parameters>>, device: &Device) -> Model {
    Model::on(parameters, device, collective::current())
}
