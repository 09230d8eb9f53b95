//! The RBM beside simple models that are fitted to the same training rows.

use serde::{Deserialize, Serialize};

use super::Trainer;
use crate::data::{affordable_components, baselines};
use crate::engine::{Engine, Host};
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::statistics::mean_with_error;

/// The best simple model on held-out rows, and the RBM beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The simple model.
    pub name: String,
    /// A choice of its fit, such as the number of components.
    pub detail: String,
    /// The rows: test, or validation where there are none.
    pub part: String,
    /// Its mean log-likelihood of these rows, nats.
    pub mean: f64,
    /// The standard error over the rows.
    #[serde(with = "crate::checkpoint::float")]
    pub std_error: f64,
    /// Mean log-likelihood of the RBM minus it, nats.
    pub difference: f64,
    /// Its standard error, of the differences of single rows and of log Z together.
    #[serde(with = "crate::checkpoint::float")]
    pub difference_std_error: f64,
}

impl Trainer {
    /// Compares a model of this run, with its log Z and the standard error of that, with independent sites, a Chow-Liu tree, and a mixture of
    /// products with at most as many components as the model has hidden units, all fitted to the training rows. `None` without held-out
    /// rows.
    ///
    /// # Errors
    /// Rows that cannot be made binary.
    pub fn comparison(
        &self,
        parameters: &Parameters,
        (log_z, log_z_error): (f64, f64),
    ) -> Result<Option<Comparison>> {
        let rows = &self.rows;
        let validation = rows.validation.as_ref().map(|rows| ("validation", rows));
        let test = rows.test.as_ref().map(|rows| ("test", rows));
        let held_out = test.or(validation).filter(|_| self.config.audit.models > 1);
        let Some((part, held_out)) = held_out else { return Ok(None) };
        let train = rows.as_often_as_weighted(self.config.seed)?;
        let parts: Vec<_> =
            [Some(("train", &train)), validation, test].into_iter().flatten().collect();
        let affordable = affordable_components(rows.column_counts.iter().sum());
        let components = parameters.n_hidden.min(affordable);
        let found = baselines(
            &parts,
            &rows.variables,
            components,
            self.config.seed,
            self.context.progress(),
        )?;
        let of_part = found.into_iter().filter_map(|baseline| {
            let held_out = baseline.parts.into_iter().find(|it| it.part == part)?;
            Some((baseline.name, baseline.detail, held_out))
        });
        let best = of_part.max_by(|a, b| a.2.mean.total_cmp(&b.2.mean));
        Ok(best.map(|(name, detail, simple)| {
            let of_model = Host::new(parameters).log_f(held_out);
            let differences: Vec<f64> =
                of_model.iter().zip(&simple.values).map(|(f, log_p)| f - log_z - log_p).collect();
            let (difference, error) = mean_with_error(&differences);
            Comparison {
                name: name.into(),
                detail,
                part: part.into(),
                mean: simple.mean,
                std_error: simple.std_error,
                difference,
                difference_std_error: error.hypot(log_z_error),
            }
        }))
    }
}
