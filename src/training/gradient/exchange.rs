//! PCD whose particles exchange states with tempered chains at the parameters that are trained (algorithms.md, section 4).
//!
//! Particles stay in the modes they are in while the model moves mass between these; tempered chains travel. Swaps of states between
//! both, accepted so that neither distribution changes, make no copies.

use std::sync::Arc;

use super::{Moments, NegativePhase, Now, PersistentDivergence, Start};
use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams, derived_seed};
use crate::error::Result;
use crate::tempering::mixture::MixtureBase;
use crate::tracking::{Model, SecondPopulation, TrackerOptions};

/// Where checkpoints keep the chains from the mixture, and those from the marginals.
const PREFIXES: [&str; 2] = ["exchange.", "exchange.marginals."];

/// Persistent contrastive divergence with exchange.
pub struct Exchange {
    particles: PersistentDivergence,
    /// What the chains start from at beta = 0: a mixture, and the marginals.
    bases: [Arc<MixtureBase>; 2],
    count: usize,
    options: TrackerOptions,
    from_start: bool,
    /// From the mixture; and from the marginals, if these have found more.
    chains: Vec<SecondPopulation>,
}

impl Exchange {
    /// With `count` chains without weights from the first base, from the start or when the training fails; their seed is derived from that of
    /// the particles.
    pub fn new(
        particles: PersistentDivergence,
        bases: [Arc<MixtureBase>; 2],
        count: usize,
        options: TrackerOptions,
        from_start: bool,
    ) -> Self {
        Self { particles, bases, count, options, from_start, chains: Vec::new() }
    }

    /// Number of chains of each population.
    fn counts(&self) -> [usize; 2] {
        [self.count, SecondPopulation::size(self.count)]
    }

    fn population(
        &self,
        base: &Arc<MixtureBase>,
        which: usize,
        Start { model, ladder, .. }: Start<'_>,
    ) -> SecondPopulation {
        let (base, count) = (Arc::clone(base), self.counts()[which]);
        let seed = derived_seed(self.particles.particles.seed, Purpose::Exchange, which as u64);
        SecondPopulation::start(model, ladder, base, count, seed, self.options)
    }
}

impl NegativePhase for Exchange {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        self.particles.moments(now)
    }

    fn start(&mut self, start: Start<'_>) {
        if self.from_start {
            self.mend(start);
        }
    }

    fn mends(&self) -> bool {
        self.chains.is_empty()
    }

    /// Starts the chains.
    fn mend(&mut self, start: Start<'_>) {
        if self.chains.is_empty() {
            self.renew(start, &Arc::clone(&self.bases[0]));
        }
    }

    /// Adds chains from the marginals, half as many.
    fn widen(&mut self, start: Start<'_>) {
        if self.chains.len() == 1 {
            self.chains.push(self.population(&self.bases[1], 1, start));
        }
    }

    /// Replaces the chains from the mixture, or starts them.
    fn renew(&mut self, start: Start<'_>, base: &Arc<MixtureBase>) {
        let population = self.population(base, 0, start);
        self.chains.splice(..self.chains.len().min(1), [population]);
    }

    fn restart(&mut self, start: Start<'_>, rows: &BitMatrix) {
        self.particles.restart(start, rows);
        self.chains.clear();
        self.start(start);
    }

    /// A step of the chains, and swaps where they travel: chains that lost the ladder or make no round trips do not know the model
    /// better than the particles do.
    fn follow(&mut self, new: &Model) {
        let particles = &mut self.particles.particles;
        for (which, population) in (0..).zip(&mut self.chains) {
            let (record, _) = population.step(new);
            let state = &population.chains().chains;
            if record.rounds.is_some() || !state.round_trips.mixed() {
                continue;
            }
            let seed = match which {
                0 => particles.seed,
                _ => derived_seed(particles.seed, Purpose::Exchange, which),
            };
            let streams = Streams::new(seed, Purpose::Exchange, state.sweeps);
            // The rows below are the chains'.
            let place = streams.row(u32::MAX).uniform();
            let first = (place * particles.visible.rows() as f64) as usize;
            population.swap(&mut particles.visible, first, streams);
        }
    }

    fn particles(&self) -> Option<&BitMatrix> {
        self.particles.particles()
    }

    fn save(&self, state: &mut StateWriter) {
        self.particles.save(state);
        for (prefix, population) in PREFIXES.into_iter().zip(&self.chains) {
            population.write(prefix, state);
        }
    }

    fn load(&mut self, state: &StateReader, start: Option<Start<'_>>) -> Result<()> {
        self.particles.load(state, start)?;
        self.chains.clear();
        let Some(start) = start else { return Ok(()) };
        let read = |(prefix, count)| {
            SecondPopulation::read(prefix, state, start, count, self.options).transpose()
        };
        self.chains =
            PREFIXES.into_iter().zip(self.counts()).filter_map(read).collect::<Result<_>>()?;
        // Chains of an earlier version, which had another base, begin anew.
        if self.from_start || state.has(&format!("{}chains.visible", PREFIXES[0])) {
            self.mend(start);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::mixture::MixturePath;
    use crate::tempering::{
        BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior, TemperedPath,
    };
    use crate::tracking::{Settling, Smoothing};
    use crate::training::gradient::Particles;

    fn mixture(base: &BaseDistribution) -> Arc<MixtureBase> {
        Arc::new(MixtureBase::new(vec![base.clone()], &[1.0]).unwrap())
    }

    fn exchange(model: &Model, rounds: InitialRounds) -> Exchange {
        let base = BaseDistribution::uniform(12);
        let ladder = Ladder::linear(4, &Prior::Uniform).unwrap();
        let tracker = TrackerOptions {
            smoothing: Smoothing::Kalman,
            sweeps: 1,
            weighted: false,
            settling: Settling { sweeps: 0, most: 0 },
            without: Default::default(),
            beta_update: BetaUpdate::Collapsed,
            initial_rounds: rounds,
        };
        let particles = Particles { visible: base.sample(30, 3, 1), seed: 3, sweeps: 0 };
        let particles = PersistentDivergence { sweeps: 1, particles };
        let mut exchange =
            Exchange::new(particles, [mixture(&base), mixture(&base)], 20, tracker, true);
        exchange.start(Start { model, ladder: &ladder, base: &base });
        exchange
    }

    /// Particles stay as they are until the chains have crossed the ladder, and then take states of theirs.
    #[test]
    fn nothing_is_taken_from_chains_that_have_not_crossed() {
        let model = Model::on_host(gaussian_parameters(12, 6, 0.5, 1));
        let rounds = InitialRounds { sweeps: 1, most: 1, annealed_start: false };
        let mut exchange = exchange(&model, rounds);
        let mixed = |exchange: &Exchange| {
            let chains = exchange.chains[0].chains();
            chains.chains.round_trips.mixed()
        };
        let (mut without, mut with) = (0, 0);
        for update in 1..200 {
            let before = exchange.particles.particles.visible.clone();
            exchange.follow(&model);
            let changed = exchange.particles.particles.visible != before;
            if mixed(&exchange) {
                with += u64::from(changed);
            } else {
                without += 1;
                assert!(!changed, "{update}");
            }
        }
        assert!(without > 0 && with > 100, "{without} {with}");
    }

    /// No state is copied or lost: chains and particles together are the same states after swaps as before.
    #[test]
    fn swaps_keep_every_state() {
        let model = Model::on_host(gaussian_parameters(12, 6, 0.5, 2));
        let mut exchange = exchange(&model, InitialRounds::default());
        let ladder = Ladder::linear(4, &Prior::Uniform).unwrap();
        let population = &mut exchange.chains[0];
        let particles = &mut exchange.particles.particles.visible;
        let states = |chains: &SecondPopulation, particles: &BitMatrix| {
            let all = chains.chains().chains.visible.followed_by(particles);
            let mut rows: Vec<Vec<u64>> = (0..all.rows()).map(|i| all.row(i).to_vec()).collect();
            rows.sort();
            rows
        };
        let (before, old) = (states(population, particles), particles.clone());
        let streams = Streams::new(1, Purpose::Exchange, 1);
        assert!((1..20).contains(&population.swap(particles, 28, streams)));
        assert!(*particles != old);
        assert_eq!(states(population, particles), before);
        let evaluated = population.chains().evaluated().cached.clone();
        let base = mixture(&BaseDistribution::uniform(12));
        let path = MixturePath { engine: model.engine.as_ref(), ladder: &ladder, base: &base };
        assert_eq!(evaluated, path.evaluate(&population.chains().chains.visible).cached);
    }

    /// Chains from the marginals are added once, swap states as the others do, and are part of a checkpoint.
    #[test]
    fn chains_from_the_marginals_join() {
        let model = Model::on_host(gaussian_parameters(12, 6, 0.5, 4));
        let (base, ladder) =
            (BaseDistribution::uniform(12), Ladder::linear(4, &Prior::Uniform).unwrap());
        let start = Start { model: &model, ladder: &ladder, base: &base };
        let mut exchange = exchange(&model, InitialRounds::default());
        for _ in 0..2 {
            exchange.widen(start);
            assert_eq!(exchange.chains.len(), 2);
        }
        let mut state = StateWriter::new();
        exchange.save(&mut state);
        let state = StateReader::from_bytes("a state", state.to_bytes().unwrap()).unwrap();
        let mut again = self::exchange(&model, InitialRounds::default());
        again.load(&state, Some(start)).unwrap();
        let states = |exchange: &Exchange| {
            let chains = exchange.chains.iter().map(|it| it.chains().chains.visible.clone());
            chains.chain([exchange.particles.particles.visible.clone()]).collect::<Vec<_>>()
        };
        let first = states(&exchange);
        assert_eq!(first.iter().map(BitMatrix::rows).collect::<Vec<_>>(), [20, 10, 30]);
        assert_eq!(states(&again), first);
        for exchange in [&mut exchange, &mut again] {
            (0..300).for_each(|_| exchange.follow(&model));
        }
        assert_eq!(states(&again), states(&exchange));
        // Without the chains from the mixture particles change too.
        exchange.chains.remove(0);
        let before = states(&exchange).pop();
        exchange.follow(&model);
        assert_ne!(states(&exchange).pop(), before);
    }

    /// Chains from another mixture take the place of those from the first, or begin the exchange; others stay.
    #[test]
    fn chains_from_another_mixture_replace_the_first() {
        let model = Model::on_host(gaussian_parameters(12, 6, 0.5, 5));
        let (base, ladder) =
            (BaseDistribution::uniform(12), Ladder::linear(4, &Prior::Uniform).unwrap());
        let start = Start { model: &model, ladder: &ladder, base: &base };
        let other = mixture(&BaseDistribution::from_logits(&[0.5; 12]).unwrap());
        let mut exchange = exchange(&model, InitialRounds::default());
        exchange.widen(start);
        let bases = |exchange: &Exchange| -> Vec<bool> {
            exchange.chains.iter().map(|it| Arc::ptr_eq(it.base(), &other)).collect()
        };
        exchange.renew(start, &other);
        assert_eq!(bases(&exchange), [true, false]);
        exchange.chains.clear();
        exchange.renew(start, &other);
        assert_eq!(bases(&exchange), [true]);
    }

    /// A state with chains but without their mixture is of an earlier version: the exchange goes on with new chains.
    #[test]
    fn chains_without_their_base_begin_anew() {
        let model = Model::on_host(gaussian_parameters(12, 6, 0.5, 3));
        let (base, ladder) =
            (BaseDistribution::uniform(12), Ladder::linear(4, &Prior::Uniform).unwrap());
        let mut exchange = exchange(&model, InitialRounds::default());
        exchange.from_start = false;
        for had_chains in [false, true] {
            let mut state = StateWriter::new();
            exchange.particles.save(&mut state);
            if had_chains {
                state.bits("exchange.chains.visible", &exchange.particles.particles.visible);
            }
            let bytes = state.to_bytes().unwrap();
            let state = StateReader::from_bytes("a state", bytes).unwrap();
            let start = Start { model: &model, ladder: &ladder, base: &base };
            exchange.load(&state, Some(start)).unwrap();
            assert_eq!(!exchange.chains.is_empty(), had_chains);
        }
    }
}
