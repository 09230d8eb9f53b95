//! One parameter update: data phase, negative phase, update rule, tracker.

use std::time::Instant;

use burn::tensor::{Device, Tensor};

use super::rows::Rows;
use crate::config::{AuditConfig, Config, Kernel, NegativePhase, VisibleBias};
use crate::data::{ImageShape, Splits};
use crate::error::{Error, Result};
use crate::model::{Parameters, Rbm};
use crate::ops::random::{Purpose, Streams};
use crate::ops::{Composed, Fused, RbmOps};
use crate::record::Written;
use crate::tempering::{
    BaseDistribution, Ladder, Path, RoundsRecord, TemperedChains, annealing_bytes, check_memory,
    tempering_bytes,
};
use crate::tracking::{LogZTracker, TrackRecord};
use crate::training::gradient::{
    Centering, Moments, Particles, gradient, moments, moments_from_inputs,
};
use crate::training::update::{Gradient, Sgd, SgdConfig, UpdateRule};
use crate::training::{EarlyStopping, Identity};

/// Weights beyond this size saturate every unit: training has diverged.
const LARGEST_WEIGHT: f32 = 1e3;

/// Bytes a weight takes while a checkpoint is written, beside chains and kernels: the state before an evaluation, its
/// file, histograms. 784x50000 took 60 bytes a weight in all with SGD, 72 with Adam.
const CHECKPOINT_BYTES: f64 = 48.0;

/// A run in progress.
pub struct Trainer {
    pub(super) config: Config,
    pub(super) device: Device,
    pub(super) rows: Rows,
    pub(super) rbm: Rbm,
    pub(super) ops: Box<dyn RbmOps>,
    pub(super) rule: Box<dyn UpdateRule>,
    pub(super) particles: Option<Particles>,
    pub(super) centering: Option<Centering>,
    pub(super) ladder: Ladder,
    pub(super) base: BaseDistribution,
    pub(super) tracker: Option<LogZTracker>,
    /// The model the tracker has followed so far, if that is not the current one (`tempering.every` > 1).
    pub(super) followed: Option<Followed>,
    pub(super) early_stopping: EarlyStopping,
    pub(super) updates: u64,
    pub(super) total: u64,
    pub(super) pretrained: u64,
    /// Seconds of training before this process.
    pub(super) seconds_before: f64,
    pub(super) started: Instant,
    pub(super) hidden_activity: Vec<f64>,
    pub(super) gradient_norm: f64,
    pub(super) identity: Identity,
    /// Records handed to a recorder so far.
    pub(super) recorded: Written,
}

/// What one call of [`Trainer::step`] did.
#[derive(Clone, Debug)]
pub enum StepRecord {
    /// One CD-1 update of the pre-training phase.
    Pretrained,
    /// The tracker started: initial rounds were run.
    TrackingStarted(RoundsRecord),
    /// One update; with what the tracker found, unless its next step is still to come (`tempering.every`).
    Updated(Option<TrackRecord>),
}

impl Trainer {
    /// Prepares a run from its beginning.
    ///
    /// # Errors
    /// A configuration that does not fit the data or the memory of this machine.
    pub fn new(config: &Config, splits: Splits, device: &Device) -> Result<Self> {
        config.check()?;
        let identity = Identity::new(config, &splits)?;
        let rows = Rows::new(splits, &config.data, config.evaluation.train_rows, config.seed)?;
        let stopping = config.training.early_stopping.is_some();
        if stopping && rows.validation.is_none() {
            return Err(Error::config(
                "training.early_stopping",
                "needs validation rows: set data.validation_fraction or remove early stopping",
            ));
        }
        let (n_visible, n_hidden) = (rows.columns(), config.model.hidden);
        let ladder = config.tempering.ladder()?;
        check_memory_of(config, n_visible, ladder.len())?;
        let base = config.tempering.base(&rows.train_evaluated)?;
        let parameters = initial_parameters(config, &rows.marginals);
        let rbm = Rbm::from_parameters(&parameters, device);
        let training = &config.training;
        let batch = training.batch.min(rows.len());
        let particles = match training.gradient {
            NegativePhase::Pcd { particles, .. } => {
                let count = if particles == 0 { batch } else { particles };
                Some(Particles {
                    visible: base.sample(count, config.seed, 1),
                    seed: config.seed,
                    sweeps: 0,
                })
            }
            _ => None,
        };
        let total = match (training.updates, training.epochs) {
            (Some(updates), _) => updates,
            (None, epochs) => epochs.unwrap_or(1).saturating_mul(rows.updates_per_epoch(batch)),
        };
        Ok(Self {
            device: device.clone(),
            ops: operations(config.model.kernel, &rbm, &parameters),
            rule: training.update.build(
                n_visible,
                n_hidden,
                training.learning_rate.initial,
                device,
            ),
            centering: training.centering.then(|| Centering::new(rows.marginals.clone(), n_hidden)),
            tracker: None,
            followed: None,
            early_stopping: EarlyStopping::new(),
            updates: 0,
            pretrained: 0,
            seconds_before: 0.0,
            started: Instant::now(),
            hidden_activity: vec![0.0; n_hidden],
            gradient_norm: 0.0,
            identity,
            recorded: Written::default(),
            config: config.clone(),
            rbm,
            rows,
            particles,
            ladder,
            base,
            total,
        })
    }

    /// Updates done, without pre-training.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Updates planned.
    pub fn total_updates(&self) -> u64 {
        self.total
    }

    /// Passes through the training data.
    pub fn epoch(&self) -> f64 {
        self.updates as f64 / self.rows.updates_per_epoch(self.config.training.batch) as f64
    }

    /// Training time in seconds, resumed parts included.
    pub fn seconds(&self) -> f64 {
        self.seconds_before + self.started.elapsed().as_secs_f64()
    }

    /// The model as it is now.
    pub fn parameters(&self) -> Parameters {
        self.rbm.parameters()
    }

    /// Updates of the pre-training phase done.
    pub fn pretrained(&self) -> u64 {
        self.pretrained
    }

    /// The tracker, once pre-training is over. With `tempering.every` > 1 it is up to date after every such number of
    /// updates and wherever an evaluation is due.
    pub fn tracker(&self) -> Option<&LogZTracker> {
        self.tracker.as_ref()
    }

    /// Early stopping so far.
    pub fn early_stopping(&self) -> &EarlyStopping {
        &self.early_stopping
    }

    /// Picture shape of the rows, if they are pictures.
    pub fn image(&self) -> Option<ImageShape> {
        self.rows.image
    }

    /// One pre-training update, the start of the tracker, or one update with tracking.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the parameters are not finite or beyond all measure: the run has diverged, and the
    /// trainer must not be used any more.
    pub fn step(&mut self) -> Result<StepRecord> {
        if self.pretraining_left() {
            self.pretrain()?;
            return Ok(StepRecord::Pretrained);
        }
        let Some(mut tracker) = self.tracker.take() else {
            let TemperingStart { chains, options } = self.tempering_start();
            let (tracker, rounds) = LogZTracker::start(self.path(), chains, options);
            self.tracker = Some(tracker);
            return Ok(StepRecord::TrackingStarted(rounds));
        };
        let batch = self.rows.batch(self.updates, self.config.training.batch)?;
        let data = moments(self.ops.as_ref(), &batch, None);
        let model = self.negative_phase(batch, &tracker);
        let gradient = self.gradient(&data, &model);
        let learning_rate = self.learning_rate();
        let rbm = self.rule.step(self.rbm.clone(), gradient, learning_rate);
        let before = self.rbm.clone();
        let ops = self.replace_model(rbm)?;
        let followed = self.followed.take().unwrap_or(Followed { rbm: before, ops });
        self.updates += 1;
        let record = if self.tracking_due() {
            let old = Path { ops: followed.ops.as_ref(), ladder: &self.ladder, base: &self.base };
            Some(tracker.step(old, self.path()))
        } else {
            self.followed = Some(followed);
            None
        };
        self.tracker = Some(tracker);
        Ok(StepRecord::Updated(record))
    }

    fn tracking_due(&self) -> bool {
        let multiple_of = |every| self.updates.is_multiple_of(every);
        multiple_of(self.config.tempering.every)
            || multiple_of(self.config.evaluation.every)
            || self.updates == self.total
    }

    /// The step size of the next update.
    pub fn learning_rate(&self) -> f64 {
        self.config.training.learning_rate.at(self.updates, self.total)
    }

    pub(super) fn path(&self) -> Path<'_> {
        Path { ops: self.ops.as_ref(), ladder: &self.ladder, base: &self.base }
    }

    pub(super) fn tempering_start(&self) -> TemperingStart {
        let tempering = &self.config.tempering;
        let visible = self.base.sample(tempering.chains, self.config.seed, 0);
        TemperingStart {
            chains: TemperedChains::new(visible, self.ladder.len(), self.config.seed),
            options: tempering.tracker_options(),
        }
    }

    /// Whether updates of the pre-training phase are left.
    pub fn pretraining_left(&self) -> bool {
        self.config.training.pretraining.is_some_and(|p| self.pretrained < p.updates)
    }

    fn pretrain(&mut self) -> Result<()> {
        let Some(settings) = self.config.training.pretraining else { return Ok(()) };
        // Batches of pre-training count from the far end, so that they are not those of the first epochs.
        let batch = self.rows.batch((1 << 40) + self.pretrained, settings.batch)?;
        let data = moments(self.ops.as_ref(), &batch, None);
        let mut particles =
            Particles { visible: batch, seed: !self.config.seed, sweeps: self.pretrained };
        particles.sweep(self.ops.as_ref(), 1);
        let model = moments(self.ops.as_ref(), &particles.visible, None);
        let gradient = self.gradient(&data, &model);
        let (m, j) = (self.rbm.n_visible(), self.rbm.n_hidden());
        let plain = SgdConfig { momentum: 0.0, ..SgdConfig::default() };
        let rbm = Sgd::new(plain, m, j, &self.device).step(
            self.rbm.clone(),
            gradient,
            settings.learning_rate,
        );
        self.replace_model(rbm)?;
        self.pretrained += 1;
        Ok(())
    }

    fn negative_phase(&mut self, batch: crate::ops::BitMatrix, tracker: &LogZTracker) -> Moments {
        let ops = self.ops.as_ref();
        match (self.config.training.gradient, &mut self.particles) {
            (NegativePhase::Pcd { sweeps, .. }, Some(particles)) => {
                particles.sweep(ops, sweeps);
                moments(ops, &particles.visible, None)
            }
            (NegativePhase::Cd { sweeps } | NegativePhase::Pcd { sweeps, .. }, _) => {
                let first = self.updates * sweeps as u64;
                let mut particles =
                    Particles { visible: batch, seed: self.config.seed, sweeps: first };
                particles.sweep(ops, sweeps);
                moments(ops, &particles.visible, None)
            }
            (NegativePhase::Tempered {}, _) => {
                let inputs = tracker.evaluated().inputs.clone();
                moments_from_inputs(ops, &tracker.chains.visible, inputs, Some(&tracker.weights()))
            }
        }
    }

    fn gradient(&mut self, data: &Moments, model: &Moments) -> Gradient {
        if let Some(centering) = &mut self.centering {
            centering.follow(data);
        }
        self.hidden_activity.clone_from(&data.hidden);
        let mut gradient = gradient(data, model, self.centering.as_ref(), &self.device);
        if (self.updates + 1).is_multiple_of(self.config.evaluation.every) {
            self.gradient_norm = norm(gradient.weights.clone());
        }
        let decay = self.config.training.weight_decay;
        if decay > 0.0 {
            gradient.weights = gradient.weights - self.rbm.weights.val() * decay;
        }
        gradient
    }

    /// Takes the new model and returns the operations of the old one.
    fn replace_model(&mut self, rbm: Rbm) -> Result<Box<dyn RbmOps>> {
        let parameters = rbm.parameters();
        let update = self.updates + 1;
        let remedy = "lower training.learning_rate.initial or raise tempering.chains";
        if let Some(name) = parameters.not_finite() {
            return Err(Error::Invalid(format!(
                "training diverged at update {update}: `{name}` contains NaN or infinity; {remedy}"
            )));
        }
        let largest = parameters.weights.iter().fold(0.0f32, |max, w| max.max(w.abs()));
        if largest > LARGEST_WEIGHT {
            return Err(Error::Invalid(format!(
                "training diverged at update {update}: a weight reached {largest:.0}; {remedy}"
            )));
        }
        let ops = operations(self.config.model.kernel, &rbm, &parameters);
        self.rbm = rbm;
        Ok(std::mem::replace(&mut self.ops, ops))
    }
}

/// A model and its operations.
pub(super) struct Followed {
    pub rbm: Rbm,
    pub ops: Box<dyn RbmOps>,
}

pub(super) struct TemperingStart {
    pub chains: TemperedChains,
    pub options: crate::tracking::TrackerOptions,
}

pub(super) fn operations(kernel: Kernel, rbm: &Rbm, parameters: &Parameters) -> Box<dyn RbmOps> {
    match kernel {
        Kernel::Fused => Box::new(Fused::new(parameters)),
        Kernel::Composed => Box::new(Composed::new(rbm)),
    }
}

/// Frobenius norm, summed in f64 on the host so that every device gives the same.
pub(super) fn norm(tensor: Tensor<2>) -> f64 {
    crate::model::host(tensor).iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

fn initial_parameters(config: &Config, marginals: &[f64]) -> Parameters {
    let (m, j) = (marginals.len(), config.model.hidden);
    let mut parameters = Parameters::zeros(m, j);
    let streams = Streams::new(config.seed, Purpose::Weights, 0);
    for (i, row) in parameters.weights.chunks_exact_mut(j).enumerate() {
        let mut stream = streams.row(i as u32);
        row.iter_mut().for_each(|w| *w = (config.model.weight_scale * stream.normal()) as f32);
    }
    if config.model.visible_bias == VisibleBias::Marginals {
        for (bias, p) in parameters.visible_bias.iter_mut().zip(marginals) {
            // Units that are always 0 or 1 get a finite bias.
            let p = p.clamp(0.001, 0.999);
            *bias = (p / (1.0 - p)).ln() as f32;
        }
    }
    parameters
}

/// Refuses chains and audits that would not fit in memory.
fn check_memory_of(config: &Config, n_visible: usize, temperatures: usize) -> Result<()> {
    let (chains, hidden) = (config.tempering.chains, config.model.hidden);
    let bytes = tempering_bytes(chains, temperatures, n_visible, hidden)
        + CHECKPOINT_BYTES * n_visible as f64 * hidden as f64;
    let what = format!("{chains} chains, {temperatures} temperatures and {hidden} hidden units");
    check_memory(bytes, &what).map_err(|problem| Error::config("tempering.chains", problem))?;
    let AuditConfig { chains, temperatures, .. } = config.audit;
    let bytes = annealing_bytes(chains, temperatures, n_visible, hidden);
    let what = format!("audits with {chains} chains and {temperatures} temperatures");
    check_memory(bytes, &what).map_err(|problem| Error::config("audit.chains", problem))?;
    if let NegativePhase::Pcd { particles, .. } = config.training.gradient {
        let bytes = particles as f64 * 9.0 * (n_visible as f64 + hidden as f64);
        check_memory(bytes, &format!("{particles} particles"))
            .map_err(|problem| Error::config("training.gradient.particles", problem))?;
    }
    Ok(())
}
