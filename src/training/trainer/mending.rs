//! A training that fails goes back to the state of its best evaluation (algorithms.md, section 4).

use super::model::model;
use super::{EvaluationRecord, Trainer};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::record::{Notice, Remedy};
use crate::tracking::Start;
use crate::training::TrainingState;

/// Steps of the tempered chains, each with swaps, that bring the particles to the parameters the training goes back to.
const REFRESH: usize = 100;

impl Trainer {
    /// Keeps the state of a new best evaluation; where the training has failed, goes back to it and changes what may have been the cause:
    /// particles exchange states with tempered chains from then on, and where that did not help, the learning rate is halved. Notices say
    /// so. `before`: the verdict of the evaluation before.
    pub(super) fn mend(
        &mut self,
        before: TrainingState,
        evaluation: &mut EvaluationRecord,
    ) -> Result<()> {
        let health = self.judge.standing.training;
        let Some(best) = health.best else { return Ok(()) };
        let rewinds = self.config.training.rewind && self.updates < self.total;
        if best.update == self.updates && rewinds {
            let mut state = StateWriter::new();
            self.save_model(&mut state);
            self.judge.best = Some(state);
        }
        let remedy = match health.needs_remedy(evaluation.train.value) {
            true => self.remedy(rewinds)?,
            false => None,
        };
        if health.state == TrainingState::Overfitting && before != health.state {
            evaluation.notices.push(Notice::Overfits { update: best.update });
        }
        if health.state == TrainingState::Failing && (before != health.state || remedy.is_some()) {
            let fallen = best.train - evaluation.train.value;
            evaluation.notices.push(Notice::TrainingFails { update: best.update, fallen, remedy });
        }
        Ok(())
    }

    /// Does what can be done; returns it.
    fn remedy(&mut self, rewinds: bool) -> Result<Option<Remedy>> {
        let kept = self.judge.best.as_ref().filter(|_| rewinds);
        let kept = kept.map(StateWriter::to_bytes).transpose()?;
        if let Some(bytes) = &kept {
            self.load_model(&StateReader::from_bytes(
                "the state of the best evaluation",
                bytes.clone(),
            )?)?;
            (self.tracked_at, self.view) = (self.updates, None);
            // What was best is the averaged model; the parameters may have left it already.
            if let Some(averaged) = &self.averaged {
                self.current = model(averaged.parameters().clone(), &self.device);
            }
        }
        let (ladder, base) = (&self.plan.ladder, &self.base);
        let exchange = self.negative_phase.mend(Start { model: &self.current, ladder, base });
        if kept.is_some() {
            (0..REFRESH).for_each(|_| self.negative_phase.follow(&self.current));
        }
        let health = &mut self.judge.standing.training;
        let rewound = kept.is_some();
        let halved = rewound && (!exchange || health.rewinds > 0);
        if rewound {
            health.rewinds += 1;
            (health.failing_in_a_row, health.recovering) = (0, 0);
            health.halvings += u32::from(halved);
        }
        if exchange {
            health.mended_at.get_or_insert(self.updates);
        }
        Ok((exchange || rewound).then_some(Remedy { exchange, rewound, halved }))
    }
}
