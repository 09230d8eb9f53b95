//! Mean-field estimates of log Z: naive, second order (Thouless, Anderson, Palmer 1977) and third order.
//!
//! With magnetisations mv, mh, q = m - m^2 and W^2, W^3 elementwise,
//!
//! ```text
//! log Z ~ S(mv) + S(mh) + c.mv + b.mh + mv'W mh                                        naive: a lower bound
//!         + 1/2 qv'W^2 qh                                                              second order
//!         + 2/3 [qv(1/2 - mv)]'W^3 [qh(1/2 - mh)]                                      third order
//! ```
//!
//! S the Bernoulli entropies, at a point where the derivatives are zero:
//!
//! ```text
//! mh = sigma( b + W'mv + (W^2)'qv (1/2 - mh) + 2/3 (W^3)'[qv(1/2 - mv)] (1/2 - 3 qh) ),      mv alike
//! ```
//!
//! (Gabrie, Tramel, Krzakala 2015; COMPARISON eqs. 13 and 14, whose errors algorithms.md lists: the second line of 13 is
//! m^v, a and b are exchanged, 14's last term is +1/2 W^2, "F = log Z" is -log Z.) Errors are O(W^2), O(W^3), O(W^4); from the
//! second order on the value bounds nothing. Undamped, the iteration falls into cycles of two where W is strong.
//! Cost: order x 2 MJ an iteration and start.

mod expansion;
mod iteration;
#[cfg(test)]
mod tests;

pub use expansion::TapOrder;
pub use iteration::{Tap, TapEnd, TapSolution};
