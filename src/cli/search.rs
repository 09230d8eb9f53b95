//! `training.preset = "best"` where the number of hidden units is left out: trial runs choose it, and the length, the weight decay and the
//! learning rate, by the log-likelihood of validation rows; the best of them becomes the run.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::dry_run::seconds_per_update;
use super::output::tell;
use super::recipe::Recipe;
use super::run_folder::refuse_if_used;
use super::search_plan::{EXACT_START, KEYS, Plan, Values};
use super::search_trial::{HeldOut, Scores, Trial, seconds};
use super::search_walk::{Trains, Walk};
use super::sweep::{Sweep, Trained};
use super::sweep_axis::Axis;
use super::sweep_processes::outcome;
use crate::checkpoint::write_bytes;
use crate::config::Config;
use crate::limited::read_text_of_run;
use crate::report::SEARCH;
use crate::training::Trainer;
use crate::{Context, Device, Error};

/// Minutes of all trials together.
pub const MINUTES: f64 = 10.0;
/// Share of the time that the updates of the first trial take.
const FIRST: f64 = 1.0 / 80.0;
/// An evaluation of more training rows than this costs more than the updates between two of them, unless these are more.
const MANY_ROWS: usize = 50_000;
/// Settings of trials alone: at so few updates most of the time would go into audits.
const CHEAP: [&str; 2] = ["audit.models=1", "audit.temperatures=1000"];
/// File with the name of the trial that becomes the run.
const CHOSEN: &str = "chosen";
/// Longest of these files that is read, in bytes.
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
        (asked && matches!(recipe, Recipe::Data { .. })).then_some(Self {
            what,
            recipe,
            out,
            overrides,
            data_folder,
            minutes,
        })
    }

    /// The settings of the best trial, as for `--set`; `None` if interrupted. The run with these settings takes its state ([`chosen`]).
    pub fn run(&self, context: &Context) -> Result<Option<Vec<String>>> {
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
        let (rows, plan) = (self.held_out()?, self.plan()?);
        tell(&format!(
            "preset \"best\": trial runs in {} choose length, number of hidden units, weight decay and learning rate by the log-likelihood of validation rows, and the best of them becomes the run: {} minutes (--minutes)",
            self.out.join(SEARCH).display(),
            self.minutes
        ));
        let trials = Trials { search: self, rows, context };
        let walk = match Walk::to_the_end(&trials, plan) {
            Err(error) if matches!(error.downcast_ref(), Some(Error::Interrupted)) => {
                return Ok(None);
            }
            ended => ended?,
        };
        let settings = self.settings(&walk.plan, walk.best.values);
        tell(&format!("chosen after {} trial runs: {}", walk.count, settings.join(" ")));
        write_bytes(self.out.join(SEARCH).join(CHOSEN), walk.best.name.as_bytes())?;
        Ok(Some(settings))
    }

    /// Settings with values of the keys.
    fn settings(&self, plan: &Plan, values: Values) -> Vec<String> {
        let chosen = KEYS.iter().zip(values).filter(|(key, _)| !self.keeps(key));
        let chosen = chosen.map(|(key, value)| format!("{key}={value}"));
        let start = plan.exact_start.then(|| EXACT_START.join("="));
        self.always(plan, values).into_iter().chain(chosen).chain(start).collect()
    }

    /// Settings of all trials and the run. A length by itself would switch early stopping off.
    fn always(&self, plan: &Plan, values: Values) -> Vec<String> {
        let all = [
            ("training.early_stopping", "{}".into()),
            ("evaluation.every", plan.every(values).to_string()),
        ];
        let left = all.into_iter().filter(|(key, _)| !self.keeps(key));
        left.map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// Whether a key has a value that is given, which stays.
    fn keeps(&self, key: &str) -> bool {
        let section = key.rsplit_once('.').map_or(key, |(section, _)| section);
        [key, section].iter().any(|key| given(self.overrides, key).is_some())
    }

    fn config(&self, settings: &[String]) -> Result<(Config, crate::config::Places)> {
        let overrides = [self.overrides, settings].concat();
        self.recipe.config(&overrides)
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
        let mut trainer = Trainer::new(&config, splits, Device::Host)?;
        let updates = FIRST * 60.0 * self.minutes / seconds_per_update(&mut trainer, &config)?;
        let plan = Plan {
            minutes: self.minutes,
            every: config.evaluation.every * rows.div_ceil(MANY_ROWS) as u64,
            ..Plan::new(updates, (config.model.hidden, config.training.learning_rate.initial), rows)
        };
        std::fs::create_dir_all(self.out.join(SEARCH))
            .with_context(|| format!("cannot create {}", self.out.join(SEARCH).display()))?;
        write_bytes(&path, serde_json::to_string(&plan)?.as_bytes())?;
        Ok(plan)
    }
}

/// Trials as runs of a sweep, in processes of their own.
struct Trials<'a> {
    search: &'a Search<'a>,
    rows: HeldOut,
    context: &'a Context,
}

impl Trains for Trials<'_> {
    fn trials(
        &self,
        plan: &Plan,
        all: &[Values],
        varied: usize,
        jobs: usize,
    ) -> Result<Vec<Trial>> {
        let search = self.search;
        let axis = |(key, name): (usize, &&str)| {
            let count = if key == varied { all.len() } else { 1 };
            Axis::of(name, all.iter().take(count).map(|values| values[key]))
        };
        let keys = KEYS.iter().enumerate().filter(|(_, key)| !search.keeps(key));
        // A part of the names, as the others have the same values.
        let exact =
            plan.exact_start.then(|| Axis::of(EXACT_START[0], [EXACT_START[1]].into_iter()));
        let settings = [search.always(plan, all[0]), CHEAP.map(String::from).to_vec()].concat();
        let sweep = Sweep {
            what: search.what.into(),
            over: keys.map(axis).chain(exact).collect(),
            out: None,
            jobs,
            keep_all: false,
            overrides: [&settings[..], search.overrides].concat(),
            data_folder: search.data_folder.map(Path::to_path_buf),
            quiet: true,
        };
        let Some((runs, _)) = sweep.trained(&search.out.join(SEARCH), self.context)? else {
            return Err(Error::Interrupted.into());
        };
        let of = |Trained { settings, run, stopped }: Trained| {
            let mut values = all[0];
            for (value, key) in values.iter_mut().zip(KEYS) {
                let own = given(&settings, key).and_then(|text| text.parse().ok());
                *value = own.unwrap_or(*value);
            }
            let scores = Scores::of(&run, &self.rows.validation);
            let (seconds, trained) = seconds(&run);
            let overfits =
                run.summary.as_ref().is_some_and(|it| it.notices.contains_key("overfits"));
            let outcome = match (&run.summary, stopped) {
                (Some(summary), _) => outcome(summary),
                (None, Some(_)) => "stopped, as it would not reach an earlier one".into(),
                (None, None) => "failed".into(),
            };
            Trial { values, scores, seconds, trained, overfits, outcome, name: run.name }
        };
        Ok(runs.into_iter().map(of).collect())
    }

    fn keeps(&self, key: &str) -> bool {
        self.search.keeps(key)
    }

    fn is_below_simple(&self, trial: &Trial) -> Result<bool> {
        self.rows.better_than(trial.scores.as_ref())
    }
}

/// The folder of the trial that becomes the run of a folder, if a search has chosen one.
pub fn chosen(out: &Path) -> Result<Option<PathBuf>> {
    let search = out.join(SEARCH);
    let name = read_text_of_run(&search.join(CHOSEN), LONGEST, "the trial that was chosen")?;
    Ok(name.map(|name| search.join(name)))
}

/// The value of a key in overrides, of which the last counts.
fn given<'a>(overrides: &'a [String], key: &str) -> Option<&'a str> {
    let pairs = overrides.iter().rev().filter_map(|setting| setting.split_once('='));
    let mut values = pairs.filter(|(name, _)| name.trim() == key);
    values.next().map(|(_, value)| value.trim().trim_matches('"'))
}
