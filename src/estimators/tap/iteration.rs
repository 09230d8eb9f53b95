//! Damped iteration of the mean-field equations from several starting points at once; cycles and failures are reported.

use std::time::Instant;

use faer::Mat;
use serde::Serialize;

use super::expansion::{Expansion, TapOrder};
use crate::context::Context;
use crate::engine::random::{Purpose, Stream, Streams};
use crate::error::{Error, Result};
use crate::estimators::{Bias, Estimate, Method};
use crate::model::Parameters;
use crate::trust::{Doubt, Trust};

/// Settings of the mean-field iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// Order of the expansion.
    pub order: TapOrder,
    /// Starting points, in turn: all means 1/2, all 0 (COMPARISON's, undamped), all 1, uniform, random corners, N(0, 1).
    pub starts: usize,
    /// Fraction of the old value that is kept at an update, in [0, 1); 0 is COMPARISON's undamped iteration.
    pub damping: f64,
    /// Whether every starting point is iterated undamped as well.
    pub undamped_too: bool,
    /// Iterations after which the new fraction is halved, and again after as many more; 0: never.
    pub halve_after: usize,
    /// Most iterations.
    pub iterations: usize,
    /// Converged when no magnetisation changes by more (before damping).
    pub tolerance: f64,
    /// Seed of the random starting points.
    pub seed: u64,
}

impl Default for Tap {
    fn default() -> Self {
        Self {
            order: TapOrder::Second,
            starts: 12,
            damping: 0.5,
            undamped_too: true,
            halve_after: 500,
            iterations: 4000,
            tolerance: 1e-6,
            seed: 0,
        }
    }
}

/// Two iterations that end this much nearer to where they began than one does are a cycle of two.
const RETURN: f64 = 1e-3;

/// End of the iteration from one starting point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TapEnd {
    /// At a point that solves the equations.
    Converged,
    /// Alternating between two points.
    PeriodTwo,
    /// Neither, at the largest number of iterations.
    Unsettled,
}

/// Result of the iteration from one starting point.
#[derive(Clone, Debug)]
pub struct TapSolution {
    /// The approximation of log Z there, nats.
    pub value: f64,
    /// Why it ended.
    pub end: TapEnd,
    /// Iterations run.
    pub iterations: usize,
    /// mv, shape `[M]`.
    pub visible: Vec<f64>,
    /// mh, shape `[J]`.
    pub hidden: Vec<f64>,
}

impl Tap {
    /// The largest value of all starting points that converged; of all of them, with a doubt, where none did.
    ///
    /// The standard error is NaN: there is none.
    ///
    /// # Errors
    /// No starting point, no iteration, or a damping outside [0, 1).
    pub fn run(&self, parameters: &Parameters) -> Result<Estimate> {
        self.run_within(parameters, Context::none())
    }

    /// The same, ended by a context.
    pub(crate) fn run_within(
        &self,
        parameters: &Parameters,
        context: &Context,
    ) -> Result<Estimate> {
        let start = Instant::now();
        let solutions = self.solutions_within(parameters, context)?;
        let converged = || solutions.iter().filter(|s| s.end == TapEnd::Converged);
        let largest = |values: &mut dyn Iterator<Item = &TapSolution>| {
            values.map(|s| s.value).fold(f64::NEG_INFINITY, f64::max)
        };
        let count = converged().count();
        let value = largest(&mut if count > 0 {
            Box::new(converged()) as Box<dyn Iterator<Item = _>>
        } else {
            Box::new(solutions.iter())
        });
        let (method, bias) = match self.order {
            TapOrder::Naive => (Method::TapNaive, Bias::Low),
            TapOrder::Second => (Method::TapSecond, Bias::Biased),
            TapOrder::Third => (Method::TapThird, Bias::Biased),
        };
        Ok(Estimate {
            bias,
            seconds: start.elapsed().as_secs_f64(),
            trust: trust(&solutions),
            ..Estimate::new(method, value, f64::NAN)
        }
        .checked())
    }

    /// Every starting point's end; damped first, then undamped if selected.
    ///
    /// # Errors
    /// As [`Tap::run`].
    pub fn solutions(&self, parameters: &Parameters) -> Result<Vec<TapSolution>> {
        self.solutions_within(parameters, Context::none())
    }

    fn solutions_within(
        &self,
        parameters: &Parameters,
        context: &Context,
    ) -> Result<Vec<TapSolution>> {
        let mut solutions = self.damped(parameters, context)?;
        if self.undamped_too && self.damping > 0.0 {
            let undamped = Self {
                damping: 0.0,
                halve_after: 0,
                iterations: self.iterations.min(500),
                ..*self
            };
            solutions.extend(undamped.damped(parameters, context)?);
        }
        Ok(solutions)
    }

    /// Means of both layers, shapes [M, starts] and [J, starts]: one column a starting point, so that all of them share the
    /// passes over W.
    fn starting_means(&self, m: usize, j: usize) -> (Mat<f64>, Mat<f64>) {
        let streams = Streams::new(self.seed, Purpose::TapStart, 0);
        let (mut visible, mut hidden) =
            (Mat::full(m, self.starts, 0.5), Mat::full(j, self.starts, 0.5));
        for column in 1..self.starts {
            let mut stream = streams.row(column as u32);
            (0..m).for_each(|i| visible[(i, column)] = start_of(column, &mut stream));
            (0..j).for_each(|i| hidden[(i, column)] = start_of(column, &mut stream));
        }
        (visible, hidden)
    }

    /// Every starting point's end with the damping there is.
    fn damped(&self, parameters: &Parameters, context: &Context) -> Result<Vec<TapSolution>> {
        if self.starts == 0 || self.iterations == 0 || !(0.0..1.0).contains(&self.damping) {
            return Err(Error::Invalid(format!(
                "TAP with {} starts, {} iterations and damping {}: at least one of each and a damping in [0, 1) are needed",
                self.starts, self.iterations, self.damping
            )));
        }
        let expansion = Expansion::new(parameters, self.order);
        let (m, j, n) = (parameters.n_visible, parameters.n_hidden, self.starts);
        let (mut visible, mut hidden) = self.starting_means(m, j);
        let mut before = (visible.clone(), hidden.clone());
        let mut step = 1.0 - self.damping;
        let mut ends = vec![(TapEnd::Unsettled, self.iterations); n];
        for iteration in 1..=self.iterations {
            if context.is_interrupted() {
                break;
            }
            context.progress().at("iterations of means", iteration, self.iterations);
            if self.halve_after > 0 && iteration % self.halve_after == 0 {
                step *= 0.5;
            }
            let two_before = std::mem::replace(&mut before, (visible.clone(), hidden.clone()));
            let new_hidden =
                expansion.means(&expansion.transposed, &visible, &hidden, &expansion.b);
            let moved = towards(&mut hidden, &new_hidden, step);
            let new_visible = expansion.means(&expansion.powers, &hidden, &visible, &expansion.c);
            let moved: Vec<f64> = towards(&mut visible, &new_visible, step)
                .into_iter()
                .zip(moved)
                .map(|(a, b)| a.max(b))
                .collect();
            for (column, moved) in moved.iter().enumerate() {
                ends[column] = if *moved < self.tolerance {
                    match ends[column] {
                        (TapEnd::Converged, since) => (TapEnd::Converged, since),
                        _ => (TapEnd::Converged, iteration),
                    }
                } else {
                    let since = |(v, h): &(Mat<f64>, Mat<f64>)| {
                        distance(&visible, v, column).max(distance(&hidden, h, column))
                    };
                    let cycle = since(&two_before) < RETURN * since(&before);
                    let end = if cycle { TapEnd::PeriodTwo } else { TapEnd::Unsettled };
                    (end, self.iterations)
                };
            }
            if ends.iter().all(|(end, _)| *end == TapEnd::Converged) {
                break;
            }
        }
        let values = expansion.values(&visible, &hidden);
        let column = |m: &Mat<f64>, c: usize| m.col(c).iter().copied().collect();
        let solution = |(c, ((end, iterations), value)): (usize, ((TapEnd, usize), f64))| {
            let (visible, hidden) = (column(&visible, c), column(&hidden, c));
            TapSolution { value, end, iterations, visible, hidden }
        };
        Ok(ends.into_iter().zip(values).enumerate().map(solution).collect())
    }
}

/// An initial mean of the `column`-th starting point (see [`Tap::starts`]).
fn start_of(column: usize, stream: &mut Stream) -> f64 {
    match column {
        0 => 0.5,
        1 => 0.0,
        2 => 1.0,
        column => match column % 3 {
            0 => stream.uniform(),
            1 => f64::from(u8::from(stream.uniform() < 0.5)),
            _ => stream.normal(),
        },
    }
}

/// Moves means a fraction of the way to new ones; returns the largest component of the whole way in every column.
fn towards(means: &mut Mat<f64>, new: &Mat<f64>, step: f64) -> Vec<f64> {
    let moved = (0..means.ncols()).map(|c| distance(means, new, c)).collect();
    for c in 0..means.ncols() {
        for i in 0..means.nrows() {
            means[(i, c)] += step * (new[(i, c)] - means[(i, c)]);
        }
    }
    moved
}

/// Notes on the solutions for the user.
fn trust(solutions: &[TapSolution]) -> Trust {
    /// Solutions further apart than this are different ones, nats.
    const DIFFERENT: f64 = 1e-3;
    let n = solutions.len();
    let count = |end| solutions.iter().filter(|s| s.end == end).count();
    let (converged, cycles) = (count(TapEnd::Converged), count(TapEnd::PeriodTwo));
    let mut trust = Trust::sound();
    if cycles > 0 {
        trust.doubt(Doubt::Cycles { cycles, starts: n });
    }
    if converged + cycles < n {
        trust.doubt(Doubt::NotConverged { left: n - converged - cycles, starts: n });
    }
    let values = || solutions.iter().filter(|s| s.end == TapEnd::Converged).map(|s| s.value);
    let (low, high) =
        values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if high - low > DIFFERENT {
        trust.doubt(Doubt::SeveralSolutions { low, high });
    }
    trust
}

/// Largest difference within a column.
fn distance(a: &Mat<f64>, b: &Mat<f64>, column: usize) -> f64 {
    let pairs = a.col(column).iter().zip(b.col(column).iter());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
