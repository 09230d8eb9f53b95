//! The tracker for custom training loops.

use std::sync::Arc;

use super::settings::Settings;
use super::{LogZTrackerBuilder, TrackedData};
use crate::context::Context;
use crate::data::check_weights;
use crate::engine::BitMatrix;
use crate::engine::Moments;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::tempering::{BaseDistribution, Ladder};
use crate::tracking::{
    BOUND_ROWS, KnownStates, LogLikelihood, Model, ModelTracker, Start, TrackRecord,
    TrackerOptions, mean_log_f, weighted_log_f,
};
use crate::training::Averaged;
use crate::trust::LogZ;
use crate::units::Variables;

/// log Z of a model in training, with an error bar, from one call after every update of any loop.
///
/// Values belong to the running average of the parameters ([`LogZTracker::parameters`]), or to the parameters themselves with
/// [`LogZTrackerBuilder::averaging`] 0. Tempered chains follow them. Reading a value first equilibrates a copy of the chains at fixed
/// parameters (60 to 600 sweeps, as they need them, and up to 2000 if the chains made as many since the last reading). Read values at evaluations, not at every update.
///
/// ```
/// use ztrack::{LogZTracker, Parameters};
/// use ztrack::model::{exact, test_systems::gaussian_parameters};
/// use ztrack::engine::BitMatrix;
///
/// let rows = BitMatrix::from_fn(100, 12, |row, unit| (row + unit) % 3 == 0);
/// let mut tracker = LogZTracker::builder(&rows).hidden(6).seed(1).build()?;
/// let mut model = gaussian_parameters(12, 6, 0.3, 1);
/// for update in 0..100 {
///     model.weights.iter_mut().for_each(|w| *w *= 1.01); // any training
///     tracker.update(&model)?;
/// }
/// let found = tracker.evaluate()?;
/// let exact = exact::log_partition(tracker.parameters().expect("was updated"))?;
/// assert!(found.trust.is_sound() && (found.value - exact).abs() < 4.0 * found.std_error);
/// println!("{:.3} +- {:.3}, exact {exact:.3}", found.value, found.std_error);
/// # Ok::<(), ztrack::Error>(())
/// ```
#[derive(Clone)]
pub struct LogZTracker {
    pub(super) settings: Settings,
    pub(super) context: Context,
    pub(super) ladder: Ladder,
    pub(super) base: BaseDistribution,
    /// Rows of data, some of them for bounds.
    pub(super) data: Option<BitMatrix>,
    pub(super) particles: Option<BitMatrix>,
    pub(super) tracker: Option<ModelTracker>,
    /// The running average, if there is one.
    pub(super) averaged: Option<Averaged>,
    /// The newest parameters, if they are tracked themselves and the chains have made no step to them yet.
    pub(super) newest: Option<Parameters>,
    /// Updates after the first, which started the chains.
    pub(super) updates: u64,
    /// The update of the last step of the chains.
    pub(super) tracked_at: u64,
    /// Steps of the chains since the last evaluation.
    pub(super) steps: u64,
    pub(super) evaluated: Option<LogZ>,
}

/// States of the model, each with a weight; a mean over the model is the weighted mean over them.
#[derive(Clone, Debug)]
pub struct WeightedStates {
    /// v, [S, M].
    pub visible: BitMatrix,
    /// Add up to 1, `[S]`.
    pub weights: Vec<f64>,
}

impl LogZTracker {
    /// A tracker of a model of this data (rows [`BitMatrix`], a [`crate::data::Dataset`], or marginals `&[f64]`).
    pub fn builder<'a>(data: impl Into<TrackedData<'a>>) -> LogZTrackerBuilder<'a> {
        LogZTrackerBuilder::new(data.into())
    }

    pub(super) fn new(
        settings: Settings,
        ladder: Ladder,
        base: BaseDistribution,
        data: Option<BitMatrix>,
    ) -> Self {
        Self {
            settings,
            context: Context::default(),
            ladder,
            base,
            data,
            particles: None,
            tracker: None,
            averaged: None,
            newest: None,
            updates: 0,
            tracked_at: 0,
            steps: 0,
            evaluated: None,
        }
    }

    /// To be called after every update of the parameters, and once before the first: this starts the chains, which takes some hundred
    /// sweeps. Returns the result of a step of the chains, if one was due.
    ///
    /// # Errors
    /// Parameters of another size, or with NaN, infinite or huge values; the tracker does not change. [`Error::Interrupted`] after
    /// [`Context::cancel`]; the tracker must not be used after that.
    pub fn update(&mut self, parameters: &Parameters) -> Result<Option<TrackRecord>> {
        self.check(parameters)?;
        self.evaluated = None;
        if self.tracker.is_none() {
            let (chains, options) = (self.chains(), self.options());
            let Settings { seed, window, .. } = self.settings;
            let variables = self.base.variables();
            let mixture_of = |rows| self.settings.tempering.mixture_of(rows, variables, seed);
            let mixture = self.data.as_ref().map(mixture_of).transpose()?.flatten();
            let model = &self.model(parameters.clone());
            let start = Start { model, ladder: &self.ladder, base: &self.base };
            let mixture = mixture.map(Arc::new);
            let start = || Ok(ModelTracker::start(start, mixture, chains, seed, options).0);
            self.tracker = Some(self.context.interruptible(start)?);
            self.averaged = (window > 0.0).then(|| Averaged::new(window, parameters.clone()));
            return Ok(None);
        }
        self.updates += 1;
        if let Some(averaged) = &mut self.averaged {
            averaged.follow(parameters, self.updates);
        }
        let due = self.settings.steps().due(self.updates, self.tracked_at);
        if self.averaged.is_none() {
            self.newest = Some(parameters.clone());
        }
        if due { self.step() } else { Ok(None) }
    }

    /// Particles of a gradient by persistent chains, [rows, M], if there are any: the next evaluations check that the tracker has not
    /// missed their modes.
    ///
    /// # Errors
    /// Rows of another width.
    pub fn set_particles(&mut self, particles: &BitMatrix) -> Result<()> {
        self.check_columns(particles)?;
        self.particles = (particles.rows() > 0).then(|| particles.clone());
        Ok(())
    }

    /// log Z of [`LogZTracker::parameters`]. The first call after an update equilibrates a copy of the chains, and the filter uses the
    /// result. So values depend on when they are read.
    ///
    /// # Errors
    /// There was no update yet. [`Error::Interrupted`], as in [`Self::update`].
    pub fn evaluate(&mut self) -> Result<LogZ> {
        if let Some(evaluated) = &self.evaluated {
            return Ok(evaluated.clone());
        }
        self.started()?;
        if self.tracked_at < self.updates {
            self.step()?;
        }
        let settling = self.options().settling;
        let data = self.data.as_ref().map(|data| data.spread(BOUND_ROWS));
        let known = KnownStates {
            data: data.as_ref(),
            particles: self.particles.as_ref(),
            chains: None,
            seed: self.settings.seed,
            update: self.updates,
        };
        let Some(tracker) = &mut self.tracker else { return Err(not_started()) };
        tracker.set_settling(settling);
        self.context.interruptible(|| {
            tracker.settle(known);
            Ok(())
        })?;
        let bound = data.map_or(f64::NEG_INFINITY, |data| {
            mean_log_f(tracker.model().engine.as_ref(), &data).log_z_bound
        });
        tracker.found.bound = tracker.found.bound.max(bound);
        let evaluated = tracker.log_z_beside_rows(bound, bound);
        self.steps = 0;
        Ok(self.evaluated.insert(evaluated).clone())
    }

    /// Mean log-likelihood of rows [N, M], nats per row, with the error of log Z and that of the rows.
    ///
    /// # Errors
    /// No rows, rows of another width, or no update yet.
    pub fn log_likelihood(&mut self, rows: &BitMatrix) -> Result<LogLikelihood> {
        self.weighted_log_likelihood(rows, None)
    }

    /// The same with weights of the rows, if there are some.
    ///
    /// # Errors
    /// As [`Self::log_likelihood`], and those of [`check_weights`].
    pub fn weighted_log_likelihood(
        &mut self,
        rows: &BitMatrix,
        weights: Option<&[f64]>,
    ) -> Result<LogLikelihood> {
        self.check_columns(rows)?;
        weights.map_or(Ok(()), |weights| check_weights(weights, rows.rows()))?;
        if rows.rows() == 0 {
            return Err(Error::Invalid("log-likelihood of no rows".into()));
        }
        let LogZ { value, std_error, .. } = self.evaluate()?;
        let engine = self.started()?.model().engine.as_ref();
        let mean = match weights {
            Some(weights) => weighted_log_f(engine, rows, weights),
            None => mean_log_f(engine, rows),
        };
        Ok(mean.log_likelihood(value, std_error))
    }

    /// States of the chains with their importance weights for the model at the chains' last step.
    ///
    /// # Errors
    /// There was no update yet.
    pub fn samples(&self) -> Result<WeightedStates> {
        let chains = self.started()?.chains();
        Ok(WeightedStates { visible: chains.chains.visible.clone(), weights: chains.weights() })
    }

    /// Weighted means of v, h and vh' over the chains: the negative phase of the tempered gradient, in place of particles of PCD. To be
    /// used with `every` = 1 and `averaging` = 0.
    ///
    /// # Errors
    /// There was no update yet, or an average is tracked, whose moments are not those of the gradient.
    pub fn negative_phase(&self) -> Result<Moments> {
        let tracker = self.started()?;
        if self.averaged.is_some() {
            return Err(Error::Invalid(
                "the negative phase is that of the current parameters, and an average is tracked: build the tracker with `averaging` 0".into(),
            ));
        }
        let (chains, engine) = (tracker.chains(), tracker.model().engine.as_ref());
        let cached = chains.evaluated().cached.clone();
        Ok(engine.moments_of_cached(&chains.chains.visible, cached, Some(&chains.weights())))
    }

    /// log Z and its standard error of the filter after the last step. This costs nothing, but the value lags behind a changing model, and
    /// the error bar does not include the lag. For progress bars.
    ///
    /// # Errors
    /// There was no update yet.
    pub fn running(&self) -> Result<(f64, f64)> {
        let chains = self.started()?.chains();
        Ok((chains.log_z(), chains.std_error()))
    }

    /// The model of all values: the parameters of the last update, or their running average ([`LogZTrackerBuilder::averaging`]). `None`
    /// before the first update.
    pub fn parameters(&self) -> Option<&Parameters> {
        let stepped = self.tracker.as_ref()?.model().parameters.as_ref();
        let averaged = self.averaged.as_ref().map(Averaged::parameters);
        Some(averaged.or(self.newest.as_ref()).unwrap_or(stepped))
    }

    /// Updates since the one that started the chains.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Where the chains run, what ends their work, and its progress.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Number of visible units, M.
    pub fn visible(&self) -> usize {
        self.base.logits().len()
    }

    /// Number of hidden units, J.
    pub fn hidden(&self) -> usize {
        self.settings.hidden
    }

    /// Number of chains, S.
    pub fn chains(&self) -> usize {
        self.settings.tempering.chains
    }

    /// Number of evaluations at which the chains had missed a mode of the model, and some of them started anew from its states.
    pub fn restarts(&self) -> u64 {
        self.tracker.as_ref().map_or(0, |tracker| tracker.found.restarts)
    }

    pub(super) fn options(&self) -> TrackerOptions {
        self.settings.tracker_options(self.steps)
    }

    /// A step of the chains to the newest parameters, or to the average with them.
    fn step(&mut self) -> Result<Option<TrackRecord>> {
        let newest = self.newest.take();
        let parameters = match &self.averaged {
            Some(averaged) => averaged.parameters().clone(),
            None => match newest {
                Some(newest) => newest,
                None => return Ok(None),
            },
        };
        self.steps += 1;
        self.tracked_at = self.updates;
        let model = self.model(parameters);
        let record = self.tracker.as_mut().map(|tracker| tracker.step(model));
        self.context.check().and(Ok(record))
    }

    fn model(&self, parameters: Parameters) -> Model {
        Model::within(parameters, &self.context)
    }

    fn started(&self) -> Result<&ModelTracker> {
        self.tracker.as_ref().ok_or_else(not_started)
    }

    /// What the visible columns stand for.
    pub fn variables(&self) -> &Variables {
        self.base.variables()
    }

    fn check(&self, parameters: &Parameters) -> Result<()> {
        let found = (parameters.n_visible, parameters.n_hidden);
        let expected = (self.visible(), self.hidden());
        if found != expected {
            return Err(Error::Mismatch(format!(
                "the tracker is of a model of {} visible and {} hidden units, got parameters of {} and {}",
                expected.0, expected.1, found.0, found.1
            )));
        }
        if parameters.variables != *self.base.variables() {
            return Err(Error::Mismatch(format!(
                "the tracker is of variables `{}`, the parameters of `{}` (nothing: bits): give both the same",
                self.base.variables(),
                parameters.variables
            )));
        }
        match parameters.beyond_measure() {
            Some(what) => Err(Error::Diverged(format!("{what}: training has diverged"))),
            None => Ok(()),
        }
    }

    fn check_columns(&self, rows: &BitMatrix) -> Result<()> {
        if rows.columns() != self.visible() {
            return Err(Error::Mismatch(format!(
                "rows of {} columns for a model of {} visible units",
                rows.columns(),
                self.visible()
            )));
        }
        Ok(())
    }
}

/// Error of a tracker without an update.
pub fn not_started() -> Error {
    Error::Invalid("the tracker has no parameters yet: call `update` first".into())
}
