//! The schedules that are compared, their inputs, and the paper's values.

use std::cell::OnceCell;

use ztrack::engine::Host;
use ztrack::tempering::schedules::{
    BinnedLinear, SlopeVariance, decelerate, linear, salakhutdinov_murray,
};
use ztrack::tempering::{BaseDistribution, GeometricPath, Keep, Ladder, Prior, anneal};
use ztrack::{Parameters, Result};

/// Chains and temperatures of the pass VAROPT goes by, as in the paper.
const SURVEY: (usize, usize) = (100, 1000);
/// Chains and knots of the moments GMS13 goes by, as in the paper.
const MOMENTS: (usize, usize) = (1000, 10);

/// A way to choose so many inverse temperatures.
pub struct Rival {
    /// As in the paper.
    pub name: &'static str,
    /// The inverse temperatures, so many of them.
    pub betas: fn(&Survey<'_>, usize) -> Result<Vec<f64>>,
}

const fn rival(name: &'static str, betas: fn(&Survey<'_>, usize) -> Result<Vec<f64>>) -> Rival {
    Rival { name, betas }
}

/// All of them.
pub const RIVALS: [Rival; 7] = [
    rival("LINEAR", |_, k| linear(k)),
    rival("SM08", |_, k| salakhutdinov_murray(k)),
    rival("VAROPT", |survey, k| survey.variance()?.schedule(k)),
    rival("GMS13", |survey, k| survey.binned()?.schedule(k)),
    rival("VAROPT.009", |survey, k| survey.decelerated(k, 0.009)),
    rival("VAROPT.006", |survey, k| survey.decelerated(k, 0.006)),
    rival("VAROPT.003", |survey, k| survey.decelerated(k, 0.003)),
];

/// The paper's ESS of 1000 chains and 100 000 temperatures: hidden units, schedule, PCD, CD1, CD25 (Tables 1 and 2).
const PAPER: [(usize, &str, [f64; 3]); 12] = [
    (20, "LINEAR", [517.0, 713.0, 664.0]),
    (20, "VAROPT", [783.0, 87.0, 776.0]),
    (20, "GMS13", [176.0, 653.0, 176.0]),
    (20, "VAROPT.009", [809.0, 814.0, 820.0]),
    (20, "VAROPT.006", [668.0, 803.0, 751.0]),
    (20, "VAROPT.003", [749.0, 797.0, 617.0]),
    (500, "LINEAR", [329.0, 872.0, 712.0]),
    (500, "VAROPT", [726.0, 865.0, 545.0]),
    (500, "GMS13", [266.0, 840.0, 637.0]),
    (500, "VAROPT.009", [719.0, 868.0, 851.0]),
    (500, "VAROPT.006", [728.0, 855.0, 852.0]),
    (500, "VAROPT.003", [661.0, 873.0, 778.0]),
];

/// The paper's ESS of a schedule on its model of that kind and size.
pub fn paper_ess(hidden: usize, schedule: &str, model: usize) -> Option<f64> {
    let row = PAPER.iter().find(|row| (row.0, row.1) == (hidden, schedule))?;
    row.2.get(model).copied()
}

/// What schedules go by, each part computed when it is first asked for.
pub struct Survey<'a> {
    engine: Host,
    base: &'a BaseDistribution,
    seed: u64,
    ladder: Ladder,
    variance: OnceCell<SlopeVariance>,
    binned: OnceCell<BinnedLinear>,
}

impl<'a> Survey<'a> {
    /// Of a model.
    pub fn new(parameters: &Parameters, base: &'a BaseDistribution, seed: u64) -> Result<Self> {
        Ok(Self {
            engine: Host::new(parameters),
            base,
            seed,
            ladder: Ladder::new(&linear(SURVEY.1)?, &Prior::Uniform)?,
            variance: OnceCell::new(),
            binned: OnceCell::new(),
        })
    }

    /// Along the geometric path.
    pub fn geometric<'b>(&'b self, ladder: &'b Ladder) -> GeometricPath<'b> {
        GeometricPath { engine: &self.engine, ladder, base: self.base }
    }

    /// Variance of the slope of log f along the geometric path.
    pub fn variance(&self) -> Result<&SlopeVariance> {
        let path = self.geometric(&self.ladder);
        once(&self.variance, || Ok(SlopeVariance::from_annealing(&path, SURVEY.0, self.seed + 1)))
    }

    fn binned(&self) -> Result<&BinnedLinear> {
        let path = self.geometric(&self.ladder);
        once(&self.binned, || {
            let moments = anneal(&path, MOMENTS.0, self.seed + 1, 0, Keep::All);
            BinnedLinear::from_annealed(&moments, &self.ladder, MOMENTS.1)
        })
    }

    fn decelerated(&self, temperatures: usize, longest: f64) -> Result<Vec<f64>> {
        decelerate(&self.variance()?.schedule(temperatures)?, longest)
    }
}

/// The value of a cell, computed where it is empty.
fn once<T>(cell: &OnceCell<T>, compute: impl FnOnce() -> Result<T>) -> Result<&T> {
    if cell.get().is_none() {
        let _ = cell.set(compute()?);
    }
    cell.get().ok_or_else(|| ztrack::Error::Invalid("a survey came to nothing".into()))
}
