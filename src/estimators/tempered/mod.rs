//! Estimators that read one shared run of tempered chains, one file each.

mod bar;
mod curves;
mod errors;
mod kept;
mod mbar;
mod mixed;
mod newton;
mod reweighting;
mod run;
mod slopes;
pub mod spline;
mod stationary;
mod thermodynamic;
mod ts;
mod verdict;

pub use bar::bar;
pub use curves::{CurvePoint, free_curves};
pub use kept::{KeptRun, KeptStates, kept_bytes};
pub use mbar::{Mbar, mbar};
pub use mixed::mixed;
pub use run::{Group, TemperedRun};
pub use slopes::{NodeMoments, SlopeSums};
pub use stationary::{rsd, sd};
pub use thermodynamic::{ti, ti_corrected, ti_rb, ti_riemann};
pub use ts::ts;
pub use verdict::{Mixing, verdict};

use super::Estimate;

/// Input of an estimator from a shared run.
#[derive(Clone, Copy)]
pub enum Reader {
    /// Occupancies alone, which need little memory.
    Occupancy(fn(&TemperedRun) -> Estimate),
    /// Also the statistics of a [`KeptRun`].
    Kept(fn(&KeptRun) -> Estimate),
}

impl Reader {
    /// The estimate from a run with all statistics.
    pub fn read(self, run: &KeptRun) -> Estimate {
        match self {
            Self::Occupancy(method) => method(&run.run),
            Self::Kept(method) => method(run),
        }
    }
}
