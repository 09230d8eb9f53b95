//! The list of estimators of log Z. A new one is its own file and one line here.

use serde::{Serialize, Serializer};

use super::exact::exact_within;
use super::tempered::{self, KeptRun, Reader, TemperedRun};
use super::{Estimate, Request, Sams, Tap, TapOrder, WangLandau};
use crate::context::Context;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::model::exact::MAX_UNITS;
use crate::tempering::{SimulatedTempering, TemperedPath};

/// Input of an estimator.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// The parameters alone, and a seed.
    Alone(fn(&Parameters, u64, &Context) -> Result<Estimate>),
    /// Tempered chains, run once for all methods that share them.
    Shared(Reader),
    /// Tempered chains of its own, whose pseudo-prior it changes in so many sweeps.
    Adaptive(fn(&mut dyn SimulatedTempering, usize) -> Result<Estimate>),
    /// Annealing passes along a path, for a request and a seed.
    Annealed(fn(&dyn TemperedPath, &Request<'_>, u64) -> Result<Vec<Estimate>>),
    /// A mode search and starts: [`super::Automatic`].
    Search,
    /// A by-product of another method.
    Part,
}

/// Which selections include it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    /// `all` and `everything`.
    All,
    /// `everything` only: another method is as easy and better, or it has no error bar.
    Comparison,
    /// Only by its name: it is a by-product of another method.
    Name,
}

macro_rules! methods {
    ($($method:ident, $name:literal, $asks:ident, $about:literal, $way:expr;)*) => {
        /// An estimator of log Z.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $(#[doc = $about] $method,)*
        }

        impl Method {
            /// Every one, in the order of tables.
            pub const LIST: &'static [Self] = &[$(Self::$method,)*];

            /// The name that commands and files use.
            pub fn name(self) -> &'static str {
                match self { $(Self::$method => $name,)* }
            }

            /// What it does, in one line.
            pub fn about(self) -> &'static str {
                match self { $(Self::$method => $about,)* }
            }

            /// Its input.
            pub(super) fn way(self) -> Way {
                match self { $(Self::$method => $way,)* }
            }

            fn asked_by(self) -> For {
                match self { $(Self::$method => For::$asks,)* }
            }
        }
    };
}

use Way::{Adaptive, Alone, Annealed, Part, Search, Shared};

const fn occupancy(read: fn(&TemperedRun) -> Estimate) -> Way {
    Shared(Reader::Occupancy(read))
}

const fn kept(read: fn(&KeptRun) -> Estimate) -> Way {
    Shared(Reader::Kept(read))
}

// A new one is added at the end, because the position determines random streams.
methods! {
    Auto, "auto", All, "Searches for modes, tries several starts and works until the estimate is sound or --budget is used up", Search;
    Exact, "exact", All, "Enumeration of the smaller layer, at most 25 units", Alone(|parameters, _, context| exact_within(parameters, context));
    Rts, "rts", All, "Rao-Blackwellized tempered sampling", occupancy(TemperedRun::rts);
    Ts, "ts", Comparison, "Tempered sampling by counts", kept(tempered::ts);
    Sd, "sd", Comparison, "Stationary distribution of counted moves between temperatures", kept(tempered::sd);
    Rsd, "rsd", All, "The same, Rao-Blackwellized", kept(tempered::rsd);
    TiRiemann, "ti-riemann", Comparison, "Thermodynamic integration, right Riemann sum: too high", kept(tempered::ti_riemann);
    Ti, "ti", Comparison, "Thermodynamic integration, trapezoid rule", kept(tempered::ti);
    TiCorrected, "ti-corrected", All, "Thermodynamic integration, corrected trapezoid rule", kept(tempered::ti_corrected);
    TiRb, "ti-rb", All, "The same, Rao-Blackwellized", kept(tempered::ti_rb);
    Bar, "bar", All, "Bennett's acceptance ratio between neighbouring temperatures", kept(tempered::bar);
    Mbar, "mbar", All, "Multistate Bennett acceptance ratio (UWHAM)", kept(tempered::mbar);
    Mixed, "mixed", All, "Maximum likelihood over initial rounds and counted sweeps", occupancy(tempered::mixed);
    Ais, "ais", Name, "Annealed importance sampling", Annealed(|path, request, seed| Ok(vec![super::ais(path, request.settings.chains, seed)?]));
    ReverseAis, "reverse-ais", Name, "Annealed importance sampling downwards, from samples of the model", Annealed(|path, request, seed| Ok(vec![super::reverse_ais(path, &request.equilibrium(seed)?, seed)?]));
    Sandwich, "sandwich", All, "Both and Bennett's acceptance ratio between them", Annealed(|path, request, seed| Ok(super::sandwich(path, request.settings.chains, &request.equilibrium(seed)?, seed)?.estimates().into()));
    Raise, "raise", Comparison, "Reverse annealed importance sampling estimator, from samples of the model: an upper bound", Annealed(|path, request, seed| Ok(vec![super::raise::from_samples(path, &request.equilibrium(seed)?, seed)?]));
    Sams, "sams", All, "Self-adjusted mixture sampling", Adaptive(|chains, sweeps| Sams::new(sweeps).run(chains));
    WangLandau, "wang-landau", Comparison, "Wang-Landau with the 1/t rule", Adaptive(|chains, sweeps| WangLandau { sweeps }.run(chains));
    TapNaive, "tap-naive", Comparison, "Naive mean field", Alone(|parameters, seed, context| tap(TapOrder::Naive, parameters, seed, context));
    TapSecond, "tap-second", Comparison, "Thouless, Anderson and Palmer, second order", Alone(|parameters, seed, context| tap(TapOrder::Second, parameters, seed, context));
    TapThird, "tap-third", Comparison, "The same, third order", Alone(|parameters, seed, context| tap(TapOrder::Third, parameters, seed, context));
    AisBar, "ais-bar", Name, "What `sandwich` finds between its two passes", Part;
    TiSpline, "ti-spline", Comparison, "Thermodynamic integration, cubic spline", kept(tempered::spline::ti_spline);
}

fn tap(order: TapOrder, parameters: &Parameters, seed: u64, context: &Context) -> Result<Estimate> {
    if !parameters.variables.is_bits() {
        return Err(Error::Invalid("the expansions of tap are of binary units, and this model has categorical or real variables: choose another method, such as ais, rts or exact".into()));
    }
    Tap { order, seed, ..Tap::default() }.run_within(parameters, context)
}

impl Method {
    /// Those with an error bar that vanishes with more samples and that a model allows, or all with `comparison`.
    pub fn allowed(parameters: &Parameters, comparison: bool) -> impl Iterator<Item = Self> {
        let small = parameters.smaller_layer() <= MAX_UNITS;
        let asked = move |method: &Self| match method.asked_by() {
            For::All => *method != Self::Exact || small,
            For::Comparison => comparison && (!method.is_tap() || parameters.variables.is_bits()),
            For::Name => false,
        };
        Self::LIST.iter().copied().filter(asked)
    }

    fn is_tap(self) -> bool {
        matches!(self, Self::TapNaive | Self::TapSecond | Self::TapThird)
    }

    /// Whether it can be selected.
    pub(crate) fn is_offered(self) -> bool {
        !matches!(self.way(), Part)
    }

    /// Whether it starts from a distribution that has to be chosen.
    pub(crate) fn needs_start(self) -> bool {
        !matches!(self.way(), Alone(_) | Search)
    }

    /// How the shared chains are read, for the estimators that share them.
    pub fn reader(self) -> Option<Reader> {
        if let Shared(reader) = self.way() { Some(reader) } else { None }
    }

    /// Those that share chains, and how they read them.
    pub fn readers() -> impl Iterator<Item = (Self, Reader)> {
        Self::LIST.iter().filter_map(|method| Some((*method, method.reader()?)))
    }

    /// The seed of its own random streams, by its position in the list: methods share no random numbers, so that their errors are
    /// independent.
    pub fn seed(self, seed: u64) -> u64 {
        derived_seed(seed, Purpose::Method, self as u64)
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
