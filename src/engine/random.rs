//! Counter-based random streams: every draw is a pure function of (seed, purpose, step, row, position).
//!
//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"). A stream has no
//! state to share or lock, so a run is the same for any number of threads, and a checkpoint needs only the step.
//!
//! The 128-bit counter is (block, row, step, purpose and high step bits); the 64-bit key is the seed.

use rand::rand_core::{Infallible, TryRng};

/// Purpose of a stream; two purposes never share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Initial weights.
    Weights = 1,
    /// Order of the training rows in an epoch.
    Shuffle = 2,
    /// Split of the rows into train, validation and test.
    Split = 3,
    /// Stochastic binarization.
    Binarization = 4,
    /// Synthetic data sets.
    Generator = 5,
    /// Initial states of chains.
    ChainStart = 6,
    /// Hidden units of tempered chains.
    TemperedHidden = 7,
    /// Visible units of tempered chains.
    TemperedVisible = 8,
    /// Inverse temperatures of tempered chains.
    TemperedBeta = 9,
    /// Hidden units of gradient particles (CD, PCD).
    ParticleHidden = 10,
    /// Visible units of gradient particles (CD, PCD).
    ParticleVisible = 11,
    /// Hidden units in annealed importance sampling.
    AnnealedHidden = 12,
    /// Visible units in annealed importance sampling.
    AnnealedVisible = 13,
    /// Samples drawn for the user.
    SampleHidden = 14,
    /// Choices among rows or states, as in resampling.
    Choice = 16,
    /// Random models in tests and examples.
    TestSystem = 17,
    /// Transitions of tempered chains on continuous targets.
    ContinuousChain = 18,
    /// Hidden units of chains that anneal downwards.
    DescendingHidden = 19,
    /// Visible units of chains that anneal downwards.
    DescendingVisible = 20,
    /// Exact samples of enumerated models.
    ExactSample = 21,
    /// Hidden states from which a base distribution is guessed (Signs_h).
    StartHidden = 22,
    /// Starting magnetisations of TAP.
    TapStart = 23,
    /// Components of a mixture, chosen by tempered chains.
    TemperedComponent = 24,
    /// Components of a mixture, chosen while annealing.
    AnnealedComponent = 25,
    /// Components of a mixture, chosen while annealing downwards.
    DescendingComponent = 26,
    /// Starting states of the mode search.
    ModeSearch = 27,
    /// Fits of mixtures to samples.
    MixtureFit = 28,
    /// Resampling of weighted chains.
    Resampling = 29,
    /// Hidden states over which log Z is bounded from below.
    BoundHidden = 31,
    /// States of known modes from which chains are re-initialised.
    KnownModes = 32,
    /// Seed of the tracker's chains if the tempered gradient has chains of its own.
    Tracker = 33,
    /// Seeds of audits.
    Audit = 34,
    /// Seed of a report.
    Report = 35,
    /// Seeds of estimators that are compared.
    Method = 36,
    /// Seeds of the runs that search for the modes of a model.
    Exploration = 37,
    /// Seeds of the starts in these.
    Candidate = 38,
    /// Seed of samples of the model.
    Equilibrium = 39,
    /// Seed of passes that choose inverse temperatures.
    Schedule = 40,
    /// Hidden states that are looked up among the reference states.
    KnownShare = 41,
    /// Seed of pre-training: its batches and its chains.
    Pretraining = 42,
    /// Seeds of chains that equilibrate for an evaluation.
    Settling = 43,
    /// States of chains and particles in model files.
    KnownStates = 44,
    /// Seed of the chains that exchange states with particles, and the particles they exchange with.
    Exchange = 45,
    /// Seeds of rows whose missing cells are filled in.
    Completion = 46,
    /// Starting vectors of the principal components of data.
    PrincipalComponents = 47,
    /// Hidden units whose preferred states are reference states, and the seed of the sweeps from there.
    PreferredStates = 48,
    /// Crossovers of modes.
    Crossover = 49,
    /// Seeds of annealing for evaluations at which the chains are in doubt.
    Annealed = 50,
}

/// The seed of the `n`-th computation of a kind inside of one with seed `seed`: different ones, also of other seeds, share random numbers
/// only with a probability of 2^-64.
pub fn derived_seed(seed: u64, purpose: Purpose, n: u64) -> u64 {
    let mut stream = Streams::new(seed, purpose, n).row(0);
    u64::from(stream.next_word()) << 32 | u64::from(stream.next_word())
}

pub(crate) const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
pub(crate) const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
pub(crate) const ROUNDS: usize = 10;

/// Streams of one seed, purpose and step: one for every row (chain, particle, data row).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
    purpose: Purpose,
    step: u64,
}

impl Streams {
    /// The streams of `seed` for `purpose` at `step` (a sweep, an epoch; at most 2^56 - 1).
    pub fn new(seed: u64, purpose: Purpose, step: u64) -> Self {
        Self { seed, purpose, step }
    }

    /// The stream of one row.
    pub fn row(&self, row: u32) -> Stream {
        let high = (self.step >> 32) as u32 & 0x00FF_FFFF;
        Stream {
            key: [self.seed as u32, (self.seed >> 32) as u32],
            counter: [0, row, self.step as u32, (self.purpose as u32) << 24 | high],
            buffer: [0; 4],
            used: 4,
        }
    }
}

/// One random stream. Usable with everything in `rand` (it is a [`rand::Rng`]).
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u32; 2],
    counter: [u32; 4],
    buffer: [u32; 4],
    used: usize,
}

impl Stream {
    /// Key and the three fixed counter words, for kernels that generate in SIMD lanes.
    pub(crate) fn words(&self) -> ([u32; 2], [u32; 3]) {
        (self.key, [self.counter[1], self.counter[2], self.counter[3]])
    }

    /// The next u32.
    #[inline]
    pub fn next_word(&mut self) -> u32 {
        if self.used == 4 {
            self.buffer = philox(self.counter, self.key);
            self.counter[0] = self.counter[0].wrapping_add(1);
            self.used = 0;
        }
        let word = self.buffer[self.used];
        self.used += 1;
        word
    }

    /// The next uniform f64 in the open interval (0, 1), 52 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        let (high, low) = (u64::from(self.next_word()), u64::from(self.next_word()));
        (((high << 32 | low) >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// A standard normal number (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        normal(self.uniform(), self.uniform())
    }
}

/// A standard normal number of two uniform ones (Box and Muller 1958).
pub(crate) fn normal(first: f64, second: f64) -> f64 {
    let radius = (-2.0 * first.ln()).sqrt();
    radius * (std::f64::consts::TAU * second).cos()
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.next_word());
        Ok(u64::from(self.next_word()) << 32 | low)
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        for chunk in dst.chunks_mut(4) {
            let bytes = self.next_word().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
        Ok(())
    }
}

/// One Philox4x32-10 block.
#[inline]
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        let p0 = u64::from(MULTIPLIERS[0]) * u64::from(c0);
        let p1 = u64::from(MULTIPLIERS[1]) * u64::from(c2);
        (c0, c1, c2, c3) =
            ((p1 >> 32) as u32 ^ c1 ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c3 ^ k1, p0 as u32);
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3]
}

/// Philox4x32-10 in `LANES` lanes: lane `i` is the block with first counter word `block + i`; the four results are
/// indexed [word][lane]. Written as plain loops over lanes so that the compiler vectorises them.
#[inline(always)]
pub(crate) fn philox_lanes<const LANES: usize>(
    block: u32,
    fixed: [u32; 3],
    key: [u32; 2],
) -> [[u32; LANES]; 4] {
    let mut c0: [u32; LANES] = std::array::from_fn(|i| block.wrapping_add(i as u32));
    let (mut c1, mut c2, mut c3) = ([fixed[0]; LANES], [fixed[1]; LANES], [fixed[2]; LANES]);
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        for i in 0..LANES {
            let p0 = u64::from(MULTIPLIERS[0]) * u64::from(c0[i]);
            let p1 = u64::from(MULTIPLIERS[1]) * u64::from(c2[i]);
            c0[i] = (p1 >> 32) as u32 ^ c1[i] ^ k0;
            c2[i] = (p0 >> 32) as u32 ^ c3[i] ^ k1;
            c1[i] = p1 as u32;
            c3[i] = p0 as u32;
        }
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_seeds_differ() {
        let seeds: std::collections::HashSet<u64> = (0..3)
            .flat_map(|seed| [0, 1, 1 << 32, 1 << 40].map(|n| (seed, n)))
            .flat_map(|(seed, n)| {
                [Purpose::Audit, Purpose::Method].map(|purpose| derived_seed(seed, purpose, n))
            })
            .collect();
        assert_eq!(seeds.len(), 24);
        assert_eq!(derived_seed(5, Purpose::Audit, 7), derived_seed(5, Purpose::Audit, 7));
    }

    /// Known-answer vectors of the Random123 distribution (kat_vectors, philox4x32 10).
    #[test]
    fn philox_gives_the_published_vectors() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn lanes_are_the_scalar_blocks() {
        let (key, fixed) = ([7, 9], [1, 2, 3]);
        let lanes = philox_lanes::<16>(5, fixed, key);
        let [w0, w1, w2, w3] = lanes;
        for (i, words) in w0.iter().zip(&w1).zip(w2.iter().zip(&w3)).enumerate() {
            let ((a, b), (c, d)) = words;
            assert_eq!([*a, *b, *c, *d], philox([5 + i as u32, 1, 2, 3], key));
        }
    }

    #[test]
    fn uniforms_are_uniform() {
        let mut stream = Streams::new(3, Purpose::Choice, 0).row(0);
        let n = 100_000;
        let mean = (0..n).map(|_| stream.uniform()).sum::<f64>() / f64::from(n);
        // 5 standard errors of the mean of n uniforms.
        assert!((mean - 0.5).abs() < 5.0 / (12.0 * f64::from(n)).sqrt(), "{mean}");
    }

    #[test]
    fn purpose_step_and_row_separate_streams() {
        let first = |purpose, step, row| Streams::new(1, purpose, step).row(row).next_word();
        let reference = first(Purpose::Choice, 0, 0);
        assert_ne!(reference, first(Purpose::Shuffle, 0, 0));
        assert_ne!(reference, first(Purpose::Choice, 1, 0));
        assert_ne!(reference, first(Purpose::Choice, 1 << 32, 0));
        assert_ne!(reference, first(Purpose::Choice, 0, 1));
    }
}
