//! What joins measurements of log Z over time: the drift-corrected Kalman filter or RTS eq. 24.

use serde::{Deserialize, Serialize};

use super::{AlphaSmoother, Kalman, Shift};
use crate::numerics::Influence;
use crate::tempering::Measurement;

/// Which filter joins the measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoothing {
    /// Drift-corrected Kalman filter.
    Kalman,
    /// RTS eq. 24 with this alpha.
    Alpha(f64),
}

/// A filter of log Z_k while parameters move. Vectors `[K]` have one entry a temperature, the error bar is that at beta = 1.
pub trait Filter {
    /// zeta_k, the estimate of log Z_k, `[K]`.
    fn log_z(&self) -> &[f64];

    /// The same for writing.
    fn log_z_mut(&mut self) -> &mut [f64];

    /// Each chain's part of the error at beta = 1.
    fn influence(&self) -> &Influence;

    /// The setting that asks for it.
    fn smoothing(&self) -> Smoothing;

    /// One step after the parameters moved, by the shift of log Z_k that the chains' weights tell and the measurement; true if
    /// the filter just doubled its distrust of the shift.
    fn update(&mut self, shift: &mut dyn FnMut() -> Shift, measurement: &Measurement) -> bool;

    /// Goes the share `gain` of the way to a measurement at the same parameters.
    fn approach(&mut self, measurement: &Measurement, gain: f64);

    /// Checks saved lengths and counters against K temperatures and S chains.
    ///
    /// # Errors
    /// What does not fit, for people.
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

    /// A measurement at unmoved parameters minus the filter's value at beta = 1, nats, and the variance of that difference if
    /// only the chains' noise made it.
    fn innovation(&self, measurement: &Measurement) -> (f64, f64) {
        let last = self.log_z().len() - 1;
        let noise = measurement.influence.minus(self.influence()).variance();
        (measurement.log_z[last] - self.log_z()[last], noise)
    }

    /// Takes in a measurement at unmoved parameters with the gain of the smallest variance; returns that.
    fn join(&mut self, measurement: &Measurement) -> f64 {
        let gain = self.influence().best_gain(&measurement.influence);
        self.approach(measurement, gain);
        gain
    }
}

/// The filters there are, as a checkpoint keeps them.
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

    /// The filter, to be changed.
    pub fn get_mut(&mut self) -> &mut dyn Filter {
        match self {
            Self::Kalman(filter) => filter.as_mut(),
            Self::Alpha(filter) => filter,
        }
    }
}
