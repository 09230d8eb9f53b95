//! Values of settings left at `"auto"`, chosen from sizes, gradient and length.

use super::cost::{Sizes, temperatures};
use super::steps::{PARTS_OF_HISTORY, Steps};
use crate::config::{Config, GradientConfig, SettlingConfig};
use crate::error::Result;
use crate::model::exact::{MAX_UNITS, QUICK_UNITS};
use crate::record::Notice;
use crate::tempering::{BaseDistribution, Ladder};
use crate::tracking::{Model, Settling, Start, TrackerOptions};
use crate::training::averaging::WINDOW;

/// Fraction of the time for tracking that is reserved for equilibration, and fewest and most sweeps of it.
const SETTLING_SHARE: f64 = 0.8;
const FEWEST_SWEEPS: usize = 24;
const MOST_SWEEPS: usize = 2000;
/// Initial rounds may cost as much as all updates and this many nanoseconds; fewest rounds.
const ROUNDS: f64 = 3e9;
const FEWEST_ROUNDS: f64 = 2.0;
/// Largest fraction of the cost of the updates between two evaluations that enumeration at every evaluation may add.
const EXACT_SHARE: f64 = 0.5;
/// Largest smaller layer that is enumerated at evaluations by default.
const LARGEST_EXACT: usize = 23;

/// The chosen values.
pub(super) struct Plan {
    pub ladder: Ladder,
    /// Fraction of the history that is averaged over; 0 for none.
    pub window: f64,
    pub tracker: TrackerOptions,
    /// Of the chains of the tempered gradient.
    pub gradient: TrackerOptions,
    pub steps: Steps,
    /// Chains that the particles exchange states with, from the start or when the training fails.
    pub exchange: Option<TrackerOptions>,
    /// Cost of one update, including the chains of the gradient and of the exchange and not those of the tracker.
    pub update: f64,
    /// log Z is enumerated at every evaluation.
    pub exact: bool,
    /// Notices about the choices.
    pub notices: Vec<Notice>,
}

impl Plan {
    /// `sizes.temperatures` is not used; `total`: updates planned.
    pub fn new(config: &Config, mut sizes: Sizes, total: u64) -> Result<Self> {
        let tempering = &config.tempering;
        let ladder = tempering.ladder(temperatures(sizes.visible, sizes.hidden))?;
        sizes.temperatures = ladder.len();
        let tempered = matches!(config.training.gradient, GradientConfig::Tempered {});
        let window = config.averaging.window.or(WINDOW);
        let mut gradient = TrackerOptions {
            sweeps: tempering.sweeps.or(5),
            weighted: tempering.weighted.or(true),
            ..tempering.tracker_options()
        };
        let mut update = sizes.update(config);
        let rounds = &mut gradient.initial_rounds;
        let round = sizes.tempered(tracked_chains(config), rounds.sweeps, gradient.beta_update);
        // A run of a few updates of a large model would spend all its time on the rounds.
        let affordable = ((ROUNDS + update * total as f64) / round).max(FEWEST_ROUNDS);
        rounds.most = rounds.most.min(affordable as usize);
        let one_tracker = tempered && window == 0.0;
        let mut tracker = TrackerOptions {
            sweeps: if one_tracker { gradient.sweeps } else { tempering.sweeps.or(2) },
            ..gradient
        };
        let chains = tempering.chains;
        if tempered {
            update += sizes.tempered(chains, gradient.sweeps, gradient.beta_update);
        }
        let exchange = exchange(config, gradient);
        let from_start = exchange.filter(|_| config.training.exchange.or(false));
        update += from_start.map_or(0.0, |options| sizes.tracking_step(chains, &options));
        let block = update * config.evaluation.every as f64;
        let mut notices = Vec::new();
        tracker.settling = tempering.settling.or(FEWEST_SWEEPS, FEWEST_SWEEPS);
        let costs = Costs { config, sizes: &sizes, tracker, update, updates: total as f64 };
        let steps = match tempering.every.given() {
            Some(every) => Steps::Every(every),
            None if one_tracker => Steps::Every(1),
            None => costs.automatic_steps(&mut notices),
        };
        let affordable = costs.affordable_settling(steps);
        // One evaluation of a run without tracking takes what it needs.
        let affordable = if config.is_tracked() { affordable } else { MOST_SWEEPS };
        let sweeps = affordable.clamp(FEWEST_SWEEPS, SettlingConfig::SWEEPS);
        tracker.settling = tempering.settling.or(sweeps, affordable.min(MOST_SWEEPS));
        let exact = enumerates(config, &sizes, block)?;
        Ok(Self { ladder, window, tracker, gradient, exchange, steps, update, exact, notices })
    }

    /// Where chains of a model start, with the ladder of the run and this base.
    pub fn start<'a>(&'a self, base: &'a BaseDistribution, model: &'a Model) -> Start<'a> {
        Start { model, ladder: &self.ladder, base }
    }
}

/// How the chains of the exchange are run, for PCD where it is not switched off.
fn exchange(config: &Config, gradient: TrackerOptions) -> Option<TrackerOptions> {
    let pcd = matches!(config.training.gradient, GradientConfig::Pcd { .. });
    (pcd && config.training.exchange.or(true)).then_some(TrackerOptions {
        sweeps: 1,
        weighted: false,
        settling: Settling { sweeps: 0, most: 0 },
        ..gradient
    })
}

/// Whether log Z is enumerated at every evaluation; `block`: cost of the updates between two evaluations.
fn enumerates(config: &Config, sizes: &Sizes, block: f64) -> Result<bool> {
    let (smaller, _) = sizes.enumerated();
    let cheap = smaller <= LARGEST_EXACT && sizes.enumeration() <= EXACT_SHARE * block;
    let exact = config.evaluation.exact.or(cheap);
    let of_gradient = matches!(config.training.gradient, GradientConfig::Exact {});
    for (key, enumerated, most) in
        [("evaluation.exact", exact, MAX_UNITS), ("training.gradient", of_gradient, QUICK_UNITS)]
    {
        if enumerated && smaller > most {
            let problem = format!(
                "enumeration needs a layer of at most {most} units, the smaller one has {smaller}"
            );
            return Err(crate::Error::config(key, problem));
        }
    }
    Ok(exact)
}

/// Chains that make steps with the model and equilibrate, including those of the second population.
pub(super) fn tracked_chains(config: &Config) -> usize {
    let chains = config.tempering.chains;
    if config.tempering.mixture > 0 { chains + chains / 2 } else { chains }
}

/// What tracking in a run costs.
struct Costs<'a> {
    config: &'a Config,
    sizes: &'a Sizes,
    tracker: TrackerOptions,
    /// Of one update.
    update: f64,
    /// Number of updates.
    updates: f64,
}

impl Costs<'_> {
    fn sweeps(&self, sweeps: usize) -> f64 {
        self.sizes.tempered(tracked_chains(self.config), sweeps, self.tracker.beta_update)
    }

    fn step(&self) -> f64 {
        self.sizes.tracking_step(tracked_chains(self.config), &self.tracker)
    }

    fn evaluations(&self) -> f64 {
        self.updates / self.config.evaluation.every as f64
    }

    /// Affordable equilibration sweeps: those that the tracker's steps leave of the allowed fraction of a block of updates between two
    /// evaluations.
    fn affordable_settling(&self, steps: Steps) -> usize {
        let every = self.config.evaluation.every as f64;
        let share = self.config.tempering.share * self.update * every;
        let left = share - steps.count(self.updates) * self.step() / self.evaluations();
        (left.max(0.0) / self.sweeps(1)) as usize
    }

    /// The most frequent steps within `tempering.share` of the cost of all updates; a notice if there are none.
    fn automatic_steps(&self, notices: &mut Vec<Notice>) -> Steps {
        let (share, training) = (self.config.tempering.share, self.update * self.updates);
        let settling = self.sweeps(self.tracker.settling.sweeps) * self.evaluations();
        let cost =
            |part: &u64| settling + Steps::PartOfHistory(*part).count(self.updates) * self.step();
        let steps = |part: &u64| cost(part) - settling;
        let rarest = PARTS_OF_HISTORY[PARTS_OF_HISTORY.len() - 1];
        let fits = PARTS_OF_HISTORY
            .iter()
            .find(|part| steps(part) <= (1.0 - SETTLING_SHARE) * share * training);
        if cost(&rarest) > share * training && self.config.is_tracked() {
            notices.push(Notice::TrackingCost { times: cost(&rarest) / training, share });
        }
        Steps::PartOfHistory(fits.copied().unwrap_or(rarest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::all_keys;
    use crate::keys::LeftOut;
    use crate::tempering::BetaUpdate;

    /// Equilibration gets what steps leave of the allowed cost: nothing if they use all of it, more with more updates between two
    /// evaluations.
    #[test]
    fn settling_takes_what_steps_leave() {
        let sizes = Sizes {
            visible: 64,
            hidden: 16,
            batch: 50,
            particles: 50,
            temperatures: 20,
            reals: false,
        };
        let text =
            "[data]\nsource = 'bars-and-stripes'\n[model]\nhidden = 16\n[training]\nupdates = 3000";
        let mut config = Config::parse(text, &[]).unwrap();
        let affordable = |config: &Config, update: f64, steps: Steps| {
            let tracker = TrackerOptions { sweeps: 2, ..config.tempering.tracker_options() };
            Costs { config, sizes: &sizes, tracker, update, updates: 3000.0 }
                .affordable_settling(steps)
        };
        let rare = Steps::Every(1000);
        let sweep = sizes.tempered(150, 1, BetaUpdate::Collapsed);
        let step = sizes.tempered(150, 4, BetaUpdate::Collapsed);
        let expected = (100.0 * 1e6 - 0.1 * step) / sweep;
        assert_eq!(affordable(&config, 1e6, rare), expected as usize);
        assert_eq!(affordable(&config, 1e3, Steps::Every(1)), 0);
        config.tempering.share = 0.5;
        let half = affordable(&config, 1e6, rare);
        assert!(half.abs_diff((expected / 2.0) as usize) <= 1, "{half} {expected}");
        config.evaluation.every = 200;
        assert!(affordable(&config, 1e6, rare).abs_diff(2 * half) <= 1);
    }

    /// The value of "auto" for every key that has it.
    #[test]
    fn auto_is_what_the_documentation_says() {
        let plan = |settings: &str, hidden: usize| {
            let text = format!(
                "[data]\nsource = 'bars-and-stripes'\n[model]\nhidden = {hidden}\n[training]\nupdates = 3000\n{settings}"
            );
            let config = Config::parse(&text, &[]).unwrap();
            let visible = 400;
            let sizes =
                Sizes { visible, hidden, batch: 50, particles: 500, temperatures: 0, reals: false };
            Plan::new(&config, sizes, 3000).unwrap()
        };
        let auto = all_keys().filter(|key| matches!(key.default, LeftOut::Auto(_)));
        assert_eq!(
            auto.map(|key| &key.name[..]).collect::<Vec<_>>(),
            [
                "training.exchange",
                "averaging.window",
                "tempering.temperatures",
                "tempering.sweeps",
                "tempering.every",
                "tempering.weighted",
                "tempering.settling.sweeps",
                "tempering.settling.most",
                "evaluation.exact",
            ]
        );
        let small = plan("", 12);
        // The chains of the exchange are ready, and cost nothing before the training fails.
        let (never, from_start) = (plan("exchange = false", 12), plan("exchange = true", 12));
        assert!(small.exchange.is_some() && never.exchange.is_none());
        assert!(small.update == never.update && small.update < from_start.update);
        assert_eq!((small.ladder.len(), small.window, small.exact), (20, 0.1, true));
        assert_eq!((small.tracker.sweeps, small.tracker.weighted), (2, true));
        assert!((24..=60).contains(&small.tracker.settling.sweeps));
        assert!(small.tracker.settling.most <= MOST_SWEEPS);
        assert!(matches!(small.steps, Steps::PartOfHistory(25..=200)), "{:?}", small.steps);
        // Initial rounds are fewer where the updates cost less than they.
        let rounds = |updates: u64, visible: usize| {
            let sizes = Sizes {
                visible,
                hidden: 4,
                batch: 50,
                particles: 50,
                temperatures: 0,
                reals: false,
            };
            let text =
                "[data]\nsource = 'bars-and-stripes'\n[model]\nhidden = 4\n[training]\nupdates = 3";
            let plan = Plan::new(&Config::parse(text, &[]).unwrap(), sizes, updates).unwrap();
            assert_eq!(plan.tracker.initial_rounds, plan.exchange.unwrap().initial_rounds);
            plan.tracker.initial_rounds.most
        };
        assert_eq!([rounds(3, 100_000), rounds(3000, 100_000), rounds(3, 784)], [2, 20, 20]);
        let large = plan("", 300);
        assert_eq!((large.ladder.len(), large.exact), (50, false));
        let tempered = plan("gradient = 'tempered'", 16);
        assert_eq!((tempered.gradient.sweeps, tempered.tracker.sweeps), (5, 2));
        assert!(tempered.gradient.weighted && tempered.tracker.weighted);
        let current = plan("gradient = 'tempered'\n[averaging]\nwindow = 0", 16);
        assert_eq!((current.steps, current.tracker.sweeps), (Steps::Every(1), 5));
    }
}
