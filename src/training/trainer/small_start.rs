//! A start from a few hidden units that were trained with the exact gradient, which has no chains that could miss a mode: where it is asked
//! for (`model.start`), and where a training fails (algorithms.md, section 4).

use super::Trainer;
use super::build::{centering, initial_parameters};
use super::cost::Sizes;
use super::step_limit::Steps;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::Result;
use crate::model::{Parameters, exact};
use crate::tracking::{BOUND_ROWS, Model, mean_log_f};
use crate::training::Likelihoods;
use crate::training::gradient::{Centering, Exact, NegativePhase, Now, gradient};
use crate::training::update::{Adam, AdamConfig, UpdateRule};

/// Number of hidden units: their 1024 states are enumerated.
pub(super) const UNITS: usize = 10;
/// Updates by Adam, and their step size, which falls to zero. The noise of the batches is all the noise that is left, so they are as large as
/// the set of rows that stands for the data in bounds of log Z.
const UPDATES: u64 = 1000;
const ADAM_RATE: f64 = 0.1;
const BATCH: usize = BOUND_ROWS;

impl Trainer {
    /// The initial model with its first hidden units trained, and the likelihoods by these units alone. `None` if it has no others.
    pub(super) fn small_start(&mut self) -> Result<Option<(Parameters, Likelihoods)>> {
        if self.sizes.hidden <= UNITS {
            return Ok(None);
        }
        let context = self.context.clone();
        let _task = context.task(format!("training {UNITS} hidden units with the exact gradient"));
        let start = initial_parameters(&self.config, &self.rows.marginals, &self.rows.variables)?;
        let small = context.interruptible(|| self.trained(first_hidden(&start, UNITS)))?;
        let engine = small.engine(&context);
        let log_z = exact::log_partition(&small)?;
        let of_rows = |rows| mean_log_f(engine.as_ref(), rows).mean - log_z;
        let likelihoods = Likelihoods {
            update: self.updates,
            train: self.rows.train_log_f(engine.as_ref()).mean - log_z,
            validation: self.rows.validation.as_ref().map(of_rows),
            log_z_std_error: 0.0,
        };
        Ok(Some((with_hidden_of(start, &small), likelihoods)))
    }

    /// Begins at this model, with nothing that is remembered of another one: the running average, the update rule, the offsets, and the particles
    /// at training rows.
    pub(super) fn begin_anew(&mut self, parameters: Parameters) {
        let Sizes { visible, hidden, particles, .. } = self.sizes;
        let training = &self.config.training;
        self.rule = training.update.build(visible, hidden, training.learning_rate.initial);
        self.centering = centering(&self.config, &self.rows, self.sizes);
        self.steps = Steps::default();
        self.current = Model::within(parameters, &self.context);
        self.average_from_here();
        let rows = self.rows.representatives(particles.max(1));
        self.negative_phase.restart(self.plan.start(&self.base, &self.current), &rows);
    }

    /// The parameters after all updates with the exact gradient.
    fn trained(&mut self, parameters: Parameters) -> Result<Parameters> {
        let (m, j) = (parameters.n_visible, parameters.n_hidden);
        let plus_minus = parameters.variables.is_plus_minus();
        let centering = plus_minus.then(|| Centering::plus_minus(m, j).of_nonlinear_rules());
        let mut rule = Adam::new(AdamConfig::default(), m, j);
        // Other batches than those of the first updates.
        let seed = derived_seed(self.config.seed, Purpose::Pretraining, 0);
        let mut current = Model::within(parameters, &self.context);
        for updates in 0..UPDATES {
            if self.context.is_interrupted() {
                break;
            }
            let batch = self.rows.batch(seed, updates, BATCH)?;
            let data = current.engine.moments(&batch, None);
            let of_model = Exact.moments(Now { model: &current, batch, updates, tracker: None })?;
            let gradient = gradient(&data, &of_model, centering.as_ref());
            let rate = ADAM_RATE * (1.0 - updates as f64 / UPDATES as f64);
            let mut parameters = current.parameters.as_ref().clone();
            Centering::step(centering.as_ref(), &mut parameters, |parameters| {
                rule.step(parameters, &gradient, rate);
            });
            parameters.confine();
            current = Model::within(parameters, &self.context);
        }
        Ok(current.parameters.as_ref().clone())
    }
}

/// The model of the first hidden units alone.
fn first_hidden(parameters: &Parameters, count: usize) -> Parameters {
    let Parameters { n_hidden, weights, hidden_bias, .. } = parameters;
    Parameters {
        n_hidden: count,
        weights: weights.chunks_exact(*n_hidden).flat_map(|row| &row[..count]).copied().collect(),
        hidden_bias: hidden_bias[..count].to_vec(),
        ..parameters.clone()
    }
}

/// The model whose first hidden units, and visible bias, are those of a small one.
fn with_hidden_of(mut parameters: Parameters, small: &Parameters) -> Parameters {
    let count = small.n_hidden;
    let rows = parameters.weights.chunks_exact_mut(parameters.n_hidden);
    for (row, of_small) in rows.zip(small.weights.chunks_exact(count)) {
        row[..count].copy_from_slice(of_small);
    }
    parameters.hidden_bias[..count].copy_from_slice(&small.hidden_bias);
    parameters.visible_bias.clone_from(&small.visible_bias);
    parameters
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Device;
    use crate::checkpoint::StateWriter;
    use crate::config::Config;
    use crate::data::{Source, SplitOptions, load};
    use crate::model::plus_minus::Couplings;
    use crate::model::test_systems::gaussian_parameters;

    /// What the first hidden units are replaced by is the model, but for the others and what is in the visible bias for them.
    #[test]
    fn a_small_model_takes_the_place_of_the_first_hidden_units() {
        let large = gaussian_parameters(6, 5, 0.5, 1);
        let small = first_hidden(&large, 2);
        assert_eq!(
            (small.n_hidden, small.weights[2..4].to_vec()),
            (2, large.weights[5..7].to_vec())
        );
        assert_eq!(with_hidden_of(large.clone(), &small), large);
        // Of others without weights log Z has log 2 each.
        let other = gaussian_parameters(6, 2, 0.5, 2);
        let grown = with_hidden_of(Parameters::zeros(6, 5), &other);
        let [of_grown, of_other] = [&grown, &other].map(|it| exact::log_partition(it).unwrap());
        assert!((of_grown - of_other - 3.0 * 2f64.ln()).abs() < 1e-6, "{of_grown} {of_other}");
    }

    /// Of units -1 and +1 the visible bias holds a part of all couplings, and the others keep theirs.
    #[test]
    fn couplings_of_other_units_stay_as_they_are() {
        let large = Couplings::of_arrays(&gaussian_parameters(6, 5, 0.5, 1)).model().unwrap();
        let mut small = first_hidden(&large, 2);
        small.weights.iter_mut().for_each(|w| *w *= 2.0);
        let rows = small.weights.chunks_exact(2);
        let moved = rows.map(|row| row.iter().sum::<f32>() / 4.0);
        small.visible_bias.iter_mut().zip(moved).for_each(|(c, moved)| *c -= moved);
        let grown = with_hidden_of(large.clone(), &small);
        let [before, after] = [&large, &grown].map(|it| it.couplings());
        for i in 0..6 {
            assert!((before.visible_bias[i] - after.visible_bias[i]).abs() < 1e-6);
            assert_eq!(before.weights[5 * i + 2..5 * i + 5], after.weights[5 * i + 2..5 * i + 5]);
        }
    }

    /// Nothing of another model is left: neither what the rule and the offsets remember, nor the particles, nor the lengths of steps.
    #[test]
    fn a_training_begins_anew_without_a_memory() {
        let text = "[data]\nsource = \"bars-and-stripes\"\n[model]\nhidden = 16";
        let settings = [
            "training.gradient={ kind = \"pcd\", particles = 12 }",
            "training.update={ rule = \"sgd\", momentum = 0.9 }",
            "training.centering=true",
            "training.exchange=true",
            "training.updates=40",
            "tempering.chains=10",
        ];
        let config = Config::parse(text, &settings.map(String::from)).unwrap();
        let Source::BarsAndStripes(source) = &config.data.source else { unreachable!() };
        let source = Source::BarsAndStripes(*source);
        let splits = load(&source, &SplitOptions::default(), Path::new("")).unwrap();
        let begun = |updates: u64| {
            let mut trainer = Trainer::new(&config, splits.clone(), Device::default()).unwrap();
            while trainer.updates < updates {
                trainer.step().unwrap();
            }
            trainer.steps.ladders_lost = updates as u32;
            trainer.begin_anew(gaussian_parameters(16, 16, 0.5, 1));
            let representatives = trainer.rows.representatives(12);
            assert_eq!(trainer.negative_phase.particles(), Some(&representatives));
            assert_eq!(trainer.steps, Steps::default());
            let mut state = StateWriter::new();
            trainer.rule.save(&mut state);
            let offsets = trainer.centering.clone().unwrap();
            (trainer.parameters(), (offsets.visible, offsets.hidden), state.to_bytes().unwrap())
        };
        let [at_once, later] = [0, 20].map(begun);
        assert!(at_once == later, "{:?} {:?}", at_once.1, later.1);
    }
}
