//! The interface of test systems.

use crate::model::Parameters;

/// A model and its exact log Z in nats.
#[derive(Clone, Debug)]
pub struct TestSystem {
    /// Its name.
    pub name: &'static str,
    /// The model.
    pub parameters: Parameters,
    /// log Z, f64.
    pub log_partition: f64,
}
