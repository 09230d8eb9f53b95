//! Weights of the chains for the changes of the model: annealed importance sampling along training (Jarzynski 1997; Neal 2001;
//! algorithms.md, section 3). Every average over chains uses these weights.

use rayon::prelude::*;

use super::ChainTracker;
use crate::engine::rows_per_thread;
use crate::numerics::Table;

impl ChainTracker {
    /// log F(v; new) - log F(v; old) of the chains' states, `[S]`, with F(v) = sum_k r_k f_k(v) e^-zeta_k what a chain's
    /// stationary distribution over v is proportional to: log sum_k q_k f_k(new)/f_k(old) e^-(zeta_k(new) - zeta_k(old)).
    pub(super) fn weight_steps(&self, moved: &Table, pseudo_prior: &[f64]) -> Vec<f64> {
        let zeta: Vec<f64> =
            pseudo_prior.iter().zip(&self.pseudo_prior).map(|(new, old)| new - old).collect();
        let (k, task) = (zeta.len(), rows_per_thread(self.posterior.len()));
        let rows = [&self.posterior, &self.last.log_f, moved].map(|table| table.as_slice());
        let rows = rows.map(|values| values.par_chunks_exact(k).with_min_len(task));
        let [q, old, new] = rows;
        (q, old, new)
            .into_par_iter()
            .map(|(q, old, new)| {
                let terms = q.iter().zip(old).zip(new).zip(&zeta);
                terms.map(|(((q, old), new), zeta)| q * (new - old - zeta).exp()).sum::<f64>().ln()
            })
            .collect()
    }

    /// S w_s, the factors of the chains' rows; 1 for chains without weights.
    pub(super) fn own_weights(&self) -> Vec<f64> {
        if !self.options.weighted {
            return vec![1.0; self.chains.len()];
        }
        let n = self.chains.len() as f64;
        self.chains.weights().iter().map(|w| n * w).collect()
    }

    /// Rows of a table [S, K] times the chains' weights.
    pub(super) fn scaled(&self, rows: &Table) -> Table {
        rows.scaled(&self.own_weights())
    }
}
