//! Every estimator that runs on chains in continuous space.

use ztrack::Result;
use ztrack::estimators::{Estimate, Sams, WangLandau, rts};
use ztrack::tempering::InitialRounds;

use super::ContinuousTempering;

/// Every method's estimate with so many sweeps of its own copy of the chains. Estimators that share tempered samples join
/// here.
pub fn estimates(chains: &ContinuousTempering, sweeps: usize) -> Result<Vec<Estimate>> {
    Ok(vec![
        rts(&mut chains.clone(), &InitialRounds::default(), sweeps)?,
        Sams::new(sweeps).run(&mut chains.clone())?,
        WangLandau { sweeps: sweeps + sweeps / 5 }.run(&mut chains.clone())?,
    ])
}

/// The same estimates by method, each a list over repeats.
pub fn by_method(repeats: &[Vec<Estimate>]) -> impl Iterator<Item = Vec<&Estimate>> {
    (0..repeats[0].len()).map(|method| repeats.iter().map(|found| &found[method]).collect())
}
