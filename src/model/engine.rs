//! The engine of a model on the device of a context.

use std::sync::Arc;

use super::Parameters;
use crate::context::{Context, Device};
use crate::engine::{Engine, Host};

impl Parameters {
    /// An engine with these parameters. Ranks divide its work on the host; elsewhere each does all of it.
    pub fn engine(&self, context: &Context) -> Arc<dyn Engine> {
        match context.device() {
            Device::Host => Arc::new(Host::new(self).within(context.clone())),
            #[cfg(feature = "burn")]
            Device::Burn(device) => {
                Arc::new(crate::engine::OnBurn::new(self, device).within(context.undivided()))
            }
        }
    }
}
