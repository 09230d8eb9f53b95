//! Memory for chains, to be compared with the free memory before anything is allocated.

/// Bytes for persistent tempered chains of an [M, J] model, including update rules and kernels.
pub fn tempering_bytes(
    chains: usize,
    temperatures: usize,
    n_visible: usize,
    n_hidden: usize,
) -> f64 {
    let (chains, k) = (chains as f64, temperatures as f64);
    // Per chain: seven f64 tables over temperatures, pre-activations of both layers (f32, twice while sweeping), bits.
    let per_chain = 56.0 * k + 9.0 * (n_visible as f64 + n_hidden as f64);
    // Four copies of the weights in kernels and tensors, three in update rules, K x K transitions per task.
    let weights = 28.0 * n_visible as f64 * n_hidden as f64;
    let tasks = (chains / 8.0).clamp(1.0, (chains / 64.0).max(8.0));
    chains * per_chain + weights + 8.0 * k * k * (4.0 + tasks)
}

/// Bytes for one annealing pass: states, pre-activations and one log weight per chain; the ladder.
pub fn annealing_bytes(
    chains: usize,
    temperatures: usize,
    n_visible: usize,
    n_hidden: usize,
) -> f64 {
    chains as f64 * (16.0 + 9.0 * (n_visible as f64 + n_hidden as f64)) + 48.0 * temperatures as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{check_memory, free_memory};

    #[test]
    fn small_runs_fit_and_absurd_ones_are_refused() {
        check_memory(tempering_bytes(2, 2, 10, 10), "2 chains").unwrap();
        if free_memory().is_some() {
            let problem = check_memory(tempering_bytes(10_000_000, 100_000, 784, 500), "chains");
            assert!(problem.unwrap_err().starts_with("chains need about"));
            assert!(check_memory(f64::NAN, "").is_err());
        }
    }
}
