//! Free curves of one run: log Z, mean energy, heat capacity and entropy at every inverse temperature.
//!
//! With log f_beta = log f_1 + beta Delta on the full state, and E, V the Rao-Blackwellized moments of Delta:
//! energy U = -E (of the model relative to the base distribution), heat capacity beta^2 V, entropy log Z(beta) + beta U. The
//! entropy is that of (v, h) relative to f_1, hence the Shannon entropy in nats where the base distribution is uniform.

use serde::Serialize;

use super::KeptRun;
use super::errors::between_chains;
use crate::tempering::parts;

/// The curves at one inverse temperature, with standard errors between chains; NaN where no chain came.
#[derive(Clone, Debug, Serialize)]
pub struct CurvePoint {
    /// beta_k.
    pub beta: f64,
    /// log Z(beta) in nats (RTS).
    pub log_z: f64,
    /// Its standard error.
    pub log_z_std_error: f64,
    /// U(beta) = -E in nats.
    pub energy: f64,
    /// Its standard error.
    pub energy_std_error: f64,
    /// beta^2 V.
    pub heat_capacity: f64,
    /// Its standard error.
    pub heat_capacity_std_error: f64,
    /// log Z + beta U in nats.
    pub entropy: f64,
    /// Its standard error.
    pub entropy_std_error: f64,
}

/// The curves of a run, one point a temperature.
pub fn free_curves(run: &KeptRun) -> Vec<CurvePoint> {
    let chains = run.chains as f64;
    let y = run.measurement();
    let point = |(j, &beta): (usize, &f64)| {
        let (log_z, log_z_std_error) = (y.log_z[j], y.variance[j].sqrt());
        let moments = run.slopes.node(j);
        let log_z_influence = parts(&run.counted.occupancy, &y.occupancy, j);
        // log Z and the energy of a chain err together.
        let parts: Vec<f64> = (log_z_influence.zip(&moments.mean_influence))
            .map(|(log_z, slope)| log_z / chains - beta * slope)
            .collect();
        let square = beta * beta;
        CurvePoint {
            beta,
            log_z,
            log_z_std_error,
            energy: -moments.mean,
            energy_std_error: between_chains(&moments.mean_influence),
            heat_capacity: square * moments.variance,
            heat_capacity_std_error: square * between_chains(&moments.variance_influence),
            entropy: log_z - beta * moments.mean,
            entropy_std_error: between_chains(&parts),
        }
    };
    run.ladder.betas().iter().enumerate().map(point).collect()
}
