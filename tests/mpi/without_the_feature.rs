//! A build without MPI, started by a launcher of several processes.

use tempfile::TempDir;

use crate::common::{run, text, tiny, ztrack};

#[test]
fn a_build_without_mpi_refuses_to_be_one_of_several() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), text(&folder.path().join("out")));
    let train = ["train", &config, "-q", "--out", &out];
    for (name, by) in [
        ("OMPI_COMM_WORLD_SIZE", "mpirun"),
        ("PMI_SIZE", "mpiexec"),
        ("SLURM_STEP_NUM_TASKS", "srun"),
    ] {
        let output = ztrack().args(train).env(name, "3").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        for part in [by, "3 processes", "--features mpi", "docs/cluster.md", "ZTRACK_MPI=off"] {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
        assert!(!folder.path().join("out").exists());
    }
    let mut own = ztrack();
    own.args(train).env("OMPI_COMM_WORLD_SIZE", "3").env("ZTRACK_MPI", "off");
    assert!(own.status().unwrap().success());
    assert!(run(&["config", "list"]).status.success());
}
