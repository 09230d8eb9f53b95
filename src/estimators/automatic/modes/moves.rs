//! Moves of single variables.

use crate::units::Variable;

/// A variable goes to another state: a column is cleared, another one set, or one of both.
#[derive(Clone, Copy)]
pub(super) struct Move {
    pub cleared: Option<usize>,
    pub set: Option<usize>,
}

impl Move {
    /// The units that change, with their signs.
    pub fn units(&self) -> impl Iterator<Item = (usize, f64)> {
        let signed = |unit: Option<usize>, sign| unit.map(|unit| (unit, sign));
        [signed(self.cleared, -1.0), signed(self.set, 1.0)].into_iter().flatten()
    }

    pub fn make(&self, state: &mut [u64]) {
        self.units().for_each(|(unit, _)| state[unit / 64] ^= 1 << (unit % 64));
    }
}

/// All moves of a variable from a state, in the order of its columns.
pub(super) fn moves(variable: &Variable, state: &[u64]) -> Vec<Move> {
    let on = |unit: &usize| state[unit / 64] >> (unit % 64) & 1 == 1;
    let cleared = variable.range().find(on);
    let to_implicit = cleared.filter(|_| variable.implicit).map(|_| Move { cleared, set: None });
    let others = variable.range().filter(|unit| Some(*unit) != cleared);
    to_implicit.into_iter().chain(others.map(|unit| Move { cleared, set: Some(unit) })).collect()
}
