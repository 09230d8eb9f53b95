//! One system call of a run is its last, or fails; then another; then the run ends undisturbed.

use std::os::unix::process::ExitStatusExt;

use rand::RngExt;
use ztrack::engine::random::{Purpose, Streams};

use super::cases::{Case, long, stderr};
use super::common::{assert_same, ztrack};
use super::shim::{count, counted, strike};

/// Errors of file systems: broken disks, full ones, quotas, lost rights, too many files.
const ERRORS: [i32; 6] =
    [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EACCES, libc::EMFILE, libc::EROFS];

/// Strikes as often as wanted; returns how many of them met a running process.
fn struck(wanted: u32, seed: u64, errors: &[i32]) -> u32 {
    let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(0);
    let (mut hits, mut failed, mut runs) = (0, 0, 0);
    while hits < wanted {
        let case = Case::new(runs % 4, &mut stream);
        let (whole, broken) = (case.out("whole"), case.out("broken"));
        let (counts, mut command) = (case.out("count"), ztrack());
        count(command.args(case.arguments(&whole)), &whole, &counts);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{:?}: {}", case.settings, stderr(&output));
        let calls = counted(&counts);
        for round in 1..=4 {
            // Each gets a part of the way on from where the one before came to.
            let at = stream.random_range(1..=(calls / 2 / round).max(1));
            let errno = errors[stream.random_range(0..errors.len())];
            let mut command = ztrack();
            strike(command.args(case.arguments(&broken)), &broken, at, errno);
            let output = command.output().unwrap();
            let (status, words) = (output.status, stderr(&output));
            let what =
                format!("{:?}: error {errno} at call {at} of {calls}: {words}", case.settings);
            assert!(!words.contains("panicked"), "{what}");
            assert!(!words.contains(".ztrack-tmp"), "no file that the user knows: {what}");
            match status.signal() {
                Some(libc::SIGKILL) if errno == 0 => hits += 1,
                None if errno == 0 => assert!(status.success(), "{what}"),
                None => {
                    hits += 1;
                    failed += u32::from(!status.success());
                    assert!(status.success() || words.contains("error:"), "{what}");
                }
                signal => panic!("signal {signal:?}: {what}"),
            }
            if status.success() && broken.join("summary.json").exists() {
                break;
            }
        }
        case.finish(&broken);
        assert_same(&whole, &broken);
        runs += 1;
    }
    println!("{hits} strikes in {runs} runs of 4 kinds, {failed} runs ended by an error");
    failed
}

#[test]
fn kills_in_the_midst_of_any_call_change_nothing() {
    struck(if long() { 100 } else { 16 }, 21, &[0]);
}

#[test]
fn calls_that_fail_change_nothing() {
    let wanted = if long() { 100 } else { 16 };
    let failed = struck(wanted, 23, &ERRORS);
    assert!(
        failed * 3 > wanted,
        "{failed} of {wanted} errors ended a run: the others were not felt"
    );
}
