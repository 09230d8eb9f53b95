//! log Z and, for tiny models, the whole distribution of v.

use std::ops::Range;

use rayon::prelude::*;

use super::enumeration::Enumeration;
use super::total::Total;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::model::Parameters;

/// Most units the smaller layer may have: 2^25 states beside 784 units take about ten seconds of one core.
pub const MAX_UNITS: usize = 25;
/// Most units of the smaller layer of models that are enumerated without being asked to, because nothing else takes less time.
pub const QUICK_UNITS: usize = 20;
/// Most visible units for which [`log_probabilities_of_visible`] lists the distribution.
pub const MAX_TABLE_UNITS: usize = 16;

/// log Z in nats, exact to about 1e-10.
///
/// Cost: 2^min(M,J) states of O(max(M,J)).
///
/// # Errors
/// The smaller layer has more than [`MAX_UNITS`] units, or rounding spoils the sum: weights of 1e12 and more that cancel.
pub fn log_partition(parameters: &Parameters) -> Result<f64> {
    log_partition_within(parameters, Context::none())
}

/// The same, ended by a context.
pub(crate) fn log_partition_within(parameters: &Parameters, context: &Context) -> Result<f64> {
    check_size(parameters)?;
    let logits = vec![0.0; parameters.n_visible];
    let enumeration = Enumeration::of_smaller(parameters, &logits, 1.0).within(context);
    Total::of(&masses(&enumeration, &enumeration.pieces()))
}

/// log Z of the tempered joint beta log f(v,h) + (1 - beta) a.v, `base_logits` = a, shape `[M]`.
///
/// At beta = 0 this is J log 2 + sum_i softplus(a_i), at beta = 1 it is [`log_partition`].
///
/// # Errors
/// The smaller layer has more than [`MAX_UNITS`] units, rounding spoils the sum, or the number of logits is not M.
pub fn log_partition_at(parameters: &Parameters, base_logits: &[f64], beta: f64) -> Result<f64> {
    check_size(parameters)?;
    check_logits(parameters, base_logits)?;
    let enumeration = Enumeration::of_smaller(parameters, base_logits, beta);
    Total::of(&masses(&enumeration, &enumeration.pieces()))
}

/// log p(v) of all 2^M visible states; bit i of the index is v_i.
///
/// # Errors
/// M exceeds [`MAX_TABLE_UNITS`].
pub fn log_probabilities_of_visible(parameters: &Parameters) -> Result<Vec<f64>> {
    log_probabilities_of_visible_at(parameters, &vec![0.0; parameters.n_visible], 1.0)
}

/// log p_beta(v) of all 2^M visible states of the tempered joint of [`log_partition_at`]; bit i of the index is v_i.
///
/// # Errors
/// M exceeds [`MAX_TABLE_UNITS`], or the number of logits is not M.
pub fn log_probabilities_of_visible_at(
    parameters: &Parameters,
    base_logits: &[f64],
    beta: f64,
) -> Result<Vec<f64>> {
    if parameters.n_visible > MAX_TABLE_UNITS {
        return Err(Error::TooLarge(format!(
            "a table of all 2^{} visible states is too large: at most {MAX_TABLE_UNITS} visible units",
            parameters.n_visible
        )));
    }
    check_logits(parameters, base_logits)?;
    let enumeration = Enumeration::new(parameters, base_logits, beta, true);
    let states = 1 << parameters.n_visible;
    let (mut table, mut total) = (vec![0.0; states], Total::EMPTY);
    enumeration.walk(0..states as u64, |visit| {
        table[visit.state as usize] = visit.log_f;
        total.add(&visit);
    });
    let log_z = Total::of(&[total])?;
    table.iter_mut().for_each(|log_f| *log_f -= log_z);
    Ok(table)
}

/// The sum of every piece.
pub(super) fn masses(enumeration: &Enumeration, pieces: &[Range<u64>]) -> Vec<Total> {
    let mass = |piece: &Range<u64>| {
        let mut total = Total::EMPTY;
        enumeration.walk(piece.clone(), |visit| total.add(&visit));
        total
    };
    pieces.par_iter().map(mass).collect()
}

/// Refuses what would not end in a reasonable time.
pub(super) fn check_size(parameters: &Parameters) -> Result<()> {
    let (n_visible, n_hidden) = (parameters.n_visible, parameters.n_hidden);
    let smaller = parameters.smaller_layer();
    if smaller <= MAX_UNITS {
        return Ok(());
    }
    Err(Error::TooLarge(format!(
        "exact enumeration of a {n_visible}x{n_hidden} model would visit 2^{smaller} states; \
         at most {MAX_UNITS} units in the smaller layer are enumerated: use an estimator such as rts or ais"
    )))
}

fn check_logits(parameters: &Parameters, base_logits: &[f64]) -> Result<()> {
    if base_logits.len() == parameters.n_visible {
        return Ok(());
    }
    Err(Error::Mismatch(format!(
        "the base distribution has {} logits, the model {} visible units",
        base_logits.len(),
        parameters.n_visible
    )))
}
