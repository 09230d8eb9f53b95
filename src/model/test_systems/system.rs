//! What every test system is.

use crate::model::Parameters;

/// A model and its exact log Z in nats.
#[derive(Clone, Debug)]
pub struct TestSystem {
    /// What it is.
    pub name: &'static str,
    /// The model.
    pub parameters: Parameters,
    /// log Z, f64.
    pub log_partition: f64,
}
