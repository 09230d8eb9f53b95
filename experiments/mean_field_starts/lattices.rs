//! Spin models on the usual graphs: ring, square lattice on a torus.

use crate::spins::SpinModel;
use ztrack::{Error, Result};

/// A periodic chain: `couplings[i]` joins spins i and i + 1, the last one closes the ring. An even number of spins is
/// bipartite. Equal couplings: Ising model; random ones: spin glass.
///
/// # Errors
/// Fewer than two spins, different lengths, or a value that is not finite.
pub fn ring(couplings: &[f64], fields: &[f64]) -> Result<SpinModel> {
    let n = fields.len();
    check("couplings", couplings, n)?;
    let pairs = couplings.iter().enumerate().map(|(i, &j)| (i, (i + 1) % n, j));
    SpinModel::new(pairs.collect(), fields.to_vec())
}

/// rows x columns spins on a torus; spin (r, c) is r * columns + c, `right` of it is its coupling to (r, c + 1), `down` to
/// (r + 1, c). Bipartite where both sides are even. A side of 2 has two couplings between the same spins.
///
/// # Errors
/// A side shorter than 2, lengths that are not rows * columns, or a value that is not finite.
pub fn square(
    rows: usize,
    columns: usize,
    right: &[f64],
    down: &[f64],
    fields: &[f64],
) -> Result<SpinModel> {
    let n = rows * columns;
    for (name, values) in [("couplings to the right", right), ("down", down), ("fields", fields)] {
        check(name, values, n)?;
    }
    let pairs = (0..n).flat_map(|spin| {
        let (r, c) = (spin / columns, spin % columns);
        [
            (spin, r * columns + (c + 1) % columns, right[spin]),
            (spin, (r + 1) % rows * columns + c, down[spin]),
        ]
    });
    SpinModel::new(pairs.collect(), fields.to_vec())
}

fn check(name: &str, values: &[f64], expected: usize) -> Result<()> {
    if values.len() == expected {
        return Ok(());
    }
    Err(Error::Mismatch(format!("{} {name} for {expected} spins", values.len())))
}
