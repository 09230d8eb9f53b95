//! Choice of a device by name.

use clap::ValueEnum;

use crate::context::Device;

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
                let name = missing.name();
                anyhow::bail!(
                    "--device {name}: this build has no such device; build with `cargo build --release --features {name}`"
                )
            }
        };
        self.answers(&burn)?;
        Ok(Device::Burn(burn))
    }

    /// Burn panics where a device is missing: one sum tells.
    fn answers(self, device: &burn::tensor::Device) -> anyhow::Result<()> {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let sum = std::panic::catch_unwind(|| {
            let sum = burn::tensor::Tensor::<1>::ones([8], device).sum();
            sum.into_data().try_to_vec::<f32>()
        });
        std::panic::set_hook(hook);
        match sum {
            Ok(Ok(sum)) if sum == [8.0] => Ok(()),
            _ => anyhow::bail!(
                "--device {}: no such device was found here, or its driver does not work; `--device host` computes on this machine's CPU",
                self.name()
            ),
        }
    }

    /// As `--device` takes it.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |name| name.get_name().to_owned())
    }
}
