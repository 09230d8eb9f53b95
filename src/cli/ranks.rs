//! The command on several ranks: the first one reads, writes and prints, the others compute their part.

#[cfg(feature = "mpi")]
pub use parallel::Job;
#[cfg(not(feature = "mpi"))]
pub use single::Job;

use crate::collective::Traffic;

/// Communication with the other ranks, of so many seconds of training.
pub fn exchanged(traffic: Traffic, of: f64) -> String {
    let Traffic { seconds, bytes, calls } = traffic;
    format!(
        "with the other ranks: {seconds:.1} s, {:.0} % of the time, waiting included; {:.1} MB came in {calls} calls",
        100.0 * seconds / of.max(seconds),
        1e-6 * bytes
    )
}

/// A build without MPI, which allows one process.
#[cfg(not(feature = "mpi"))]
mod single {
    use std::process::ExitCode;

    use anyhow::Result;

    use crate::cli::failure;
    use crate::collective::Launched;
    use crate::context::Context;

    /// This process.
    pub struct Job(());

    impl Job {
        /// Refuses to be one of several processes that would all do the same work.
        pub fn begin(_shared: bool) -> Result<Self, ExitCode> {
            let Some(launched) = Launched::find() else { return Ok(Self(())) };
            Err(Self(()).end(Err(anyhow::anyhow!(launched.refusal()))))
        }

        /// Default number of threads; `None` for the usual number.
        pub fn threads(&self) -> Option<usize> {
            None
        }

        /// What the command is given.
        pub fn context(&self) -> Context {
            Context::default()
        }

        /// Ends the command.
        pub fn end(self, result: Result<ExitCode>) -> ExitCode {
            result.unwrap_or_else(|error| ExitCode::from(failure::of_command(&error)))
        }
    }
}

#[cfg(feature = "mpi")]
mod parallel {
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::process::ExitCode;
    use std::sync::Arc;
    use std::time::Duration;

    use anyhow::Result;

    use crate::cli::{failure, output};
    use crate::collective::{Collective, Gathered, Launched, Mpi, Session};
    use crate::context::Context;

    /// Time for the first rank to print an error common to all, before another rank prints it.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// Words of 64 processors in the mask of those that a process may use.
    const MASK: usize = 16;

    /// This process, and the ranks it is one of.
    pub struct Job(Option<Session>);

    impl Job {
        /// Begins MPI if a launcher started several processes; else the exit code, after the problem was printed. `shared`: whether all
        /// ranks take part in the command.
        pub fn begin(shared: bool) -> Result<Self, ExitCode> {
            let Some(launched) = Launched::find() else { return Ok(Self(None)) };
            let session = Session::begin().map_err(|error| Self(None).fail(&error.into()))?;
            let job = Self(Some(session));
            output::be_silent(job.rank() > 0);
            match job.check(launched, shared) {
                Ok(()) => Ok(job),
                // The first rank finds the same error: it prints it and ends the others, however long that takes.
                Err(_) if job.rank() > 0 => loop {
                    std::thread::park();
                },
                Err(error) => Err(job.fail(&error)),
            }
        }

        /// An error here is one of all ranks, and must end them.
        fn check(&self, launched: Launched, shared: bool) -> Result<()> {
            let size = self.0.as_ref().map_or(1, |session| session.ranks().size());
            anyhow::ensure!(size > 1, "{}", launched.not_connected());
            anyhow::ensure!(
                shared,
                "this command is the work of one process, as all but train and estimate are: leave out {}",
                launched.by
            );
            Ok(())
        }

        fn rank(&self) -> usize {
            self.0.as_ref().map_or(0, |session| session.ranks().rank())
        }

        /// What the command is given: its ranks.
        pub fn context(&self) -> Context {
            let context = Context::default();
            match &self.0 {
                Some(session) => context.among(Arc::<Mpi>::clone(session.ranks())),
                None => context,
            }
        }

        /// Default number of threads: the processors this rank may use, divided by the ranks of this machine that share them; `None` for
        /// the usual number.
        pub fn threads(&self) -> Option<usize> {
            let ranks = self.0.as_ref()?.ranks();
            let width = MASK + 1;
            let mut all = vec![0; ranks.size() * width];
            let own = &mut all[ranks.rank() * width..][..width];
            own[0] = hash(&host());
            own[1..].copy_from_slice(&processors());
            let ends = (1..=ranks.size()).map(|rank| rank * width);
            ranks.all_gather(&mut [Gathered::new(&mut all, ends)]);
            let own = &all[ranks.rank() * width..][..width];
            let shares = |other: &&[u64]| {
                other[0] == own[0] && own[1..].iter().zip(&other[1..]).any(|(a, b)| a & b != 0)
            };
            let sharing = all.chunks_exact(width).filter(shares).count().max(1);
            let available = std::thread::available_parallelism().map_or(1, usize::from);
            Some((available / sharing).max(1))
        }

        /// Ends the command, and after an error all ranks.
        pub fn end(self, result: Result<ExitCode>) -> ExitCode {
            match result {
                Ok(code) => code,
                Err(error) => self.fail(&error),
            }
        }

        fn fail(&self, error: &anyhow::Error) -> ExitCode {
            let Some(session) = &self.0 else {
                return ExitCode::from(failure::of_command(error));
            };
            let rank = self.rank();
            if rank > 0 {
                // Most errors occur on all ranks, and the first prints them.
                std::thread::sleep(PATIENCE);
                output::be_silent(false);
                output::tell(&format!("rank {rank}:"));
            }
            session.ranks().abort(failure::of_command(error))
        }
    }

    fn hash(value: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    fn host() -> String {
        std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default()
    }

    /// The processors that this process may use, one bit each; all of them if the system does not say.
    fn processors() -> [u64; MASK] {
        let mut mask = [u64::MAX; MASK];
        #[cfg(target_os = "linux")]
        {
            let mut found = [0; MASK];
            // SAFETY: the system writes at most as many bytes as it is told there are, and any bits are valid words.
            let answer = unsafe {
                libc::sched_getaffinity(0, size_of_val(&found), found.as_mut_ptr().cast())
            };
            if answer == 0 {
                mask = found;
            }
        }
        mask
    }
}
