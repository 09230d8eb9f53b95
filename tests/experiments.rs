//! Tests of mathematics that experiments alone use; they stand beside the code.

// Experiments call functions that no test does.
#![allow(dead_code, unused_imports)]

#[path = "../experiments/support/continuous/mod.rs"]
mod continuous;
#[path = "../experiments/mean_field_starts/gaussian_moments.rs"]
mod gaussian_moments;
#[path = "../experiments/mean_field_starts/kaufman.rs"]
mod kaufman;
#[path = "../experiments/mean_field_starts/lattices.rs"]
mod lattices;
#[path = "../experiments/mean_field_starts/spins.rs"]
mod spins;
#[path = "../experiments/mean_field_starts/transfer_matrix.rs"]
mod transfer_matrix;
