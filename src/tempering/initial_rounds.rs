//! Initial rounds: from a first guess of zeta to one that lets the chains visit every temperature (RTS 2.4).
//!
//! The paper stops at max |r_k - c_k| < 0.1/K, which holds for uniform r only; for any r the rule is
//! max_k |c_k/r_k - 1| < max(0.1, 3 se_k).

use rayon::prelude::*;

use super::path::{log_f, rows_per_task};
use super::{BetaUpdate, Measurement, Path, TemperedChains};
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BetaGrid, BitMatrix, Layer, Matrix, words_per_row};

/// How initial rounds are run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InitialRounds {
    /// Sweeps per round.
    pub sweeps: usize,
    /// Most rounds.
    pub most: usize,
    /// Start from an annealing pass of the same chains instead of zeta_k = log Z_1.
    pub annealed_start: bool,
}

impl Default for InitialRounds {
    fn default() -> Self {
        Self { sweeps: 50, most: 20, annealed_start: true }
    }
}

/// Why initial rounds ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundsEnd {
    /// The occupancy agreed with the prior.
    Converged,
    /// The number of rounds was used up.
    Exhausted,
}

/// What initial rounds found.
#[derive(Clone, Debug)]
pub struct RoundsRecord {
    /// zeta of each round's start and the measured c_k, for pictures like RTS Fig. 1.
    pub rounds: Vec<(Vec<f64>, Vec<f64>)>,
    /// The last measurement.
    pub measurement: Measurement,
    /// What ended them.
    pub end: RoundsEnd,
}

impl InitialRounds {
    /// Runs rounds; the last measurement's `log_z` is the zeta to go on with.
    pub fn run(
        &self,
        path: Path<'_>,
        chains: &mut TemperedChains,
        update: BetaUpdate,
    ) -> RoundsRecord {
        let zeta = if self.annealed_start {
            anneal(path, chains)
        } else {
            vec![path.log_z_base(); path.ladder.len()]
        };
        self.run_from(path, chains, update, zeta)
    }

    /// Runs rounds from a given zeta.
    pub fn run_from(
        &self,
        path: Path<'_>,
        chains: &mut TemperedChains,
        update: BetaUpdate,
        mut zeta: Vec<f64>,
    ) -> RoundsRecord {
        let mut rounds = Vec::new();
        loop {
            chains.redraw_temperatures(path.ladder.len());
            let record = chains.sweep(path, &zeta, update, self.sweeps.max(1), None);
            let measurement = super::measure(&record.occupancy, chains.len(), path.ladder, &zeta);
            let converged = measurement
                .occupancy
                .iter()
                .zip(path.ladder.log_prior())
                .zip(&measurement.variance)
                .all(|((c, log_r), variance)| {
                    (c / log_r.exp() - 1.0).abs() < 0.1f64.max(3.0 * variance.sqrt())
                });
            rounds.push((zeta, measurement.occupancy.clone()));
            let end = match (converged, rounds.len() >= self.most) {
                (true, _) => RoundsEnd::Converged,
                (false, true) => RoundsEnd::Exhausted,
                (false, false) => {
                    zeta = measurement.log_z;
                    continue;
                }
            };
            return RoundsRecord { rounds, measurement, end };
        }
    }
}

/// One annealing pass up the ladder with the chains themselves: log Z_k at every temperature (biased low), and chains
/// at beta = 1 to go on from.
fn anneal(path: Path<'_>, chains: &mut TemperedChains) -> Vec<f64> {
    let (rows, k) = (chains.len(), path.ladder.len());
    let (seed, first_step) = (chains.seed, chains.sweeps);
    chains.visible = path.base.sample(rows, seed, first_step);
    let mut log_weights = vec![0.0; rows * k];
    let task = rows_per_task(rows);
    chains
        .visible
        .words_mut()
        .par_chunks_mut(task * words_per_row(path.n_visible()))
        .zip(log_weights.par_chunks_mut(task * k))
        .enumerate()
        .for_each(|(i, (visible, weights))| {
            let pass = AnnealingPass { path, seed, first_step, first_row: (i * task) as u32 };
            pass.run(visible, weights);
        });
    chains.sweeps += k as u64;
    let mut zeta = vec![path.log_z_base(); k];
    for (j, zeta) in zeta.iter_mut().enumerate() {
        let column = (0..rows).map(|s| log_weights[s * k + j]);
        *zeta += super::log_sum_exp(column) - (rows as f64).ln();
    }
    zeta
}

struct AnnealingPass<'a> {
    path: Path<'a>,
    seed: u64,
    first_step: u64,
    first_row: u32,
}

impl AnnealingPass<'_> {
    /// `weights` [rows, K]: log importance weights at every temperature.
    fn run(&self, visible: &mut [u64], weights: &mut [f64]) {
        let Path { ops, ladder, base } = self.path;
        let (k, betas) = (ladder.len(), ladder.betas());
        let rows = weights.len() / k;
        let mut inputs = Matrix::filled(rows, self.path.n_hidden(), 0.0);
        let mut visible_inputs = Matrix::filled(rows, self.path.n_visible(), 0.0);
        let mut hidden = BitMatrix::zeros(rows, self.path.n_hidden());
        let mut pair = vec![0.0; rows * 2];
        for j in 1..k {
            ops.inputs(Layer::Hidden, visible, inputs.as_mut_slice());
            let grid = BetaGrid::new(&betas[j - 1..=j]);
            log_f(ops, base, &grid, visible, inputs.as_slice(), &mut pair);
            for (row, pair) in weights.chunks_exact_mut(k).zip(pair.chunks_exact(2)) {
                row[j] = row[j - 1] + pair[1] - pair[0];
            }
            let beta = vec![betas[j] as f32; rows];
            let step = self.first_step + j as u64;
            let draws = Streams::new(self.seed, Purpose::TemperedHidden, step);
            let n_hidden = self.path.n_hidden();
            ops.draw(
                n_hidden,
                inputs.as_slice(),
                &beta,
                None,
                draws,
                self.first_row,
                hidden.words_mut(),
            );
            ops.inputs(Layer::Visible, hidden.words(), visible_inputs.as_mut_slice());
            let draws = Streams::new(self.seed, Purpose::TemperedVisible, step);
            let base = Some(base.padded_logits());
            let n_visible = self.path.n_visible();
            ops.draw(
                n_visible,
                visible_inputs.as_slice(),
                &beta,
                base,
                draws,
                self.first_row,
                visible,
            );
        }
    }
}
