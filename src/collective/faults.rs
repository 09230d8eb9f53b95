//! Deliberate faults, for tests of the failure of a rank.

use super::Collective;

/// `KIND:RANK:UPDATE`, KIND one of `panic`, `kill` (SIGKILL, as by a system without memory) and `differ`.
const FAULT: &str = "ZTRACK_FAULT";

/// Breaks this rank if requested after this update; returns the change of its hash.
pub fn strike(ranks: &dyn Collective, update: u64) -> u64 {
    let Ok(fault) = std::env::var(FAULT) else { return 0 };
    let parts: Vec<&str> = fault.split(':').collect();
    let [kind, rank, at] = parts[..] else { return 0 };
    if rank.parse() != Ok(ranks.rank()) || at.parse() != Ok(update) {
        return 0;
    }
    match kind {
        "panic" => panic!("{FAULT} asks for a panic"),
        #[cfg(unix)]
        "kill" => {
            // SAFETY: the process sends a signal to itself, and it is one that nothing of it survives.
            unsafe { libc::raise(libc::SIGKILL) };
            0
        }
        _ => 1,
    }
}
