//! The estimators of `ztrack estimate` as a function, for callers that are no command line.

use clap::ValueEnum;

use super::log_z::{Estimates, LogZOptions, Starting};
use super::method::Method;
use super::teller::Hears;
use crate::error::{Error, Result};
use crate::estimators::{Start, automatic};
use crate::model::Parameters;
use crate::model::plus_minus::Units;
use crate::ops::BitMatrix;
use crate::tempering::BaseDistribution;

/// Pseudo-count of base marginals, as in the configuration.
const BASE_SMOOTHING: f64 = 1.0;

/// How log Z of a fixed model is estimated; the defaults are those of the command.
#[derive(Clone, Debug)]
pub struct EstimateSettings {
    /// Names as `--method` takes them; none for exact up to 20 units in the smaller layer, else `auto`.
    pub methods: Vec<String>,
    /// Chains.
    pub chains: usize,
    /// Inverse temperatures; `None` for what suits each method.
    pub temperatures: Option<usize>,
    /// Counted sweeps of every tempered chain.
    pub sweeps: usize,
    /// Work that `auto` may do while its estimate is in doubt, in seconds of one usual core.
    pub budget: f64,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for EstimateSettings {
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            chains: automatic::CHAINS,
            temperatures: None,
            sweeps: automatic::SWEEPS,
            budget: automatic::BUDGET,
            seed: 0,
        }
    }
}

impl EstimateSettings {
    /// Estimates log Z of `parameters`; `rows`: data, [N, M], that tell where its mass may lie; `tell` hears a line after each
    /// step.
    ///
    /// # Errors
    /// An unknown method, settings out of range, a model too large for what was asked for.
    pub fn run(
        &self,
        parameters: &Parameters,
        rows: Option<&BitMatrix>,
        tell: impl FnMut(&str),
    ) -> Result<Estimates> {
        let method = |name: &String| {
            Method::from_str(name, true).map_err(|_| {
                let known: Vec<String> =
                    Method::value_variants().iter().map(|m| m.name()).collect();
                Error::Invalid(format!(
                    "there is no method `{name}`; there are {}",
                    known.join(", ")
                ))
            })
        };
        let methods = self.methods.iter().map(method).collect::<Result<Vec<_>>>()?;
        let base = match rows {
            Some(rows) => BaseDistribution::from_column_counts(
                &rows.column_counts(),
                rows.rows(),
                BASE_SMOOTHING,
            )?,
            None => Start::VisibleBias.base(parameters, Units::Binary, self.seed)?,
        };
        let start = Starting { base: &base, given: false, informed: rows.is_some(), rows };
        let options = LogZOptions::new(methods, self);
        options
            .run_telling(parameters, &start, false, &mut Lines { method: String::new(), out: tell })
            .map_err(|error| {
                error
                    .downcast::<Error>()
                    .unwrap_or_else(|error| Error::Invalid(format!("{error:#}")))
            })
    }
}

/// Each line with the method it is about.
struct Lines<F> {
    method: String,
    out: F,
}

impl<F: FnMut(&str)> Hears for Lines<F> {
    fn method(&mut self, name: &str, works: bool) {
        self.method = name.into();
        if works {
            (self.out)(name);
        }
    }

    fn line(&mut self, line: &str) {
        (self.out)(&format!("{}: {line}", self.method));
    }
}
