//! A training that fails, or that early stopping would end, goes back to the state of its best evaluation (algorithms.md, section 4).

use super::{EvaluationRecord, Trainer};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::record::Notice;
use crate::training::TrainingState;

/// Steps of the tempered chains, each with swaps, that bring the particles to the parameters the training goes back to.
const REFRESH: usize = 100;

impl Trainer {
    /// Keeps the state of a new best evaluation; where the training has failed, decides what is done before the next update. Notices say so.
    /// `before`: the verdict of the evaluation before.
    pub(super) fn examine_training(
        &mut self,
        before: TrainingState,
        evaluation: &mut EvaluationRecord,
    ) -> Result<()> {
        let training = &self.config.training;
        let cooldown = training.early_stopping.is_some() && training.cooldown > 0.0;
        let keeps = training.rewind || cooldown;
        // A run that an earlier version of the program began has kept no state yet.
        let rewinds = training.rewind && self.judge.best.is_some();
        let cools = self.cooldown().is_some();
        let health = &mut self.judge.standing.training;
        let Some(best) = health.best else { return Ok(()) };
        let failing = health.state == TrainingState::Failing;
        // A value in doubt is no reason to go back.
        let train = evaluation.train.value;
        let counts = evaluation.is_sound() && train.is_finite();
        let needs = failing && counts && health.needs_remedy(train);
        let needed = needs && self.updates < self.total && !cools;
        if needed && rewinds && health.rewinds == 0 {
            // An error of another model is none of this run, and a likelihood that is NaN is not higher.
            let small = match self.small_start() {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                found => found.ok().flatten(),
            };
            if let Some((parameters, likelihoods)) = small.filter(|it| it.1.train > best.train) {
                self.judge.standing.training.best = Some(likelihoods);
                self.judge.small = Some(parameters);
            }
        }
        let mends = self.negative_phase.mends();
        let health = &mut self.judge.standing.training;
        let small = self.judge.small.is_some();
        let remedy = needed.then(|| health.remedy(self.updates, mends, rewinds, small)).flatten();
        if best.update == self.updates && keeps {
            let mut state = StateWriter::new();
            self.save_model(&mut state, 0.0);
            (self.judge.best, self.judge.small) = (Some(state), None);
        }
        let changed = before != self.judge.standing.training.state;
        if self.judge.standing.training.state == TrainingState::Overfitting && changed {
            evaluation.notices.push(Notice::Overfits { update: best.update });
        }
        if failing && (changed || remedy.is_some()) {
            let fallen = best.train - train;
            evaluation.notices.push(Notice::TrainingFails { update: best.update, fallen, remedy });
        }
        Ok(())
    }

    /// Before an update: does what the last evaluation has decided.
    pub(super) fn mend(&mut self) -> Result<()> {
        let standing = &mut self.judge.standing;
        let fails = std::mem::take(&mut standing.training.remedy_due);
        let cools = standing.cooldown.is_some_and(|cooldown| cooldown.from == self.updates);
        if standing.last.as_ref().is_some_and(|last| last.trust.marginals_find_more()) {
            self.negative_phase.widen(self.plan.start(&self.base, &self.current));
        }
        self.renew_exchange();
        if !fails && !cools {
            return Ok(());
        }
        let rewinds = cools || self.config.training.rewind && self.judge.best.is_some();
        if rewinds {
            match self.judge.small.clone() {
                Some(parameters) => self.begin_anew(parameters),
                None => self.go_back()?,
            }
            self.renew_exchange();
            (self.tracked_at, self.view) = (self.updates, None);
            self.judge.standing.training.state = TrainingState::Healthy;
        }
        if fails || self.judge.standing.training.mended_at.is_some() {
            self.negative_phase.mend(self.plan.start(&self.base, &self.current));
        }
        if rewinds {
            (0..REFRESH).for_each(|_| self.negative_phase.follow(&self.current));
        }
        Ok(())
    }

    /// Where the tracker's second population started anew, the chains that exchange states with particles do so too, from its mixture.
    fn renew_exchange(&mut self) {
        let renewed = self.tracker.as_mut().filter(|tracker| tracker.found.renewed);
        let Some(tracker) = renewed else { return };
        tracker.found.renewed = false;
        if let Some(mixture) = tracker.mixture() {
            self.negative_phase.renew(self.plan.start(&self.base, &self.current), mixture);
        }
    }

    /// To the state of the best evaluation.
    fn go_back(&mut self) -> Result<()> {
        let Some(best) = &self.judge.best else { return Ok(()) };
        let state = StateReader::from_bytes("the state of the best evaluation", best.to_bytes()?)?;
        self.load_model(&state)?;
        // What was best is the averaged model; the parameters may have left it already.
        self.current = self.evaluated_model();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::config::Config;
    use crate::data::{Source, SplitOptions, load};
    use crate::trust::{Doubt, Trust};

    /// After the first evaluation.
    fn trainer() -> Trainer {
        let text = "[data]\nsource = \"bars-and-stripes\"\n[model]\nhidden = 16";
        let settings = [
            "training.exchange=true",
            "training.updates=40",
            "evaluation.every=10",
            "tempering.chains=10",
        ];
        let config = Config::parse(text, &settings.map(String::from)).unwrap();
        let Source::BarsAndStripes(source) = &config.data.source else { unreachable!() };
        let source = Source::BarsAndStripes(*source);
        let splits = load(&source, &SplitOptions::default(), "".as_ref()).unwrap();
        let mut trainer = Trainer::new(&config, splits, Device::default()).unwrap();
        trainer.next_evaluation().unwrap().unwrap();
        trainer
    }

    /// What the negative phase would write to a checkpoint after the next update.
    fn state_after_a_step(trainer: &mut Trainer) -> StateReader {
        trainer.step().unwrap();
        let mut state = StateWriter::new();
        trainer.negative_phase.save(&mut state);
        StateReader::from_bytes("a state", state.to_bytes().unwrap()).unwrap()
    }

    /// Exchange takes chains from the marginals after an evaluation at which these find more than those from the mixture, and not without.
    #[test]
    fn chains_that_find_more_join_the_exchange() {
        let mut trainer = trainer();
        let mut joined_after = |first| {
            let (second, [first_error, second_error]) = (6.0, [0.1; 2]);
            let differ = Doubt::TrackersDiffer { first, first_error, second, second_error };
            let last = trainer.judge.standing.last.as_mut().unwrap();
            last.trust = Trust::unless(Some(differ));
            state_after_a_step(&mut trainer).has("exchange.marginals.chains.visible")
        };
        assert!(!joined_after(5.0));
        assert!(joined_after(7.0));
    }

    /// The exchange starts anew after an evaluation at which the second population has, in a run that is resumed there too, and not without.
    #[test]
    fn the_exchange_follows_the_mixture_of_the_tracker() {
        let chains = |renewed, resumed| {
            let mut trainer = trainer();
            trainer.tracker.as_mut().unwrap().found.renewed = renewed;
            if resumed {
                let mut state = StateWriter::new();
                trainer.save_model(&mut state, 0.0);
                let state = StateReader::from_bytes("a state", state.to_bytes().unwrap()).unwrap();
                trainer.tracker = None;
                trainer.load_model(&state).unwrap();
            }
            let state = state_after_a_step(&mut trainer);
            state.bits("exchange.chains.visible", 10, trainer.rows.columns()).unwrap()
        };
        assert_eq!(chains(false, true), chains(false, false));
        assert_eq!(chains(true, true), chains(true, false));
        assert!(chains(true, false) != chains(false, false));
    }
}
