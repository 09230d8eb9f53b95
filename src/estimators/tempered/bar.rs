//! Bennett's acceptance ratio between neighbouring temperatures (Bennett 1976), summed along the ladder.
//!
//! Each ratio is [`super::reweighting`] of two densities with the states generated at either. A temperature at which no state was generated
//! is left out; at an end of the ladder the step then uses only the states of its neighbour.

use std::time::Instant;

use super::super::{Estimate, Method};
use super::KeptRun;
use super::errors::between_chains;
use super::reweighting::Pooled;
use crate::trust::{Doubt, Trust};

/// BAR along the ladder.
pub fn bar(run: &KeptRun) -> Estimate {
    let start = Instant::now();
    let (k, states, zeta) = (run.ladder.len(), &run.states, run.measurement().log_z);
    let mut rows_at = vec![Vec::new(); k];
    states.generated_at.iter().enumerate().for_each(|(i, &at)| rows_at[at as usize].push(i));
    let nodes: Vec<usize> =
        (0..k).filter(|&j| j == 0 || j == k - 1 || !rows_at[j].is_empty()).collect();
    let mut value = zeta[0];
    let mut influence = vec![0.0; run.chains];
    let mut converged = true;
    for pair in nodes.windows(2) {
        let rows = || {
            pair.iter().enumerate().flat_map(|(at, &j)| rows_at[j].iter().map(move |&i| (at, i)))
        };
        let pair_of = |i: usize| pair.iter().map(move |&j| states.log_f.row(i)[j]);
        let pooled = Pooled {
            k: 2,
            log_f: rows().flat_map(|(_, i)| pair_of(i)).collect(),
            generated_at: rows().map(|(at, _)| at as u32).collect(),
            chain: rows().map(|(_, i)| (i % run.chains) as u32).collect(),
            chains: run.chains,
        };
        let Some(step) = pooled.solve(&[zeta[pair[0]], zeta[pair[1]]]) else {
            value = f64::NAN;
            converged = false;
            break;
        };
        value += step.log_z[1];
        influence.iter_mut().zip(&step.influence).for_each(|(sum, part)| *sum += part);
        converged &= step.converged;
    }
    let empty = nodes.iter().find(|&&j| rows_at[j].is_empty());
    let unvisited = empty.map(|&j| Doubt::NodeNotVisited { beta: run.ladder.betas()[j] });
    let doubt = unvisited.or((!converged).then_some(Doubt::NotSolved {}));
    run.estimate(Method::Bar, start, (value, between_chains(&influence)), Trust::unless(doubt))
}
