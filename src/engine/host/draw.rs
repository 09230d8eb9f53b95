//! Bernoulli draws: pre-activation, inverse temperature, base term, sigmoid, random number and comparison in one pass.
//!
//! A draw looks at 16 random bits first. They decide unless the probability falls into the same 1/65536, once in tens of
//! thousands of draws; then 24 more bits are drawn. The result is that of a 40-bit uniform number,
//! rounded to f32, at half the cost.
//!
//! Definition, the same on every instruction set: a unit is one if `uniform(unit) * (1 + exp_f32(-logit)) < 1`.

#[cfg(target_arch = "aarch64")]
use super::draw_neon;
use super::draw_row::Part;
use super::reals::draw_with_reals;
use super::{InstructionSet, draw_categorical};
#[cfg(target_arch = "x86_64")]
use super::{draw_avx2, draw_avx512};
use crate::engine::random::{Streams, philox_lanes};
use crate::engine::words_per_row;
use crate::units::{Variable, Variables};

/// Value of padding in [`crate::engine::Matrix`] rows of pre-activations: sigmoid and log(1 + exp) of it are zero at any beta > 0.
pub const PADDING: f32 = -1e30;

/// Rows of states to draw.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// Number of units in a row.
    pub n_units: usize,
    /// Pre-activations x, [rows, padded stride].
    pub inputs: &'a [f32],
    /// Inverse temperatures beta_s, `[rows]`.
    pub beta: &'a [f32],
    /// Base logits a, [padded stride]; 0 without.
    pub base: Option<&'a [f32]>,
    /// Row `s` uses stream `first_row + s`; which of its numbers decides a unit is fixed (`draw_row::uniform`).
    pub streams: Streams,
    /// Stream of the first row.
    pub first_row: u32,
}

impl Draw<'_> {
    /// Draws bits from Bernoulli(sigma(beta_s x_s + (1 - beta_s) a)) into packed rows.
    pub fn bits(&self, out: &mut [u64]) {
        self.run(InstructionSet::detect(), out);
    }

    /// Draws columns that stand for `variables`, with these natural parameters.
    pub fn columns(&self, variables: &Variables, out: &mut [u64]) {
        self.run_visible(InstructionSet::detect(), variables, out);
    }

    pub(super) fn run_visible(&self, set: InstructionSet, variables: &Variables, out: &mut [u64]) {
        if variables.has_reals() {
            return draw_with_reals(set, self, variables, out);
        }
        let variables = variables.categorical();
        if variables.is_empty() || variables.iter().any(Variable::is_bit) {
            self.run(set, out);
        }
        draw_categorical(set, self, variables, out);
    }

    pub(super) fn run(&self, set: InstructionSet, out: &mut [u64]) {
        Part { draw: *self, first: 0, words: words_per_row(self.n_units) }.run(set, out);
    }
}

impl Part<'_> {
    /// Draws these units; `out` starts at their first word of the first row.
    pub fn run(&self, set: InstructionSet, out: &mut [u64]) {
        match set {
            // SAFETY: the instruction set was detected on this machine.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Amx | InstructionSet::Avx512 => unsafe { draw_avx512::rows(self, out) },
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { draw_avx2::rows(self, out) },
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon => unsafe { draw_neon::rows(self, out) },
            InstructionSet::Portable => {
                self.rows(out, philox_lanes::<16>, |row, first, random| row.decide(first, random))
            }
        }
    }
}
