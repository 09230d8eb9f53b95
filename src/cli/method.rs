//! The estimators of log Z that commands offer: the one place a new one is added to, as a variant and, unless it reads the
//! shared chains, an arm of [`super::log_z::LogZOptions::run`].

use clap::ValueEnum;

use crate::estimators::tempered::{READERS, Reader};
use crate::model::Parameters;
use crate::model::exact::MAX_UNITS;

/// Estimators of log Z, in the order of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// Searches for modes, tries several starts and works until the estimate is sound or --budget is used up
    Auto,
    /// Enumeration of the smaller layer, at most 25 units
    Exact,
    /// Rao-Blackwellized tempered sampling
    Rts,
    /// Tempered sampling by counts
    Ts,
    /// Stationary distribution of counted moves between temperatures
    Sd,
    /// The same, Rao-Blackwellized
    Rsd,
    /// Thermodynamic integration, right Riemann sum: too high
    TiRiemann,
    /// Thermodynamic integration, trapezoid rule
    Ti,
    /// Thermodynamic integration, corrected trapezoid rule
    TiCorrected,
    /// The same, Rao-Blackwellized
    TiRb,
    /// Bennett's acceptance ratio between neighbouring temperatures
    Bar,
    /// Multistate Bennett acceptance ratio (UWHAM)
    Mbar,
    /// Maximum likelihood over initial rounds and counted sweeps
    Mixed,
    /// Annealed importance sampling
    Ais,
    /// Annealed importance sampling downwards, from samples of the model
    ReverseAis,
    /// Both and Bennett's acceptance ratio between them
    Sandwich,
    /// Reverse annealed importance sampling estimator, from samples of the model: an upper bound
    Raise,
    /// Self-adjusted mixture sampling
    Sams,
    /// Wang-Landau with the 1/t rule
    WangLandau,
    /// Naive mean field
    TapNaive,
    /// Thouless, Anderson and Palmer, second order
    TapSecond,
    /// The same, third order
    TapThird,
    /// Those with an error bar that vanishes, at equal sweeps, and which value to use
    All,
    /// These and what is good for comparison only
    Everything,
}

impl Method {
    /// Replaces [`Method::All`] and [`Method::Everything`] by what the model allows.
    pub fn expand(methods: &[Self], parameters: &Parameters) -> Vec<Self> {
        let small = parameters.n_visible.min(parameters.n_hidden) <= MAX_UNITS;
        let allowed = |method: &Self| match method {
            // The sandwich has both passes.
            Self::All | Self::Everything | Self::Ais | Self::ReverseAis => false,
            Self::Exact => small,
            _ => true,
        };
        let everything = || Self::value_variants().iter().copied().filter(allowed);
        let mut expanded = Vec::new();
        for &method in methods {
            match method {
                Self::All => expanded.extend(everything().filter(|one| !one.only_for_comparison())),
                Self::Everything => expanded.extend(everything()),
                one => expanded.push(one),
            }
        }
        expanded
    }

    /// Whether another method is as easily had and better, or no error bar comes with it.
    fn only_for_comparison(self) -> bool {
        matches!(
            self,
            Self::Ts
                | Self::Sd
                | Self::TiRiemann
                | Self::Ti
                | Self::Raise
                | Self::WangLandau
                | Self::TapNaive
                | Self::TapSecond
                | Self::TapThird
        )
    }

    /// Whether it starts from a distribution that has to be chosen.
    pub fn needs_start(self) -> bool {
        let own = [Self::Auto, Self::Exact, Self::TapNaive, Self::TapSecond, Self::TapThird];
        !own.contains(&self)
    }

    /// The seed of its own random streams; the shared chains have the one that was asked for.
    pub fn seed(self, seed: u64) -> u64 {
        seed ^ (self as u64 + 1) << 52
    }

    /// How the shared chains are read, for the estimators that share them.
    pub fn reader(self) -> Option<Reader> {
        let own = self.name();
        READERS.iter().find(|(name, _)| *name == own).map(|(_, reader)| *reader)
    }

    /// The name `--method` takes.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
    }
}
