//! Where models are computed.

use std::fmt;

/// The place of a model's engine.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Device {
    /// Memory of this machine, by the kernels of this crate: the fastest on CPUs.
    #[default]
    Host,
    /// A device of Burn, by tensor operations.
    #[cfg(feature = "burn")]
    Burn(burn::tensor::Device),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            #[cfg(feature = "burn")]
            Self::Burn(device) => write!(f, "{device:?}"),
        }
    }
}

#[cfg(feature = "burn")]
impl From<burn::tensor::Device> for Device {
    fn from(device: burn::tensor::Device) -> Self {
        Self::Burn(device)
    }
}
