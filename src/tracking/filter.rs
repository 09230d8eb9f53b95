//! Filters that combine measurements of log Z over time: the drift-corrected Kalman filter or RTS eq. 24.

use std::ops::Bound::{Excluded, Included};

use serde::{Deserialize, Serialize};

use super::{AlphaSmoother, Kalman, Shift};
use crate::keys::choice;
use crate::numerics::Influence;
use crate::tempering::Measurement;

/// Memory of the variance of measurements. A short one makes log Z too high: where few chains
/// are at beta = 0, a measurement is high and its variance small.
pub(super) const MEASUREMENT_MEMORY: f64 = 0.99;
/// Memory of what the model's steps do: the variance of predicted shifts, their innovations, squared distances of measurements from eq. 24, the
/// movement of the chains' weights.
pub(super) const STEP_MEMORY: f64 = 0.98;

choice! {
    /// Which filter combines the measurements.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Smoothing {
        /// Drift-corrected Kalman filter.
        Kalman = "kalman",
        /// RTS eq. 24: weight of the newest value, in (0, 1].
        Alpha(f64, usual 0.2 => range((Excluded(0.0), Included(1.0)))) = "alpha",
    }
}

/// A filter of log Z_k while parameters change. Vectors `[K]` have one entry per temperature; the error bar is that at beta = 1.
pub trait Filter {
    /// zeta_k, the estimate of log Z_k, `[K]`.
    fn log_z(&self) -> &[f64];

    /// Contribution of each chain to the error at beta = 1.
    fn influence(&self) -> &Influence;

    /// The setting that selects it.
    fn smoothing(&self) -> Smoothing;

    /// One step after the parameters changed, with the shift of log Z_k from the chains' weights and the measurement.
    fn update(&mut self, shift: &mut dyn FnMut() -> Shift, measurement: &Measurement);

    /// Goes the share `gain` of the way to a measurement at the same parameters.
    fn approach(&mut self, measurement: &Measurement, gain: f64);

    /// Checks saved lengths and counters against K temperatures and S chains.
    ///
    /// # Errors
    /// Says what does not fit.
    fn check(&self, temperatures: usize, chains: usize) -> Result<(), String>;

    /// Bias of the predicted shift per step, `[K]`; `None` where nothing is predicted.
    fn drift(&self) -> Option<&[f64]> {
        None
    }

    /// Mean squared innovation over its predicted variance; `None` where nothing is predicted.
    fn consistency(&self) -> Option<f64> {
        None
    }

    /// Standard error at beta = 1.
    fn std_error(&self) -> f64 {
        self.influence().std_error()
    }

    /// A measurement at fixed parameters minus the filter's value at beta = 1, nats, and the variance of this difference from the chains'
    /// noise alone.
    fn innovation(&self, measurement: &Measurement) -> (f64, f64) {
        let last = self.log_z().len() - 1;
        let noise = measurement.influence.minus(self.influence()).variance();
        (measurement.log_z[last] - self.log_z()[last], noise)
    }
}

/// The filters in the form that a checkpoint stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnyFilter {
    /// See [`Kalman`].
    Kalman(Box<Kalman>),
    /// See [`AlphaSmoother`].
    Alpha(AlphaSmoother),
}

impl AnyFilter {
    /// Starts from a measurement.
    pub fn new(smoothing: Smoothing, measurement: &Measurement) -> Self {
        match smoothing {
            Smoothing::Kalman => Self::Kalman(Box::new(Kalman::new(measurement))),
            Smoothing::Alpha(alpha) => Self::Alpha(AlphaSmoother::new(alpha, measurement)),
        }
    }

    /// The filter.
    pub fn get(&self) -> &dyn Filter {
        match self {
            Self::Kalman(filter) => filter.as_ref(),
            Self::Alpha(filter) => filter,
        }
    }

    /// The filter, mutable.
    pub fn get_mut(&mut self) -> &mut dyn Filter {
        match self {
            Self::Kalman(filter) => filter.as_mut(),
            Self::Alpha(filter) => filter,
        }
    }
}
