//! Tempered chains: ladder, base distribution, sweeps, RTS statistics, mixing diagnostics.

mod annealing;
mod base;
mod chains;
pub mod continuous;
mod geometric_walker;
mod initial_rounds;
mod ladder;
mod mean_weight;
mod memory;
mod mixing;
pub mod mixture;
mod path;
mod round_trips;
mod rts;
mod sampler;
pub mod schedules;
mod simulated;
mod weights;

pub use crate::memory::check_memory;
pub use annealing::{Annealed, AnnealingPath, Keep, Walker, anneal, descend};
pub use base::{BaseDistribution, softplus};
pub use chains::{BetaUpdate, SweepRecord, TemperedChains};
pub use initial_rounds::{InitialRounds, RoundsEnd, RoundsRecord};
pub use ladder::{Ladder, Prior, log_sum_exp};
pub use mean_weight::MeanWeight;
pub use memory::{annealing_bytes, tempering_bytes};
pub use mixing::{Knot, Transitions};
pub use path::{Evaluated, Path};
pub(crate) use path::{rows_per_task, rows_per_thread};
pub use round_trips::{NEEDED_PER_CHAIN, RoundTrips, Traveller};
pub use rts::{Measurement, Occupancy, influence, measure};
pub use sampler::{Sampler, Samples, sampling_ladder};
pub use simulated::{RbmTempering, SimulatedTempering, Slopes, Swept};
pub use weights::{effective_number, normalised, systematic};
