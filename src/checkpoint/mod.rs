//! Model files and training state on disk.
//! Files that survive a kill: atomic writes.

mod atomic;

pub use atomic::{remove_leftovers, write_atomically, write_bytes};
