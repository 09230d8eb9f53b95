//! Models of hundreds of hidden units whose log Z is known by construction.

use std::collections::BTreeMap;

use anyhow::Result;
use ztrack::Parameters;
use ztrack::engine::random::Stream;
use ztrack::model::exact;
use ztrack::model::test_systems::{TestSystem, gaussian_parameters, independent, islands};

/// How a model is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Planted {
    /// `switches` hidden units that are on near one pattern of 100 columns, with this weight, `decoys` with weights away from it that are
    /// never on, and a weak field away from it: nearly all of Z is either within a few flips of the pattern or spread over all states.
    Needle { switches: usize, decoys: usize, weight: f32 },
    /// Weights u_i a_j + w_i b_j with integers u and w in -1, 0, 1 (rank 2), or u in -1, 1 (rank 1: a ferromagnet in a random gauge,
    /// Mattis): columns, hidden units, rank, strength.
    LowRank(usize, usize, usize, f32),
    /// Independent blocks of 10 columns and 8 hidden units in random order: blocks, standard deviation of the weights.
    Blocks(usize, f32),
    /// Independent groups of 40 columns and 12 hidden units in random order, each with a background and four isolated states: groups, and
    /// whether the layers are exchanged.
    Islands(usize, bool),
    /// Independent groups of isolated states of one hidden unit each, lighter than what is around them, beside independent blocks of 40
    /// columns and 12 hidden units with much entropy: groups, states of each, blocks.
    States(usize, usize, usize),
    /// Gaussian, few columns and many hidden units: columns, hidden units, standard deviation.
    Tall(usize, usize, f64),
}

impl Planted {
    /// Its name, without the seed.
    pub fn name(self) -> String {
        match self {
            Self::Needle { switches, decoys, weight } => {
                format!("needle-{}-{weight}", switches + decoys)
            }
            Self::LowRank(m, j, rank, w) => format!("rank{rank}-{m}x{j}-{w}"),
            Self::Blocks(n, w) => format!("blocks{n}-{w}"),
            Self::Islands(n, false) => format!("islands{n}"),
            Self::Islands(n, true) => format!("islands{n}-transposed"),
            Self::States(groups, n, blocks) => format!("states{groups}x{n}+{blocks}"),
            Self::Tall(m, j, w) => format!("tall-{m}x{j}-{w}"),
        }
    }

    /// The model and its log Z.
    pub fn model(self, seed: u64, stream: &mut Stream) -> Result<(Parameters, f64)> {
        match self {
            Self::Needle { switches, decoys, weight } => {
                Ok(needle(switches, decoys, weight, stream))
            }
            Self::LowRank(m, j, rank, w) => Ok(low_rank((m, j), rank, w, stream)),
            Self::Blocks(n, w) => {
                let part = |part| gaussian_parameters(10, 8, f64::from(w), 1000 * seed + part);
                let parts: Vec<Parameters> = (0..n as u64).map(part).collect();
                let system = independent(&parts, seed)?;
                Ok((system.parameters, system.log_partition))
            }
            Self::Islands(n, transposed) => {
                let parts: Vec<Parameters> = (0..n as u64)
                    .map(|part| islands(40, (4, 3), -2.0..4.0, 1000 * seed + part))
                    .collect();
                let TestSystem { parameters, log_partition, .. } = independent(&parts, seed)?;
                let parameters = if transposed { parameters.transposed() } else { parameters };
                Ok((parameters, log_partition))
            }
            Self::States(groups, n, blocks) => {
                let part = |part| gaussian_parameters(40, 12, 0.4, 1000 * seed + part);
                let mut parts: Vec<Parameters> = (0..blocks as u64).map(part).collect();
                let group = |group| islands(50, (n, 1), -2.0..0.0, seed + 1000 * group);
                parts.extend((0..groups as u64).map(group));
                let TestSystem { parameters, log_partition, .. } = independent(&parts, seed)?;
                Ok((parameters, log_partition))
            }
            Self::Tall(m, j, w) => {
                let parameters = gaussian_parameters(m, j, w, seed);
                let log_z = exact::log_partition(&parameters)?;
                Ok((parameters, log_z))
            }
        }
    }
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn log_sum(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    largest + values.iter().map(|x| (x - largest).exp()).sum::<f64>().ln()
}

/// Switches are on within 4 flips of the pattern: log f is a function of the distance d alone, and Z a sum over d. Decoys add e^-60 at most.
fn needle(switches: usize, decoys: usize, weight: f32, stream: &mut Stream) -> (Parameters, f64) {
    const COLUMNS: usize = 100;
    const FIELD: f32 = 0.02;
    let signs: Vec<f32> =
        (0..COLUMNS).map(|_| if stream.uniform() < 0.5 { -1.0 } else { 1.0 }).collect();
    let ones = signs.iter().filter(|sign| **sign > 0.0).count();
    let hidden = switches + decoys;
    let weights = (0..COLUMNS * hidden).map(|at| match at % hidden {
        unit if unit < switches => weight * signs[at / hidden],
        _ => -weight * signs[at / hidden] + 0.1 * stream.normal() as f32,
    });
    let weights: Vec<f32> = weights.collect();
    let threshold = -weight * (ones as f32 - 4.0);
    // Decoys are off in every state, and what random hidden states and the signs of all weights lead to.
    let most =
        |unit: usize| -> f32 { (0..COLUMNS).map(|i| weights[i * hidden + unit].max(0.0)).sum() };
    let hidden_bias =
        (0..hidden).map(|unit| if unit < switches { threshold } else { -60.0 - most(unit) });
    let hidden_bias: Vec<f32> = hidden_bias.collect();
    let parameters = Parameters {
        n_visible: COLUMNS,
        n_hidden: hidden,
        hidden_bias,
        visible_bias: signs.iter().map(|sign| -FIELD * sign).collect(),
        weights,
        variables: ztrack::units::Variables::BITS,
    };
    let (mut log_z, mut log_ways) = (Vec::new(), 0.0);
    for d in 0..=COLUMNS {
        let agreement = ones as f64 - d as f64;
        let x = f64::from(weight) * agreement + f64::from(threshold);
        log_z.push(log_ways - f64::from(FIELD) * agreement + switches as f64 * softplus(x));
        log_ways += ((COLUMNS - d) as f64 / (d + 1) as f64).ln();
    }
    (parameters, log_sum(log_z.into_iter()))
}

/// log f is a function of the integers u.v and w.v alone; how much of the states has which is counted column by column.
fn low_rank(
    (m, j): (usize, usize),
    rank: usize,
    strength: f32,
    stream: &mut Stream,
) -> (Parameters, f64) {
    let mut integer = |least: f64| (stream.uniform() * (2.0 - least)).floor() + least;
    let u: Vec<[i32; 2]> = (0..m)
        .map(|_| match rank {
            1 => [if integer(0.0) > 0.0 { 1 } else { -1 }, 0],
            _ => [integer(-1.0) as i32, integer(-1.0) as i32],
        })
        .collect();
    let a: Vec<[f32; 2]> = (0..j)
        .map(|_| [0, 1].map(|r| if r < rank { strength * stream.normal() as f32 } else { 0.0 }))
        .collect();
    let x = |t: [i32; 2], a: &[f32; 2]| {
        f64::from(t[0]) * f64::from(a[0]) + f64::from(t[1]) * f64::from(a[1])
    };
    let mean: [f64; 2] = [0, 1].map(|r| u.iter().map(|u| f64::from(u[r])).sum::<f64>() / 2.0);
    // Centered, so that no sign of u.v is preferred.
    let bias = |a: &[f32; 2]| -(mean[0] * f64::from(a[0]) + mean[1] * f64::from(a[1])) as f32;
    let hidden_bias: Vec<f32> = a.iter().map(bias).collect();
    let weights: Vec<f32> = u.iter().flat_map(|u| a.iter().map(|a| x(*u, a) as f32)).collect();
    let centre = |u: &[i32; 2]| -0.5 * a.iter().map(|a| x(*u, a)).sum::<f64>() as f32;
    let visible_bias: Vec<f32> = u.iter().map(centre).collect();
    let mut ways: BTreeMap<[i32; 2], f64> = BTreeMap::from([([0, 0], 0.0)]);
    for (u, c) in u.iter().zip(&visible_bias) {
        let mut next: BTreeMap<[i32; 2], Vec<f64>> = BTreeMap::new();
        for (t, log) in &ways {
            next.entry(*t).or_default().push(*log);
            next.entry([t[0] + u[0], t[1] + u[1]]).or_default().push(log + f64::from(*c));
        }
        ways = next.into_iter().map(|(t, logs)| (t, log_sum(logs.into_iter()))).collect();
    }
    let log_f = |(t, log): (&[i32; 2], &f64)| {
        let units = a.iter().zip(&hidden_bias);
        log + units.map(|(a, b)| softplus(f64::from(*b) + x(*t, a))).sum::<f64>()
    };
    let log_z = log_sum(ways.iter().map(log_f));
    (
        Parameters {
            n_visible: m,
            n_hidden: j,
            weights,
            visible_bias,
            hidden_bias,
            variables: ztrack::units::Variables::BITS,
        },
        log_z,
    )
}
