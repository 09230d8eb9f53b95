//! `training.preset = "best"` where the number of hidden units is left out: trial runs choose it, and the length, the weight decay and the
//! learning rate, by the log-likelihood of validation rows; one run with these settings follows.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::dry_run::seconds_per_update;
use super::output::tell;
use super::recipe::Recipe;
use super::run_folder::refuse_if_used;
use super::search_trial::{Scores, seconds};
use super::sweep::{Sweep, Trained};
use super::sweep_axis::Axis;
use crate::checkpoint::write_bytes;
use crate::config::Config;
use crate::data::{Binarizer, EVALUATION_EPOCH, find_folder};
use crate::limited::read_text_of_run;
use crate::report::SEARCH;
use crate::training::Trainer;
use crate::{BitMatrix, Device};

/// Minutes of trials and run together.
pub const MINUTES: f64 = 10.0;
/// The keys that are chosen, in the order in which they are varied: a model that is too short shows nothing of the others.
const KEYS: [&str; 4] =
    ["training.updates", "model.hidden", "training.weight_decay", "training.learning_rate.initial"];
/// The order in which they are varied: twice the rate reaches what twice the length does, in half the time, and a model that was trained too
/// short shows nothing of the others.
const ORDER: [usize; KEYS.len()] = [3, 0, 1, 2];
/// Share of the time that the updates of the first trial take.
const FIRST: f64 = 1.0 / 80.0;
/// All keys are varied in short trials, then again in longer ones: the most that one trial may take, audit included, and the time at which such
/// trials end, as shares of the whole time.
const ROUNDS: [(f64, f64); 3] = [(1.0 / 40.0, 0.3), (1.0 / 10.0, 0.6), (1.0 / 4.0, 1.0)];
/// Fewest and most updates of a run.
const UPDATES: [f64; 2] = [250.0, 1e6];
/// Fewest and most hidden units; their number is a multiple of the former.
const HIDDEN: [f64; 2] = [16.0, 1024.0];
const WEIGHT_DECAYS: [f64; 8] = [0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1];
const FIRST_WEIGHT_DECAY: f64 = 1e-3;
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

/// The first trial, kept so that an interrupted search goes on with the same trials.
#[derive(Serialize, Deserialize)]
struct Plan {
    minutes: f64,
    /// A value for each key.
    first: Values,
    /// Updates between evaluations.
    every: u64,
}

/// A value for each of [`KEYS`].
type Values = [f64; 4];

/// The best trial so far.
#[derive(Clone)]
struct Best {
    values: Values,
    /// None where log Z is in doubt.
    scores: Option<Scores>,
    seconds: f64,
}

impl Plan {
    /// Whether it can be used: a file may hold anything.
    fn is_valid(&self) -> bool {
        self.every > 0 && self.first.iter().all(|value| value.is_finite() && *value >= 0.0)
    }
}

impl Best {
    /// About the seconds of a trial with other values: those of an update grow with the hidden units, those of an audit not with the updates.
    fn seconds_with(&self, values: &Values) -> f64 {
        let [length, width] = [0, 1].map(|key| values[key] / self.values[key]);
        self.seconds * (length * width).max(length).max(1.0)
    }
}

/// The next value of a key, up or down; `None` at the end.
fn step(key: usize, value: f64, up: bool) -> Option<f64> {
    let by = if up { 2.0 } else { 0.5 };
    let within =
        |[least, most]: [f64; 2], next: f64| (least..=most).contains(&next).then_some(next);
    match key {
        0 => within(UPDATES, (by * value).round()),
        1 => within(HIDDEN, ((by * value / HIDDEN[0]).ceil() * HIDDEN[0]).min(HIDDEN[1]))
            .filter(|next| *next != value),
        2 if up => WEIGHT_DECAYS.into_iter().find(|next| *next > value),
        2 => WEIGHT_DECAYS.into_iter().rev().find(|next| *next < value),
        _ => Some(rounded(by * value)),
    }
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
        let rows = self.validation_rows()?;
        let plan = self.plan()?;
        tell(&format!(
            "preset \"best\": trial runs in {} choose length, number of hidden units, weight decay and learning rate by the log-likelihood of validation rows, then one run with these follows: {} minutes together (--minutes)",
            self.out.join(SEARCH).display(),
            self.minutes
        ));
        let budget = 60.0 * self.minutes;
        let (mut spent, mut tried) = (0.0, Vec::new());
        let Some(first) = self.trials((&plan, &rows), &[plan.first], 0, &mut tried)? else {
            return Ok(None);
        };
        let Some(mut best) = first.into_iter().next() else {
            anyhow::bail!("the first trial run failed, see the messages above");
        };
        spent += best.seconds;
        for (longest, end) in ROUNDS {
            // A round of all keys without a change is the end.
            let mut unchanged = 0;
            for key in ORDER.into_iter().cycle() {
                if unchanged == KEYS.len() {
                    break;
                }
                let mut ways = vec![false, true];
                let before = best.values;
                while !ways.is_empty() && !self.keeps(KEYS[key]) {
                    let next = |up: &bool| {
                        let mut values = best.values;
                        values[key] = step(key, values[key], *up)?;
                        let seconds = best.seconds_with(&values);
                        let fits = seconds <= longest * budget
                            && spent + seconds <= end * budget
                            && spent + 2.0 * seconds <= budget;
                        (fits && !tried.contains(&values)).then_some(values)
                    };
                    let candidates: Vec<Values> = ways.iter().filter_map(next).collect();
                    if candidates.is_empty() {
                        break;
                    }
                    let Some(trials) = self.trials(
                        (&plan, &rows),
                        &[&[best.values], &candidates[..]].concat(),
                        key,
                        &mut tried,
                    )?
                    else {
                        return Ok(None);
                    };
                    let from = best.values[key];
                    ways.clear();
                    for trial in trials.into_iter().filter(|it| candidates.contains(&it.values)) {
                        // Those of one key share the threads.
                        spent += trial.seconds / candidates.len() as f64;
                        let scores = trial.scores.as_ref();
                        if scores.is_some_and(|it| it.clearly_above(best.scores.as_ref())) {
                            ways = vec![trial.values[key] > from];
                            best = trial;
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
        let chosen = KEYS.iter().zip(best.values).filter(|(key, _)| !self.keeps(key));
        let chosen = chosen.map(|(key, value)| format!("{key}={value}"));
        let settings: Vec<String> = self.always(&plan).into_iter().chain(chosen).collect();
        tell(&format!("chosen after {} trial runs: {}", tried.len(), settings.join(" ")));
        Ok(Some(settings))
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
        (plan, rows): (&Plan, &BitMatrix),
        all: &[Values],
        varied: usize,
        tried: &mut Vec<Values>,
    ) -> Result<Option<Vec<Best>>> {
        let axis = |(key, name): (usize, &&str)| {
            let count = if key == varied { all.len() } else { 1 };
            Axis::of(name, all.iter().take(count).map(|values| values[key]))
        };
        let new: Vec<Values> = all.iter().filter(|it| !tried.contains(it)).copied().collect();
        tried.extend(&new);
        let keys = KEYS.iter().enumerate().filter(|(_, key)| !self.keeps(key));
        let settings = [self.always(plan), CHEAP.map(String::from).to_vec()].concat();
        let sweep = Sweep {
            what: self.what.into(),
            over: keys.map(axis).collect(),
            out: None,
            jobs: rayon::current_num_threads().min(new.len().clamp(1, 2)),
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
            Best { values, scores: Scores::of(&run, rows), seconds: seconds(&run) }
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

    /// The rows that decide.
    fn validation_rows(&self) -> Result<BitMatrix> {
        let (config, _) = self.config(&[])?;
        let splits = config.data.load(self.data_folder)?.standardised()?;
        let rows = splits.validation.context("preset \"best\" chooses the number of hidden units by validation rows, and there are none: give model.hidden, or data.validation_fraction")?;
        Ok(Binarizer::new(config.data.binarization)?.binarize(
            &rows,
            EVALUATION_EPOCH,
            config.seed,
        )?)
    }

    /// The plan of an interrupted search, or a new one from a few updates of each size.
    fn plan(&self) -> Result<Plan> {
        let path = self.out.join(SEARCH).join("plan.json");
        let kept = read_text_of_run(&path, LONGEST, "the plan of a search")?;
        let kept = kept.and_then(|text| serde_json::from_str::<Plan>(&text).ok());
        if let Some(plan) = kept.filter(|plan| plan.is_valid() && plan.minutes == self.minutes) {
            return Ok(plan);
        }
        let (config, _) = self.config(&[])?;
        let splits = config.data.load(self.data_folder)?;
        let (hidden, rate) = (config.model.hidden, config.training.learning_rate.initial);
        let rows = splits.train.rows();
        let mut trainer = Trainer::new(&config, splits, &Device::Host)?;
        let updates = FIRST * 60.0 * self.minutes / seconds_per_update(&mut trainer, &config)?;
        let plan = Plan {
            minutes: self.minutes,
            first: [
                updates.round().clamp(2.0 * UPDATES[0], 20_000.0),
                hidden as f64,
                FIRST_WEIGHT_DECAY,
                rate,
            ],
            every: config.evaluation.every * rows.div_ceil(MANY_ROWS) as u64,
        };
        std::fs::create_dir_all(self.out.join(SEARCH))
            .with_context(|| format!("cannot create {}", self.out.join(SEARCH).display()))?;
        write_bytes(&path, serde_json::to_string(&plan)?.as_bytes())?;
        Ok(plan)
    }
}

/// The value of a key in overrides, of which the last counts.
fn given<'a>(overrides: &'a [String], key: &str) -> Option<&'a str> {
    let pairs = overrides.iter().rev().filter_map(|setting| setting.split_once('='));
    let mut values = pairs.filter(|(name, _)| name.trim() == key);
    values.next().map(|(_, value)| value.trim().trim_matches('"'))
}

/// Three digits of a number.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stay_within_the_ends_and_lead_back() {
        for (key, value) in [(0, 777.0), (1, 112.0), (2, FIRST_WEIGHT_DECAY), (3, 0.1)] {
            let up = step(key, value, true).unwrap();
            assert!(up > value && step(key, value, false).unwrap() < value);
            assert_eq!(step(key, up, false), Some(value));
        }
        assert_eq!((step(1, 16.0, false), step(1, 1024.0, true)), (None, None));
        assert_eq!((step(1, 48.0, false), step(1, 592.0, true)), (Some(32.0), Some(1024.0)));
        assert_eq!((step(2, 0.0, false), step(2, 0.1, true)), (None, None));
        assert_eq!((step(0, 300.0, false), step(0, 9e5, true)), (None, None));
    }

    #[test]
    fn a_plan_of_a_file_is_read_only_if_its_numbers_can_be_used() {
        let plan = |first, every| Plan { minutes: 1.0, first, every };
        assert!(plan([500.0, 16.0, 0.0, 0.1], 100).is_valid());
        assert!(!plan([500.0, f64::NAN, 0.0, 0.1], 100).is_valid());
        assert!(!plan([500.0, 16.0, -1.0, 0.1], 100).is_valid());
        assert!(!plan([500.0, 16.0, 0.0, 0.1], 0).is_valid());
    }
}
