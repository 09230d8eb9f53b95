//! One run on several ranks: the bytes of one process, whatever breaks. Needs `--features mpi-faults` and an installed mpirun;
//! without the feature, what launchers of several processes are told.

#![cfg(unix)]

#[cfg(feature = "mpi")]
mod breaks;
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "mpi")]
mod jobs;
#[cfg(feature = "mpi")]
mod same_bytes;
#[cfg(not(feature = "mpi"))]
mod without_the_feature;
