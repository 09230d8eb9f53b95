//! Requirements of a run, before it starts: memory, and the fractions of training, tracking and audits in its time.

use super::Trainer;
use super::build::memory_needs;
use super::plan::tracked_chains;
use crate::config::GradientConfig;
use crate::tempering::BetaUpdate;

/// Requirements of a run. Costs are in nanoseconds of one core of the machine of docs/performance.md; only their ratios matter, because
/// measured seconds of a few updates give the scale.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    /// Memory of chains, audits and checkpoints, in bytes.
    pub bytes: f64,
    /// Updates planned.
    pub updates: u64,
    /// Updates in a pass through the training rows.
    pub updates_per_epoch: u64,
    /// Parameters of the model.
    pub parameters: usize,
    /// Cost of all updates, the chains of the tempered gradient included.
    pub training: f64,
    /// Cost of all tracking: steps of the tracker and equilibration.
    pub tracking: f64,
    /// Cost of all enumerations and audits during training.
    pub audits: f64,
    /// Whether audits are exact.
    pub exact_audits: bool,
    /// Cost of one update with one step of the tracker, as in the first updates of a run.
    pub first_update: f64,
}

impl Trainer {
    /// Requirements of this run, from sizes alone.
    pub fn forecast(&self) -> Forecast {
        let (sizes, config, plan) = (&self.sizes, &self.config, &self.plan);
        let (chains, updates) = (tracked_chains(config), self.total as f64);
        let tracked = config.is_tracked();
        let evaluations = if tracked { updates / config.evaluation.every as f64 } else { 1.0 };
        let tempered = matches!(config.training.gradient, GradientConfig::Tempered {});
        let update = plan.update;
        let tracker = &plan.tracker;
        // With the tempered gradient and no average, the tracker's chains are the gradient's.
        let separate = tracked && !(tempered && plan.window == 0.0);
        let step = if separate { sizes.tracking_step(chains, tracker) } else { 0.0 };
        let sweeps = tracker.settling.sweeps;
        let settling = sizes.tempered(chains, sweeps, tracker.beta_update);
        let every = config.audit.every;
        let due = if every == 0 { 0.0 } else { evaluations / every as f64 };
        let enumerated = plan.exact || self.audits_are_exact();
        let audits = if plan.exact {
            evaluations * sizes.enumeration()
        } else if enumerated {
            due * sizes.enumeration()
        } else {
            let one = sizes.tempered(config.audit.chains, 1, BetaUpdate::Joint(1));
            due * self.audit_temperatures() as f64 * one
        };
        Forecast {
            bytes: memory_needs(config, sizes).iter().map(|need| need.bytes).sum(),
            updates: self.total,
            updates_per_epoch: self.rows.updates_per_epoch(config.training.batch),
            parameters: sizes.visible * sizes.hidden + sizes.visible + sizes.hidden,
            training: update * updates,
            tracking: step * plan.steps.count(updates) + settling * evaluations,
            audits,
            exact_audits: enumerated,
            first_update: update + step,
        }
    }
}
