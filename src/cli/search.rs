//! `training.preset = "best"` where the number of hidden units is left out: trial runs choose it, and the length, the weight decay and the
//! learning rate, by the log-likelihood of validation rows; one run with these settings follows.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::dry_run::seconds_per_update;
use super::output::tell;
use super::recipe::Recipe;
use super::run_folder::refuse_if_used;
use super::search_plan::{KEYS, Plan, RATE, SLOWER, Values};
use super::search_trial::{HeldOut, Scores, Trial, seconds};
use super::sweep::{Sweep, Trained};
use super::sweep_axis::Axis;
use crate::Device;
use crate::checkpoint::write_bytes;
use crate::config::Config;
use crate::data::find_folder;
use crate::limited::read_text_of_run;
use crate::report::SEARCH;
use crate::training::Trainer;

/// Minutes of trials and run together.
pub const MINUTES: f64 = 10.0;
/// The order in which they are varied: twice the rate reaches what twice the length does, in half the time, and a model that was trained too
/// short shows nothing of the others.
const ORDER: [usize; KEYS.len() + 1] = [3, 0, SLOWER, 1, 2];
/// Share of the time that the updates of the first trial take.
const FIRST: f64 = 1.0 / 80.0;
/// The setting of trials whose particles would miss modes from random weights.
const EXACT_START: [&str; 2] = ["model.start", "\"exact\""];
/// It is not tried where one of these is given.
const START_KEYS: [&str; 2] = [EXACT_START[0], "training.pretraining"];
/// All keys are varied in short trials, then again in longer ones: the most that one trial may take, audit included, and the time at which such
/// trials end, as shares of the whole time.
const ROUNDS: [(f64, f64); 3] = [(1.0 / 40.0, 0.3), (1.0 / 10.0, 0.6), (1.0 / 4.0, 1.0)];
/// An evaluation of more training rows than this costs more than the updates between two of them, unless these are more.
const MANY_ROWS: usize = 50_000;
/// Settings of trials alone: at so few updates most of the time would go into audits.
const CHEAP: [&str; 2] = ["audit.models=1", "audit.temperatures=1000"];
/// Longest plan that is read, in bytes.
const LONGEST: u64 = 1 << 16;

/// A search before a run.
pub struct Search<'a> {
    /// The data file.
    what: &'a Path,
    recipe: &'a Recipe,
    /// The run folder.
    out: &'a Path,
    overrides: &'a [String],
    data_folder: Option<&'a Path>,
    minutes: f64,
}

impl<'a> Search<'a> {
    /// If it is asked for: the preset by its name, for a data file, without `model.hidden`.
    pub fn of(
        (what, recipe): (&'a Path, &'a Recipe),
        out: &'a Path,
        overrides: &'a [String],
        data_folder: Option<&'a Path>,
        minutes: f64,
    ) -> Option<Self> {
        let asked = given(overrides, "training.preset") == Some("best")
            && given(overrides, "model.hidden").is_none();
        (asked && matches!(recipe, Recipe::Data(_))).then_some(Self {
            what,
            recipe,
            out,
            overrides,
            data_folder,
            minutes,
        })
    }

    /// The settings of the best trial and the length of the run, as for `--set`; `None` if interrupted.
    pub fn run(&self) -> Result<Option<Vec<String>>> {
        ensure!(
            self.minutes > 0.0 && self.minutes.is_finite(),
            "--minutes: a positive number is needed"
        );
        for length in ["training.updates", "training.epochs"] {
            ensure!(
                given(self.overrides, length).is_none(),
                "{length}: preset \"best\" chooses the length too: leave it out, or give model.hidden"
            );
        }
        refuse_if_used(self.out)?;
        let rows = self.held_out()?;
        let mut plan = self.plan()?;
        tell(&format!(
            "preset \"best\": trial runs in {} choose length, number of hidden units, weight decay and learning rate by the log-likelihood of validation rows, then one run with these follows: {} minutes together (--minutes)",
            self.out.join(SEARCH).display(),
            self.minutes
        ));
        let budget = 60.0 * self.minutes;
        let (mut spent, mut tried, mut count) = (0.0, Vec::new(), 0);
        let Some(first) = self.trials((&plan, &rows), &[plan.first], 0, &mut tried)? else {
            return Ok(None);
        };
        let Some(mut best) = first.into_iter().next() else {
            anyhow::bail!("the first trial run failed, see the messages above");
        };
        spent += best.seconds;
        // A longer trial than the best one, and not worse.
        let mut as_good: Option<Trial> = None;
        for (round, (longest, end)) in ROUNDS.into_iter().enumerate() {
            if round + 1 == ROUNDS.len()
                && START_KEYS.iter().all(|key| !self.keeps(key))
                && spent + 2.0 * best.seconds <= budget
                && rows.better_than(best.scores.as_ref())?
            {
                tell(
                    "the best trial is below a simple model of the same rows: the next one trains a few hidden units with the exact gradient first, as it has no chains that could miss a mode",
                );
                let exact = Plan { exact_start: true, ..plan.clone() };
                let mut of_exact = Vec::new();
                let Some(trials) =
                    self.trials((&exact, &rows), &[best.values], 0, &mut of_exact)?
                else {
                    return Ok(None);
                };
                for trial in trials {
                    spent += trial.seconds;
                    if trial.is_above(&best, true) {
                        count += tried.len();
                        (best, tried, plan) = (trial, of_exact.clone(), exact.clone());
                        as_good = None;
                    }
                }
            }
            // A round of all keys without a change is the end.
            let mut unchanged = 0;
            for key in ORDER.into_iter().cycle() {
                if unchanged == ORDER.len() {
                    break;
                }
                let slower = key == SLOWER;
                let mut ways = if slower { vec![true] } else { vec![false, true] };
                let axis = if slower { 0 } else { key };
                let given = self.keeps(KEYS[axis]) || slower && self.keeps(KEYS[RATE]);
                let before = best.values;
                while !ways.is_empty() && !given {
                    let next = |up: &bool| {
                        let values = plan.next(key, best.values, *up)?;
                        let seconds = best.seconds * plan.times_as_long(&values, &best.values);
                        let fits = seconds <= longest * budget
                            && spent + seconds <= end * budget
                            && spent + 2.0 * seconds <= budget;
                        (fits && !tried.contains(&values)).then_some(values)
                    };
                    let candidates: Vec<Values> = ways.iter().filter_map(next).collect();
                    if candidates.is_empty() {
                        break;
                    }
                    // Values of a sweep differ in one key.
                    let known: &[Values] = if slower { &[] } else { &[best.values] };
                    let all = [known, &candidates].concat();
                    let Some(trials) = self.trials((&plan, &rows), &all, axis, &mut tried)? else {
                        return Ok(None);
                    };
                    let from = best.values[axis];
                    ways.clear();
                    for trial in trials.into_iter().filter(|it| candidates.contains(&it.values)) {
                        spent += trial.seconds / at_once(candidates.len()) as f64;
                        let longer = plan.times_as_long(&trial.values, &best.values) > 1.0;
                        if trial.is_above(&best, longer) {
                            ways = vec![trial.values[axis] > from];
                            best = trial;
                        } else if trial.is_longer_and_not_below(&best) {
                            as_good = Some(trial);
                        }
                    }
                }
                unchanged = if best.values == before { unchanged + 1 } else { 1 };
            }
        }
        ensure!(
            best.scores.is_some(),
            "no trial run has ended with a log Z that can be trusted, see the messages above: give model.hidden, or a lower training.learning_rate.initial"
        );
        let count = count + tried.len();
        let settings = self.settings(&plan, best.values);
        tell(&format!("chosen after {count} trial runs: {}", settings.join(" ")));
        let left = budget - spent;
        let last = as_good.filter(|it| it.is_longer_and_not_below(&best) && it.seconds <= left);
        let Trial { values, seconds, .. } = last.as_ref().unwrap_or(&best);
        let longer = plan.longer(*values, &tried, left / seconds);
        if longer != best.values {
            tell(&format!(
                "no longer trial was worse, so the run takes the time that is left: {} updates",
                longer[0]
            ));
        }
        Ok(Some(self.settings(&plan, longer)))
    }

    /// Settings with values of the keys.
    fn settings(&self, plan: &Plan, values: Values) -> Vec<String> {
        let chosen = KEYS.iter().zip(values).filter(|(key, _)| !self.keeps(key));
        let chosen = chosen.map(|(key, value)| format!("{key}={value}"));
        let start = plan.exact_start.then(|| EXACT_START.join("="));
        self.always(plan).into_iter().chain(chosen).chain(start).collect()
    }

    /// Settings of all trials and the run. A length by itself would switch early stopping off.
    fn always(&self, plan: &Plan) -> Vec<String> {
        let all = [
            ("training.early_stopping", "{}".into()),
            ("evaluation.every", plan.every.to_string()),
        ];
        let left = all.into_iter().filter(|(key, _)| !self.keeps(key));
        left.map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// Trains with values that differ in one key, those that are already tried first; what has ended, and what was stopped.
    fn trials(
        &self,
        (plan, rows): (&Plan, &HeldOut),
        all: &[Values],
        varied: usize,
        tried: &mut Vec<Values>,
    ) -> Result<Option<Vec<Trial>>> {
        let axis = |(key, name): (usize, &&str)| {
            let count = if key == varied { all.len() } else { 1 };
            Axis::of(name, all.iter().take(count).map(|values| values[key]))
        };
        let new: Vec<Values> = all.iter().filter(|it| !tried.contains(it)).copied().collect();
        tried.extend(&new);
        let keys = KEYS.iter().enumerate().filter(|(_, key)| !self.keeps(key));
        // A part of the names, as the others have the same values.
        let exact =
            plan.exact_start.then(|| Axis::of(EXACT_START[0], [EXACT_START[1]].into_iter()));
        let settings = [self.always(plan), CHEAP.map(String::from).to_vec()].concat();
        let sweep = Sweep {
            what: self.what.into(),
            over: keys.map(axis).chain(exact).collect(),
            out: None,
            jobs: at_once(new.len()),
            // A longer run, whose rate falls later, is below a shorter one after the same seconds.
            keep_all: varied == 0,
            overrides: [&settings[..], self.overrides].concat(),
            data_folder: self.data_folder.map(Path::to_path_buf),
        };
        let Some((runs, _)) = sweep.trained(&self.out.join(SEARCH))? else {
            return Ok(None);
        };
        let of = |Trained { settings, run }: Trained| {
            let mut values = plan.first;
            for (value, key) in values.iter_mut().zip(KEYS) {
                let own = given(&settings, key).and_then(|text| text.parse().ok());
                *value = own.unwrap_or(*value);
            }
            Trial { values, scores: Scores::of(&run, &rows.validation), seconds: seconds(&run) }
        };
        Ok(Some(runs.into_iter().map(of).collect()))
    }

    /// Whether a key has a value that is given, which stays.
    fn keeps(&self, key: &str) -> bool {
        let section = key.rsplit_once('.').map_or(key, |(section, _)| section);
        [key, section].iter().any(|key| given(self.overrides, key).is_some())
    }

    fn config(&self, settings: &[String]) -> Result<(Config, crate::config::Places)> {
        let overrides = [self.overrides, settings].concat();
        self.recipe.config(&overrides, &find_folder(self.data_folder))
    }

    fn held_out(&self) -> Result<HeldOut> {
        let (config, _) = self.config(&[])?;
        let splits = config.data.load(self.data_folder)?.standardised()?;
        let rows = splits.validation.context("preset \"best\" chooses the number of hidden units by validation rows, and there are none: give model.hidden, or data.validation_fraction")?;
        HeldOut::new(&config, &splits.train, &rows)
    }

    /// The plan of an interrupted search, or a new one, whose first trial has as many updates as a few of them say.
    fn plan(&self) -> Result<Plan> {
        let path = self.out.join(SEARCH).join("plan.json");
        let kept = read_text_of_run(&path, LONGEST, "the plan of a search")?;
        let kept = kept.and_then(|text| serde_json::from_str::<Plan>(&text).ok());
        if let Some(plan) = kept.filter(|plan| plan.is_valid() && plan.minutes == self.minutes) {
            return Ok(plan);
        }
        let (config, _) = self.config(&[])?;
        let splits = config.data.load(self.data_folder)?;
        let rows = splits.train.rows();
        let mut trainer = Trainer::new(&config, splits, &Device::Host)?;
        let updates = FIRST * 60.0 * self.minutes / seconds_per_update(&mut trainer, &config)?;
        let plan = Plan {
            minutes: self.minutes,
            every: config.evaluation.every * rows.div_ceil(MANY_ROWS) as u64,
            ..Plan::new(updates, (config.model.hidden, config.training.learning_rate.initial))
        };
        std::fs::create_dir_all(self.out.join(SEARCH))
            .with_context(|| format!("cannot create {}", self.out.join(SEARCH).display()))?;
        write_bytes(&path, serde_json::to_string(&plan)?.as_bytes())?;
        Ok(plan)
    }
}

/// How many trials of one key share the threads.
fn at_once(trials: usize) -> usize {
    rayon::current_num_threads().min(trials.clamp(1, 2))
}

/// The value of a key in overrides, of which the last counts.
fn given<'a>(overrides: &'a [String], key: &str) -> Option<&'a str> {
    let pairs = overrides.iter().rev().filter_map(|setting| setting.split_once('='));
    let mut values = pairs.filter(|(name, _)| name.trim() == key);
    values.next().map(|(_, value)| value.trim().trim_matches('"'))
}
