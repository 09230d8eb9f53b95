//! All states of one layer in Gray-code order, with the other layer summed out of each.
//!
//! log f(s) = bias.s + A(x(s)),   x_i(s) = other_bias_i + sum_{a in s} W_ai,   A(x) = sum_i softplus(x_i) where the other layer is of bits
//!
//! Neighbouring states differ in one unit. While every |x_i| stays below [`ODDS_LIMIT`] and bias.s below [`BIAS_LIMIT`] the walk
//! carries the odds exp(x_i): a flip multiplies them by exp(+-W_ai) and exp A needs one logarithm a state and no
//! exponential. It starts afresh every [`BLOCK`] states, which keeps the rounding error of log f below about 1e-10. Models
//! beyond that range take the plain route: every state's sums are computed from nothing, with what each addition rounds
//! off added at the end, because adding and taking away a weight of 1e20 would lose all others.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::Context;
use crate::model::Parameters;
use crate::numerics::softplus;
use crate::units::{Variable, Variables};

/// States between two fresh starts.
pub(super) const BLOCK: u64 = 512;
/// Work is cut into at most this many pieces, whatever the number of threads.
const PIECES: u64 = 256;
/// Largest |x_i| for which odds are carried; exp(2 x 300) is still far from overflow.
const ODDS_LIMIT: f64 = 300.0;
/// Largest sum of |biases| that is carried from state to state.
const BIAS_LIMIT: f64 = 1e4;
/// Independent running products, so that the compiler vectorises.
const LANES: usize = 16;

/// One layer to be enumerated and the other to be summed out, f64.
pub(super) struct Enumeration {
    /// Bias of the enumerated units.
    pub(super) bias: Vec<f64>,
    /// Units of the layer that is summed out.
    pub(super) n_other: usize,
    other_bias: Vec<f64>,
    /// Constant of log f: that of units -1 and +1.
    offset: f64,
    /// Row a: contribution of unit a to x.
    weights: Vec<Vec<f64>>,
    /// Row a: exp(weights) and exp(-weights), padded with 1 to whole lanes. Empty where odds would overflow.
    ratios: Vec<[Vec<f64>; 2]>,
    /// Factors 1 + odds a lane can take before its exponent must be set aside.
    safe_factors: usize,
    /// States visited so far by all threads, for the display of progress.
    visited: AtomicU64,
    context: Context,
    /// What the enumerated units stand for; other states have log f = -infinity.
    own: Variables,
    /// What the other units stand for.
    pub(super) other: Variables,
}

/// The current state.
pub(super) struct Visit<'a> {
    /// Bit a is unit a.
    pub(super) state: u64,
    /// The unit that changed since the last visit; `None` at a fresh start.
    pub(super) flipped: Option<usize>,
    /// log f(state).
    pub(super) log_f: f64,
    /// Bound on what rounding changes of `log_f`, where its terms can be much larger than their sum; else 0.
    pub(super) rounding: f64,
    values: &'a [f64],
    are_odds: bool,
    other: &'a Variables,
}

impl Visit<'_> {
    /// P(other unit i is on | state), in order of i.
    pub(super) fn for_each_probability(&self, mut use_it: impl FnMut(usize, f64)) {
        if !self.are_odds {
            let means = self.other.means(self.values.iter().copied());
            means.into_iter().enumerate().for_each(|(i, p)| use_it(i, p));
        } else if self.other.is_bits() {
            self.values.iter().enumerate().for_each(|(i, odds)| use_it(i, odds / (1.0 + odds)));
        } else {
            for variable in self.other.categorical() {
                let all = sum_of_odds(variable, self.values);
                variable.range().for_each(|i| use_it(i, self.values[i] / all));
            }
        }
    }
}

impl Enumeration {
    /// The tempered joint beta log f(v,h) + (1 - beta) a.v with v (`visible`) or h enumerated.
    pub(super) fn new(parameters: &Parameters, logits: &[f64], beta: f64, visible: bool) -> Self {
        let scaled = |values: &[f32]| values.iter().map(|&x| beta * f64::from(x)).collect();
        let of_base = logits.iter().map(|&a| a as f32).collect::<Vec<f32>>();
        let of_base = parameters.variables.offset(&of_base);
        let offset = beta * parameters.log_offset() + (1.0 - beta) * of_base;
        let mut visible_bias: Vec<f64> = scaled(&parameters.visible_bias);
        for (c, a) in visible_bias.iter_mut().zip(logits) {
            *c += (1.0 - beta) * a;
        }
        let hidden_bias: Vec<f64> = scaled(&parameters.hidden_bias);
        let transposed;
        let variables = parameters.variables.clone();
        let (weights, bias, other_bias, own, other) = if visible {
            (&parameters.weights, visible_bias, hidden_bias, variables, Variables::BITS)
        } else {
            transposed = parameters.transposed().weights;
            (&transposed, hidden_bias, visible_bias, Variables::BITS, variables)
        };
        let n_other = other_bias.len();
        let weights: Vec<Vec<f64>> = weights.chunks_exact(n_other).map(scaled).collect();

        let largest = (0..n_other)
            .flat_map(|i| {
                let x = |side: fn(f64, f64) -> f64| {
                    other_bias[i] + weights.iter().map(|row| side(row[i], 0.0)).sum::<f64>()
                };
                [x(f64::max), -x(f64::min)]
            })
            .fold(0.0, f64::max);
        let biases: f64 = bias.iter().map(|b| b.abs()).sum();
        let has_reals = parameters.variables.has_reals();
        let ratios = if largest <= ODDS_LIMIT && biases <= BIAS_LIMIT && !has_reals {
            let padded = |row: &[f64], sign: f64| {
                let mut ratios: Vec<f64> = row.iter().map(|w| (sign * w).exp()).collect();
                ratios.resize(n_other.next_multiple_of(LANES), 1.0);
                ratios
            };
            weights.iter().map(|row| [padded(row, -1.0), padded(row, 1.0)]).collect()
        } else {
            Vec::new()
        };
        // 700 < log(largest f64), less a factor 2 that may already be in the lane.
        let safe_factors = (700.0 / softplus(largest)) as usize;
        let visited = AtomicU64::new(0);
        Self {
            bias,
            n_other,
            other_bias,
            offset,
            weights,
            ratios,
            safe_factors,
            visited,
            context: Context::none().clone(),
            own,
            other,
        }
    }

    /// Enumerates the smaller layer.
    pub(super) fn of_smaller(parameters: &Parameters, logits: &[f64], beta: f64) -> Self {
        Self::new(parameters, logits, beta, parameters.enumerates_visible())
    }

    /// The same, ended by a context.
    pub(super) fn within(self, context: &Context) -> Self {
        Self { context: context.clone(), ..self }
    }

    /// Consecutive ranges of Gray-code positions, together all 2^n of them.
    pub(super) fn pieces(&self) -> Vec<Range<u64>> {
        let states = 1u64 << self.bias.len();
        let size = (states / PIECES).max(64).min(states);
        (0..states / size).map(|i| i * size..(i + 1) * size).collect()
    }

    /// Visits the states at the given Gray-code positions in order, with a fresh start every [`BLOCK`].
    pub(super) fn walk(&self, positions: Range<u64>, mut visit: impl FnMut(Visit)) {
        let are_odds = !self.ratios.is_empty();
        let mut values = Vec::new();
        let mut linear = 0.0;
        for position in positions.clone() {
            let state = position ^ (position >> 1);
            let fresh = position == positions.start || position % BLOCK == 0;
            let unit = position.trailing_zeros() as usize;
            if fresh {
                if self.context.is_interrupted() {
                    return;
                }
                let states = 1 << self.bias.len();
                let visited = self.visited.fetch_add(BLOCK, Ordering::Relaxed).min(states);
                let progress = self.context.progress();
                progress.at("enumerated states", visited as usize, states as usize);
            }
            let mut rounding = 0.0;
            let log_f = if are_odds && !fresh {
                let on = state >> unit & 1 == 1;
                linear += if on { self.bias[unit] } else { -self.bias[unit] };
                let ratios = &self.ratios[unit][usize::from(on)];
                linear + self.log_product::<true>(&mut values, ratios)
            } else {
                (values, linear) = self.start(state);
                if are_odds {
                    linear + self.log_product::<false>(&mut values, &[])
                } else {
                    let log_sum = self.other.log_partition(values.iter().copied());
                    rounding = 4.0 * f64::EPSILON * (linear.abs() + log_sum.abs());
                    linear + log_sum
                }
            };
            let log_f = if self.own.allow(&[state]) { log_f } else { f64::NEG_INFINITY };
            let values = &values[..self.n_other];
            let (flipped, other) = ((!fresh).then_some(unit), &self.other);
            visit(Visit { state, flipped, log_f, rounding, values, are_odds, other });
        }
    }

    /// x or the odds (padded with 0 to whole lanes), and bias.s with the constant, computed from nothing.
    fn start(&self, state: u64) -> (Vec<f64>, f64) {
        let mut x = self.other_bias.clone();
        let mut lost = vec![0.0; x.len()];
        let (mut linear, mut linear_lost) = (self.offset, 0.0);
        for unit in (0..self.bias.len()).filter(|unit| state >> unit & 1 == 1) {
            add(&mut linear, &mut linear_lost, self.bias[unit]);
            let sums = x.iter_mut().zip(&mut lost).zip(&self.weights[unit]);
            sums.for_each(|((x, lost), w)| add(x, lost, *w));
        }
        linear += linear_lost;
        x.iter_mut().zip(&lost).for_each(|(x, lost)| *x += lost);
        if !self.ratios.is_empty() {
            x.iter_mut().for_each(|x| *x = x.exp());
            x.resize(self.n_other.next_multiple_of(LANES), 0.0);
        }
        (x, linear)
    }

    /// sum_i log(1 + odds_i), after odds_i *= ratios_i if `FLIP`.
    fn log_product<const FLIP: bool>(&self, odds: &mut [f64], ratios: &[f64]) -> f64 {
        if !self.other.is_bits() {
            return self.log_sums::<FLIP>(odds, ratios);
        }
        let mut products = [1.0f64; LANES];
        let mut exponents = [0i64; LANES];
        let span = LANES * self.safe_factors;
        for (block, start) in odds.chunks_mut(span).zip((0..).step_by(span)) {
            let steps = block.chunks_exact_mut(LANES).zip((start..).step_by(LANES));
            for (odds, first) in steps {
                if FLIP {
                    let ratios = &ratios[first..first + LANES];
                    for lane in 0..LANES {
                        odds[lane] *= ratios[lane];
                    }
                }
                for lane in 0..LANES {
                    products[lane] *= 1.0 + odds[lane];
                }
            }
            // Every product is >= 1 and finite: set its binary exponent aside, keep the mantissa in [1, 2).
            for lane in 0..LANES {
                let bits = products[lane].to_bits();
                exponents[lane] += (bits >> 52) as i64 - 1023;
                products[lane] = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
            }
        }
        exponents.iter().sum::<i64>() as f64 * std::f64::consts::LN_2
            + products.iter().product::<f64>().ln()
    }

    /// The same for categorical variables: the sum over them of log(i + sum_a odds_a).
    fn log_sums<const FLIP: bool>(&self, odds: &mut [f64], ratios: &[f64]) -> f64 {
        if FLIP {
            odds.iter_mut().zip(ratios).for_each(|(odds, ratio)| *odds *= ratio);
        }
        let (mut product, mut logarithms) = (1.0f64, 0.0);
        for variable in self.other.categorical() {
            product *= sum_of_odds(variable, odds);
            if !(1e-150..1e150).contains(&product) {
                logarithms += product.ln();
                product = 1.0;
            }
        }
        logarithms + product.ln()
    }
}

/// i + sum_a odds_a of one categorical variable.
fn sum_of_odds(variable: &Variable, odds: &[f64]) -> f64 {
    let implicit = if variable.implicit { 1.0 } else { 0.0 };
    odds[variable.range()].iter().fold(implicit, |sum, odds| sum + odds)
}

/// sum += term, and what the rounding took away is added to `lost` (Knuth's two-sum: exact in any order of magnitude).
fn add(sum: &mut f64, lost: &mut f64, term: f64) {
    let new = *sum + term;
    let taken = new - *sum;
    *lost += (*sum - (new - taken)) + (term - taken);
    *sum = new;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_systems::gaussian_parameters;

    #[test]
    fn carried_odds_agree_with_softplus_on_every_state() {
        // All x = 290 in the last model: thirteen factors exp(290) to a lane would overflow unattended.
        let mut steep = Parameters::zeros(205, 11);
        steep.weights.fill(290.0 / 11.0);
        let gaussian = |scale| gaussian_parameters(37, 11, scale, 5);
        for parameters in [gaussian(0.1), gaussian(2.0), gaussian(20.0), steep] {
            let mut walk = Enumeration::of_smaller(&parameters, &[], 1.0);
            assert!(!walk.ratios.is_empty());
            let log_f = |walk: &Enumeration| {
                let mut all = Vec::new();
                walk.walk(0..1 << 11, |visit| {
                    let mut mean = 0.0;
                    visit.for_each_probability(|_, p| mean += p);
                    all.push((visit.state, visit.log_f, mean));
                });
                all
            };
            let odds = log_f(&walk);
            walk.ratios.clear();
            for ((state, fast, p), (other, slow, q)) in odds.into_iter().zip(log_f(&walk)) {
                assert_eq!(state, other);
                assert!((fast - slow).abs() < 1e-11 * slow.abs().max(1.0), "{fast} {slow}");
                assert!((p - q).abs() < 1e-10, "{p} {q}");
            }
        }
    }

    #[test]
    fn pieces_cover_every_state_once() {
        for n in 1..14 {
            let parameters = Parameters::zeros(40, n);
            let walk = Enumeration::of_smaller(&parameters, &[], 1.0);
            let mut seen = vec![0; 1 << n];
            for piece in walk.pieces() {
                walk.walk(piece, |visit| seen[visit.state as usize] += 1);
            }
            assert!(seen.iter().all(|&count| count == 1), "{n} units: {seen:?}");
        }
    }
}
