//! The filter that joins measurements of log Z over time: the drift-corrected Kalman filter or RTS eq. 24.

use serde::{Deserialize, Serialize};

use super::alpha::AlphaSmoother;
use super::influence;
use super::kalman::Kalman;
use super::shift::Shift;
use crate::tempering::Measurement;

/// Which filter joins the measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoothing {
    /// Drift-corrected Kalman filter.
    Kalman,
    /// RTS eq. 24 with this alpha.
    Alpha(f64),
}

/// The filter's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// See [`Kalman`].
    Kalman(Box<Kalman>),
    /// See [`AlphaSmoother`].
    Alpha(AlphaSmoother),
}

/// How a measurement at unmoved parameters compares with what the filter said before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Innovation {
    /// Measured minus filtered log Z at beta = 1, nats.
    pub step: f64,
    /// Variance of that difference if only the chains' noise made it.
    pub noise: f64,
}

impl Filter {
    pub(super) fn new(smoothing: Smoothing, measurement: &Measurement) -> Self {
        match smoothing {
            Smoothing::Kalman => Self::Kalman(Box::new(Kalman::new(measurement))),
            Smoothing::Alpha(alpha) => Self::Alpha(AlphaSmoother::new(alpha, measurement)),
        }
    }

    /// zeta_k, `[K]`.
    pub(super) fn log_z(&self) -> &[f64] {
        match self {
            Self::Kalman(filter) => &filter.log_z,
            Self::Alpha(filter) => &filter.log_z,
        }
    }

    /// Bias of the predicted shift per step, `[K]`; `None` where nothing is predicted.
    pub(super) fn drift(&self) -> Option<&[f64]> {
        match self {
            Self::Kalman(filter) => Some(&filter.bias),
            Self::Alpha(_) => None,
        }
    }

    /// Number of chains it follows, S.
    pub(super) fn chains(&self) -> usize {
        self.influence().len()
    }

    /// Standard error at beta = 1.
    pub(super) fn std_error(&self) -> f64 {
        match self {
            Self::Kalman(filter) => filter.std_error(),
            Self::Alpha(filter) => filter.std_error(),
        }
    }

    /// Mean squared innovation over its predicted variance; `None` for eq. 24.
    pub(super) fn consistency(&self) -> Option<f64> {
        match self {
            Self::Kalman(filter) => Some(filter.consistency()),
            Self::Alpha(_) => None,
        }
    }

    /// One step after the parameters moved; true if the filter just doubled its distrust of the prediction.
    pub(super) fn update(
        &mut self,
        shift: impl FnOnce() -> Shift,
        measurement: &Measurement,
    ) -> bool {
        match self {
            Self::Kalman(filter) => filter.update(&shift(), measurement),
            Self::Alpha(filter) => {
                filter.update(measurement);
                false
            }
        }
    }

    /// Moves log Z at beta = 1.
    pub(super) fn correct(&mut self, by: f64) {
        let log_z = match self {
            Self::Kalman(filter) => &mut filter.log_z,
            Self::Alpha(filter) => &mut filter.log_z,
        };
        if let Some(last) = log_z.last_mut() {
            *last += by;
        }
    }

    /// How far a measurement at unmoved parameters is from the filter's value.
    pub(super) fn innovation(&self, measurement: &Measurement) -> Innovation {
        let last = self.log_z().len() - 1;
        let differences = measurement.influence.iter().zip(self.influence()).map(|(g, i)| g - i);
        let noise = influence::variance(&differences.collect::<Vec<f64>>());
        Innovation { step: measurement.log_z[last] - self.log_z()[last], noise }
    }

    /// Takes in a measurement at unmoved parameters; `lag`: variance of the filter's value that its chains' spread does
    /// not show. Returns the share of the way that was gone.
    pub(super) fn join(&mut self, measurement: &Measurement, lag: f64) -> f64 {
        let gain = influence::best_gain(self.influence(), &measurement.influence, lag);
        match self {
            Self::Kalman(filter) => filter.join(measurement, gain, lag),
            Self::Alpha(filter) => filter.join(measurement, gain),
        }
        gain
    }

    fn influence(&self) -> &[f64] {
        match self {
            Self::Kalman(filter) => filter.influence(),
            Self::Alpha(filter) => filter.influence(),
        }
    }
}
