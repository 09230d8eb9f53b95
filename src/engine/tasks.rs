//! Rows of one task.

use super::worth_threads;

/// Fewest and most rows of a task: kernels prepare tables for each, which is worthwhile from some dozens of rows on, and the data of a task
/// should fit in a cache.
const TASK: (usize, usize) = (50, 256);

/// Rows of one task if sums are taken over tasks: determined by the number of rows alone, so that sums do not depend on threads.
pub(crate) fn rows_per_task(rows: usize) -> usize {
    rows.div_ceil(8).clamp(TASK.0, TASK.1)
}

/// Most rows of a task if rows are independent. On Zen 3 (512 KB L2, 784 x 500 and 784 x 2000, `benches/peers/run.py`) a sweep takes .98
/// and .87 of the time with 256, because half as many tables are made; with 2048 1.1 and 1.3.
const MOST_BY_THEMSELVES: usize = 512;

/// Rows of one task if rows are independent: kernels give a row the same bits whatever the other rows are.
pub(crate) fn rows_per_thread(rows: usize) -> usize {
    even_tasks(rows, rayon::current_num_threads())
}

/// Equal tasks for all threads: a few remaining rows would need tables of their own and one thread's time.
fn even_tasks(rows: usize, threads: usize) -> usize {
    let share = rows.div_ceil(threads).max(1);
    share.div_ceil(share.div_ceil(MOST_BY_THEMSELVES)).max(TASK.0)
}

/// Fewest rows of a task if the alternative is one product by all threads: tables cost as much as three dozen rows.
const FEWEST_DEALT: usize = 128;

/// [`rows_per_thread`], or all rows if they are too few to divide among threads.
pub(crate) fn rows_per_thread_for(rows: usize, products_a_row: usize) -> usize {
    let enough = rows >= FEWEST_DEALT * rayon::current_num_threads();
    if enough && worth_threads(rows.saturating_mul(products_a_row)) {
        rows_per_thread(rows)
    } else {
        rows.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_share_rows_evenly() {
        for rows in [0, 1, 49, 50, 100, 513, 530, 1000, 1100, 2000, 10_000] {
            for threads in [1, 2, 3, 8] {
                let task = even_tasks(rows, threads);
                assert!((TASK.0..=MOST_BY_THEMSELVES).contains(&task), "{rows}, {threads}: {task}");
                // The same number of tasks for each thread, the last one nearly as large, unless all have the smallest size.
                let tasks = rows.div_ceil(task);
                let last = rows - tasks.saturating_sub(1) * task;
                let even = tasks.is_multiple_of(threads) && last + tasks >= task;
                assert!(
                    even || task == TASK.0,
                    "{rows} rows, {threads} threads: {tasks} of {task}"
                );
            }
        }
    }
}
