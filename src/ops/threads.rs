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
