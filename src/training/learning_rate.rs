//! Learning-rate schedules.

use serde::{Deserialize, Serialize};

use crate::keys::{choice, section};

section! {
    /// The step size as a function of the update.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct LearningRate {
        /// Step size at the start, in the unit of the update rule; positive.
        initial: f64 => positive().otherwise(
            "sgd 0.1 (0.2 with the preset \"fast\", 0.5 up to 20 hidden units), adam 0.005, rmsspectral and ssd 0.0001"
        ).example("0.05");
        /// How the step size falls: "constant" (not at all), "linear-to-zero" (over all updates of the run; so it is where the initial
        /// rate is left out) or "power" (initial x max(1, update / warm)^-exponent).
        schedule: Schedule = Schedule::default() => example("\"linear-to-zero\"");
    }
}

choice! {
    /// How the step size falls.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Schedule by "kind" {
        /// Not at all.
        Constant {} = "constant",
        /// initial x max(1, t / warm)^-exponent.
        Power {
            /// From 0 to 2; 0.2 to 0.5 for RMSspectral, 1 makes the steps a Robbins-Monro sequence.
            exponent: f64 => range(0.0..=2.0).example("0.5");
            /// Updates at the full step.
            warm: u64 => least(1).unit("updates").example("1000");
        } = "power",
        /// initial x (1 - t / T), over all T updates of the run; the last update has a positive step.
        LinearToZero {} = "linear-to-zero",
    }
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

    /// What the step sizes up to an update add up to, as a share of those of all `total` updates.
    pub(crate) fn share_until(&self, update: u64, total: u64) -> f64 {
        let sum = |updates| (0..updates).map(|t| self.at(t, total)).sum::<f64>();
        sum(update.min(total)) / sum(total.max(1))
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
    fn a_rate_that_falls_to_zero_makes_its_steps_early() {
        let share =
            |schedule, update| LearningRate { initial: 0.5, schedule }.share_until(update, 100);
        assert!((share(Schedule::Constant {}, 50) - 0.5).abs() < 1e-12);
        // 100 + 99 + ... + 51 of 100 + 99 + ... + 1.
        assert!((share(Schedule::LinearToZero {}, 50) - 3775.0 / 5050.0).abs() < 1e-12);
        assert_eq!(share(Schedule::LinearToZero {}, 100), 1.0);
    }

    #[test]
    fn configuration_reads_as_documented() {
        let read = |text: &str| toml::from_str::<LearningRate>(text);
        let text = "initial = 1e-5\nschedule = { kind = 'power', exponent = 0.2, warm = 1000 }";
        assert_eq!(read(text).unwrap().schedule, Schedule::Power { exponent: 0.2, warm: 1000 });
        let text = "initial = 1\nschedule = { kind = 'linear-to-zero' }";
        assert_eq!(read(text).unwrap().schedule, Schedule::LinearToZero {});
        assert!(read("initial = 1\nshedule = 'constant'").is_err());
        assert!(read("initial = 1\nschedule = { kind = 'power', exponent = 1 }").is_err());
        assert!(read("initial = 1\nschedule = { kind = 'constant', warm = 3 }").is_err());
    }
}
