//! Disks that are full at some moment.

use std::fs;
use std::path::Path;
use std::process::Command;

use rand::RngExt;
use ztrack::engine::random::{Purpose, Streams};

use super::cases::{Case, long, stderr};
use super::common::{assert_same, text};

/// A disk of some size, in a name space of its own that ends with the process; what was on it is copied back.
#[test]
fn full_disks_change_nothing_once_there_is_room() {
    let allowed = Command::new("unshare").args(["-m", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a file system of one's own is not allowed here");
        return;
    }
    let mut stream = Streams::new(22, Purpose::TestSystem, 0).row(0);
    let wanted = if long() { 30 } else { 3 };
    let (mut faults, mut runs) = (0, 0);
    while faults < wanted {
        let case = Case::new(runs % 4, &mut stream);
        let (whole, broken) = (case.out("whole"), case.out("broken"));
        case.finish(&whole);
        let disk = case.out("disk");
        fs::create_dir(&disk).unwrap();
        let full = size(&whole) / 1024;
        for _ in 0..2 {
            // Room for what is there, and for some of what comes.
            let there = if broken.is_dir() { size(&broken) / 1024 + 8 } else { 8 };
            let kib = stream.random_range(there..full.max(there) + 16);
            let script = format!(
                "mount -t tmpfs -o size={kib}k none \"$1\" || exit 77; \
                 if [ -d \"$2\" ]; then cp -a \"$2\" \"$1/run\" || exit 76; fi; \
                 shift 2; \"$@\"; code=$?; rm -rf \"$BACK\"; cp -a \"$DISK/run\" \"$BACK\"; exit $code"
            );
            let on_disk = disk.join("run");
            let mut arguments = case.arguments(&broken);
            arguments[3] = text(&on_disk);
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", &script, "sh"]).arg(&disk).arg(&broken);
            command.env("BACK", &broken).env("DISK", &disk);
            let output =
                command.arg(env!("CARGO_BIN_EXE_ztrack")).args(arguments).output().unwrap();
            if output.status.code() == Some(77) {
                eprintln!("skipped: {}", stderr(&output));
                return;
            }
            if output.status.code() == Some(76) {
                continue;
            }
            if !output.status.success() {
                let words = stderr(&output);
                assert!(words.contains("No space left"), "{words}");
                assert!(!words.contains("panicked"), "{words}");
                assert!(!words.contains(".ztrack-tmp"), "no file that the user knows: {words}");
                faults += 1;
            }
        }
        case.finish(&broken);
        assert_same(&whole, &broken);
        runs += 1;
    }
    println!("{faults} full disks in {runs} runs of 4 kinds");
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            if path.is_dir() {
                size(&path)
            } else {
                path.metadata().unwrap().len().next_multiple_of(4096)
            }
        })
        .sum()
}
