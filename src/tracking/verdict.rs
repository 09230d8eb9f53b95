//! Whether tracked log Z and its error bar are to be believed.

use super::Settled;
use crate::trust::Trust;

/// Sweeps in which a chain must have gone from one end of the ladder to the other.
pub(super) const WINDOW: u64 = 1000;

/// What a verdict goes by.
pub(super) struct Evidence<'a> {
    pub chains: usize,
    pub crossed: f64,
    pub round_trips: f64,
    pub effective: f64,
    pub movement: f64,
    pub weighted: bool,
    pub settled: Option<&'a Settled>,
}

/// The verdict.
pub(super) fn verdict(evidence: &Evidence<'_>) -> Trust {
    let mut trust = Trust::sound();
    if evidence.round_trips < crate::tempering::NEEDED_PER_CHAIN {
        trust.doubt("round-trips", "not mixed");
    }
    trust
}
