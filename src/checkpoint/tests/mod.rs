//! Files written, read back, damaged.

mod model_file;
mod state;
