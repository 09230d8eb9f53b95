//! `ztrack transform`: hidden means of rows.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::model_options::ModelOptions;
use super::output::tell;
use super::row_file;
use super::row_options::{NamedRows, RowOptions};
use crate::engine::{Engine, Host, Layer};
use crate::numerics::sigmoid;

/// Number of rows whose inputs are in memory at a time.
const BLOCK: usize = 1000;

/// Write the features of rows: the mean of every hidden unit given the row
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack transform runs/mnist --out features.npy\n  \
    ztrack transform model.npz --data my.csv --split train --out features.csv")]
pub struct Transform {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    rows: RowOptions,
    /// File to write: .csv, or .npy, f64, [rows, hidden units]
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
    /// Seed of the draws where grey levels become zeros and ones
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
}

impl Transform {
    /// Writes the file.
    pub fn run(self) -> Result<()> {
        row_file::check(&self.out, self.force)?;
        let model = self.model.load()?;
        let engine = Host::new(&model.file.parameters);
        let spins = engine.variables().is_plus_minus();
        let hidden = engine.n_units(Layer::Hidden);
        let names: Vec<String> = (1..=hidden).map(|j| format!("h{j}")).collect();
        let mean = |x: &f32| {
            let p = sigmoid(f64::from(*x));
            if spins { 2.0 * p - 1.0 } else { p }
        };
        let count = row_file::write(&self.out, &names, |file| {
            self.rows.each(
                &model,
                self.seed,
                false,
                &mut |_, NamedRows { split, bits, .. }| {
                    for first in (0..bits.rows()).step_by(BLOCK) {
                        let block = bits.select(first..bits.rows().min(first + BLOCK));
                        let inputs = engine.inputs(Layer::Hidden, &block);
                        for row in 0..block.rows() {
                            let means: Vec<f64> = inputs.row(row).iter().map(mean).collect();
                            file.add(split, &means)?;
                        }
                    }
                    Ok(())
                },
            )?;
            Ok(())
        })?;
        tell(&format!("{}: {count} rows, {hidden} hidden means each", self.out.display()));
        Ok(())
    }
}
