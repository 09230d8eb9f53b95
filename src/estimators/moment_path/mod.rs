//! The moment-averaging path of Grosse, Maddison and Salakhutdinov (2013).

mod fit;
mod knots;
mod walker;

pub use fit::MomentAveraging;
pub use knots::{MomentKnots, MomentPath};
