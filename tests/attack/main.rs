//! An attack on the command: kills in the midst of any system call, calls that fail, full disks and damaged run folders. What a run
//! leaves after a resume has the same bytes as that of a run left alone, and nothing panics or ends by a signal.
//!
//! Seeded. `ZTRACK_LONG=1` makes it 100 kills, 100 failing calls, 30 full disks and 400 damaged folders; `tests/fuzz.rs` has the readers
//! by themselves.

#![cfg(target_os = "linux")]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod disks;
mod folders;
#[path = "../mutations/mod.rs"]
mod mutations;
mod shim;
mod strikes;
