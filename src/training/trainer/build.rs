//! Construction of a run: sizes are checked, and model, rule, particles and plan made.

use std::sync::Arc;
use std::time::Instant;

use super::Trainer;
use super::cost::{Sizes, temperatures};
use super::judging::Judge;
use super::plan::Plan;
use super::rows::RowSets;
use super::small_start::UNITS;
use super::step_limit::Steps;
use super::times::Times;
use crate::config::{
    AuditConfig, Config, GradientConfig as Gradient, ModelConfig, VisibleBias, WeightStart,
};
use crate::context::Context;
use crate::data::Splits;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::model::plus_minus::Couplings;
use crate::record::Written;
use crate::tempering::mixture::MixtureBase;
use crate::tempering::{BaseDistribution, annealing_bytes, check_memory, tempering_bytes};
use crate::tracking::Model;
use crate::training::Identity;
use crate::training::gradient::{
    Centering, ContrastiveDivergence, Exact, Exchange, NegativePhase, Particles,
    PersistentDivergence, Preconditioner, Tempered,
};
use crate::training::update::UpdateRuleConfig;
use crate::units::Variables;

/// Bytes that a weight takes while a checkpoint is written, beside chains and kernels: the state before an evaluation and that of
/// the best one, their file, histograms. 784x50000 takes 60 bytes per weight in all with SGD, 72 with Adam.
const CHECKPOINT_BYTES: f64 = 80.0;

impl Trainer {
    /// Prepares a run from its beginning.
    ///
    /// # Errors
    /// A configuration that does not fit the data or the memory of this machine.
    pub fn new(config: &Config, splits: Splits, context: impl Into<Context>) -> Result<Self> {
        let context = context.into();
        config.check()?;
        let identity = Identity::new(config, &splits, context.device())?;
        let rows = RowSets::new(splits, &config.data, config.evaluation.train_rows, config.seed)?;
        check_stopping(config, &rows)?;
        check_start(config)?;
        let training = &config.training;
        let batch = training.batch.min(rows.len());
        let sizes = sizes(config, &rows, batch);
        for Need { field, bytes, what } in memory_needs(config, &sizes) {
            check_memory(bytes, &what).map_err(|problem| Error::config(field, problem))?;
        }
        let total = match (training.updates, training.epochs) {
            (Some(updates), _) => updates,
            (None, epochs) => epochs.unwrap_or(1).saturating_mul(rows.updates_per_epoch(batch)),
        };
        let plan = Plan::new(config, sizes, total)?;
        let variables = &rows.variables;
        let base = config.tempering.base(&rows.column_counts, rows.len(), variables)?;
        let mixture = config.tempering.mixture_of(&rows.train_evaluated, variables, config.seed)?;
        let mixture = mixture.map(Arc::new);
        let parameters = initial_parameters(config, &rows.marginals, variables)?;
        let negative_phase =
            negative_phase(config, &plan, &base, mixture.as_ref(), sizes.particles)?;
        let current = Model::within(parameters, &context);
        Ok(Self {
            context,
            rule: training.update.build(
                sizes.visible,
                sizes.hidden,
                training.learning_rate.initial,
            ),
            gradient: Parameters {
                variables: rows.variables.clone(),
                ..Parameters::zeros(sizes.visible, sizes.hidden)
            },
            centering: centering(config, &rows, sizes),
            preconditioner: preconditioner(config, &rows),
            averaged: None,
            tracked_at: 0,
            tracker: None,
            view: None,
            judge: Judge::default(),
            updates: 0,
            pretrained: 0,
            times: Times::default(),
            seconds_before: 0.0,
            started: Instant::now(),
            hidden_activity: vec![0.0; sizes.hidden],
            gradient_norm: f64::NAN,
            steps: Steps::default(),
            identity,
            recorded: Written::default(),
            config: config.clone(),
            current,
            rows,
            negative_phase,
            sizes,
            plan,
            base,
            mixture,
            total,
        })
    }
}

/// Adam and the spectral rules choose the length of a step along each weight or component themselves.
fn preconditioner(config: &Config, rows: &RowSets) -> Preconditioner {
    let training = &config.training;
    let plain = matches!(training.update, UpdateRuleConfig::Sgd(_));
    if !(training.preconditioning && plain) {
        return Preconditioner::default();
    }
    let weights = rows.evaluated_weights();
    let rate = training.learning_rate.initial;
    Preconditioner::new(&rows.train_evaluated, &rows.variables, weights, rate, config.seed)
}

/// Offsets of the gradient at the start.
pub(super) fn centering(config: &Config, rows: &RowSets, sizes: Sizes) -> Option<Centering> {
    let offsets = match config.training.centering {
        true => Centering::new(rows.marginals.clone(), sizes.hidden),
        false if rows.variables.is_plus_minus() => {
            Centering::plus_minus(sizes.visible, sizes.hidden)
        }
        false => return None,
    };
    Some(match config.training.update {
        UpdateRuleConfig::Sgd(_) => offsets,
        _ => offsets.of_nonlinear_rules(),
    })
}

fn check_stopping(config: &Config, rows: &RowSets) -> Result<()> {
    if config.training.early_stopping.is_some() && rows.validation.is_none() {
        return Err(Error::config(
            "training.early_stopping",
            "needs validation rows: set data.validation_fraction or remove early stopping",
        ));
    }
    Ok(())
}

fn check_start(config: &Config) -> Result<()> {
    let problem = match config.model.start {
        WeightStart::Random => return Ok(()),
        WeightStart::Exact if config.model.hidden <= UNITS => format!(
            "\"exact\" trains {UNITS} hidden units first, and model.hidden is {}: set training.gradient = \"exact\" instead",
            config.model.hidden
        ),
        WeightStart::Exact if config.training.pretraining.is_some() => {
            "\"exact\" takes the place of training.pretraining: leave out one of them".into()
        }
        WeightStart::Exact => return Ok(()),
    };
    Err(Error::config("model.start", problem))
}

fn sizes(config: &Config, rows: &RowSets, batch: usize) -> Sizes {
    let particles = match config.training.gradient {
        Gradient::Pcd { particles, .. } if particles > 0 => particles,
        Gradient::Pcd { .. } | Gradient::Cd { .. } => batch,
        Gradient::Tempered {} => config.tempering.chains,
        Gradient::Exact {} => 0,
    };
    let (visible, hidden) = (rows.columns(), config.model.hidden);
    let chosen = config.tempering.temperatures.or(temperatures(visible, hidden));
    let temperatures = config.tempering.betas.as_ref().map_or(chosen, Vec::len);
    let reals = rows.variables.has_reals();
    Sizes { visible, hidden, batch, particles, temperatures, reals }
}

fn negative_phase(
    config: &Config,
    plan: &Plan,
    base: &BaseDistribution,
    mixture: Option<&Arc<MixtureBase>>,
    particles: usize,
) -> Result<Box<dyn NegativePhase>> {
    let seed = config.seed;
    Ok(match config.training.gradient {
        Gradient::Cd { sweeps } => Box::new(ContrastiveDivergence { sweeps, seed }),
        Gradient::Pcd { sweeps, .. } => {
            let visible = base.sample(particles, seed, 1);
            let marginals = Arc::new(MixtureBase::new(vec![base.clone()], &[1.0])?);
            let bases = [Arc::clone(mixture.unwrap_or(&marginals)), marginals];
            let particles = Particles { visible, seed, sweeps: 0 };
            let particles = PersistentDivergence { sweeps, particles };
            let Some(exchange) = plan.exchange else { return Ok(Box::new(particles)) };
            let from_start = config.training.exchange.or(false);
            Box::new(Exchange::new(particles, bases, config.tempering.chains, exchange, from_start))
        }
        // Chains beside the tracker's, which follow the average.
        Gradient::Tempered {} if plan.window != 0.0 => {
            Box::new(Tempered::with_chains(config.tempering.chains, seed, plan.gradient))
        }
        Gradient::Tempered {} => Box::new(Tempered::of_tracker()),
        Gradient::Exact {} => Box::new(Exact),
    })
}

/// Smallest probability of a state in the initial visible bias, which is finite by it where a column is always 0 or 1.
pub const LEAST_MARGINAL: f64 = 0.001;

/// The model that a run starts from.
pub(super) fn initial_parameters(
    config: &Config,
    marginals: &[f64],
    variables: &Variables,
) -> Result<Parameters> {
    let ModelConfig { hidden, weight_scale, .. } = config.model;
    let mut parameters = Parameters::random(marginals.len(), hidden, weight_scale, config.seed);
    if config.model.visible_bias == VisibleBias::Marginals {
        parameters.visible_bias = variables.logits(marginals.to_vec(), LEAST_MARGINAL);
    }
    if variables.is_plus_minus() {
        // The field of a spin is half a logit.
        parameters.visible_bias.iter_mut().for_each(|c| *c /= 2.0);
        return Couplings::of_arrays(&parameters).model();
    }
    if variables.has_reals() {
        parameters.variables = variables.clone();
        parameters.confine();
    }
    parameters.of(variables.clone())
}

/// A part of a run that takes memory.
pub(super) struct Need {
    /// The key that its size depends on.
    field: &'static str,
    pub bytes: f64,
    what: String,
}

/// Memory of a run beside the data.
pub(super) fn memory_needs(config: &Config, sizes: &Sizes) -> Vec<Need> {
    let Sizes { visible: n_visible, hidden, temperatures, .. } = *sizes;
    let chains = config.tempering.chains;
    let mut needs = vec![Need {
        field: "tempering.chains",
        bytes: tempering_bytes(chains, temperatures, n_visible, hidden)
            + CHECKPOINT_BYTES * n_visible as f64 * hidden as f64,
        what: format!("{chains} chains, {temperatures} temperatures and {hidden} hidden units"),
    }];
    let AuditConfig { chains, temperatures, .. } = config.audit;
    needs.push(Need {
        field: "audit.chains",
        bytes: annealing_bytes(chains, temperatures, n_visible, hidden),
        what: format!("audits with {chains} chains and {temperatures} temperatures"),
    });
    if let Gradient::Pcd { particles, .. } = config.training.gradient {
        needs.push(Need {
            field: "training.gradient.particles",
            bytes: particles as f64 * 9.0 * (n_visible as f64 + hidden as f64),
            what: format!("{particles} particles"),
        });
    }
    needs
}
