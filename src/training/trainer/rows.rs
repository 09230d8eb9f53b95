//! The rows of a run: minibatches for the gradient, fixed binary sets for evaluation.

use rand::seq::SliceRandom;

use crate::checkpoint::TrainedOn;
use crate::config::DataConfig;
use crate::data::{
    Binarizer, Dataset, EVALUATION_EPOCH, ImageShape, Splits, Values, effective_rows,
    weighted_counts,
};
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BitMatrix, Engine};
use crate::error::Result;
use crate::tracking::{MeanLogF, mean_log_f, weighted_log_f};
use crate::units::Variables;

/// Training rows, evaluation sets and the order of minibatches.
#[derive(Clone, Debug)]
pub(super) struct RowSets {
    train: Dataset,
    /// Weights of all training rows, and of those that are evaluated; `None` where all rows count the same.
    weights: Option<(Vec<f64>, Vec<f64>)>,
    binarizer: Binarizer,
    /// Order of the rows, with its seed and epoch.
    order: Option<([u64; 2], Vec<usize>)>,
    /// Training rows that are evaluated.
    pub train_evaluated: BitMatrix,
    /// Ones in each column of all training rows, binarized once (base distribution).
    pub column_counts: Vec<u64>,
    /// The same as fractions of the rows (visible bias, centering).
    pub marginals: Vec<f64>,
    pub validation: Option<BitMatrix>,
    pub test: Option<BitMatrix>,
    pub image: Option<ImageShape>,
    /// What the columns stand for.
    pub variables: Variables,
    /// Description of the training rows for a model file.
    pub trained_on: TrainedOn,
}

impl RowSets {
    pub fn new(splits: Splits, config: &DataConfig, train_rows: usize, seed: u64) -> Result<Self> {
        let binarizer = Binarizer::new(config.binarization)?;
        let fixed = |data: &Dataset| binarizer.binarize(data, EVALUATION_EPOCH, seed);
        let Splits { mut train, validation, test } = splits.standardised()?;
        let evaluated = match train_rows {
            0 => train.rows(),
            rows => rows.min(train.rows()),
        };
        let all = fixed(&train)?;
        let variables = config.variables(&train, &all)?;
        let weights = config.row_weights(&train, &all, &variables)?;
        let column_counts = match &weights {
            None => all.column_counts(),
            Some(weights) => weighted_counts(&all, weights),
        };
        let marginals = variables.smoothed(&column_counts, all.rows(), 0.0);
        let trained_on = TrainedOn {
            data: train.name.clone(),
            rows: all.rows() as u64,
            binarization: binarizer.done_to(&train),
            means: marginals.iter().map(|&mean| mean as f32).collect(),
            categories: train.categories.clone(),
            titles: train.titles.clone(),
        };
        let train_evaluated =
            if evaluated == all.rows() { all.clone() } else { all.spread(evaluated) };
        let weights = weights.map(|weights| {
            let rows = |i| weights[i * all.rows() / evaluated];
            let evaluated = (0..evaluated).map(rows).collect();
            (weights, evaluated)
        });
        let rows = Self {
            weights,
            validation: validation.as_ref().map(&fixed).transpose()?,
            test: test.as_ref().map(&fixed).transpose()?,
            image: train.image,
            variables,
            trained_on,
            train_evaluated,
            column_counts,
            marginals,
            binarizer,
            order: None,
            train: {
                // With a fixed binarization grey levels are not needed: bits take an eighth of the memory.
                if !matches!(config.binarization, crate::data::Binarization::Stochastic) {
                    train.values = Values::Binary(all);
                }
                train
            },
        };
        let parts = [(&rows.validation, validation, "validation"), (&rows.test, test, "test")];
        for (bits, data, part) in parts {
            let name = data.map_or(String::new(), |data| format!("{}: {part} rows", data.name));
            bits.as_ref().map_or(Ok(()), |bits| rows.variables.check(bits, &name))?;
        }
        Ok(rows)
    }

    /// Number of independent rows that weighted training rows are worth; `None` where all rows count the same.
    pub fn effective(&self) -> Option<f64> {
        self.weights.as_ref().map(|(weights, _)| effective_rows(weights))
    }

    /// Weights of the training rows that are evaluated; `None` where all count the same.
    pub fn evaluated_weights(&self) -> Option<&[f64]> {
        self.weights.as_ref().map(|(_, evaluated)| evaluated.as_slice())
    }

    /// Mean of log f over the training rows that are evaluated.
    pub fn train_log_f(&self, engine: &dyn Engine) -> MeanLogF {
        match &self.weights {
            None => mean_log_f(engine, &self.train_evaluated),
            Some((_, weights)) => weighted_log_f(engine, &self.train_evaluated, weights),
        }
    }

    /// All training rows, as they are evaluated.
    pub fn all(&self, seed: u64) -> Result<BitMatrix> {
        self.binarizer.binarize(&self.train, EVALUATION_EPOCH, seed)
    }

    /// All training rows, or where they have weights as many, each as often as its weight says.
    pub fn as_often_as_weighted(&self, seed: u64) -> Result<BitMatrix> {
        let all = self.all(seed)?;
        Ok(match &self.weights {
            None => all,
            Some((weights, _)) => all.select(drawn(weights, weights.len(), 0.5)),
        })
    }

    /// That many training rows, as often as their weights say, at equal distances in the order of the file.
    pub fn representatives(&self, count: usize) -> BitMatrix {
        let rows = &self.train_evaluated;
        let equal = vec![1.0; rows.rows()];
        rows.select(drawn(self.evaluated_weights().unwrap_or(&equal), count, 0.0))
    }

    /// Number of training rows.
    pub fn len(&self) -> usize {
        self.train.rows()
    }

    /// Number of visible units.
    pub fn columns(&self) -> usize {
        self.train.columns()
    }

    /// Updates in one pass through the data; the last batch of a pass may be smaller.
    pub(crate) fn updates_per_epoch(&self, batch: usize) -> u64 {
        self.len().div_ceil(batch.clamp(1, self.len())) as u64
    }

    /// The batch of update `update` (counted from 0), a function of seed and update alone.
    pub fn batch(&mut self, seed: u64, update: u64, batch: usize) -> Result<BitMatrix> {
        let batch = batch.clamp(1, self.len());
        let per_epoch = self.updates_per_epoch(batch);
        let (epoch, index) = (update / per_epoch, (update % per_epoch) as usize);
        if self.order.as_ref().is_none_or(|(drawn_for, _)| *drawn_for != [seed, epoch]) {
            let mut stream = Streams::new(seed, Purpose::Shuffle, epoch).row(0);
            let mut order = match &self.weights {
                None => (0..self.len()).collect(),
                Some((weights, _)) => drawn(weights, weights.len(), stream.uniform()),
            };
            order.shuffle(&mut stream);
            self.order = Some(([seed, epoch], order));
        }
        let order = self.order.as_ref().map_or(&[][..], |(_, order)| order);
        let rows = &order[index * batch..((index + 1) * batch).min(order.len())];
        match &self.train.values {
            Values::Binary(bits) => Ok(bits.select(rows.iter().copied())),
            Values::Intensity(_) => self.binarizer.binarize_rows(&self.train, rows, epoch, seed),
        }
    }
}

/// `count` rows, each about as often as in proportion to its weight: one of the two whole numbers around it, and in the mean over `uniform`
/// in [0, 1) exactly.
fn drawn(weights: &[f64], count: usize, uniform: f64) -> Vec<usize> {
    let step = weights.iter().sum::<f64>() / count as f64;
    let (mut rows, mut sum) = (Vec::with_capacity(count), 0.0);
    for (row, weight) in weights.iter().enumerate() {
        sum += weight;
        while rows.len() < count && (rows.len() as f64 + uniform) * step < sum {
            rows.push(row);
        }
    }
    // Rounding of the sums can leave the last one out.
    rows.resize(count, weights.len() - 1);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_drawn_in_proportion_to_their_weights() {
        let weights = [0.5, 1.0, 0.25, 1.0, 0.25, 1.0];
        let (steps, mut counts) = (1000, [0usize; 6]);
        for step in 0..steps {
            let rows = drawn(&weights, 6, (step as f64 + 0.5) / steps as f64);
            assert_eq!(rows.len(), 6);
            for (row, count) in counts.iter_mut().enumerate() {
                let times = rows.iter().filter(|drawn| **drawn == row).count();
                let expected = 6.0 * weights[row] / 4.0;
                assert!((times as f64 - expected).abs() < 1.0, "row {row}: {times} times");
                *count += times;
            }
        }
        for (count, weight) in counts.iter().zip(weights) {
            let expected = 6.0 * weight / 4.0;
            assert!((*count as f64 / steps as f64 - expected).abs() < 2.0 / steps as f64);
        }
        assert_eq!(drawn(&[1.0; 5], 5, 0.3), [0, 1, 2, 3, 4]);
        // Fewer and more than there are.
        assert_eq!(drawn(&[1.0; 5], 2, 0.0), [0, 2]);
        assert_eq!(drawn(&[1.0, 2.0], 6, 0.0), [0, 0, 1, 1, 1, 1]);
    }
}
