//! Choice of the Burn device by name.

use clap::ValueEnum;

use crate::model::Device;

/// Devices tensors can live on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// burn-ndarray
    #[default]
    Ndarray,
    /// burn-flex (needs a build with `--features flex`)
    Flex,
}

impl DeviceName {
    /// The device.
    pub fn device(self) -> anyhow::Result<Device> {
        match self {
            // Deprecated upstream from 0.23 on, which is why burn is pinned.
            #[allow(deprecated)]
            Self::Ndarray => Ok(Device::ndarray()),
            #[cfg(feature = "flex")]
            Self::Flex => Ok(Device::flex()),
            #[cfg(not(feature = "flex"))]
            Self::Flex => anyhow::bail!(
                "--device flex: this build has no burn-flex; build with `cargo build --release --features flex`"
            ),
        }
    }
}
