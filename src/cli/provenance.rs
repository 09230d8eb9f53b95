//! Where and when a command ran, for summary.json.

use std::time::{SystemTime, UNIX_EPOCH};

use super::terminal::command_line;

/// The command of this process. The path of the program is not part of the run.
pub fn command() -> String {
    command_line(std::iter::once("ztrack".into()).chain(std::env::args_os().skip(1)))
}

/// The date and time, UTC.
pub fn now() -> String {
    date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
}

/// Time of the threads of this process on processors so far, in seconds.
#[cfg(unix)]
pub fn processor_seconds() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place that lives as long as the call.
    let told = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) } == 0;
    told.then_some(time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64)
}

#[cfg(not(unix))]
pub fn processor_seconds() -> Option<f64> {
    None
}

/// Seconds since 1970 as 2026-11-22T01:02:03Z (days to a date: Hinnant, "chrono-compatible low-level date algorithms").
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn work_takes_processor_time() {
        let seconds = || processor_seconds().unwrap();
        let before = seconds();
        let mut sum = 0.0_f64;
        while seconds() - before < 0.05 {
            sum += f64::sqrt(sum + 1.0);
        }
        // Other tests of this process run beside this one, so the time only has to go on.
        assert!(sum > 0.0 && seconds() >= before + 0.05);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_309_323, "2026-11-22T01:02:03Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
