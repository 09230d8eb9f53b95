//! The trials of a search one after the other: what is tried next, and what is the best so far.

use anyhow::{Result, ensure};

use super::output::tell;
use super::search::{EXACT_START, Search};
use super::search_plan::{HIDDEN, KEYS, Plan, RATE, Values, WEIGHT_DECAY};
use super::search_trial::{HeldOut, Trial};

/// All keys are varied in short trials, then in longer ones; then the trials get longer step by step. The time of one trial, and that at which the
/// round ends, as shares of the whole time.
const ROUNDS: [(f64, f64); 4] =
    [(1.0 / 60.0, 0.25), (1.0 / 20.0, 0.5), (1.0 / 6.0, 2.0 / 3.0), (1.0, 1.0)];
/// The round before which a training that fails tries the exact start: all keys were varied.
const VARIED: usize = 2;
/// The order in which they are varied: a model that was trained at too low a rate shows nothing of the others.
const ORDER: [usize; 3] = [RATE, HIDDEN, WEIGHT_DECAY];
/// The exact start is not tried where one of these is given.
const START_KEYS: [&str; 2] = [EXACT_START[0], "training.pretraining"];

/// Trials so far.
pub(super) struct Walk<'a> {
    search: &'a Search<'a>,
    rows: HeldOut,
    pub plan: Plan,
    /// Values that were tried with this plan.
    tried: Vec<Values>,
    pub best: Trial,
    /// Number of trials, and their seconds.
    pub count: usize,
    spent: f64,
}

impl<'a> Walk<'a> {
    /// All trials of a search.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`], and where no trial has ended with a log Z that can be trusted.
    pub fn to_the_end(search: &'a Search<'a>, plan: Plan, rows: HeldOut) -> Result<Self> {
        let first = search.trials((&plan, &rows), &[plan.first], RATE, 1)?.into_iter().next();
        let Some(best) = first else {
            anyhow::bail!("the first trial run failed, see the messages above");
        };
        let (tried, spent) = (vec![plan.first], best.seconds);
        let mut walk = Self { search, rows, plan, tried, best, count: 1, spent };
        let budget = 60.0 * search.minutes;
        for (round, (share, end)) in ROUNDS.into_iter().enumerate() {
            if round == VARIED && walk.spent + 2.0 * walk.best.seconds <= budget {
                walk.try_exact_start()?;
            }
            if round > 0 {
                let seconds = (share * budget).min(end * budget - walk.spent);
                walk.lengthen(seconds, end * budget)?;
            }
            walk.vary(end * budget)?;
        }
        ensure!(
            walk.best.scores.is_some(),
            "no trial run has ended with a log Z that can be trusted, see the messages above: give model.hidden, or a lower training.learning_rate.initial"
        );
        Ok(walk)
    }

    /// Trains with values that were not tried; `beside` are tried ones that differ in the same key.
    fn trials(&mut self, new: &[Values], key: usize, beside: &[Values]) -> Result<Vec<Trial>> {
        // With the number of hidden units other keys differ too.
        let (together, beside) = if key == HIDDEN { (1, &[][..]) } else { (2, beside) };
        let mut ended = Vec::new();
        for new in new.chunks(together) {
            let at_once = rayon::current_num_threads().min(new.len());
            let all = [beside, new].concat();
            let mut trials = self.search.trials((&self.plan, &self.rows), &all, key, at_once)?;
            trials.retain(|it| new.contains(&it.values));
            self.spent += trials.iter().map(|it| it.seconds).sum::<f64>() / at_once as f64;
            ended.append(&mut trials);
        }
        self.tried.extend(new);
        self.count += new.len();
        Ok(ended)
    }

    /// A longer trial with the settings of the best, which takes about so many seconds. It replaces the best unless that is better by more than the
    /// errors, as the best of many trials seems better than it is. If it overfits, trials with a larger weight decay follow, as long as that helps.
    fn lengthen(&mut self, seconds: f64, end: f64) -> Result<()> {
        let Trial { values, seconds: all, trained, .. } = self.best;
        let decays = !self.search.keeps(KEYS[WEIGHT_DECAY]);
        let mut next = self.plan.longer(values, (seconds - (all - trained)) / trained);
        let mut last = None::<Trial>;
        while let Some(values) = next {
            tell(&format!("a longer trial: {} updates", values[0]));
            let Some(trial) = self.trials(&[values], RATE, &[])?.into_iter().next() else { break };
            if trial.scores.is_some() && !self.best.is_above(&trial, true) {
                self.best = trial;
                break;
            }
            let helps = last.is_none_or(|last| trial.is_above(&last, false));
            let fits = self.spent + trial.seconds <= end;
            let goes_on = decays && helps && trial.overfits && fits;
            next = goes_on.then(|| self.plan.next(WEIGHT_DECAY, values, true)).flatten();
            last = Some(trial);
        }
        Ok(())
    }

    /// Varies one key after the other until none changes anything, or no trial would end within so many seconds of all.
    fn vary(&mut self, end: f64) -> Result<()> {
        let mut unchanged = 0;
        for key in ORDER.into_iter().cycle() {
            if unchanged == ORDER.len() {
                break;
            }
            let before = self.best.values;
            if !self.search.keeps(KEYS[key]) {
                self.vary_one(key, end)?;
            }
            unchanged = if self.best.values == before { unchanged + 1 } else { 1 };
        }
        Ok(())
    }

    /// Both neighbours of a value, then further in a direction in which it gets better.
    fn vary_one(&mut self, key: usize, end: f64) -> Result<()> {
        let mut ways = vec![false, true];
        while self.spent + self.best.seconds <= end {
            let from = self.best.values;
            let next = |up: &bool| self.plan.next(key, from, *up);
            let new = ways.iter().filter_map(next);
            let new: Vec<_> = new.filter(|it| !Plan::are_among(it, &self.tried)).collect();
            ways.clear();
            for trial in self.trials(&new, key, &[from])? {
                if trial.is_above(&self.best, false) {
                    ways = vec![trial.values[key] > from[key]];
                    self.best = trial;
                }
            }
            if ways.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Where the best trial is below a simple model of the same rows, its settings with the exact start; the trials go on with it if it is better.
    fn try_exact_start(&mut self) -> Result<()> {
        let given = START_KEYS.iter().any(|key| self.search.keeps(key));
        if given || !self.rows.better_than(self.best.scores.as_ref())? {
            return Ok(());
        }
        tell(
            "the best trial is below a simple model of the same rows: the next one trains a few hidden units with the exact gradient first, as it has no chains that could miss a mode",
        );
        let others = std::mem::take(&mut self.tried);
        self.plan.exact_start = true;
        let trial = self.trials(&[self.best.values], RATE, &[])?.into_iter().next();
        match trial.filter(|it| it.is_above(&self.best, true)) {
            Some(trial) => self.best = trial,
            None => (self.plan.exact_start, self.tried) = (false, others),
        }
        Ok(())
    }
}
