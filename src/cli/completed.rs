//! Rows of a file with missing cells, and what a model says of them: for `impute` and `sample --given`.

use anyhow::{Context as _, Result, ensure};

use super::data_options::DataOptions;
use super::model_options::Model;
use super::output::tell;
use super::teller::Teller;
use crate::context::Context;
use crate::engine::BitMatrix;
use crate::estimators::{Completing, Completion};
use crate::tempering::BaseDistribution;
use crate::trust::Trust;

/// Rows, and the completion of each.
pub struct Completed {
    /// The missing cells, shape [rows, visible units].
    pub missing: BitMatrix,
    /// One a row.
    pub found: Vec<Completion>,
}

impl Completed {
    /// Reads a file and completes its rows; `asked` has no base distribution.
    pub fn of(
        model: &Model,
        file: &str,
        options: &DataOptions,
        asked: Completing<'_>,
        context: &Context,
    ) -> Result<Self> {
        let data = options.load(file, model, asked.seed, true)?;
        ensure!(
            data.splits.validation.is_none() && data.splits.test.is_none(),
            "{file}: one file of rows is needed, without splits"
        );
        let rows = data.binarized(&data.splits.train)?;
        let missing = data.splits.train.missing.clone().with_context(|| {
            format!("{file}: no cell is missing (empty, NA or ?), so there is nothing to fill in")
        })?;
        let teller = Teller::new(context, false, file);
        let asked = Completing { context: Some(context), ..asked };
        let found = complete(model, &rows, &missing, asked)?;
        drop(teller);
        Ok(Self { missing, found })
    }

    /// Whether all rows are sound; says how many are in doubt, and why.
    pub fn is_sound(&self) -> bool {
        let doubtful = |(row, it): (usize, &Completion)| {
            (!it.trust.is_sound()).then(|| (row, it.trust.clone()))
        };
        warn(self.found.iter().enumerate().filter_map(doubtful).collect(), self.found.len())
    }
}

/// Completes rows from the training marginals in the model file, if it has them.
pub fn complete(
    model: &Model,
    rows: &BitMatrix,
    missing: &BitMatrix,
    asked: Completing<'_>,
) -> Result<Vec<Completion>> {
    let variables = &model.file.parameters.variables;
    let trained_on = model.file.trained_on.as_ref();
    let base =
        trained_on.map(|it| it.base(BaseDistribution::PSEUDO_COUNT, variables)).transpose()?;
    let completing = Completing { base: base.as_ref(), ..asked };
    Ok(completing.run(&model.file.parameters, rows, missing)?)
}

/// Says how many of some rows are in doubt, given these with their doubts, and why; whether none is.
pub fn warn(doubtful: Vec<(usize, Trust)>, rows: usize) -> bool {
    let count = doubtful.len();
    if let Some((row, first)) = doubtful.into_iter().next() {
        tell(&format!(
            "warning: {count} of {rows} rows are in doubt, the first of them row {}: {}; the others are not affected",
            row + 1,
            first.findings()
        ));
    }
    count == 0
}
