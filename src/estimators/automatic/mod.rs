//! log Z without prior knowledge of the model's modes: the default of `ztrack estimate`.
//!
//! 1. Modes of both layers are searched ([`super::ModeSearch`]); every state that is evaluated adds to a lower bound of log Z.
//! 2. Candidate starts are annealed for a short time each. A mixture of product distributions is fitted to the states that they reach, and
//!    to states drawn at the modes.
//! 3. RTS runs on the path from that mixture ([`crate::tempering::mixture`]), half of its chains from the mixture, half from the modes at
//!    beta = 1. Its diagnostics compare chains one by one, the two halves with each other, and the value with annealing and the bound.
//! 4. Two short runs only locate the mass. If a result is in doubt, the mixture is fitted again to the states of the chains at beta = 1,
//!    and the run is repeated with twice the sweeps, until all diagnostics pass or the budget is used up.

mod annealed_samples;
mod candidates;
mod choice;
mod exploration;
mod judgement;
mod known;
mod layer_sum;
mod mean_field;
mod modes;
mod results;
mod run;
mod search;
mod settings;

pub use candidates::Candidate;
pub use known::{Bound, Known};
pub use modes::{Mode, ModeSearch};
pub use run::{FoundStart, Report};
pub use search::lower_bound;
pub(super) use search::quick_start;
pub use settings::{Automatic, BUDGET, CHAINS, SWEEPS, TEMPERATURES};
