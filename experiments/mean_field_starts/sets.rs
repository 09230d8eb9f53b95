//! The paper's recipes of random models, all with exact log Z.

use ztrack::Result;
use ztrack::engine::random::Stream;
use ztrack::model::plus_minus::Units;
use ztrack::model::{Parameters, exact};

use super::gaussian_moments::gaussian_moments;
use super::kaufman::square_ising_log_partition;
use super::lattices::{ring, square};
use super::spins::SpinModel;
use super::transfer_matrix::ring_log_partition;

/// One random model in its own units, with log Z in those units.
pub struct Model {
    pub own: Parameters,
    pub units: Units,
    pub log_partition: f64,
}

/// Draws one model; the stream is for recipes without a seed of their own.
pub type Draw = fn(&mut Stream, seed: u64, quick: bool) -> Result<Model>;

/// Recipes of models; the first, whose layers differ in size, gives two lines.
pub const SETS: [(&str, Draw); 12] = [
    ("GWGM", |_, seed, quick| gwgm(seed, quick)),
    ("1DIsing T=10", |s, _, _| chain(s, 10.0, true)),
    ("1DIsing T=1", |s, _, _| chain(s, 1.0, true)),
    ("1DIsing T=.1", |s, _, _| chain(s, 0.1, true)),
    ("1DSG T=10", |s, _, _| chain(s, 10.0, false)),
    ("1DSG T=1", |s, _, _| chain(s, 1.0, false)),
    ("1DSG T=.1", |s, _, _| chain(s, 0.1, false)),
    ("2DIsing T=10", |s, _, _| torus(s, 10.0)),
    ("2DIsing T=1", |s, _, _| torus(s, 1.0)),
    ("2DIsing T=.1", |s, _, _| torus(s, 0.1)),
    ("2DSG T=10", |s, _, quick| glass(s, 10.0, quick)),
    ("2DSG T=.1", |s, _, quick| glass(s, 0.1, quick)),
];

fn gwgm(seed: u64, quick: bool) -> Result<Model> {
    let system =
        if quick { gaussian_moments(12, 108, seed) } else { gaussian_moments(20, 180, seed) }?;
    Ok(Model { own: system.parameters, units: Units::Binary, log_partition: system.log_partition })
}

/// Numbers from the paper's N(-100, 200), over the temperature.
fn interactions(stream: &mut Stream, count: usize, temperature: f64, equal: bool) -> Vec<f64> {
    let mut draw = || (-100.0 + 200.0 * stream.normal()) / temperature;
    if equal { vec![draw(); count] } else { (0..count).map(|_| draw()).collect() }
}

fn spins(model: &SpinModel, log_partition: f64) -> Result<Model> {
    let own = model.to_rbm(Units::PlusMinus)?;
    Ok(Model { own: own.parameters, units: Units::PlusMinus, log_partition })
}

fn chain(stream: &mut Stream, temperature: f64, equal: bool) -> Result<Model> {
    let mut draw = || interactions(stream, 200, temperature, equal);
    let (couplings, fields) = (draw(), draw());
    spins(&ring(&couplings, &fields)?, ring_log_partition(&couplings, &fields))
}

fn torus(stream: &mut Stream, temperature: f64) -> Result<Model> {
    const SIDE: usize = 16;
    let bonds = interactions(stream, SIDE * SIDE, temperature, true);
    let model = square(SIDE, SIDE, &bonds, &bonds, &[0.0; SIDE * SIDE])?;
    spins(&model, square_ising_log_partition(SIDE, SIDE, bonds[0])?)
}

/// Couplings from N(10^4, 10^4); enumerated as an RBM of half the spins.
fn glass(stream: &mut Stream, temperature: f64, quick: bool) -> Result<Model> {
    let side = if quick { 4 } else { 6 };
    let n = side * side;
    let mut draw =
        || (0..n).map(|_| 1e4 * (1.0 + stream.normal()) / temperature).collect::<Vec<f64>>();
    let model = square(side, side, &draw(), &draw(), &vec![0.0; n])?;
    let binary = model.to_rbm(Units::Binary)?;
    spins(&model, exact::log_partition(&binary.parameters)? + binary.log_constant)
}
