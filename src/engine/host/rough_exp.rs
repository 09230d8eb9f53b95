//! A rough exponential, for draws that look at coarse random bits first.
//!
//! Coarse bits need only a coarse probability. exp(-logit) comes from a polynomial of degree 3 with a relative error below 1.1e-4; draws
//! that it cannot decide with certainty, one in thousands, are decided by the definition. So fused multiply-adds and an inexact exponential
//! do not change the result.

/// Coefficients of 2^f for f in [-1/2, 1/2], the constant first: the polynomial that interpolates at the Chebyshev points.
pub const EXP2: [f32; 4] = [0.999_924_54, 0.693_136_75, 0.242_639_48, 0.055_838_283];
/// Bound on the relative error of 1 + exp(-logit), polynomial and rounding of the logit together, with room.
const DOUBT: f32 = 2.5e-4;
/// Number of coarse values.
const COARSE: f32 = 65_536.0;
/// The unit is one if the next coarse value times 1 + exp(-logit) is below this.
pub const SURELY_ONE: f32 = COARSE * (1.0 - DOUBT);
/// The unit is zero if its coarse value times 1 + exp(-logit) is above this.
pub const SURELY_ZERO: f32 = COARSE * (1.0 + DOUBT);
