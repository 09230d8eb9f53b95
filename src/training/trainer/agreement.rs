//! Check that the ranks of a run are in the same state.

use super::Trainer;
use crate::collective::{Collective, gather_one};
use crate::error::{Error, Result};

/// Updates from one comparison to the next.
const EVERY: u64 = 100;

impl Trainer {
    /// Compares parameters and log Z of all ranks, every 100 updates and at the end. Computations that each rank does in full must give the
    /// same results; otherwise ranks would continue as different runs.
    ///
    /// # Errors
    /// Ranks differ; the message has the hash of each.
    pub(super) fn compare_ranks(&self, ranks: &dyn Collective) -> Result<()> {
        #[cfg(feature = "mpi-faults")]
        let change = crate::collective::faults::strike(ranks, self.updates);
        #[cfg(not(feature = "mpi-faults"))]
        let change = 0;
        let due = self.updates.is_multiple_of(EVERY) || self.updates == self.total;
        if ranks.size() == 1 || self.tracker.is_none() || !due {
            return Ok(());
        }
        agree(&gather_one(ranks, self.hash() ^ change), self.updates)
    }

    /// FNV-1a over the bits of the current parameters and of log Z.
    fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x100_0000_01b3);
        let parameters = &self.current.parameters;
        for part in [&parameters.weights, &parameters.visible_bias, &parameters.hidden_bias] {
            part.iter().for_each(|x| add(u64::from(x.to_bits())));
        }
        add(self.tracker.as_ref().map_or(0, |tracker| tracker.chains().log_z().to_bits()));
        hash
    }
}

fn agree(hashes: &[u64], update: u64) -> Result<()> {
    let Some(other) = hashes.iter().position(|hash| *hash != hashes[0]) else { return Ok(()) };
    Err(Error::Mismatch(format!(
        "ranks 0 and {other} have come to different parameters at update {update} (hashes {:016x} and {:016x}): something each computes for itself differs between their machines; resume from the last checkpoint on machines with equal processors and the same build",
        hashes[0], hashes[other]
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_differ_are_told_with_their_hashes() {
        assert!(agree(&[7, 7, 7], 100).is_ok());
        let problem = agree(&[7, 7, 8], 100).unwrap_err().to_string();
        for part in ["ranks 0 and 2", "update 100", "0000000000000007", "0000000000000008"] {
            assert!(problem.contains(part), "{problem}");
        }
    }
}
