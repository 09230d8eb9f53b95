//! Live log Z of models of one's own, while they train: a deep Boltzmann machine of two hidden layers, and an energy by a small neural
//! network with a locally informed sampler (Zanella 2020). Each is a [`TemperedPath`]; [`PathTracker`] asks nothing else of it.
//! Every tenth evaluation is held against enumeration: `cargo run --release --example own_energy`.

use ztrack::LogZ;
use ztrack::config::{Automatic, TemperingConfig};
use ztrack::engine::random::Stream;
use ztrack::engine::{BitMatrix, States, SweepStreams, Walker, words_per_row};
use ztrack::live::PathTracker;
use ztrack::tempering::{BaseDistribution, Ladder, TemperedPath};

/// Units of a state.
const UNITS: usize = 12;
type Bits = [f64; UNITS];

/// A model with log f_beta(s), and a sweep that leaves it invariant and is its own reversal.
trait Energy: Clone + Sync {
    const NAME: &'static str;
    fn log_z_base(&self) -> f64;
    fn log_f(&self, state: &Bits, beta: f64) -> f64;
    fn sweep(&self, state: &mut Bits, beta: f64, stream: &mut Stream);
    /// Adds `step` times d/dtheta log f(s) at beta = 1 to the parameters `of` another model.
    fn climb(&self, state: &Bits, step: f64, of: &mut Self);
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Visible units 0..8 and the second hidden layer 8..12 are the state; the hidden layer between them is summed over.
#[derive(Clone)]
struct Deep {
    weights: Vec<[f64; UNITS]>,
}

impl Deep {
    fn inputs(&self, state: &Bits) -> impl Iterator<Item = f64> {
        self.weights.iter().map(move |row| row.iter().zip(state).map(|(w, s)| w * s).sum())
    }
}

impl Energy for Deep {
    const NAME: &'static str = "deep Boltzmann machine";

    fn log_z_base(&self) -> f64 {
        (UNITS + self.weights.len()) as f64 * std::f64::consts::LN_2
    }

    fn log_f(&self, state: &Bits, beta: f64) -> f64 {
        self.inputs(state).map(|x| (beta * x).exp().ln_1p()).sum()
    }

    /// The layer between given both others, then both others given it.
    fn sweep(&self, state: &mut Bits, beta: f64, stream: &mut Stream) {
        let between: Vec<f64> = self
            .inputs(state)
            .map(|x| f64::from(u8::from(stream.uniform() < sigmoid(beta * x))))
            .collect();
        for (i, bit) in state.iter_mut().enumerate() {
            let x: f64 = self.weights.iter().zip(&between).map(|(row, h)| row[i] * h).sum();
            *bit = f64::from(u8::from(stream.uniform() < sigmoid(beta * x)));
        }
    }

    fn climb(&self, state: &Bits, step: f64, of: &mut Self) {
        let means: Vec<f64> = self.inputs(state).map(sigmoid).collect();
        for (row, h) in of.weights.iter_mut().zip(means) {
            row.iter_mut().zip(state).for_each(|(w, s)| *w += step * h * s);
        }
    }
}

/// log f(s) = sum_j a_j tanh(w_j.s + b_j): no layer can be drawn given another.
#[derive(Clone)]
struct Network {
    /// w_j, b_j, a_j.
    neurons: Vec<([f64; UNITS], f64, f64)>,
}

impl Network {
    fn value(&self, state: &Bits) -> f64 {
        let neuron = |(w, b, a): &([f64; UNITS], f64, f64)| {
            a * (w.iter().zip(state).map(|(w, s)| w * s).sum::<f64>() + b).tanh()
        };
        self.neurons.iter().map(neuron).sum()
    }

    /// exp of half the change of log f_beta by each flip.
    fn pull(&self, state: &Bits, beta: f64) -> Bits {
        let here = self.value(state);
        std::array::from_fn(|i| {
            let mut flipped = *state;
            flipped[i] = 1.0 - flipped[i];
            (0.5 * beta * (self.value(&flipped) - here)).exp()
        })
    }
}

impl Energy for Network {
    const NAME: &'static str = "energy by a neural network";

    fn log_z_base(&self) -> f64 {
        UNITS as f64 * std::f64::consts::LN_2
    }

    fn log_f(&self, state: &Bits, beta: f64) -> f64 {
        beta * self.value(state)
    }

    /// Flips a unit with probability in proportion to its pull, and accepts with the ratio of the sums of pulls (Zanella 2020, g = sqrt).
    fn sweep(&self, state: &mut Bits, beta: f64, stream: &mut Stream) {
        let mut pull = self.pull(state, beta);
        for _ in 0..UNITS {
            let total: f64 = pull.iter().sum();
            let mut rest = stream.uniform() * total;
            let passed = pull.iter().position(|p| {
                rest -= p;
                rest < 0.0
            });
            let i = passed.unwrap_or(UNITS - 1);
            let mut flipped = *state;
            flipped[i] = 1.0 - flipped[i];
            let there = self.pull(&flipped, beta);
            if stream.uniform() < total / there.iter().sum::<f64>() {
                (*state, pull) = (flipped, there);
            }
        }
    }

    fn climb(&self, state: &Bits, step: f64, of: &mut Self) {
        for ((w, b, a), (new_w, new_b, new_a)) in self.neurons.iter().zip(&mut of.neurons) {
            let x = (w.iter().zip(state).map(|(w, s)| w * s).sum::<f64>() + b).tanh();
            let slope = a * (1.0 - x * x);
            new_w.iter_mut().zip(state).for_each(|(w, s)| *w += step * slope * s);
            *new_b += step * slope;
            *new_a += step * x;
        }
    }
}

/// A model on the ladder from the uniform distribution.
struct Path<E> {
    model: E,
    ladder: Ladder,
}

impl<E: Energy> TemperedPath for Path<E> {
    fn ladder(&self) -> &Ladder {
        &self.ladder
    }
    fn n_visible(&self) -> usize {
        UNITS
    }
    fn log_z_base(&self) -> f64 {
        self.model.log_z_base()
    }
    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        BaseDistribution::uniform(UNITS).sample(rows, seed, step)
    }
    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        Box::new(Rows { path: self, states })
    }
}

struct Rows<'a, E> {
    path: &'a Path<E>,
    states: States<'a>,
}

fn bits(row: &[u64]) -> Bits {
    std::array::from_fn(|i| (row[i / 64] >> (i % 64) & 1) as f64)
}

impl<E: Energy> Walker for Rows<'_, E> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        let betas = self.path.ladder.betas();
        let rows = self.states.visible.chunks_exact(words_per_row(UNITS));
        for (row, out) in rows.zip(out.chunks_exact_mut(at.len())) {
            let state = bits(row);
            out.iter_mut().zip(at).for_each(|(f, &k)| *f = self.path.model.log_f(&state, betas[k]));
        }
    }

    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        let betas = self.path.ladder.betas();
        let rows = self.states.visible.chunks_exact_mut(words_per_row(UNITS));
        for ((row, &k), chain) in rows.zip(at).zip(self.states.first_row..) {
            let mut state = bits(row);
            let mut stream = streams.visible.row(chain);
            self.path.model.sweep(&mut state, betas[k as usize], &mut stream);
            row[0] = state.iter().enumerate().map(|(i, bit)| (*bit as u64) << i).sum();
        }
    }
}

/// log of the sum of f over all states.
fn enumerated<E: Energy>(model: &E) -> f64 {
    let all: Vec<f64> = (0..1u64 << UNITS).map(|state| model.log_f(&bits(&[state]), 1.0)).collect();
    let most = all.iter().fold(f64::NEG_INFINITY, |most, x| most.max(*x));
    most + all.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

/// Trains on rows with all units of one half equal, and returns the number of evaluations, of sound ones, and of these the largest error.
fn train<E: Energy>(mut model: E, updates: usize) -> ztrack::Result<(usize, usize, f64)> {
    let (temperatures, every) = (Automatic::Given(10), Automatic::Given(1));
    let tempering = TemperingConfig { chains: 100, temperatures, every, ..Default::default() };
    let ladder = PathTracker::<Path<E>>::ladder(&tempering)?;
    let data: [Bits; 4] =
        std::array::from_fn(|n| std::array::from_fn(|i| ((n >> (i / (UNITS / 2))) & 1) as f64));
    let path_of = |model: &E| Path { model: model.clone(), ladder: ladder.clone() };
    let mut tracker = PathTracker::new(tempering, 1);
    tracker.update(path_of(&model))?;
    let (mut evaluations, mut sound, mut largest) = (0, 0, 0.0f64);
    for update in 1..=updates {
        let mut next = model.clone();
        for row in &data {
            model.climb(row, 0.1 / data.len() as f64, &mut next);
        }
        // The tracker's chains are the samples of the negative phase.
        if let Some((_, tracked)) = tracker.tracked() {
            for (row, weight) in tracked.weights().into_iter().enumerate() {
                model.climb(&bits(tracked.chains.visible.row(row)), -0.1 * weight, &mut next);
            }
        }
        model = next;
        tracker.update(path_of(&model))?;
        if update % 50 == 0 {
            let LogZ { value, std_error: error, trust } = tracker.evaluate()?;
            let exact = enumerated(&model);
            let z = (value - exact) / error;
            println!(
                "  {update:>4}: log Z {value:.3} ± {error:.3}, exact {exact:.3}, {z:+.1} errors, {trust}"
            );
            evaluations += 1;
            if trust.is_sound() {
                sound += 1;
                largest = largest.max(z.abs());
            }
        }
    }
    Ok((evaluations, sound, largest))
}

fn shown<E: Energy>(model: E, updates: usize) -> ztrack::Result<()> {
    println!("{}", E::NAME);
    let (all, sound, largest) = train(model, updates)?;
    println!("  {sound} of {all} sound, these within {largest:.1} errors");
    if sound * 2 < all || largest > 4.0 {
        return Err(ztrack::Error::Invalid(format!("{}: log Z is wrong or in doubt", E::NAME)));
    }
    Ok(())
}

fn main() -> ztrack::Result<()> {
    let updates = if std::env::args().any(|argument| argument == "--quick") { 200 } else { 1000 };
    let streams =
        ztrack::engine::random::Streams::new(2, ztrack::engine::random::Purpose::TestSystem, 0);
    let mut stream = streams.row(0);
    let weights = (0..6).map(|_| std::array::from_fn(|_| 0.1 * stream.normal())).collect();
    shown(Deep { weights }, updates)?;
    let mut neuron =
        || (std::array::from_fn(|_| 0.3 * stream.normal()), 0.0, 0.3 * stream.normal());
    let neurons = (0..8).map(|_| neuron()).collect();
    shown(Network { neurons }, updates)
}
