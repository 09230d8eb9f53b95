//! A custom ladder of densities: a ring of Ising spins, f_k(s) = exp(beta_k J sum_i s_i s_{i+1}), with known log Z.
//! Tempered sampling and annealing use it like that of an RBM: `cargo run --release --example own_ladder`.

use ztrack::engine::{BitMatrix, States, SweepStreams, Walker, words_per_row};
use ztrack::estimators::{ais, rts};
use ztrack::tempering::{
    BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior, TemperedChains, TemperedPath,
    Tempering,
};

const SPINS: usize = 100;
const COUPLING: f64 = 0.8; // J
struct Ring(Ladder);

impl TemperedPath for Ring {
    fn ladder(&self) -> &Ladder {
        &self.0
    }
    fn n_visible(&self) -> usize {
        SPINS
    }
    fn log_z_base(&self) -> f64 {
        SPINS as f64 * std::f64::consts::LN_2
    }
    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        BaseDistribution::uniform(SPINS).sample(rows, seed, step)
    }
    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        Box::new(Spins { betas: self.0.betas(), states })
    }
}

struct Spins<'a> {
    betas: &'a [f64],
    states: States<'a>,
}

fn spin(row: &[u64], i: usize) -> f64 {
    if row[i / 64] >> (i % 64) & 1 == 1 { 1.0 } else { -1.0 }
}

impl Walker for Spins<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        let rows = self.states.visible.chunks_exact(words_per_row(SPINS));
        for (row, out) in rows.zip(out.chunks_exact_mut(at.len())) {
            let bonds: f64 = (0..SPINS).map(|i| spin(row, i) * spin(row, (i + 1) % SPINS)).sum();
            out.iter_mut().zip(at).for_each(|(f, &k)| *f = self.betas[k] * COUPLING * bonds);
        }
    }

    /// Updates spin by spin, forward and then backward, so the sweep is its own reversal.
    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        let rows = self.states.visible.chunks_exact_mut(words_per_row(SPINS));
        for ((row, &k), chain) in rows.zip(at).zip(self.states.first_row..) {
            let (mut stream, scale) = (streams.visible.row(chain), 2.0 * self.betas[k as usize]);
            for i in (0..SPINS).chain((0..SPINS).rev()) {
                let around = spin(row, (i + 1) % SPINS) + spin(row, (i + SPINS - 1) % SPINS);
                let up = 1.0 / (1.0 + (-scale * COUPLING * around).exp());
                let bit = u64::from(stream.uniform() < up) << (i % 64);
                row[i / 64] = row[i / 64] & !(1 << (i % 64)) | bit;
            }
        }
    }
}

fn main() -> ztrack::Result<()> {
    let sweeps = if std::env::args().any(|argument| argument == "--quick") { 100 } else { 2000 };
    let ring = |k| Ladder::linear(k, &Prior::Uniform).map(Ring);
    let (short, long) = (ring(20)?, ring(sweeps)?);
    let mut chains = TemperedChains::new(short.sample_base(100, 1, 0), 20, 1);
    let mut chains = Tempering::new(&short, &mut chains, BetaUpdate::Collapsed);
    // Z = (2 cosh J)^n + (2 sinh J)^n.
    let n = SPINS as f64;
    let exact = n * (2.0 * COUPLING.cosh()).ln() + COUPLING.tanh().powf(n).ln_1p();
    for found in [rts(&mut chains, &InitialRounds::default(), sweeps)?, ais(&long, 100, 2)?] {
        let z = (found.value - exact) / found.std_error;
        println!("{:>4}: {:.4}, exact {exact:.4}, z = {z:+.2}", found.method, found.value);
    }
    Ok(())
}
