//! Parts of the tracker that can be left out, one at a time, to see what each is worth (`experiments/tracking_accuracy --without`).

/// A part of the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The shift of log Z is measured from the new model back to the old one; without, forward.
    BackwardShift,
    /// Chains that descend from one chain by resampling count as one in errors.
    Families,
    /// Chains at beta = 0 share their weights.
    SharedWeights,
    /// Sweeps of a copy of the chains are continued until these have settled; without, only the first of them are run.
    Equilibration,
    /// Error from what chains have not forgotten when they are measured.
    Memory,
    /// log Z is no less than what known states add up to.
    Bound,
    /// log Z by the share of known states among the chains' states.
    KnownShare,
    /// Chains that missed known states start again from these.
    Restart,
    /// Errors grow where two values of log Z are further apart than these say.
    ScaleFactor,
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
    pub const LIST: [(&str, Self); 9] = [
        ("backward shift", Self::BackwardShift),
        ("families", Self::Families),
        ("shared weights", Self::SharedWeights),
        ("equilibration", Self::Equilibration),
        ("memory", Self::Memory),
        ("bound", Self::Bound),
        ("known share", Self::KnownShare),
        ("restart", Self::Restart),
        ("scale factor", Self::ScaleFactor),
    ];
}
