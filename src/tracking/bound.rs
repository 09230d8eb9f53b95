//! Lower bounds of log Z that cannot lie: sums over distinct states.
//!
//! log Z >= log sum over any distinct v of f(v), and the same over distinct h of f(h) = e^(b.h) prod_i (1 + e^(c_i + W_i h)).
//! Hidden states drawn from data and from the gradient's particles stand for whole modes of the model, so that with few
//! hidden units the second is nearly log Z itself: a tracked value below it has missed a mode.

use std::collections::HashSet;

use super::likelihood::log_f;
use crate::model::Parameters;
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, Draw, Fused, Layer, Matrix, RbmOps};
use crate::tempering::log_sum_exp;

/// log of the sum of f over the distinct rows, given log f of each.
pub(super) fn over_distinct(rows: &BitMatrix, log_f: &[f64]) -> f64 {
    let mut seen = HashSet::with_capacity(rows.rows());
    let first = (0..rows.rows()).filter(|&row| seen.insert(rows.row(row)));
    let values: Vec<f64> = first.map(|row| log_f[row]).collect();
    log_sum_exp(values.iter().copied())
}

/// The bound over distinct hidden states, one drawn from each row of `visible`, [rows, M].
pub fn hidden_bound(
    parameters: &Parameters,
    ops: &dyn RbmOps,
    visible: &BitMatrix,
    seed: u64,
    step: u64,
) -> f64 {
    let (rows, n_hidden) = (visible.rows(), ops.n_units(Layer::Hidden));
    let mut inputs = Matrix::filled(rows, n_hidden, 0.0);
    ops.inputs(Layer::Hidden, visible.words(), inputs.as_mut_slice());
    let mut hidden = BitMatrix::zeros(rows, n_hidden);
    let draw = Draw {
        n_units: n_hidden,
        inputs: inputs.as_slice(),
        beta: &vec![1.0; rows],
        base: None,
        streams: Streams::new(seed, Purpose::BoundHidden, step),
        first_row: 0,
    };
    ops.draw(&draw, hidden.words_mut());
    // With the layers exchanged hidden states are visible ones.
    let transposed = Fused::new(&parameters.transposed());
    over_distinct(&hidden, &log_f(&transposed, &hidden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;

    #[test]
    fn bounds_lie_below_and_reach_log_z_where_all_states_are_there() {
        let parameters = gaussian_parameters(9, 5, 1.5, 2);
        let exact = log_partition(&parameters).unwrap();
        let ops = Fused::new(&parameters);
        let all = BitMatrix::from_fn(512, 9, |row, i| row >> i & 1 == 1);
        let twice = all.select((0..512).chain(0..512));
        assert!((over_distinct(&twice, &log_f(&ops, &twice)) - exact).abs() < 1e-4);
        let some = all.select([3, 3, 77, 500]);
        assert!(over_distinct(&some, &log_f(&ops, &some)) < exact);
        // 512 draws out of 32 hidden states.
        let hidden = hidden_bound(&parameters, &ops, &all, 1, 0);
        assert!(hidden < exact + 1e-4 && hidden > exact - 0.5, "{hidden} {exact}");
        assert!(hidden_bound(&parameters, &ops, &some, 1, 0) < hidden);
    }
}
