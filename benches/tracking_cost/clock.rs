//! Times of named parts, a list for each.

use std::time::{Duration, Instant};

/// Milliseconds of every call of every part, in the order parts first came.
pub struct Clock {
    parts: Vec<(String, Vec<f64>)>,
    started: Instant,
    cpu: bool,
}

impl Clock {
    /// In one thread the process's CPU time counts, which neighbours on the machine hardly change; else the wall clock.
    pub fn new(threads: usize) -> Self {
        Self { parts: Vec::new(), started: Instant::now(), cpu: threads == 1 }
    }

    fn now(&self) -> Duration {
        let cpu = if self.cpu { cpu_time() } else { None };
        cpu.unwrap_or_else(|| self.started.elapsed())
    }

    /// Runs `work` and notes how long it took.
    pub fn time<T>(&mut self, part: &str, work: impl FnOnce() -> T) -> T {
        let start = self.now();
        let result = work();
        self.note(part, (self.now() - start).as_secs_f64() * 1e3);
        result
    }

    fn note(&mut self, part: &str, milliseconds: f64) {
        match self.parts.iter_mut().find(|(name, _)| name == part) {
            Some((_, times)) => times.push(milliseconds),
            None => self.parts.push((part.into(), vec![milliseconds])),
        }
    }

    /// Forgets the calls so far, which warmed things up.
    pub fn restart(&mut self) {
        self.parts.clear();
    }

    /// Lower quartile of a part in milliseconds, since neighbours only ever add time; 0 for one that never ran.
    pub fn typical(&self, part: &str) -> f64 {
        let Some((_, times)) = self.parts.iter().find(|(name, _)| name == part) else { return 0.0 };
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 4]
    }
}

/// User and system time of this process.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn cpu_time() -> Option<Duration> {
    #[repr(C)]
    struct TimeSpec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
    }
    const PROCESS_CPU: i32 = 2;
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the C library's function and its layout on 64-bit Linux; `time` is valid for the write.
    let failed = unsafe { clock_gettime(PROCESS_CPU, &mut time) } != 0;
    (!failed).then(|| Duration::new(time.seconds as u64, time.nanoseconds as u32))
}

/// User and system time of this process, where the system tells.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn cpu_time() -> Option<Duration> {
    None
}
