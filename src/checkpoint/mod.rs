//! Model files and training state on disk.
