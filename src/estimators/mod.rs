//! Estimators of log Z for a fixed model, one file each.

mod ais;
mod estimate;
mod exact;
mod rts;
pub mod starts;
pub mod tap;

pub use ais::Ais;
pub use estimate::{Bias, Estimate};
pub use exact::exact;
pub use rts::{Rts, rts};
pub use starts::Start;
pub use tap::{Tap, TapOrder};

/// An error bar needs independent chains to compare.
fn at_least_two_chains(chains: usize) -> crate::error::Result<()> {
    if chains < 2 {
        return Err(crate::error::Error::Invalid(format!(
            "{chains} chains give no error bar: use at least 2"
        )));
    }
    Ok(())
}
