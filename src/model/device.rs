//! The device of Burn's tensors, for `model.kernel = "composed"`.

/// Burn's device; [`Device::default`] is the host, by burn-ndarray.
#[cfg(feature = "burn")]
pub use burn::tensor::Device;

/// The host, the only device of a build without the feature `burn`.
#[cfg(not(feature = "burn"))]
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Device;
