//! log Z without being told where the model's mass lies: what `ztrack estimate` runs by default.
//!
//! 1. Modes of both layers are searched ([`super::ModeSearch`]); every state seen adds to a lower bound of log Z.
//! 2. Candidate starts are annealed for a short time each. What they reach, and states drawn at the modes, are the rows a mixture
//!    of product distributions is fitted to.
//! 3. RTS runs on the path from that mixture ([`crate::tempering::mixture`]), half of its chains from the mixture, half from the modes at
//!    beta = 1, and is judged: chain by chain, the two halves against each other, against all annealing runs and the bound.
//! 4. Two short runs only look where the mass lies. In doubt, the mixture is fitted again to what the chains found at beta = 1
//!    and the run repeated with twice the sweeps, until nothing is in doubt or the budget is used up.

mod annealed_samples;
mod candidates;
mod choice;
mod exploration;
mod judgement;
mod known;
mod modes;
mod run;
mod search;
mod settings;

pub use candidates::Candidate;
pub use known::{Bound, Known};
pub use modes::{Mode, ModeSearch};
pub use run::{FoundStart, Report};
pub use search::lower_bound;
pub use settings::{Automatic, BUDGET, CHAINS, SWEEPS, TEMPERATURES};
