//! Description in a model file of the training rows: enough to start an estimate of log Z.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::data::{Binarization, Categories};
use crate::engine::BaseDistribution;
use crate::error::Result;
use crate::units::Variables;

/// Keys in the metadata of a safetensors file.
const DATA: &str = "data";
const ROWS: &str = "training_rows";
const BINARIZATION: &str = "binarization";
const CATEGORIES: &str = "categories";
const TITLES: &str = "columns";

/// The training rows of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedOn {
    /// Name of the data set.
    pub data: String,
    /// Number of training rows, N.
    pub rows: u64,
    /// How they became zeros and ones; none if they were binary already.
    pub binarization: Binarization,
    /// Means of the rows as zeros and ones, shape `[M]`.
    pub means: Vec<f32>,
    /// The names of the variables and states of a table of categories.
    pub categories: Option<Arc<Categories>>,
    /// Names of the columns of another table, one for each (a real variable has one); empty if it had none.
    pub titles: Vec<String>,
}

impl TrainedOn {
    /// The base distribution of smoothed marginals, as the rows themselves would give it.
    ///
    /// # Errors
    /// Smoothing that leaves infinite logits.
    pub fn base(&self, smoothing: f64, variables: &Variables) -> Result<BaseDistribution> {
        let count = |mean: &f32| (f64::from(*mean) * self.rows as f64).round() as u64;
        let counts: Vec<u64> = self.means.iter().map(count).collect();
        BaseDistribution::from_column_counts(&counts, self.rows as usize, smoothing, variables)
    }

    /// Names of the variables and states of a model with these variables; others, such as bits, may have several states set.
    pub fn names(&self, variables: &Variables) -> Option<&Categories> {
        self.categories.as_deref().filter(|categories| categories.are_of(variables))
    }

    /// Names of so many visible units, as the columns of the training rows have them; `None` without any.
    pub fn unit_names(&self, units: usize) -> Option<Vec<String>> {
        let names = self.categories.as_deref().map(Categories::unit_names);
        names.or_else(|| Some(self.titles.clone())).filter(|names| names.len() == units)
    }

    /// Metadata of a file besides the means.
    pub(super) fn describe(&self, metadata: &mut BTreeMap<String, String>) {
        metadata.insert(DATA.into(), self.data.clone());
        metadata.insert(ROWS.into(), self.rows.to_string());
        metadata.insert(BINARIZATION.into(), self.binarization.to_string());
        if let Some(Ok(categories)) = self.categories.as_deref().map(serde_json::to_string) {
            metadata.insert(CATEGORIES.into(), categories);
        }
        if let (false, Ok(titles)) = (self.titles.is_empty(), serde_json::to_string(&self.titles)) {
            metadata.insert(TITLES.into(), titles);
        }
    }

    /// The means found in a file, with their description in its metadata, which is removed from there.
    pub(super) fn found(
        (shape, means): (Vec<usize>, Vec<f32>),
        (n_visible, variables): (usize, &Variables),
        metadata: &mut BTreeMap<String, String>,
    ) -> std::result::Result<Self, String> {
        if shape != [n_visible] {
            return Err(format!("are {} values for {n_visible} visible units", means.len()));
        } else if let Some(mean) = means.iter().find(|mean| !(0.0..=1.0).contains(*mean)) {
            return Err(format!("hold {mean}, which is no mean of zeros and ones"));
        }
        let categories = metadata.remove(CATEGORIES).map(|text| {
            let found = Categories::from_json(&text, n_visible);
            found.map(Arc::new).map_err(|problem| format!("come with {problem}"))
        });
        let categories = categories.transpose()?;
        let columns = variables.of(n_visible).map(|it| it.table_columns()).sum::<usize>();
        let titles = match metadata.remove(TITLES) {
            Some(text) => serde_json::from_str(&text)
                .ok()
                .filter(|titles: &Vec<String>| titles.len() == columns)
                .ok_or_else(|| format!("come with `{TITLES}` = `{text:.32}`"))?,
            None => Vec::new(),
        };
        let mut take = |key: &str| metadata.remove(key).unwrap_or_default();
        let (data, rows, binarization) = (take(DATA), take(ROWS), take(BINARIZATION));
        // More rows than a data set can have would overflow as a count.
        let allowed = |rows: &u64| (1..=u64::from(u32::MAX)).contains(rows);
        Ok(Self {
            data,
            rows: rows
                .parse()
                .ok()
                .filter(allowed)
                .ok_or_else(|| format!("come with `{ROWS}` = `{rows:.32}`"))?,
            binarization: binarization
                .parse()
                .map_err(|_| format!("come with `{BINARIZATION}` = `{binarization:.32}`"))?,
            means,
            categories,
            titles,
        })
    }
}
