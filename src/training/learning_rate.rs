//! Learning-rate schedules.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The step size as a function of the update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearningRate {
    /// Step size at the start, in the unit of the update rule; > 0.
    pub initial: f64,
    /// How it falls.
    #[serde(default)]
    pub schedule: Schedule,
}

/// How the step size falls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// Not at all.
    Constant {},
    /// initial x max(1, t / warm)^-exponent.
    Power {
        /// .2 to .5 for RMSspectral; with 1 the steps are a Robbins-Monro sequence.
        exponent: f64,
        /// Updates at the full step, t0 >= 1.
        warm: u64,
    },
    /// initial x (1 - t / T), over all T updates of the run; the last update has a positive step.
    LinearToZero {},
}

impl Default for Schedule {
    fn default() -> Self {
        Self::Constant {}
    }
}

impl LearningRate {
    /// A constant step size.
    pub fn constant(initial: f64) -> Self {
        Self { initial, schedule: Schedule::default() }
    }

    /// The step size of update `update` = 0, 1, ... of `total`.
    pub fn at(&self, update: u64, total: u64) -> f64 {
        let t = update as f64;
        self.initial
            * match self.schedule {
                Schedule::Constant {} => 1.0,
                Schedule::Power { exponent, warm } => (t / warm as f64).max(1.0).powf(-exponent),
                Schedule::LinearToZero {} => (1.0 - t / total.max(1) as f64).max(0.0),
            }
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// Names the field.
    pub fn check(&self) -> Result<()> {
        let error = |field, problem: String| Err(Error::config(field, problem));
        if !(self.initial > 0.0 && self.initial.is_finite()) {
            return error("initial", format!("{} is not a positive number", self.initial));
        }
        match self.schedule {
            Schedule::Power { exponent, .. } if !(0.0..=2.0).contains(&exponent) => {
                error("schedule.exponent", format!("{exponent} is not between 0 and 2"))
            }
            Schedule::Power { warm: 0, .. } => {
                error("schedule.warm", "must be at least 1 update".into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_take_their_values() {
        let at = |schedule, t| LearningRate { initial: 0.5, schedule }.at(t, 100);
        assert_eq!(at(Schedule::Constant {}, 99), 0.5);
        let power = Schedule::Power { exponent: 0.5, warm: 10 };
        assert_eq!(at(power, 0), 0.5);
        assert_eq!(at(power, 10), 0.5);
        assert!((at(power, 40) - 0.25).abs() < 1e-15);
        assert_eq!(at(Schedule::LinearToZero {}, 0), 0.5);
        assert!((at(Schedule::LinearToZero {}, 99) - 0.005).abs() < 1e-15);
        assert_eq!(at(Schedule::LinearToZero {}, 150), 0.0);
    }

    #[test]
    fn configuration_reads_as_documented_and_is_checked() {
        let read = |text: &str| toml::from_str::<LearningRate>(text);
        assert_eq!(read("initial = 0.01").unwrap(), LearningRate::constant(0.01));
        let text = "initial = 1e-5\nschedule = { kind = 'power', exponent = 0.2, warm = 1000 }";
        assert_eq!(read(text).unwrap().schedule, Schedule::Power { exponent: 0.2, warm: 1000 });
        let text = "initial = 1\nschedule = { kind = 'linear-to-zero' }";
        assert_eq!(read(text).unwrap().schedule, Schedule::LinearToZero {});
        assert!(read("initial = 1\nshedule = 'constant'").is_err());
        assert!(read("initial = 1\nschedule = { kind = 'power', exponent = 1 }").is_err());
        assert!(read("initial = 1\nschedule = { kind = 'constant', warm = 3 }").is_err());

        for bad in ["0", "-1", "nan", "inf"] {
            let error = read(&format!("initial = {bad}")).unwrap().check().unwrap_err();
            assert!(error.to_string().contains("initial"), "{error}");
        }
        let power = |exponent, warm| {
            LearningRate { initial: 1.0, schedule: Schedule::Power { exponent, warm } }.check()
        };
        assert!(power(0.5, 1).is_ok());
        assert!(power(0.5, 0).is_err() && power(f64::NAN, 1).is_err() && power(-0.1, 1).is_err());
    }
}
