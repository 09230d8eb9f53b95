//! When a second thread pays.

/// Fewest products of a state with a weight for which it does: fewer take less time (a quarter of a millisecond) than waking it up
/// on a virtual machine, and on a busy one much less. `benches/peers/run.py`, 100 chains of 180 x 500.
const FEWEST_PRODUCTS: usize = 40_000_000;

/// What an exponential, or a number of a dense matrix that is read and written, counts in products.
pub(crate) const AS_A_NUMBER: usize = 50;

/// Whether work of so many products is worth more than one thread.
pub(crate) fn worth_threads(products: usize) -> bool {
    products >= FEWEST_PRODUCTS
}

/// For rayon's `with_min_len`: fewest tasks that one thread takes of those that are so many products together, all where a second
/// thread does not pay. An iterator that is not split runs where it is called, and no thread is woken.
pub(crate) fn fewest_tasks(products: usize) -> usize {
    if worth_threads(products) { 1 } else { usize::MAX }
}
