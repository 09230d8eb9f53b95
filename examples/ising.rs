//! Units of -1 and +1: an RBM trained on Ising spins, beside the exact entropy, and log Z of a spin glass.
//!
//!     cargo run --release --example ising [-- --quick]

use ztrack::engine::random::{Purpose, Streams};
use ztrack::estimators::{EstimateSettings, Starting};
use ztrack::model::{exact, plus_minus::Couplings};
use ztrack::{Options, Parameters, Result, fit};

#[allow(dead_code)]
#[path = "../experiments/mean_field_starts/kaufman.rs"]
mod kaufman;

/// Sites a side of the square lattice, a torus; even.
const SIDE: usize = 6;
/// J/T: the critical point of the infinite lattice.
const COUPLING: f64 = 0.440_686_8;
/// Hidden units of the RBM; few enough that its log Z is enumerated.
const HIDDEN: usize = 20;

/// The sites right of a site, below, left and above.
fn neighbours(site: usize) -> [usize; 4] {
    let (r, c) = (site / SIDE, site % SIDE);
    let at = |r: usize, c: usize| r % SIDE * SIDE + c % SIDE;
    [at(r, c + 1), at(r + 1, c), at(r, c + SIDE - 1), at(r + SIDE - 1, c)]
}

fn is_black(site: usize) -> bool {
    (site / SIDE + site % SIDE).is_multiple_of(2)
}

/// Independent states of the lattice. As a chessboard it is an RBM with units -1 and +1: black sites are visible, white ones hidden.
fn lattice_states(rows: usize) -> Result<Vec<Vec<i8>>> {
    let n = SIDE * SIDE / 2;
    let mut weights = vec![0.0; n * n];
    for site in (0..2 * n).filter(|&site| is_black(site)) {
        neighbours(site).into_iter().for_each(|to| weights[site / 2 * n + to / 2] += COUPLING);
    }
    let fields = vec![0.0; n];
    let board = Couplings {
        n_visible: n,
        n_hidden: n,
        weights,
        visible_bias: fields.clone(),
        hidden_bias: fields,
    };
    let black = exact::samples(&board.model()?, rows, 1)?;
    let streams = Streams::new(2, Purpose::SampleHidden, 0);
    let state = |row: usize| {
        let mut stream = streams.row(row as u32);
        let mut state = vec![0; 2 * n];
        for site in (0..2 * n).filter(|&site| is_black(site)) {
            state[site] = if black.get(row, site / 2) { 1 } else { -1 };
        }
        for site in (0..2 * n).filter(|&site| !is_black(site)) {
            let sum: i8 = neighbours(site).into_iter().map(|to| state[to]).sum();
            let up = 1.0 / (1.0 + (-2.0 * COUPLING * f64::from(sum)).exp());
            state[site] = if stream.uniform() < up { 1 } else { -1 };
        }
        state
    };
    Ok((0..rows).map(state).collect())
}

/// log p of a state, exact.
fn log_p(state: &[i8], log_z: f64) -> f64 {
    let bonds = |site: usize| {
        let [right, below, ..] = neighbours(site);
        f64::from(state[site] * (state[right] + state[below]))
    };
    COUPLING * (0..state.len()).map(bonds).sum::<f64>() - log_z
}

fn lattice(quick: bool) -> Result<()> {
    let log_z = |coupling| kaufman::square_ising_log_partition(SIDE, SIDE, coupling);
    let exact = log_z(COUPLING)?;
    let energy = (log_z(COUPLING + 1e-4)? - log_z(COUPLING - 1e-4)?) / 2e-4;
    let entropy = exact - COUPLING * energy;
    let (rows, epochs) = if quick { (2000, 20) } else { (20_000, 100) };
    let states = lattice_states(rows)?;
    let options = Options { hidden: HIDDEN, epochs, ..Options::default() };
    let found = fit(&states, options)?;
    let of_rows = states.iter().map(|state| log_p(state, exact)).sum::<f64>() / rows as f64;
    println!("Ising model, {SIDE} x {SIDE} spins on a torus, J/T = {COUPLING}; nats a state");
    println!("  entropy by Kaufman's log Z           {entropy:8.3}");
    println!("  exact log p of the {rows} rows      {of_rows:9.3}");
    println!("  the trained RBM on its training rows {:8.3}", found.train.value);
    println!("  independent spins                    {:8.3}", -((SIDE * SIDE) as f64) * 2f64.ln());
    let held_out = lattice_states(rows + 2000)?.split_off(rows);
    let bits = ztrack::BitMatrix::from_fn(2000, SIDE * SIDE, |row, i| held_out[row][i] == 1);
    let value = exact::mean_log_likelihood(&found.parameters, &bits)?;
    let best = held_out.iter().map(|state| log_p(state, exact)).sum::<f64>() / 2000.0;
    println!("  2000 other rows: the RBM {value:.3}, exact {best:.3}");
    let mean = found.parameters.couplings().weights.iter().map(|j| j.abs()).sum::<f64>();
    println!("  mean |J| of the RBM {:.3}", mean / (SIDE * SIDE * HIDDEN) as f64);
    Ok(())
}

/// Sherrington and Kirkpatrick's spin glass in the two layers of an RBM: J_ij ~ N(0, beta^2/n), no fields.
fn spin_glass(n: usize, beta: f64, seed: u64) -> Result<Parameters> {
    let weights = Parameters::random(n, n, beta / (n as f64).sqrt(), seed).couplings().weights;
    let fields = || vec![0.0; n];
    let (visible_bias, hidden_bias) = (fields(), fields());
    Couplings { n_visible: n, n_hidden: n, weights, visible_bias, hidden_bias }.model()
}

fn main() -> Result<()> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    lattice(quick)?;
    println!(
        "\nSherrington-Kirkpatrick spin glass, 18 + 18 spins\n  beta    exact log Z   estimates"
    );
    for beta in [0.5, 1.0, 2.0] {
        let model = spin_glass(18, beta, 3)?;
        let methods = vec!["rts".parse()?, "ais".parse()?];
        let settings = EstimateSettings { methods, seed: 1, ..EstimateSettings::default() };
        let found = settings.run(&model, Starting::default(), &mut |_step| {})?;
        let shown = |it: &ztrack::Estimate| {
            format!("{} {:.4} +- {:.4}", it.method.name(), it.value, it.std_error)
        };
        let shown: Vec<String> = found.estimates.iter().map(shown).collect();
        println!("  {beta}   {:12.4}   {}", exact::log_partition(&model)?, shown.join(", "));
    }
    Ok(())
}
