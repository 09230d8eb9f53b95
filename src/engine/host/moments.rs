//! Moments over rows of visible states, hidden units at their means.

use rayon::prelude::*;

use super::{Host, add_rows};
use crate::context::Parts;
use crate::engine::{AS_AN_EXPONENTIAL, BitMatrix, Matrix, Moments, fewest_tasks, rows_per_task};

/// Moments over packed rows with weights that sum to 1 (1/n each without), from the hidden pre-activations of this rank's part.
pub(super) fn moments(
    host: &Host,
    parts: &Parts<'_>,
    visible: &BitMatrix,
    mut inputs: Matrix,
    weights: Option<&[f64]>,
) -> Moments {
    let rows = visible.rows();
    let (n_visible, n_hidden) = (visible.columns(), inputs.columns());
    let even = 1.0 / rows.max(1) as f64;
    let stride = inputs.stride();
    let task = rows_per_task(rows);
    let of_tasks = parts.of_tasks();
    let first = of_tasks.own().start;
    let mut partial = vec![0.0; parts.tasks() * n_hidden];
    let work = |(i, (chunk, sums)): (usize, (&mut [f32], &mut [f64]))| {
        let i = first + i;
        let chunk_rows = chunk.len() / stride;
        let w: Vec<f32> = match weights {
            Some(weights) => {
                weights[i * task..i * task + chunk_rows].iter().map(|w| *w as f32).collect()
            }
            None => vec![even as f32; chunk_rows],
        };
        host.means(n_hidden, chunk, &w);
        add_rows(stride, chunk, sums);
    };
    parts.share(|| {
        let own = parts.of(inputs.as_mut_slice(), stride);
        let sums = of_tasks.of(&mut partial, n_hidden);
        let fewest = fewest_tasks(own.len() * AS_AN_EXPONENTIAL);
        let tasks = own.par_chunks_mut(task * stride).zip(sums.par_chunks_mut(n_hidden));
        tasks.enumerate().with_min_len(fewest).for_each(work);
    });
    let sums = of_tasks.rows(&mut partial, n_hidden);
    parts.gather([sums, parts.rows(inputs.as_mut_slice(), stride)]);
    let mut hidden = vec![0.0; n_hidden];
    for sums in partial.chunks_exact(n_hidden) {
        hidden.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
    }
    let mut mean = vec![0.0; n_visible];
    if weights.is_none() && !host.variables.has_reals() {
        let counts = visible.column_counts();
        mean.iter_mut().zip(counts).for_each(|(m, count)| *m = count as f64 * even);
    } else {
        for row in 0..rows {
            let weight = weights.map_or(even, |weights| weights[row]);
            let add = |i: usize, t: f64| mean[i] += weight * t;
            host.variables.statistics(visible.row(row), n_visible, add);
        }
    }
    let products = host.outer_products(visible, &inputs);
    Moments { visible: mean, hidden, products }
}
