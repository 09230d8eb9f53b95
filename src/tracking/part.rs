//! Parts of the tracker that can be left out, one at a time, to measure their effect (`experiments/ablation`).

/// A part of the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The shift of log Z is measured from the new model back to the old one; without, forward.
    BackwardShift,
    /// Chains with a common ancestor after resampling count as one in errors.
    Lineages,
    /// Chains at beta = 0 share their weights.
    SharedWeights,
    /// Equilibration sweeps are continued until the diagnostics of the thirds agree; without, only the first sweeps are run.
    Equilibration,
    /// Error from the remaining deviation of the chains when they are measured.
    Memory,
    /// log Z is at least the sum over reference states.
    Bound,
    /// log Z from the coverage of the reference states by the chains.
    KnownShare,
    /// States that single hidden units prefer, and what Gibbs sweeps reach from these, are reference states too.
    PreferredStates,
    /// Chains that missed reference states are re-initialised from these.
    Restart,
    /// Where the chains are in doubt, log Z annealed from the mixture.
    Annealing,
}

/// Some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u16);

impl Parts {
    /// Whether a part is among them.
    pub fn contains(self, part: Part) -> bool {
        self.0 >> part as u16 & 1 == 1
    }

    /// With another one.
    #[must_use]
    pub fn and(self, part: Part) -> Self {
        Self(self.0 | 1 << part as u16)
    }
}

impl Part {
    /// All of them with their names.
    pub const LIST: [(&str, Self); 10] = [
        ("backward shift", Self::BackwardShift),
        ("lineages", Self::Lineages),
        ("shared weights", Self::SharedWeights),
        ("equilibration", Self::Equilibration),
        ("memory", Self::Memory),
        ("bound", Self::Bound),
        ("known share", Self::KnownShare),
        ("preferred states", Self::PreferredStates),
        ("restart", Self::Restart),
        ("annealing", Self::Annealing),
    ];
}
