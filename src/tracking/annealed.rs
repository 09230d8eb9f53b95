//! log Z annealed from the mixture, for an evaluation at which the chains are in doubt.
//!
//! Chains that lag behind a model whose modes are narrow need many round trips to catch up with it. Chains that are annealed from a mixture fitted
//! to the training rows start in its modes and remember no earlier model, and their weights correct what the mixture has wrong. They start in
//! strata ([`MeanWeight::of_strata`]): the model's modes have other masses than the components, which would make the weights of independent starts
//! useless. Like the chains they can miss a mode, and their value is then too low; so it only replaces one that is in doubt, and only if it is more
//! certain, with the distance to a higher value as part of its error, and not below a bound.
//!
//! A mode that no component is near is missed without a sign in the weights (3 % of the values for planted modes were wrong by it, docs/results.md,
//! "Annealing in place of a doubt"). So as many components again are fitted to states of the model: particles, tempered chains, and states that
//! hidden units prefer.

use serde::{Deserialize, Serialize};

use super::Model;
use super::reported::is_below;
use super::verdict::FEWEST;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams, derived_seed};
use crate::error::Result;
use crate::tempering::mixture::{
    BROAD_COMPONENTS, DEFENSIVE, MixtureBase, MixturePath, WeightedRows, fit, with_broad,
};
use crate::tempering::{
    HEAVIEST_TAIL, Keep, Ladder, MeanWeight, Prior, TemperedPath, anneal_from, systematic,
};
use crate::trust::{LogZ, Trust};

/// Number of chains and of inverse temperatures.
const CHAINS: usize = 200;
const ANNEALING_TEMPERATURES: usize = 100;
/// Most states that components are fitted to.
const STATES: usize = 500;

/// log Z by annealing, whose weights pass their diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnnealedLogZ {
    /// Nats.
    #[serde(with = "crate::checkpoint::float")]
    pub value: f64,
    /// Its standard error, nats.
    #[serde(with = "crate::checkpoint::float")]
    pub std_error: f64,
}

impl AnnealedLogZ {
    /// Of a model, from a mixture fitted to the training rows and to `states` of the model, shape [N, M]; `None` if the weights do not pass. `seed` and
    /// `update` number the draws.
    pub(super) fn of(
        model: &Model,
        mixture: &MixtureBase,
        states: &BitMatrix,
        seed: u64,
        update: u64,
    ) -> Option<Self> {
        let seed = derived_seed(seed, Purpose::Annealed, update);
        let base = widened(mixture, model, states, seed).ok()?;
        let (mean, log_z_base) = Self::weights(model, &base, seed).ok()?;
        Self::trusted(&mean, log_z_base)
    }

    /// The value of a mean weight whose error bar can be trusted.
    fn trusted(mean: &MeanWeight, log_z_base: f64) -> Option<Self> {
        let found = Self { value: log_z_base + mean.log_mean, std_error: mean.std_error };
        let finite = found.value.is_finite() && found.std_error.is_finite();
        let passes = mean.effective >= FEWEST && mean.tail <= HEAVIEST_TAIL;
        (finite && passes).then_some(found)
    }

    /// The mean weight, and log Z of the mixture.
    fn weights(model: &Model, base: &MixtureBase, seed: u64) -> Result<(MeanWeight, f64)> {
        let ladder = Ladder::linear(ANNEALING_TEMPERATURES, &Prior::Uniform)?;
        let path = MixturePath { engine: model.engine.as_ref(), ladder: &ladder, base };
        let shares: Vec<f64> = base.log_shares().iter().map(|share| share.exp()).collect();
        let offset = Streams::new(seed, Purpose::ChainStart, 0).row(CHAINS as u32).uniform();
        let components = systematic(&shares, CHAINS, offset);
        let start = base.sample_of(&components, seed);
        let weights = anneal_from(&path, start, seed, 0, Keep::Last).log_weights;
        let mut strata = vec![Vec::new(); base.len()];
        components.iter().zip(weights.last_column()).for_each(|(&c, w)| strata[c].push(w));
        strata.retain(|stratum| !stratum.is_empty());
        Ok((MeanWeight::of_strata(strata), path.log_z_base()))
    }

    /// This value in place of one that is in doubt, if it is more certain and not below `bound`. Where it is the lower one it may have missed a mode:
    /// its error is at least the distance.
    pub(super) fn instead_of(self, doubted: LogZ, bound: f64) -> LogZ {
        let own = LogZ { value: self.value, std_error: self.std_error, trust: Trust::sound() };
        let std_error = self.std_error.max(doubted.value - self.value);
        if is_below(&own, bound) || std_error >= doubted.std_error {
            doubted
        } else {
            LogZ { std_error, ..own }
        }
    }
}

/// The fitted components of a mixture, and as many fitted to `states`, with equal weights; the two broad ones are the new ones.
fn widened(
    mixture: &MixtureBase,
    model: &Model,
    states: &BitMatrix,
    seed: u64,
) -> Result<MixtureBase> {
    let count = mixture.len().saturating_sub(BROAD_COMPONENTS).max(1);
    let rows = WeightedRows::alike(states.spread(STATES));
    let more = fit(&model.parameters, &rows, count, seed)?;
    let components = mixture.components().iter().take(count).chain(more.components()).cloned();
    let shares = mixture.log_shares().iter().take(count).chain(more.log_shares());
    let shares: Vec<f64> = shares.map(|share| share.exp()).collect();
    with_broad(&MixtureBase::new(components.collect(), &shares)?, DEFENSIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Parameters;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::BaseDistribution;
    use crate::trust::Doubt;
    use crate::units::Variables;

    /// Eight modes of 48 units with masses that differ by up to 7 nats, one hidden unit a mode; and a mixture of them with
    /// equal weights and flatter means.
    fn modes() -> (Model, MixtureBase, Vec<BaseDistribution>) {
        let (n_visible, n_hidden) = (48, 8);
        let sign = |m: usize, i: usize| {
            let stream = Streams::new(3, Purpose::TestSystem, m as u64);
            if stream.row(i as u32).uniform() < 0.5 { 4.0 } else { -4.0 }
        };
        let parameters = Parameters {
            n_visible,
            n_hidden,
            weights: (0..n_visible).flat_map(|i| (0..n_hidden).map(move |m| sign(m, i))).collect(),
            visible_bias: vec![0.0; n_visible],
            hidden_bias: (0..n_hidden).map(|m| -57.0 - m as f32).collect(),
            variables: Variables::BITS,
        };
        let product = |scale: f32| {
            let of = move |m: usize| -> Vec<f32> {
                (0..n_visible).map(|i| scale * sign(m, i)).collect()
            };
            (0..n_hidden).map(move |m| BaseDistribution::from_logits(&of(m)).unwrap())
        };
        let broad = BaseDistribution::uniform(n_visible);
        let base: Vec<_> = product(0.6).chain([broad.clone(), broad]).collect();
        let shares = vec![1.0; base.len()];
        (
            Model::on_host(parameters),
            MixtureBase::new(base, &shares).unwrap(),
            product(1.0).collect(),
        )
    }

    /// 40 values: rms z between .5 and 1.2 by errors below .7.
    #[test]
    fn modes_of_other_masses_than_the_components_are_no_error() {
        let (model, mixture, _) = modes();
        let exact = log_partition(&model.parameters).unwrap();
        let base = with_broad(&mixture, DEFENSIVE).unwrap();
        let mut squares = 0.0;
        for seed in 0..40 {
            let (mean, log_z_base) = AnnealedLogZ::weights(&model, &base, seed).unwrap();
            assert!((0.02..0.7).contains(&mean.std_error), "{mean:?}");
            squares += ((log_z_base + mean.log_mean - exact) / mean.std_error).powi(2);
        }
        let rms = (squares / 40.0).sqrt();
        assert!((0.5..1.2).contains(&rms), "{rms}");
    }

    /// A mode that the mixture has no component near gets one where there are states of it, and not otherwise; and annealing starts from it.
    #[test]
    fn states_of_the_model_show_modes_that_the_mixture_has_not() {
        let (model, mixture, modes) = modes();
        let others = MixtureBase::new(mixture.components()[1..].to_vec(), &[1.0; 9]).unwrap();
        let [all, rest] = [0..8, 1..8].map(|seen| {
            let states = seen.map(|m| modes[m].sample(60, 5, m as u64));
            states.reduce(|all, more| all.followed_by(&more)).unwrap()
        });
        let has_first = |states: &BitMatrix| {
            let base = widened(&others, &model, states, 1).unwrap();
            assert_eq!(base.len(), 2 * 7 + BROAD_COMPONENTS);
            let agree = |it: &BaseDistribution| {
                let pairs = it.logits().iter().zip(modes[0].logits());
                pairs.filter(|(a, b)| **a * **b > 0.0).count()
            };
            base.components().iter().any(|it| agree(it) > 44)
        };
        assert!(has_first(&all) && !has_first(&rest));
        // A model without modes, from broad components and from those of some of its states.
        let model = Model::on_host(gaussian_parameters(48, 8, 0.1, 1));
        let uniform = BaseDistribution::uniform(48);
        let broad = MixtureBase::new(vec![uniform.clone(); 3], &[1.0; 3]).unwrap();
        let of = |seed| {
            let states = uniform.sample(60, seed, 0);
            AnnealedLogZ::of(&model, &broad, &states, 1, 1).unwrap()
        };
        let exact = log_partition(&model.parameters).unwrap();
        assert!(of(1) != of(2) && (of(1).value - exact).abs() < 4.0 * of(1).std_error);
    }

    /// Ten effective chains, a light tail and finite numbers.
    #[test]
    fn weights_have_to_pass_their_diagnostics() {
        let good = MeanWeight { log_mean: 1.0, std_error: 0.1, effective: 10.0, tail: 0.7 };
        let expected = AnnealedLogZ { value: 3.0, std_error: 0.1 };
        assert_eq!(AnnealedLogZ::trusted(&good, 2.0), Some(expected));
        for bad in [
            MeanWeight { effective: 9.9, ..good },
            MeanWeight { tail: 0.71, ..good },
            MeanWeight { tail: f64::NAN, ..good },
            MeanWeight { log_mean: f64::NEG_INFINITY, ..good },
            MeanWeight { std_error: f64::NAN, ..good },
        ] {
            assert_eq!(AnnealedLogZ::trusted(&bad, 2.0), None, "{bad:?}");
        }
    }

    /// It replaces a value only if it is more certain, also where the distance to a higher one is its error, and never from below a bound.
    #[test]
    fn only_a_more_certain_value_counts() {
        let annealed = AnnealedLogZ { value: 10.0, std_error: 0.2 };
        for (value, std_error, bound, error) in [
            (6.0, 0.3, 5.0, Some(0.2)),
            (10.5, 1.0, 5.0, Some(0.5)),
            (10.5, 0.4, 5.0, None),
            (10.0, 0.1, 5.0, None),
            (6.0, 0.3, 10.5, Some(0.2)),
            (6.0, 0.3, 10.7, None),
        ] {
            let trust = Trust::unless(Some(Doubt::other("lag", "reason")));
            let found = annealed.instead_of(LogZ { value, std_error, trust }, bound);
            assert_eq!(found.trust.is_sound(), error.is_some(), "{value} {std_error} {bound}");
            let expected = error.map_or((value, std_error), |error| (10.0, error));
            assert_eq!((found.value, found.std_error), expected);
        }
    }
}
