//! What a tracker follows: a model with its engine, and the path to it.

use std::sync::Arc;

use crate::context::Context;
use crate::engine::Engine;
use crate::model::Parameters;
use crate::tempering::{BaseDistribution, GeometricPath, Ladder};

/// Parameters and the operations made from them; clones share both.
#[derive(Clone)]
pub struct Model {
    /// The parameters on the host.
    pub parameters: Arc<Parameters>,
    /// The engine that holds them.
    pub engine: Arc<dyn Engine>,
}

impl Model {
    /// On the host.
    pub fn on_host(parameters: impl Into<Arc<Parameters>>) -> Self {
        Self::within(parameters, Context::none())
    }

    /// On the device of a context.
    pub fn within(parameters: impl Into<Arc<Parameters>>, context: &Context) -> Self {
        let parameters = parameters.into();
        let engine = parameters.engine(context);
        Self { parameters, engine }
    }
}

/// Where a tracker starts, or continues after a resume.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// The model.
    pub model: &'a Model,
    /// Inverse temperatures of tempered chains.
    pub ladder: &'a Ladder,
    /// Their distribution at beta = 0.
    pub base: &'a BaseDistribution,
}

impl Start<'_> {
    pub(super) fn path(&self) -> GeometricPath<'_> {
        GeometricPath { engine: self.model.engine.as_ref(), ladder: self.ladder, base: self.base }
    }
}
