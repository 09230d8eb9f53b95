//! Detection of a launcher of parallel jobs that started several processes.

/// With `off`, every process is a run of its own, with any launcher.
pub const SWITCH: &str = "ZTRACK_MPI";

/// Environment variables of launchers for the rank and the number of processes.
const LAUNCHERS: &[(&str, &str)] = &[
    ("mpirun", "OMPI_COMM_WORLD_SIZE"), // Open MPI
    ("mpiexec", "PMI_SIZE"),            // MPICH, Intel MPI, and Slurm with --mpi=pmi2
    ("srun", "SLURM_STEP_NUM_TASKS"),
];

/// A launcher that started several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Its command.
    pub by: &'static str,
    /// How many processes.
    pub processes: usize,
}

impl Launched {
    /// The launcher of this process, if there is one.
    pub fn find() -> Option<Self> {
        Self::among(|name| std::env::var(name).ok())
    }

    fn among(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if variable(SWITCH).as_deref() == Some("off") {
            return None;
        }
        let found = |&(by, name): &(&'static str, &str)| {
            let processes = variable(name)?.trim().parse().ok()?;
            (processes > 1).then_some(Self { by, processes })
        };
        LAUNCHERS.iter().find_map(found)
    }

    /// Why a build without MPI stops, and what to do.
    #[cfg(not(feature = "mpi"))]
    pub fn refusal(&self) -> String {
        let Self { by, processes } = self;
        format!(
            "{by} started {processes} processes, and this ztrack is built without MPI: each would do all the work and they would write into one folder; build it with `cargo install --path . --features mpi` (docs/cluster.md), start it without {by}, or set {SWITCH}=off where each process is a run of its own"
        )
    }

    /// Why a job stops whose processes do not find each other, and what to do.
    #[cfg(feature = "mpi")]
    pub(crate) fn not_connected(&self) -> String {
        let Self { by, processes } = self;
        format!(
            "{by} started {processes} processes, and MPI finds one alone: they do not know of each other; use the {by} of the MPI library that ztrack is built with (with Slurm `srun --mpi=pmix`, see `srun --mpi=list`), or set {SWITCH}=off where each process is a run of its own"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_of_several_processes_are_known() {
        let among = |set: &[(&str, &str)]| {
            let set = set.to_vec();
            Launched::among(move |name| {
                set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.to_string())
            })
        };
        assert_eq!(among(&[]), None);
        assert_eq!(among(&[("OMPI_COMM_WORLD_SIZE", "1")]), None);
        // A batch script of four tasks is one process.
        assert_eq!(among(&[("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")]), None);
        let mpirun = [("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(among(&mpirun), Some(Launched { by: "mpirun", processes: 4 }));
        let srun = Some(Launched { by: "srun", processes: 2 });
        assert_eq!(among(&[("SLURM_STEP_NUM_TASKS", "2")]), srun);
        assert_eq!(among(&[mpirun[0], (SWITCH, "off")]), None);
    }
}
