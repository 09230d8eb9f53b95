//! The fastest kernels on this machine, found by timing them for a few milliseconds, because cache sizes, latencies and clock differ
//! between processors with the same instructions. The choice affects only the time, so it may differ between processes.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::accumulate::look_up;
use super::packed_rows::PackedRows;
use super::shape::{Product, Shape};
use super::softplus::softplus_sums;
use super::{InstructionSet, Panels};
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BetaGrid, Draw, Layer, Matrix, padded, words_per_row};
use crate::error::{Error, Result};

/// Asks for look-up tables of a shape; nothing is timed then.
const WISH: &str = "ZTRACK_SHAPE";
/// Fewest weights of a model for which timing is worthwhile: smaller ones take microseconds per sweep.
const FEWEST_WEIGHTS: usize = 1 << 15;
/// Size of the timed problem: rows, words of units and columns of the product, and repetitions of each kernel. The shortest time counts,
/// because other work on the machine only adds to it.
const ROWS: usize = 128;
const WORDS: usize = 4;
const COLUMNS: usize = 128;
const ROUNDS: usize = 5;
/// Required gain over the default kernel: less may be chance.
const GAIN: f64 = 0.03;

/// The kernels for one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Inputs of hidden units, and statistics.
    pub hidden: Product,
    /// Inputs of visible units.
    pub visible: Product,
    /// Draws of states.
    pub draws: InstructionSet,
    /// Sums of softplus.
    pub sums: InstructionSet,
}

impl Tuning {
    /// One instruction set and shape for all.
    pub fn fixed(set: InstructionSet, shape: Shape) -> Self {
        let product = Product { set, shape };
        Self { hidden: product, visible: product, draws: set.vectors(), sums: set.vectors() }
    }

    /// The fastest for a model of this size. Timed once per process for every size.
    pub fn of(n_visible: usize, n_hidden: usize) -> Self {
        static FOUND: Mutex<BTreeMap<(usize, usize), Tuning>> = Mutex::new(BTreeMap::new());
        let set = InstructionSet::detect();
        if let Some(shape) = wish().unwrap_or(None) {
            return Self::fixed(set.vectors(), shape);
        }
        if n_visible * n_hidden < FEWEST_WEIGHTS {
            return Self::fixed(set, Shape::USUAL);
        }
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        *found.entry((n_visible, n_hidden)).or_insert_with(|| {
            let (draws, sums) = of_every_size();
            Self {
                hidden: fastest_product(n_visible, n_hidden),
                visible: fastest_product(n_hidden, n_visible),
                draws,
                sums,
            }
        })
    }

    /// The product that makes the inputs of a layer.
    pub fn product(&self, layer: Layer) -> Product {
        match layer {
            Layer::Visible => self.visible,
            Layer::Hidden => self.hidden,
        }
    }

    /// Whether the environment variable names an existing shape.
    ///
    /// # Errors
    /// Names the possible values.
    pub fn check_wish() -> Result<()> {
        wish().map(|_| ())
    }
}

fn wish() -> Result<Option<Shape>> {
    let Some(wish) = std::env::var_os(WISH) else { return Ok(None) };
    let wish = wish.to_string_lossy();
    if wish.is_empty() || wish == "best" {
        return Ok(None);
    }
    let shape = wish.parse();
    shape
        .map(Some)
        .map_err(|error: Error| Error::Unknown(format!("environment variable {WISH}: {error}")))
}

/// The fastest candidate; the first one, which is the default, unless another gains enough. Each round times all of them, so that other
/// load affects all alike.
fn fastest<T: Copy>(candidates: &[T], mut work: impl FnMut(T)) -> T {
    let mut least = vec![Duration::MAX; candidates.len()];
    for _ in 0..ROUNDS {
        for (candidate, least) in candidates.iter().zip(&mut least) {
            let start = Instant::now();
            work(*candidate);
            *least = (*least).min(start.elapsed());
        }
    }
    let (best, time) =
        (0..least.len()).map(|i| (i, least[i])).min_by_key(|(_, time)| *time).unwrap_or_default();
    let gain = 1.0 - time.as_secs_f64() / least[0].as_secs_f64();
    candidates[if gain < GAIN { 0 } else { best }]
}

/// Of a matrix of shape [units, columns].
fn fastest_product(units: usize, columns: usize) -> Product {
    let usual = Product { set: InstructionSet::detect(), shape: Shape::USUAL };
    if usual.set.has_tiles() {
        return usual;
    }
    let words = words_per_row(units).min(WORDS);
    let units = units.min(words * 64);
    let (stride, columns) = (padded(columns), padded(columns).min(COLUMNS));
    let mut stream = Streams::new(0, Purpose::TestSystem, 0).row(0);
    let given: Vec<u64> = (0..ROWS * words)
        .map(|i| {
            let used = (units - i % words * 64).min(64);
            (u64::from(stream.next_word()) << 32 | u64::from(stream.next_word()))
                & (u64::MAX >> (64 - used))
        })
        .collect();
    let (panels, scale) = (Panels::zeros(units, columns), vec![1.0; stride]);
    let mut out = Matrix::filled(ROWS, stride, 0.0);
    let mut table = Shape::largest_table();
    let sparse = vec![false; words];
    let mut candidates: Vec<Product> = Vec::new();
    for set in InstructionSet::candidates() {
        candidates.extend(Shape::all().map(|shape| Product { set, shape }));
    }
    candidates.sort_by_key(|product| *product != usual);
    let start = vec![0.0; stride];
    fastest(&candidates, |product| {
        let rows = PackedRows::new(black_box(&given), words, &start, out.as_mut_slice());
        let matrix = (black_box(&panels), units, &scale[..]);
        // SAFETY: nobody else has the output.
        unsafe { look_up(product, matrix, 0..columns, &sparse, &mut table, &rows) };
    })
}

/// Draws and sums of softplus, whose work is the same for every size.
fn of_every_size() -> (InstructionSet, InstructionSet) {
    static FOUND: OnceLock<(InstructionSet, InstructionSet)> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let mut candidates: Vec<_> =
            InstructionSet::candidates().into_iter().map(InstructionSet::vectors).collect();
        candidates.dedup();
        if candidates.len() < 2 {
            return (candidates[0], candidates[0]);
        }
        const UNITS: usize = 512;
        const ROWS: usize = 16;
        let inputs: Vec<f32> = (0..ROWS * UNITS).map(|i| (i % 97) as f32 * 0.1 - 4.8).collect();
        let mut states = vec![0u64; ROWS * words_per_row(UNITS)];
        let beta = [1.0; ROWS];
        let draw = Draw {
            n_units: UNITS,
            inputs: &inputs,
            beta: &beta,
            base: None,
            streams: Streams::new(0, Purpose::TestSystem, 1),
            first_row: 0,
        };
        let draws = fastest(&candidates, |set| draw.run(set, black_box(&mut states)));
        let betas: Vec<f64> = (0..20).map(|k| f64::from(k) / 19.0).collect();
        let grid = BetaGrid::new(&betas);
        let mut sums = vec![0.0; ROWS * betas.len()];
        let sums = fastest(&candidates, |set| {
            softplus_sums(set, UNITS, black_box(&inputs), &grid, &mut sums);
        });
        (draws, sums)
    })
}
