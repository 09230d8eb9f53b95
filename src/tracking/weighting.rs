//! Weights of the chains for how the model moved under them: annealed importance sampling along training (Jarzynski 1997; Neal
//! 2001; algorithms.md, section 3). Every average over chains counts them by their weights.

use super::ChainTracker;

impl ChainTracker {
    /// log F(v; new) - log F(v; old) of the chains' states, `[S]`, with F(v) = sum_k r_k f_k(v) e^-zeta_k what a chain's
    /// stationary distribution over v is proportional to: log sum_k q_k f_k(new)/f_k(old) e^-(zeta_k(new) - zeta_k(old)).
    pub(super) fn weight_steps(&self, moved: &[f64], pseudo_prior: &[f64]) -> Vec<f64> {
        let k = self.posterior_width();
        let zeta: Vec<f64> =
            pseudo_prior.iter().zip(&self.pseudo_prior).map(|(new, old)| new - old).collect();
        let rows = self.posterior.chunks_exact(k).zip(self.last.log_f.chunks_exact(k));
        rows.zip(moved.chunks_exact(k))
            .map(|((q, old), new)| {
                let terms = q.iter().zip(old).zip(new).zip(&zeta);
                terms.map(|(((q, old), new), zeta)| q * (new - old - zeta).exp()).sum::<f64>().ln()
            })
            .collect()
    }

    /// S w_s, with which rows of chains count; 1 for chains without weights.
    pub(super) fn own_weights(&self) -> Vec<f64> {
        if !self.options.weighted {
            return vec![1.0; self.chains.len()];
        }
        let n = self.chains.len() as f64;
        self.chains.weights().iter().map(|w| n * w).collect()
    }

    /// Rows of a table [S, K] times the chains' weights.
    pub(super) fn scaled(&self, rows: &[f64]) -> Vec<f64> {
        scale(rows, &self.own_weights())
    }
}

/// Rows of a table [S, K] times weights, `[S]`.
pub(super) fn scale(rows: &[f64], weights: &[f64]) -> Vec<f64> {
    let width = rows.len() / weights.len().max(1);
    let rows = rows.chunks_exact(width.max(1)).zip(weights);
    rows.flat_map(|(row, w)| row.iter().map(move |x| x * w)).collect()
}
