//! Gradients of the mean log-likelihood: data phase, negative phase, centering.

mod centering;
mod contrastive;
mod exact;
mod exchange;
mod negative_phase;
mod particles;
mod persistent;
mod preconditioner;
mod tempered;

pub use crate::engine::Moments;
pub use crate::tracking::Start;
pub(crate) use centering::write_gradient;
pub use centering::{Centering, gradient};
pub use contrastive::ContrastiveDivergence;
pub use exact::Exact;
pub use exchange::Exchange;
pub use negative_phase::{NegativePhase, Now};
pub use particles::Particles;
pub use persistent::PersistentDivergence;
pub(crate) use preconditioner::Preconditioner;
pub use tempered::Tempered;
