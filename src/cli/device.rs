//! Choice of a device by name.

use clap::ValueEnum;

use crate::model::Device;

/// Devices that models can be computed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// this machine's CPU, by the kernels of ztrack
    #[default]
    Host,
    /// burn-ndarray, for comparison
    Ndarray,
    /// burn-flex, for comparison (needs a build with `--features flex`)
    Flex,
    /// a GPU by Vulkan, Metal or DirectX (`--features wgpu`)
    Wgpu,
    /// a GPU by Vulkan (`--features vulkan`)
    Vulkan,
    /// an NVIDIA GPU (`--features cuda`)
    Cuda,
}

impl DeviceName {
    /// The device.
    pub fn device(self) -> anyhow::Result<Device> {
        let burn = match self {
            Self::Host => return Ok(Device::Host),
            // Deprecated upstream from 0.23 on, which is why burn is pinned.
            #[allow(deprecated)]
            Self::Ndarray => burn::tensor::Device::ndarray(),
            #[cfg(feature = "flex")]
            Self::Flex => burn::tensor::Device::flex(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => burn::tensor::Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => burn::tensor::Device::vulkan(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "cuda")]
            Self::Cuda => burn::tensor::Device::cuda(0),
            #[allow(unreachable_patterns)] // in a build with all of them
            missing => {
                let name = missing.to_possible_value();
                let name = name.as_ref().map_or("", |name| name.get_name());
                anyhow::bail!(
                    "--device {name}: this build has no such device; build with `cargo build --release --features {name}`"
                )
            }
        };
        Ok(Device::Burn(burn))
    }
}
