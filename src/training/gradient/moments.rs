//! Expected sufficient statistics `E[v]`, `E[h]`, `E[vh']` over rows of visible states, hidden units at their means.

use rayon::prelude::*;

use crate::collective::{Parts, for_moments};
use crate::engine::host::add_rows;
use crate::engine::{
    AS_AN_EXPONENTIAL, BitMatrix, Layer, Matrix, RbmOps, fewest_tasks, for_each_set_bit, padded,
    words_per_row,
};
use crate::tempering::{rows_per_task, rows_per_thread_for};

/// First moments of both layers and their products.
#[derive(Clone, Debug)]
pub struct Moments {
    /// `E[v]`, shape `[M]`.
    pub visible: Vec<f64>,
    /// `E[h]`, shape `[J]`.
    pub hidden: Vec<f64>,
    /// `E[vh']`, shape [M, J].
    pub products: Matrix,
}

/// Moments over packed rows with weights that sum to 1 (1/n each without).
pub fn moments(engine: &dyn RbmOps, visible: &BitMatrix, weights: Option<&[f64]>) -> Moments {
    let n_hidden = engine.n_units(Layer::Hidden);
    let mut inputs = Matrix::filled(visible.rows(), n_hidden, 0.0);
    let task = rows_per_thread_for(visible.rows(), visible.columns() * n_hidden);
    let words = words_per_row(visible.columns());
    let ranks = for_moments(engine.ranks(), visible.rows());
    let parts = Parts::new(ranks, visible.rows(), rows_per_task(visible.rows()));
    let own = &visible.words()[parts.own().start * words..parts.own().end * words];
    parts.share(|| {
        let inputs = parts.of(inputs.as_mut_slice(), padded(n_hidden));
        if task >= visible.rows() {
            return engine.inputs_by_all(Layer::Hidden, own, inputs);
        }
        inputs
            .par_chunks_mut(task * padded(n_hidden))
            .zip(own.par_chunks(task * words))
            .for_each(|(inputs, visible)| engine.inputs(Layer::Hidden, visible, inputs));
    });
    of_parts(engine, &parts, visible, inputs, weights)
}

/// As [`moments`], with given hidden pre-activations; of this rank's own rows, if ranks divide the work.
pub fn moments_from_inputs(
    engine: &dyn RbmOps,
    visible: &BitMatrix,
    inputs: Matrix,
    weights: Option<&[f64]>,
) -> Moments {
    let parts = Parts::new(engine.ranks(), visible.rows(), rows_per_task(visible.rows()));
    of_parts(engine, &parts, visible, inputs, weights)
}

/// Moments with the pre-activations of this rank's part.
fn of_parts(
    engine: &dyn RbmOps,
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
    let first = parts.own_tasks().start;
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
        engine.means(n_hidden, chunk, &w);
        add_rows(stride, chunk, sums);
    };
    parts.share(|| {
        let own = parts.of(inputs.as_mut_slice(), stride);
        let sums = parts.of_tasks(&mut partial, n_hidden);
        let fewest = fewest_tasks(own.len() * AS_AN_EXPONENTIAL);
        let tasks = own.par_chunks_mut(task * stride).zip(sums.par_chunks_mut(n_hidden));
        tasks.enumerate().with_min_len(fewest).for_each(work);
    });
    let sums = parts.tasks_of(&mut partial[..], n_hidden);
    parts.gather([sums, parts.rows(inputs.as_mut_slice(), stride)]);
    let mut hidden = vec![0.0; n_hidden];
    for sums in partial.chunks_exact(n_hidden) {
        hidden.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
    }
    let mut mean = vec![0.0; n_visible];
    match weights {
        None => {
            let counts = visible.column_counts();
            mean.iter_mut().zip(counts).for_each(|(m, count)| *m = count as f64 * even);
        }
        Some(weights) => {
            for (row, w) in weights.iter().enumerate() {
                for_each_set_bit(visible.row(row), |i| mean[i] += w);
            }
        }
    }
    let products = engine.outer_products(visible, &inputs);
    Moments { visible: mean, hidden, products }
}
