//! Search for modes in both layers of a model, and the resulting bounds of log Z.

use super::mean_field::MeanField;
use super::{Bound, Known, ModeSearch};
use crate::context::Context;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BitMatrix, Draw, Engine, Host, Layer, Matrix};
use crate::error::Result;
use crate::model::{Parameters, preferred_states};
use crate::tempering::BaseDistribution;
use crate::tempering::mixture::MixtureBase;

/// Random starts of the search in the hidden layer; a quarter of that in the visible one.
const RANDOM_STARTS: usize = 64;
/// Number of random visible states that are quenched, sweeps of each, and how many of the highest are ascended from. On models of
/// pumsb_star 500 miss the modes that have most of the mass.
const QUENCHED: usize = 1000;
const QUENCHING: usize = 12;
const HIGHEST: usize = 50;
/// Inverse temperature at which units take the sign of their input.
const COLD: f32 = 1e4;
/// Ascents in each layer from states that units of the other layer prefer, and number of random sets of units beside the single ones.
const UNIT_STARTS: usize = 16;
const RANDOM_SETS: usize = 32;
/// Fewest and most starts of a kind for the mean-field equations.
const FEWEST_STARTS: usize = 16;
const MOST_STARTS: usize = 64;
/// Most data rows that are evaluated.
const MOST_ROWS: usize = 400;

/// A rigorous lower bound of log Z, by search alone.
pub fn lower_bound(parameters: &Parameters, known: Known<'_>, seed: u64) -> Bound {
    let mut search = Search::new(parameters, known, seed, Context::none());
    search.combine(known, seed);
    search.bound()
}

/// A base of chains from the mean-field solutions around the states that hidden units prefer, and from a product distribution, where one is
/// known; and the highest lower bound. For models of which there are many, each for little work.
///
/// # Errors
/// None in practice.
pub fn quick_start(
    parameters: &Parameters,
    product: Option<BaseDistribution>,
    seed: u64,
    context: &Context,
) -> Result<(MixtureBase, Option<Bound>)> {
    let mut mean_field = MeanField::new(parameters, context);
    let preferred = preferred_states(parameters, [MOST_STARTS, RANDOM_SETS], seed, 0);
    mean_field.search(&likeliest_hidden(&Host::new(parameters), &preferred));
    let mixture = mean_field.mixture()?;
    let known = mixture.iter().flat_map(|it| it.components().iter().zip(it.log_shares()));
    let known = known.map(|(base, log_share)| (base.clone(), log_share.exp()));
    let uniform = || BaseDistribution::uniform(parameters.n_visible).of(&parameters.variables);
    let product = match (product, &mixture) {
        (None, None) => Some(uniform()),
        (product, _) => product,
    };
    let (bases, shares): (Vec<_>, Vec<_>) = known.chain(product.map(|it| (it, 1.0))).unzip();
    Ok((MixtureBase::new(bases, &shares)?, mean_field.bound()))
}

/// The likeliest hidden states given visible ones.
fn likeliest_hidden(engine: &Host, visible: &BitMatrix) -> BitMatrix {
    let inputs = engine.inputs(Layer::Hidden, visible);
    BitMatrix::from_fn(visible.rows(), inputs.columns(), |row, j| inputs.row(row)[j] > 0.0)
}

/// Visible states after sweeps at zero temperature from states of independent fair bits. If a model has thousands of modes, annealing from
/// the marginals does not reach those with most of the mass, and few random starts miss them.
fn quenched(engine: &Host, seed: u64) -> BitMatrix {
    let units = [Layer::Visible, Layer::Hidden].map(|layer| engine.n_units(layer));
    let mut states = units.map(|n| BitMatrix::zeros(QUENCHED, n));
    let mut inputs = units.map(|n| Matrix::filled(QUENCHED, n, 0.0));
    let draw = |to: usize, beta: f32, step: usize, inputs: &Matrix, out: &mut BitMatrix| {
        let streams = Streams::new(seed, Purpose::ModeSearch, 2 + step as u64);
        let (n_units, beta) = (units[to], &vec![beta; QUENCHED]);
        let inputs = inputs.as_slice();
        let draw = Draw { n_units, inputs, beta, base: None, streams, first_row: 0 };
        match to {
            0 => engine.draw_visible(&draw, out.words_mut()),
            _ => engine.draw(&draw, out.words_mut()),
        }
    };
    let [visible, hidden] = &mut states;
    draw(0, 0.0, 0, &inputs[0], visible);
    for sweep in 0..QUENCHING {
        engine.inputs_of(Layer::Hidden, visible.words(), inputs[1].as_mut_slice());
        draw(1, COLD, 2 * sweep + 1, &inputs[1], hidden);
        engine.inputs_of(Layer::Visible, hidden.words(), inputs[0].as_mut_slice());
        draw(0, COLD, 2 * sweep + 2, &inputs[0], visible);
    }
    let [visible, _] = states;
    visible
}

/// The searches in both layers.
pub(super) struct Search {
    hidden: ModeSearch,
    /// `None` with real variables, which have no single moves.
    visible: Option<ModeSearch>,
    engine: Host,
    pub mean_field: MeanField,
    /// Visible states that hidden units prefer.
    preferred: BitMatrix,
    /// A bound from other sources.
    known: Option<Bound>,
}

impl Search {
    pub(super) fn new(
        parameters: &Parameters,
        known: Known<'_>,
        seed: u64,
        context: &Context,
    ) -> Self {
        let mut search = Self {
            hidden: ModeSearch::new(parameters, Layer::Hidden),
            visible: (!parameters.variables.has_reals())
                .then(|| ModeSearch::new(parameters, Layer::Visible)),
            engine: Host::new(parameters),
            mean_field: MeanField::new(parameters, context),
            preferred: parameters.variables.states(0, parameters.n_visible),
            known: known.bound,
        };
        if let (Some(states), Some(_)) = (known.states, known.audited) {
            search.visible.iter_mut().for_each(|visible| visible.note(states));
            return search;
        }
        search.hidden.climb_random(RANDOM_STARTS, seed);
        let highest = search.visible.as_mut().map(|visible| {
            visible.climb_random(RANDOM_STARTS / 4, seed);
            visible.highest(&quenched(&search.engine, seed), HIGHEST)
        });
        highest.iter().for_each(|highest| search.climb(highest));
        // A pattern that only a few of many units favour is not visible in an average over units.
        let preferred = |of: &Parameters, sets| preferred_states(of, [usize::MAX, sets], seed, 0);
        search.hidden.climb_highest(&preferred(&parameters.transposed(), 0), UNIT_STARTS);
        search.preferred = preferred(parameters, RANDOM_SETS);
        let visible = search.visible.as_mut();
        let highest = visible.map(|it| it.climb_highest(&search.preferred, UNIT_STARTS));
        highest.iter().for_each(|highest| search.climb(highest));
        if let Some(rows) = known.rows {
            search.note(&rows.spread(MOST_ROWS));
        }
        if let Some(states) = known.states {
            search.note(states);
        }
        search
    }

    /// Solves the mean-field equations from the states that hidden units prefer and from known rows, ascends in both layers from the solutions
    /// and from crossovers of modes, and solves the equations from the modes.
    pub(super) fn combine(&mut self, known: Known<'_>, seed: u64) {
        let affordable = self.mean_field.affordable();
        let each = (affordable / 16).clamp(FEWEST_STARTS, MOST_STARTS);
        self.relax(&self.preferred.spread((3 * affordable / 4).max(2 * each)));
        for rows in known.rows.into_iter().chain(known.states) {
            self.relax(&rows.spread(each));
        }
        let solutions = self.mean_field.drawn(each, 1, seed);
        self.climb(&solutions);
        let found = self.visible.as_mut().map(|visible| {
            visible.from_rows(&solutions);
            visible.climb_crossovers(seed)
        });
        found.iter().for_each(|found| self.climb(found));
        self.hidden.climb_crossovers(seed);
        self.mean_field.search(&self.hidden.states_of_modes(each));
        let modes = self.visible.as_ref().map(|visible| visible.states_of_modes(each));
        modes.iter().for_each(|modes| self.relax(modes));
    }

    /// Ascends in the hidden layer from visible rows.
    pub(super) fn climb(&mut self, visible: &BitMatrix) {
        self.hidden.from_rows(&likeliest_hidden(&self.engine, visible));
    }

    /// Solves the mean-field equations from visible states.
    pub(super) fn relax(&mut self, visible: &BitMatrix) {
        self.mean_field.search(&likeliest_hidden(&self.engine, visible));
    }

    pub(super) fn note(&mut self, visible: &BitMatrix) {
        self.visible.iter_mut().for_each(|search| search.note(visible));
        self.climb(visible);
    }

    pub(super) fn bound(&self) -> Bound {
        let of = |(value, states)| Bound { value, states: Some(states) };
        let visible = self.visible.as_ref().map(|visible| of(visible.bound()));
        of(self.hidden.bound()).or(visible).or(self.mean_field.bound()).or(self.known)
    }
}
