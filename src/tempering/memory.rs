//! Memory that chains take, compared with what the machine has free, before anything is allocated.

/// Share of memory found free that chains may take.
const SHARE: f64 = 0.9;

/// Bytes for persistent tempered chains of an [M, J] model, with update rules and kernels beside them.
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

/// Bytes for one annealing pass: states, pre-activations and one log weight a chain; the ladder.
pub fn annealing_bytes(
    chains: usize,
    temperatures: usize,
    n_visible: usize,
    n_hidden: usize,
) -> f64 {
    chains as f64 * (16.0 + 9.0 * (n_visible as f64 + n_hidden as f64)) + 48.0 * temperatures as f64
}

/// Refuses what does not fit; `what` begins the message. Passes where the system does not say what is free.
pub fn check_memory(bytes: f64, what: &str) -> Result<(), String> {
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    match free_memory() {
        Some(free) if bytes.is_nan() || bytes > SHARE * free => Err(format!(
            "{what} need about {:.1} GiB of memory, {:.1} GiB are free",
            gib(bytes),
            gib(free)
        )),
        _ => Ok(()),
    }
}

/// Bytes the system says are available; `None` where it does not say.
fn free_memory() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
