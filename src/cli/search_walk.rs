//! The trials of a search one after the other: what is tried next, and what is the best so far.

use anyhow::{Result, ensure};

use super::output::tell;
use super::search_plan::{EXACT_START, HIDDEN, KEYS, Plan, RATE, Values, WEIGHT_DECAY};
use super::search_trial::Trial;

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

/// What makes the trials.
pub(super) trait Trains {
    /// Trains with values that differ in one key, so many at once, what has not ended; what has ended, and what was stopped.
    fn trials(&self, plan: &Plan, all: &[Values], varied: usize, jobs: usize)
    -> Result<Vec<Trial>>;
    /// Whether a key has a value that is given, which stays.
    fn keeps(&self, key: &str) -> bool;
    /// Whether a simple model of the same rows is clearly above a trial.
    fn is_below_simple(&self, trial: &Trial) -> Result<bool>;
}

/// Trials so far.
pub(super) struct Walk<'a> {
    trains: &'a dyn Trains,
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
    pub fn to_the_end(trains: &'a dyn Trains, plan: Plan) -> Result<Self> {
        let first = trains.trials(&plan, &[plan.first], RATE, 1)?.into_iter().next();
        let Some(best) = first else {
            anyhow::bail!("the first trial run failed, see the messages above");
        };
        let (tried, spent) = (vec![plan.first], best.seconds);
        let budget = 60.0 * plan.minutes;
        let mut walk = Self { trains, plan, tried, best, count: 1, spent };
        walk.say(&walk.best);
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
            let mut trials = self.trains.trials(&self.plan, &all, key, at_once)?;
            trials.retain(|it| new.contains(&it.values));
            self.spent += trials.iter().map(|it| it.seconds).sum::<f64>() / at_once as f64;
            for trial in trials {
                self.count += 1;
                self.say(&trial);
                ended.push(trial);
            }
        }
        self.tried.extend(new);
        Ok(ended)
    }

    /// Prints what the last trial has reached.
    fn say(&self, trial: &Trial) {
        let names = ["updates", "hidden units", "weight decay", "learning rate"];
        let chosen = (0..KEYS.len()).filter(|&key| !self.trains.keeps(KEYS[key]));
        let value = |key: usize| match key {
            WEIGHT_DECAY | RATE => format!("{} {}", names[key], trial.values[key]),
            _ => format!("{} {}", trial.values[key], names[key]),
        };
        let (values, all) =
            (chosen.map(value).collect::<Vec<_>>().join(", "), 60.0 * self.plan.minutes);
        let start = if self.plan.exact_start { ", exact start" } else { "" };
        tell(&format!(
            "trial {}, {:.0} of {all:.0} s: {values}{start}: {}",
            self.count, self.spent, trial.outcome
        ));
    }

    /// A longer trial with the settings of the best, which takes about so many seconds. It replaces the best unless that is better by more than the
    /// errors, as the best of many trials seems better than it is. If it overfits, trials with a larger weight decay follow, as long as that helps.
    fn lengthen(&mut self, seconds: f64, end: f64) -> Result<()> {
        let Trial { values, seconds: all, trained, .. } = self.best;
        let decays = !self.trains.keeps(KEYS[WEIGHT_DECAY]);
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
            if !self.trains.keeps(KEYS[key]) {
                self.vary_one(key, end)?;
            }
            unchanged = if self.best.values == before { unchanged + 1 } else { 1 };
        }
        Ok(())
    }

    /// Both neighbours of a value, then further in a direction in which it gets better. Of rates that are equally good the higher one is taken,
    /// because longer trials have a lower one.
    fn vary_one(&mut self, key: usize, end: f64) -> Result<()> {
        let mut ways = vec![false, true];
        while self.spent + self.best.seconds <= end {
            let from = self.best.values;
            let next = |up: &bool| self.plan.next(key, from, *up);
            let new = ways.iter().filter_map(next);
            let new: Vec<_> = new.filter(|it| !Plan::are_among(it, &self.tried)).collect();
            ways.clear();
            for trial in self.trials(&new, key, &[from])? {
                let faster = key == RATE && trial.values[key] > self.best.values[key];
                let ties = faster && trial.scores.is_some() && !self.best.is_above(&trial, false);
                if ties || trial.is_above(&self.best, false) {
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
        let given = START_KEYS.iter().any(|key| self.trains.keeps(key));
        if given || !self.trains.is_below_simple(&self.best)? {
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::search_trial::Scores;
    use super::*;

    /// Trials whose likelihood is a function of their values, one millisecond an update of 64 hidden units.
    struct Known<F> {
        value: F,
        seen: RefCell<Vec<Values>>,
    }

    impl<F: Fn(&Values) -> (f64, bool)> Trains for Known<F> {
        fn trials(&self, _: &Plan, all: &[Values], _: usize, _: usize) -> Result<Vec<Trial>> {
            let of = |values: &Values| {
                let (value, overfits) = (self.value)(values);
                let scores = Some(Scores { of_rows: vec![value; 4], log_z_std_error: 0.01 });
                let seconds = 1e-3 * values[0] * values[HIDDEN] / 64.0;
                let (name, outcome) = (format!("{values:?}"), String::new());
                Trial {
                    values: *values,
                    scores,
                    seconds,
                    trained: seconds,
                    overfits,
                    outcome,
                    name,
                }
            };
            self.seen.borrow_mut().extend(all);
            Ok(all.iter().map(of).collect())
        }

        fn keeps(&self, _: &str) -> bool {
            false
        }

        fn is_below_simple(&self, _: &Trial) -> Result<bool> {
            Ok(false)
        }
    }

    /// The best values, and all that were tried, within 30 seconds.
    fn walk(value: impl Fn(&Values) -> (f64, bool)) -> (Values, Vec<Values>, f64) {
        let plan = Plan { minutes: 0.5, every: 100, ..Plan::new(500.0, (64, 0.1), 1000) };
        let known = Known { value, seen: RefCell::default() };
        let walk = Walk::to_the_end(&known, plan).unwrap();
        let (best, spent) = (walk.best.values, walk.spent);
        (best, known.seen.into_inner(), spent)
    }

    #[test]
    fn longer_trials_replace_shorter_ones_unless_they_are_worse() {
        // The rate matters, and length helps: the best is the last trial, which takes the time that is left.
        let rate = |it: &Values| -(it[RATE] * it[0].sqrt() / 9.0).ln().powi(2);
        let (best, seen, spent) = walk(|it| (rate(it) - 1000.0 / it[0], false));
        assert!(best[0] >= 9000.0 && Some(&best) == seen.last(), "{best:?}");
        assert!((best[RATE] * best[0].sqrt() / 9.0).ln().abs() < 0.5, "{best:?}");
        assert!((28.0..31.0).contains(&spent), "{spent}");
        // Trials of more than 2000 updates fail: they are tried, and not taken.
        let fails = |it: &Values| if it[0] > 2000.0 { -50.0 } else { -1000.0 / it[0] };
        let (best, seen, _) = walk(|it| (rate(it) + fails(it), false));
        assert!(best[0] <= 2000.0 && seen.iter().any(|it| it[0] > 2000.0), "{best:?}");
        // No difference: the benefit of the doubt.
        let (best, ..) = walk(|_| (-1.0, false));
        assert!(best[0] >= 9000.0, "{best:?}");
    }

    /// Rates up to 1 are equally good: the highest of them is taken, and a lower one only with the length.
    #[test]
    fn of_equal_rates_the_higher_one_is_taken() {
        let fails = |it: &Values| if it[RATE] > 1.0 { -50.0 } else { 0.0 };
        let (best, ..) = walk(|it| (fails(it) - 1000.0 / it[0], false));
        assert!((0.1..=1.0).contains(&best[RATE]), "{best:?}");
    }

    #[test]
    fn what_overfits_is_tried_with_a_larger_weight_decay() {
        // More than 1000 updates need a weight decay of .03.
        let value = |it: &Values| match it[0] > 1000.0 {
            true => -1.0 - (0.03 - it[WEIGHT_DECAY]).max(0.0),
            false => -1.005 - it[WEIGHT_DECAY],
        };
        let overfits = |it: &Values| it[0] > 1000.0 && it[WEIGHT_DECAY] < 0.03;
        let long = |seen: &[Values]| {
            let decays = seen.iter().filter(|it| it[0] > 1000.0).map(|it| it[WEIGHT_DECAY]);
            decays.fold(0.0, f64::max)
        };
        let scaled = |it: &Values| 10.0 * value(it);
        assert!(long(&walk(|it| (scaled(it), overfits(it))).1) >= 0.03);
        assert!(long(&walk(|it| (scaled(it), false)).1) < 0.03);
    }
}
