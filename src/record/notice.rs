//! Notices of a run: what happened, and what to do about it.

use std::fmt;

use crate::trust::Doubt;

/// Something that happened at an update.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// Tracking costs more than `tempering.share`.
    TrackingCost {
        /// Expected time of tracking over that of training.
        times: f64,
        /// The value of `tempering.share`.
        share: f64,
    },
    /// Initial rounds converged.
    InitialRounds {
        /// Their number.
        rounds: usize,
    },
    /// Initial rounds ended before the chains visited all temperatures.
    RoundsNotConverged {
        /// Their number.
        rounds: usize,
    },
    /// The model changed a lot before the first evaluation, which is normal; the tracker has corrected for it.
    FirstCorrections,
    /// The occupancy of the temperatures collapsed, and initial rounds were run again.
    LadderLost {
        /// The number of rounds.
        rounds: usize,
        /// Whether they converged.
        converged: bool,
    },
    /// Chains had missed a mode of the model.
    ModeMissed,
    /// The model changed faster than chains can follow.
    ModelMoved {
        /// Change of log Z in a step of the tracker, nats.
        nats: f64,
    },
    /// An audit contradicts the tracked value.
    AuditDisagrees(Doubt),
    /// Most chains have almost no weight in the tempered gradient.
    FewEffectiveChains {
        /// Effective sample size.
        effective: f64,
        /// Number of chains.
        chains: usize,
    },
    /// Variances of real variables are at their lower bound.
    VariancesAtBound {
        /// Their number.
        at_bound: usize,
        /// Number of real variables.
        reals: usize,
    },
    /// Chains are in nearly the same state.
    ChainsCollapsed {
        /// Number of chains.
        chains: usize,
        /// Number of different states.
        states: usize,
    },
    /// Few chains pass between two temperatures.
    NarrowPassage {
        /// Inverse temperature of the cut.
        beta: f64,
    },
    /// log Z of several evaluations in a row is in doubt.
    InDoubt {
        /// Their number.
        evaluations: u64,
        /// The doubts, and what would help.
        doubts: String,
        /// `audit.every`: only audits are used for decisions; 0 if there are none.
        audit_every: u64,
    },
    /// Training rows are far below their value at the best evaluation.
    TrainingFails {
        /// Update of that evaluation.
        update: u64,
        /// By how much, nats per row.
        fallen: f64,
        /// What was done about it.
        remedy: Option<Remedy>,
    },
    /// Most updates were longer than the limit.
    StepsShortened {
        /// Measured updates since the last evaluation.
        measured: u64,
        /// Of these, the shortened ones.
        shortened: u64,
    },
    /// Validation rows are below the best evaluation, training rows are not.
    Overfits {
        /// Update of that evaluation.
        update: u64,
    },
    /// The run ended early.
    EarlyStopping {
        /// Evaluations without improvement.
        evaluations: u64,
        /// Update of the last improvement.
        improved: u64,
        /// The cooldown that follows: the update of the best model, and the last update.
        cooldown: Option<(u64, u64)>,
    },
}

/// What was done about a training that fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remedy {
    /// The particles exchange states with tempered chains from then on.
    pub exchange: bool,
    /// The training went back to its best state.
    pub rewound: bool,
    /// That state is a model of few hidden units that was trained with the exact gradient.
    pub small: bool,
    /// The learning rate was halved.
    pub halved: bool,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.rewound, self.small) {
            (true, true) => "It starts anew (training.rewind): a few hidden units were trained with the exact gradient and are better than that update, the others are as at the beginning",
            (true, false) => "It goes back to the state of that update (training.rewind)",
            (false, _) => "It goes on from here",
        })?;
        if self.halved {
            f.write_str(", with half the learning rate")?;
        }
        if self.exchange {
            f.write_str(", and its particles exchange states with tempered chains, so that they follow the model to all its modes (training.exchange)")?;
        }
        Ok(())
    }
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Normal.
    Info,
    /// Needs attention.
    Warning,
}

impl Level {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
        }
    }
}

/// What is said of a notice.
struct Words {
    kind: &'static str,
    level: Level,
    /// What happened.
    found: String,
    /// What to do; empty where there is nothing.
    remedy: &'static str,
}

impl Notice {
    /// Short name for files and counts.
    pub fn kind(&self) -> &'static str {
        self.words().kind
    }

    /// How much it matters. A problem that was corrected automatically is a warning too if a setting would avoid it.
    pub fn level(&self) -> Level {
        self.words().level
    }

    /// What happened and what to do, in one line.
    pub fn text(&self) -> String {
        let Words { found, remedy, .. } = self.words();
        if remedy.is_empty() { found } else { format!("{found}: {remedy}") }
    }

    /// Every warning has a remedy.
    fn words(&self) -> Words {
        match self {
            Self::TrackingCost { times, share } => info(
                "tracking-cost",
                format!("tracking will take about {times:.1} times as long as training, more than tempering.share = {share}"),
                "raise evaluation.every, or lower tempering.chains or tempering.settling.sweeps",
            ),
            Self::InitialRounds { rounds } => info(
                "initial-rounds",
                format!("initial rounds converged after {rounds}: the chains visit every temperature"),
                "",
            ),
            Self::RoundsNotConverged { rounds } => warning(
                "rounds-not-converged",
                format!("initial rounds did not converge: after {rounds} the chains do not visit every temperature evenly"),
                "raise tempering.initial_rounds.most or tempering.temperatures",
            ),
            Self::FirstCorrections => info(
                "first-corrections",
                "the first updates change the model a lot, which is normal: the tracker widens its error bar and re-initialises chains whose occupancy of the temperatures collapses",
                "no action is needed, unless warnings continue after the first evaluation",
            ),
            Self::LadderLost { rounds, converged } => warning(
                "ladder-lost",
                format!(
                    "the chains' occupancy of the temperatures collapsed; initial rounds were run again and {} after {rounds}",
                    if *converged { "converged" } else { "did not converge" }
                ),
                "if this continues, lower training.learning_rate.initial or raise tempering.sweeps",
            ),
            Self::ModeMissed => info(
                "mode-missed",
                "the tracker's chains had missed a mode of the model, and some of them start anew from its states",
                "if this continues, raise tempering.chains",
            ),
            // Whether a number that is shown is in doubt, the next evaluation says.
            Self::ModelMoved { nats } => info(
                "model-moved",
                format!("log Z moved by {nats:.1} nats between two steps of the tracker, more than its chains can follow at once; its error bar was widened"),
                "no action is needed while evaluations are sound; else lower training.learning_rate.initial or tempering.every",
            ),
            Self::AuditDisagrees(doubt) => warning(
                "audit-disagrees",
                doubt.finding(),
                "the tracked value is in doubt; raise tempering.sweeps or tempering.chains, or lower training.learning_rate.initial",
            ),
            Self::FewEffectiveChains { effective, chains } => warning(
                "few-effective-chains",
                format!("only {effective:.0} of {chains} chains carry the gradient"),
                "raise tempering.chains or set tempering.prior = { exponential = 2.0 }",
            ),
            Self::VariancesAtBound { at_bound, reals } => warning(
                "variances-at-bound",
                format!("the variances of {at_bound} of {reals} real columns, given the hidden units, fell to their lower bound, a hundredth of the data's: their densities at repeated values would grow without limit"),
                "give columns with few different numbers as categories (columns of 0 and 1 in data.variables), and leave out those that others determine (data.source.columns)",
            ),
            Self::ChainsCollapsed { chains, states } => warning(
                "chains-collapsed",
                format!("the {chains} tempered chains collapsed to {states} different states"),
                "lower training.learning_rate.initial or add training.weight_decay; the model may have a single mode",
            ),
            Self::NarrowPassage { beta } => warning(
                "narrow-passage",
                format!("few chains cross beta = {beta:.2}"),
                "raise tempering.temperatures or tempering.sweeps",
            ),
            Self::InDoubt { evaluations, doubts, audit_every } => warning(
                "in-doubt",
                format!("log Z of {evaluations} evaluations in a row is in doubt ({doubts}); {}", match audit_every {
                    0 => "no decision uses these values, and there are no audits".into(),
                    every => format!("decisions use audits alone, one in {every} evaluations"),
                }),
                "follow the advice of the doubts, or set audit.every",
            ),
            Self::TrainingFails { update, fallen, remedy } => warning(
                "training-fails",
                format!(
                    "the training fails: the log-likelihood of the training rows is {fallen:.1} nats below that of update {update}{}",
                    remedy.map_or(String::new(), |it| format!(". {it}"))
                ),
                if remedy.is_some() {
                    "if this continues, lower training.learning_rate.initial"
                } else {
                    "the particles of the gradient no longer represent the model, or the steps are too large; lower training.learning_rate.initial, or set training.exchange = true where the modes of the data are far apart. Early stopping waits until the training has recovered"
                },
            ),
            Self::StepsShortened { measured, shortened } => warning(
                "steps-shortened",
                format!("{shortened} of {measured} measured updates would have changed log f by more than training.largest_step and were shortened"),
                "training goes on in smaller steps; a lower training.learning_rate.initial may give a better model",
            ),
            Self::Overfits { update } => info(
                "overfits",
                format!("the model overfits: validation rows are below their value at update {update}, training rows are not"),
                "the best model is kept; weight decay (training.weight_decay) or fewer hidden units may give a better one",
            ),
            Self::EarlyStopping { evaluations, improved, cooldown } => info(
                "early-stopping",
                format!("early stopping: no improvement by more than an error since update {improved} ({evaluations} evaluations){}", cooldown.map_or_else(String::new, |(best, until)| format!(". The run goes back to the model of update {best}, from which the learning rate falls to zero until update {until} (training.cooldown)"))),
                "to continue, raise training.early_stopping.patience and resume",
            ),
        }
    }
}

fn info(kind: &'static str, found: impl Into<String>, remedy: &'static str) -> Words {
    Words { kind, level: Level::Info, found: found.into(), remedy }
}

fn warning(kind: &'static str, found: impl Into<String>, remedy: &'static str) -> Words {
    Words { kind, level: Level::Warning, found: found.into(), remedy }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// One of each kind.
    pub fn all() -> Vec<Notice> {
        vec![
            Notice::TrackingCost { times: 2.5, share: 1.0 },
            Notice::InitialRounds { rounds: 3 },
            Notice::RoundsNotConverged { rounds: 20 },
            Notice::FirstCorrections,
            Notice::LadderLost { rounds: 7, converged: true },
            Notice::ModeMissed,
            Notice::ModelMoved { nats: 12.0 },
            Notice::AuditDisagrees(Doubt::AuditDisagrees {
                value: 517.942,
                std_error: 0.82,
                method: "ais".into(),
                audited: 525.53,
                audited_error: 0.624,
                in_errors: -7.4,
            }),
            Notice::FewEffectiveChains { effective: 3.0, chains: 50 },
            Notice::VariancesAtBound { at_bound: 2, reals: 10 },
            Notice::ChainsCollapsed { chains: 100, states: 1 },
            Notice::NarrowPassage { beta: 0.5 },
            Notice::InDoubt { evaluations: 5, doubts: "drift".into(), audit_every: 10 },
            Notice::TrainingFails { update: 300, fallen: 41.3, remedy: None },
            Notice::StepsShortened { measured: 10, shortened: 7 },
            Notice::Overfits { update: 2000 },
            Notice::EarlyStopping {
                evaluations: 30,
                improved: 5400,
                cooldown: Some((5300, 15300)),
            },
        ]
    }

    #[test]
    fn every_warning_says_what_to_do_and_kinds_differ() {
        let all = all();
        for (i, notice) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.kind() != notice.kind()), "{notice:?}");
            assert!(!notice.text().contains('\n'));
            if notice.level() == Level::Warning {
                let remedy = notice.words().remedy;
                assert!(notice.text().ends_with(remedy), "{notice:?}");
                // A setting to change, or what to use instead.
                assert!(remedy.contains('.') || remedy.contains("audit"), "{remedy}");
            }
        }
    }
}
