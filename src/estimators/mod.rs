//! Estimators of log Z for a fixed model, one file each.

mod agreement;
mod ais;
mod asked;
pub mod automatic;
mod completion;
mod equilibrium;
mod estimate;
mod exact;
mod method;
mod raise;
mod request;
mod reverse_ais;
mod rts;
mod sams;
mod sandwich;
mod schedule;
mod settings;
pub mod starts;
mod stochastic_approximation;
pub mod tap;
pub mod tempered;
mod wang_landau;

pub(crate) use agreement::F32_ROUNDING;
pub use agreement::{Agreement, at_least};
pub use ais::{Ais, ais};
pub use asked::Asked;
pub use automatic::{
    Automatic, Bound, Candidate, FoundStart, Known, Mode, ModeSearch, Report, lower_bound,
};
pub use completion::{Completing, Completion};
pub use equilibrium::Equilibrium;
pub use estimate::{Bias, Estimate, FAILURE};
pub use exact::exact;
pub(crate) use exact::exact_within;
pub use method::Method;
use method::Way;
pub use raise::raise;
use request::{Request, Shared};
#[cfg(feature = "cli")]
pub(crate) use request::{automatic_settings, check_sizes};
pub use reverse_ais::reverse_ais;
pub use rts::{Rts, rts};
pub use sams::Sams;
pub use sandwich::{Balance, Sandwich, bennett, sandwich};
pub use schedule::{Schedule, ScheduleSettings};
pub use settings::{EstimateSettings, Estimates, Started, Starting, Step, log_partition};
pub use starts::Start;
pub use tap::{Tap, TapOrder};
pub use wang_landau::WangLandau;

/// An error bar compares independent chains.
fn at_least_two_chains(chains: usize) -> crate::error::Result<()> {
    if chains < 2 {
        return Err(crate::error::Error::Invalid(format!(
            "{chains} chains give no error bar: use at least 2"
        )));
    }
    Ok(())
}

/// An average needs at least one value.
fn at_least_one_sweep(sweeps: usize) -> crate::error::Result<()> {
    if sweeps == 0 {
        return Err(crate::error::Error::Invalid("0 sweeps: at least 1 is needed".into()));
    }
    Ok(())
}
