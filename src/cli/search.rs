//! `training.preset = "best"` where the number of hidden units is left out: trial runs choose it, and the weight decay and the learning
//! rate, then the length, by the log-likelihood of validation rows; one run with these settings follows.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::dry_run::seconds_per_update;
use super::output::tell;
use super::recipe::Recipe;
use super::run_folder::refuse_if_used;
use super::sweep::{Sweep, Trained};
use super::sweep_axis::Axis;
use crate::Device;
use crate::checkpoint::write_bytes;
use crate::config::Config;
use crate::data::find_folder;
use crate::limited::read_text_of_run;
use crate::report::SEARCH;
use crate::tracking::LogLikelihood;
use crate::training::Trainer;

/// Minutes of the updates of trials and run together.
pub const MINUTES: f64 = 10.0;
/// Fewest and most updates of a trial.
const UPDATES: [u64; 2] = [500, 20_000];
/// Longer trials, as multiples of these: a rate that falls to zero over too many updates overfits before it has fallen.
const LENGTHS: [u64; 2] = [3, 9];
/// Numbers of hidden units, as multiples of what fits the columns; a multiple of 16, at most 1024.
const WIDTHS: [f64; 3] = [0.25, 1.0, 4.0];
const WIDEST: usize = 1024;
const WEIGHT_DECAYS: [f64; 2] = [1e-4, 1e-3];
/// Learning rates, as multiples of the default.
const RATES: [f64; 2] = [1.0 / 3.0, 3.0];
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

/// What trials and run may cost, kept so that an interrupted search goes on with the same trials.
#[derive(Serialize, Deserialize)]
struct Plan {
    minutes: f64,
    /// Seconds of an update, tracking and audits included, by number of hidden units.
    seconds: BTreeMap<usize, f64>,
}

impl Plan {
    /// Whether it can be used: a file may hold anything.
    fn is_valid(&self) -> bool {
        !self.seconds.is_empty() && self.seconds.values().all(|seconds| *seconds > 0.0)
    }

    fn trials(&self) -> usize {
        self.seconds.len() + WEIGHT_DECAYS.len() + RATES.len() + LENGTHS.len()
    }

    /// Updates of a short trial.
    fn updates(&self) -> u64 {
        ((60.0 * self.minutes / self.seconds()) as u64).clamp(UPDATES[0], UPDATES[1])
    }

    /// Seconds of all updates, for each update of a short trial: trials after the first round are of one size, at worst the slowest, and
    /// the run is at worst as long as the longest.
    fn seconds(&self) -> f64 {
        let slowest = self.seconds.values().copied().fold(0.0, f64::max);
        let later = (WEIGHT_DECAYS.len() + RATES.len()) as u64 + LENGTHS[0] + 2 * LENGTHS[1];
        self.seconds.values().sum::<f64>() + later as f64 * slowest
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
        let plan = self.plan()?;
        let updates = plan.updates();
        let lengths = LENGTHS.map(|by| by * updates);
        tell(&format!(
            "preset \"best\": {} trial runs in {} choose the number of hidden units, the weight decay and the learning rate at {updates} updates, and the length, at most {}, by validation rows; then one run with these follows; the updates take at most about {:.1} minutes by the speed of the first ones (--minutes), the audit at the end of each run comes on top",
            plan.trials(),
            self.out.join(SEARCH).display(),
            lengths[1],
            updates as f64 * plan.seconds() / 60.0
        ));
        // A length by itself would switch early stopping off. One audit a trial: at so few updates most of its time would go into audits.
        let mut length = vec![format!("training.updates={updates}")];
        if !self.keeps("training.early_stopping") {
            length.push("training.early_stopping={}".into());
        }
        let cheap = [&length[..], &["audit.models=1".into()]].concat();
        let mut best: Option<(LogLikelihood, Vec<String>)> = None;
        for round in 0..4 {
            let chosen = best.as_ref().map_or_else(Vec::new, |(_, settings)| settings.clone());
            let axis = match round {
                0 => Axis::of("model.hidden", plan.seconds.keys()),
                1 => Axis::of("training.weight_decay", WEIGHT_DECAYS.iter()),
                2 => {
                    let rate = self.config(&chosen)?.0.training.learning_rate.initial;
                    let rates = RATES.map(|by| rounded(by * rate));
                    Axis::of("training.learning_rate.initial", rates.iter())
                }
                _ => Axis::of("training.updates", lengths.iter()),
            };
            if self.keeps(&axis.key) {
                continue;
            }
            let sweep = Sweep {
                what: self.what.into(),
                over: vec![axis],
                out: None,
                jobs: rayon::current_num_threads().min(2),
                // A longer run, whose rate falls later, is below a shorter one after the same seconds.
                keep_all: round == 3,
                overrides: [&cheap, self.overrides, &chosen].concat(),
                data_folder: self.data_folder.map(Path::to_path_buf),
            };
            let Some((runs, _)) = sweep.trained(&self.out.join(SEARCH))? else {
                return Ok(None);
            };
            for Trained { settings, run } in runs {
                // Where log Z is in doubt, the likelihood may be too high. Fewer units, and the default, are tried first.
                let sound = run.summary.as_ref().is_some_and(|it| it.best.doubt.is_none());
                let Some(value) = run.likelihood("validation").filter(|_| sound) else { continue };
                if best.as_ref().is_none_or(|(best, _)| clearly_better(&value, best)) {
                    best = Some((value, [&chosen[..], &settings].concat()));
                }
            }
        }
        let (_, settings) = best.context(
            "no trial run has ended with a log Z that can be trusted, see the messages above: give model.hidden, or a lower training.learning_rate.initial",
        )?;
        let settings = [&length[..], &settings].concat();
        tell(&format!("chosen: {}", settings.join(" ")));
        Ok(Some(settings))
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
        ensure!(
            splits.validation.is_some(),
            "preset \"best\" chooses the number of hidden units by validation rows, and there are none: give model.hidden, or data.validation_fraction"
        );
        let mut seconds = BTreeMap::new();
        for by in WIDTHS {
            let hidden = (config.model.hidden as f64 * by) as usize;
            let hidden = hidden.next_multiple_of(16).clamp(16, WIDEST);
            if seconds.contains_key(&hidden) {
                continue;
            }
            let (config, _) = self.config(&[format!("model.hidden={hidden}")])?;
            let mut trainer = Trainer::new(&config, splits.clone(), &Device::Host)?;
            seconds.insert(hidden, seconds_per_update(&mut trainer, &config)?);
        }
        let plan = Plan { minutes: self.minutes, seconds };
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

/// Whether a likelihood of the same rows is higher by more than the error of the difference: that of both log Z.
fn clearly_better(value: &LogLikelihood, best: &LogLikelihood) -> bool {
    value.value - best.value > value.log_z_std_error.hypot(best.log_z_std_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_and_run_take_the_minutes_whatever_size_is_best() {
        for seconds in [[0.001, 0.002, 0.008], [0.03, 0.03, 0.03], [0.01, 0.05, 0.08]] {
            let plan = Plan { minutes: 60.0, seconds: (1..).zip(seconds).collect() };
            assert_eq!(plan.trials(), 9);
            for own in seconds {
                // Four trials more of the best size, one three times and one nine times as long, and the run.
                let all = seconds.iter().sum::<f64>() + (4.0 + 3.0 + 9.0 + 9.0) * own;
                let updates = plan.updates();
                assert!(updates as f64 * all <= 3600.0 && updates > UPDATES[0], "{seconds:?}");
            }
        }
        let slow = Plan { minutes: 1e-3, seconds: [(16, 1.0)].into() };
        assert_eq!(slow.updates(), UPDATES[0]);
        for bad in [vec![], vec![(16, f64::NAN)], vec![(16, 0.0)]] {
            assert!(!Plan { minutes: 1.0, seconds: bad.into_iter().collect() }.is_valid());
        }
    }

    #[test]
    fn a_difference_within_the_error_of_log_z_changes_nothing() {
        let of = |value, log_z_std_error| LogLikelihood {
            value,
            std_error: 1.0,
            data_std_error: 1.0,
            log_z_std_error,
        };
        assert!(clearly_better(&of(-9.0, 0.1), &of(-9.2, 0.1)));
        assert!(!clearly_better(&of(-9.0, 0.1), &of(-9.1, 0.1)));
        assert!(!clearly_better(&of(-9.0, 0.3), &of(-9.2, 0.1)));
        assert!(!clearly_better(&of(f64::NAN, 0.1), &of(-9.2, 0.1)));
    }
}
