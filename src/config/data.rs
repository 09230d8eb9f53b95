//! From `[data]` to rows.

use std::path::Path;

use super::DataConfig;
use crate::data::{
    Binarization, Dataset, FileOptions, MIXED, SplitOptions, Splits, Values, check_weights,
    find_folder, find_variables, load_as, similarity_weights,
};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::units::Variables;

/// Whether `data.variables` is [`MIXED`].
pub(super) fn is_mixed(text: &str) -> bool {
    text.trim() == MIXED
}

impl DataConfig {
    /// The rows in their parts; `folder` of data sets in place of `data.folder`, where one is given.
    ///
    /// # Errors
    /// Data that cannot be read, or parts without rows.
    pub fn load(&self, folder: Option<&Path>) -> Result<Splits> {
        let folder = find_folder(folder.or(self.folder.as_deref()));
        load_as(&self.source, &self.split(), &folder, self.reading())
    }

    /// How parts are split off.
    pub fn split(&self) -> SplitOptions {
        SplitOptions {
            validation_fraction: self.validation_fraction,
            test_fraction: self.test_fraction,
            seed: self.split_seed,
        }
    }

    /// How files are read, beside what the source says.
    pub fn reading(&self) -> FileOptions {
        FileOptions {
            weights: self.weights.clone(),
            alphabet: self.alphabet,
            grey: self.binarization != Binarization::None,
            unseen: self.unseen,
            reals: self.listed().and_then(|text| text.parse().ok()).filter(Variables::has_reals),
            mixed: self.variables.as_deref().is_some_and(is_mixed),
            ..FileOptions::default()
        }
    }

    /// `data.variables`, unless each column is what its cells show.
    fn listed(&self) -> Option<&str> {
        self.variables.as_deref().filter(|text| !is_mixed(text))
    }

    /// Weights of the training rows, given as zeros and ones too; `None` where all count the same.
    ///
    /// # Errors
    /// So many rows that comparing them takes too long, and rows of which none has a weight.
    pub(crate) fn row_weights(
        &self,
        train: &Dataset,
        bits: &BitMatrix,
        variables: &Variables,
    ) -> Result<Option<Vec<f64>>> {
        if let (Some(_), true) = (self.similarity, variables.has_reals()) {
            let problem = "compares states, and real variables have none: leave it out, or give weights (data.weights)";
            return Err(Error::config("data.similarity", problem));
        }
        if let Some(share) = self.similarity {
            let weights = similarity_weights(bits, variables, share).map(Some);
            return weights.map_err(|e| Error::config("data.similarity", e.to_string()));
        }
        let check = |weights: &Vec<f64>| check_weights(weights, bits.rows());
        train.weights.as_ref().map_or(Ok(()), check)?;
        Ok(train.weights.clone())
    }

    /// What the columns of the training rows stand for: as given, else as found in binary rows; `bits` are the rows as zeros and ones.
    ///
    /// # Errors
    /// Variables that do not fit the rows.
    pub fn variables(&self, train: &Dataset, bits: &BitMatrix) -> Result<Variables> {
        if let (Some(_), true) = (&train.categories, self.binarization != Binarization::None) {
            return Err(Error::config(
                "data.binarization",
                format!("is of grey levels, and {} holds categories: leave it out", train.name),
            ));
        }
        if let Some(variables) = &train.reals {
            return Ok(variables.clone());
        }
        let Some(text) = self.listed() else {
            if let (Some(categories), true) = (&train.categories, self.groups) {
                return Ok(categories.variables());
            }
            if train.plus_minus {
                return Ok(Variables::PLUS_MINUS);
            }
            let binary = matches!(train.values, Values::Binary(_));
            return Ok(if self.groups && binary { find_variables(bits) } else { Variables::BITS });
        };
        let wrong = |problem: String| Error::config("data.variables", problem);
        let variables: Variables = text.parse().map_err(|e: Error| wrong(e.to_string()))?;
        if !variables.fit(bits.columns()) {
            let columns = bits.columns();
            return Err(wrong(format!("`{text}` does not have the {columns} columns of the rows")));
        }
        variables.check(bits, &train.name).map_err(|e| wrong(e.to_string()))?;
        Ok(variables)
    }
}
