//! Data that the first rank of a run sends to the others at its start: configuration, rows, and the state to continue from.
//!
//! They are one block of bytes with a checksum, in the form of a state file.

use std::sync::Arc;

use anyhow::Result;

use crate::checkpoint::{StateReader, StateWriter};
use crate::collective::{Collective, broadcast_bytes, gather_one};
use crate::config::Config;
use crate::data::{Categories, Dataset, Intensities, Splits, Values};
use crate::training::{Changes, Trainer};
use crate::units::{Variable, Variables};

/// Name for messages, because it is not a file.
const NAME: &str = "what rank 0 sent";

/// How the rows of a run are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ReadData {
    /// Rank 0 reads them and sends them to the others
    #[default]
    Root,
    /// Every rank reads them, from files that all machines have
    All,
}

/// A run before its first step, as the other ranks receive it.
pub struct SharedStart {
    pub config: Config,
    /// `None` if every rank reads them by itself.
    pub splits: Option<Splits>,
    /// The checkpoint to continue from.
    pub state: Option<StateReader>,
    pub changes: Changes,
}

/// The other ranks, if there are any, before they have received the start of a run.
pub struct Waiting<'a> {
    pub ranks: &'a dyn Collective,
    pub config: &'a Config,
    pub read: ReadData,
}

impl Waiting<'_> {
    /// Sends it to them.
    ///
    /// # Errors
    /// A configuration that cannot be written as TOML.
    pub fn send(
        &self,
        splits: &Splits,
        state: Option<&StateReader>,
        changes: Changes,
    ) -> Result<()> {
        if self.ranks.size() == 1 {
            return Ok(());
        }
        let mut block = StateWriter::new();
        block.json("config", &self.config.to_toml()?);
        block.json("forced", &(changes == Changes::Forced));
        block.json("read", &(self.read == ReadData::All));
        if self.read == ReadData::Root {
            for (name, part) in splits.parts() {
                write_data(name, part, &mut block);
            }
        }
        broadcast_bytes(self.ranks, block.to_bytes()?);
        broadcast_bytes(self.ranks, state.map_or_else(Vec::new, |state| state.bytes().to_vec()));
        Ok(())
    }
}

impl SharedStart {
    /// Data from rank 0.
    ///
    /// # Errors
    /// Bytes that differ from those that were sent.
    pub fn receive(ranks: &dyn Collective) -> Result<Self> {
        let block = StateReader::from_bytes(NAME, broadcast_bytes(ranks, Vec::new()))?;
        let state = broadcast_bytes(ranks, Vec::new());
        let state =
            (!state.is_empty()).then(|| StateReader::from_bytes(NAME, state)).transpose()?;
        let splits = if block.json("read")? {
            None
        } else {
            let [train, validation, test] = ["training", "validation", "test"]
                .map(|name| block.has(name).then(|| read_data(name, &block)).transpose());
            let train = train?.ok_or_else(|| anyhow::anyhow!("{NAME}: no training rows"))?;
            Some(Splits { train, validation: validation?, test: test? })
        };
        Ok(Self {
            config: Config::parse(&block.json::<String>("config")?, &[])?,
            splits,
            state,
            changes: if block.json("forced")? { Changes::Forced } else { Changes::Refused },
        })
    }
}

/// Whether all ranks have the same rows: files of the same name may differ between machines.
///
/// # Errors
/// They have not; says which rank.
pub fn check_rows(ranks: &dyn Collective, trainer: &Trainer) -> Result<()> {
    // The beginnings of the checksums distinguish different rows.
    let sums = trainer.identity().rows().values();
    let digits = |sum: &String| u64::from_str_radix(&sum[..16.min(sum.len())], 16).unwrap_or(0);
    let own = sums.fold(0u64, |all, sum| all.rotate_left(7) ^ digits(sum));
    let all = gather_one(ranks, own);
    match all.iter().position(|other| *other != all[0]) {
        Some(other) => {
            anyhow::bail!("rank {other} has read other rows than rank 0: their data files differ")
        }
        None => Ok(()),
    }
}

fn write_data(name: &str, data: &Dataset, block: &mut StateWriter) {
    let shape = [data.rows(), data.columns()];
    block.json(name, data).json(&format!("{name}.shape"), &shape);
    block.json(&format!("{name}.categories"), &data.categories.as_deref().cloned());
    let reals = data.reals.as_ref().map(|variables| variables.categorical().to_vec());
    block.json(&format!("{name}.reals"), &reals);
    match &data.values {
        Values::Binary(bits) => block.bits(&format!("{name}.bits"), bits),
        Values::Intensity(grey) => block.array(&format!("{name}.grey"), &shape, grey.levels()),
    };
}

fn read_data(name: &str, block: &StateReader) -> Result<Dataset> {
    let shape: [usize; 2] = block.json(&format!("{name}.shape"))?;
    let categories: Option<Categories> = block.json(&format!("{name}.categories"))?;
    let reals: Option<Vec<Variable>> = block.json(&format!("{name}.reals"))?;
    let reals = reals.map(Variables::listed).transpose()?;
    let bits = format!("{name}.bits");
    let values = if block.has(&bits) {
        Values::Binary(block.bits(&bits, shape[0], shape[1])?)
    } else {
        let grey = Intensities::new(shape[1], block.array(&format!("{name}.grey"), &shape)?);
        Values::Intensity(grey.ok_or_else(|| anyhow::anyhow!("{NAME}: no whole rows"))?)
    };
    Ok(Dataset { values, categories: categories.map(Arc::new), reals, ..block.json(name)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::data::{FileOptions, ImageShape, read_bytes};
    use crate::engine::BitMatrix;

    #[test]
    fn data_sets_arrive_as_they_were_sent() {
        let bits = BitMatrix::from_fn(3, 70, |i, j| (i + j) % 3 == 0);
        let grey = Intensities::new(4, vec![0, 7, 255, 1, 3, 0, 0, 9]).unwrap();
        let shape = ImageShape { height: 2, width: 2 };
        let mixed = FileOptions { mixed: true, ..FileOptions::default() };
        for data in [
            Dataset::new("bits", Values::Binary(bits.clone()), Some(vec![-1, 0, 5]), None).unwrap(),
            Dataset::new("weighted", Values::Binary(bits.clone()), None, None)
                .and_then(|data| data.weighted(vec![0.1, 2.0, 1.0 / 3.0]))
                .unwrap(),
            Dataset::new("grey", Values::Intensity(grey), None, Some(shape)).unwrap(),
            read_bytes(Path::new("mixed.csv"), b"a,1.5\nb,-2.25\na,1e9\n".to_vec(), &mixed)
                .unwrap(),
        ] {
            let mut block = StateWriter::new();
            write_data("train", &data, &mut block);
            let block = StateReader::from_bytes(NAME, block.to_bytes().unwrap()).unwrap();
            assert_eq!(read_data("train", &block).unwrap(), data);
        }
    }
}
