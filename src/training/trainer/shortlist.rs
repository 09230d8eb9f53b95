//! Models kept for the audits at the end of a run, which select the best.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::BitMatrix;
use crate::error::Result;
use crate::model::Parameters;

/// Models kept.
const MOST: usize = 4;
/// They are at least this fraction of the run apart, because an audit cannot distinguish neighbouring models.
const APART: f64 = 0.05;

/// A candidate for the best model of its run.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The update after which it was evaluated.
    pub update: u64,
    /// Mean log-likelihood of the validation rows, nats.
    pub value: f64,
    /// The part of its standard error from log Z; 0 if log Z was exact.
    pub log_z_error: f64,
    /// Tracked log Z and its standard error at that time.
    pub log_z: (f64, f64),
    /// The model.
    pub parameters: Arc<Parameters>,
    /// States of it, from [`super::Trainer::known_states`] at that time.
    pub states: Option<BitMatrix>,
}

/// A candidate without its model.
#[derive(Serialize, Deserialize)]
struct Saved {
    update: u64,
    #[serde(with = "crate::checkpoint::float")]
    value: f64,
    log_z_error: f64,
    log_z: (f64, f64),
    /// Rows of its states; 0 for none.
    #[serde(default)]
    states: usize,
}

/// A few candidates, highest likelihood first.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortlist(Vec<Candidate>);

impl Shortlist {
    /// The candidates.
    pub fn candidates(&self) -> &[Candidate] {
        &self.0
    }

    /// Adds a candidate if it is better than the last of the list, or than one near it in the run.
    pub(crate) fn propose(&mut self, candidate: Candidate) {
        let (update, value) = (candidate.update, candidate.value);
        if !value.is_finite() {
            return;
        }
        let near = |other: &Candidate| other.update as f64 > update as f64 * (1.0 - APART);
        if let Some(i) = self.0.iter().position(near) {
            if self.0[i].value >= value {
                return;
            }
            self.0.remove(i);
        }
        self.0.push(candidate);
        // Stable: of equal ones the earlier comes first.
        self.0.sort_by(|a, b| b.value.total_cmp(&a.value));
        self.0.truncate(MOST);
    }

    pub fn save(&self, name: &str, state: &mut StateWriter) {
        let saved = |c: &Candidate| Saved {
            update: c.update,
            value: c.value,
            log_z_error: c.log_z_error,
            log_z: c.log_z,
            states: c.states.as_ref().map_or(0, BitMatrix::rows),
        };
        let list: Vec<Saved> = self.0.iter().map(saved).collect();
        state.json(name, &list);
        for (i, candidate) in self.0.iter().enumerate() {
            state.parameters(&format!("{name}{i}."), &candidate.parameters);
            if let Some(states) = &candidate.states {
                state.bits(&format!("{name}{i}.states"), states);
            }
        }
    }

    pub fn load(
        name: &str,
        state: &StateReader,
        n_visible: usize,
        n_hidden: usize,
    ) -> Result<Self> {
        let saved: Vec<Saved> = state.json(name)?;
        let candidates = saved.into_iter().enumerate().map(|(i, candidate)| {
            let Saved { update, value, log_z_error, log_z, states } = candidate;
            let parameters = state.parameters(&format!("{name}{i}."), n_visible, n_hidden)?.into();
            let bits = || state.bits(&format!("{name}{i}.states"), states, n_visible);
            let states = (states > 0).then(bits).transpose()?;
            Ok(Candidate { update, value, log_z_error, log_z, parameters, states })
        });
        Ok(Self(candidates.collect::<Result<_>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(proposed: &[(u64, f64)]) -> Vec<(u64, f64)> {
        let mut list = Shortlist::default();
        for &(update, value) in proposed {
            let parameters = Arc::new(Parameters::zeros(2, 2));
            list.propose(Candidate {
                update,
                value,
                log_z_error: 0.1,
                log_z: (1.0, 0.1),
                parameters,
                states: None,
            });
        }
        list.candidates().iter().map(|candidate| (candidate.update, candidate.value)).collect()
    }

    #[test]
    fn the_highest_few_are_kept_and_neighbours_once() {
        let values = [(100, -3.0), (200, -1.0), (300, -5.0), (400, -2.0), (500, -4.0)];
        assert_eq!(list(&values), [(200, -1.0), (400, -2.0), (100, -3.0), (500, -4.0)]);
        // 1 % later: the better of the two.
        assert_eq!(list(&[(1000, -2.0), (1010, -1.0)]), [(1010, -1.0)]);
        assert_eq!(list(&[(1000, -2.0), (1010, -2.0)]), [(1000, -2.0)]);
        assert_eq!(list(&[(1, f64::NAN), (2, f64::NEG_INFINITY), (3, 0.0)]), [(3, 0.0)]);
    }
}
