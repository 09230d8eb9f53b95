//! Intermediate RBMs and the path through them.
//!
//! Between neighbouring knots the path is geometric in the joint: log f(v,h) = (1-u) log f_i(v,h) + u log f_{i+1}(v,h), again an
//! RBM, with parameters in between. The first knot is the base distribution as an RBM without weights, the last the model.
//! Annealing along it is unbiased for Z for any knots: a bad fit only increases the variance.

use crate::engine::Host;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::tempering::{BaseDistribution, Ladder};

/// Knots of a path from a base distribution to a model.
#[derive(Clone, Debug)]
pub struct MomentKnots {
    pub(super) base: BaseDistribution,
    /// The base, the intermediate RBMs, the model.
    pub(super) models: Vec<Host>,
    /// beta of each knot, ascending from 0 to 1.
    pub(super) positions: Vec<f64>,
    pub(super) n_hidden: usize,
}

impl MomentKnots {
    /// The path from `base` over `between` (beta and RBM each, ascending) to `target`.
    ///
    /// # Errors
    /// Knots of another size, or not ascending strictly between 0 and 1.
    pub fn new(
        base: &BaseDistribution,
        between: &[(f64, Parameters)],
        target: &Parameters,
    ) -> Result<Self> {
        let (m, j) = (target.n_visible, target.n_hidden);
        let start = Parameters { visible_bias: base.logits().to_vec(), ..Parameters::zeros(m, j) };
        let ends = [(0.0, &start), (1.0, target)];
        let inner = between.iter().map(|(beta, knot)| (*beta, knot));
        let all: Vec<_> =
            ends[..1].iter().copied().chain(inner).chain(ends[1..].to_vec()).collect();
        if base.logits().len() != m || all.iter().any(|(_, p)| p.n_visible != m || p.n_hidden != j)
        {
            return Err(Error::Mismatch(format!(
                "every knot of a path to a {m}x{j} model must have {m} visible and {j} hidden units"
            )));
        }
        if !all.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(Error::Invalid("knots must ascend strictly between beta = 0 and 1".into()));
        }
        Ok(Self {
            base: base.clone(),
            models: all.iter().map(|(_, parameters)| Host::new(parameters)).collect(),
            positions: all.iter().map(|(beta, _)| *beta).collect(),
            n_hidden: j,
        })
    }

    /// The path at the inverse temperatures of a ladder; knots need not be among them.
    pub fn path<'a>(&'a self, ladder: &'a Ladder) -> MomentPath<'a> {
        MomentPath { knots: self, ladder }
    }
}

/// Knots and a ladder: an [`crate::tempering::TemperedPath`].
#[derive(Clone, Copy, Debug)]
pub struct MomentPath<'a> {
    pub(super) knots: &'a MomentKnots,
    pub(super) ladder: &'a Ladder,
}

impl MomentPath<'_> {
    /// The knot before the `k`-th temperature, and how far it is (0 to 1) on the way to the next one.
    pub(super) fn place(&self, k: usize) -> (usize, f64) {
        let beta = self.ladder.betas()[k];
        let positions = &self.knots.positions;
        let leg = positions[1..positions.len() - 1].partition_point(|position| *position <= beta);
        (leg, (beta - positions[leg]) / (positions[leg + 1] - positions[leg]))
    }
}
