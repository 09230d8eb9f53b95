//! The rows of a run: minibatches for the gradient, fixed binary sets for evaluation.

use rand::seq::SliceRandom;

use crate::checkpoint::TrainedOn;
use crate::config::DataConfig;
use crate::data::{Binarizer, Dataset, EVALUATION_EPOCH, ImageShape, Splits, Values};
use crate::error::Result;
use crate::ops::BitMatrix;
use crate::ops::random::{Purpose, Streams};
use crate::units::Variables;

/// Training rows, evaluation sets and the order of minibatches.
#[derive(Clone, Debug)]
pub(super) struct RowSets {
    train: Dataset,
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
        let Splits { mut train, validation, test } = splits;
        let evaluated = match train_rows {
            0 => train.rows(),
            rows => rows.min(train.rows()),
        };
        let all = fixed(&train)?;
        let variables = config.variables(&train, &all)?;
        let n = all.rows() as f64;
        let column_counts = all.column_counts();
        let marginals: Vec<f64> = column_counts.iter().map(|&count| count as f64 / n).collect();
        let trained_on = TrainedOn {
            data: train.name.clone(),
            rows: all.rows() as u64,
            binarization: binarizer.done_to(&train),
            means: marginals.iter().map(|&mean| mean as f32).collect(),
            categories: train.categories.clone(),
        };
        let train_evaluated =
            if evaluated == all.rows() { all.clone() } else { all.spread(evaluated) };
        let rows = Self {
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
        for (part, name) in [(&rows.validation, "validation rows"), (&rows.test, "test rows")] {
            part.as_ref().map_or(Ok(()), |part| rows.variables.check(part, name))?;
        }
        Ok(rows)
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
    pub fn updates_per_epoch(&self, batch: usize) -> u64 {
        self.len().div_ceil(batch.clamp(1, self.len())) as u64
    }

    /// The batch of update `update` (counted from 0), a function of seed and update alone.
    pub fn batch(&mut self, seed: u64, update: u64, batch: usize) -> Result<BitMatrix> {
        let batch = batch.clamp(1, self.len());
        let per_epoch = self.updates_per_epoch(batch);
        let (epoch, index) = (update / per_epoch, (update % per_epoch) as usize);
        if self.order.as_ref().is_none_or(|(drawn_for, _)| *drawn_for != [seed, epoch]) {
            let mut order: Vec<usize> = (0..self.len()).collect();
            order.shuffle(&mut Streams::new(seed, Purpose::Shuffle, epoch).row(0));
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
