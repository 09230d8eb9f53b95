//! Jobs that lose a rank, get a signal or come apart: they end, and can be resumed.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::common::{assert_same, metrics_lines, text, tiny, wait_for};
use crate::jobs::{
    SHARED, alone, children, end_of, must, on_ranks, resume, send, start, train, turn,
};

/// What makes a run as good as endless, so that whatever is done to it meets it at work; and steps of the tracker that do not depend on
/// the length planned.
const ENDLESS: &[&str] = &["training.updates=1000000", "tempering.every=1"];

/// The numbers of the updates after which a state was kept.
fn states(out: &Path) -> Vec<u64> {
    let entries = fs::read_dir(out.join("checkpoints/state")).into_iter().flatten();
    let mut states: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    states.retain(|path| path.extension().is_some_and(|extension| extension == "state"));
    let update = |path: PathBuf| path.file_stem()?.to_str()?.strip_prefix("update-")?.parse().ok();
    states.into_iter().map(|path| update(path).unwrap()).collect()
}

/// Continues a broken run to an end near its last state, on so many ranks: it has the bytes of a run of one process and that length.
fn assert_resumed(
    ranks: usize,
    config: &str,
    out: &Path,
    settings: &[&str],
    skipped: Option<&str>,
) {
    let end = format!("training.updates={}", states(out).into_iter().max().unwrap() + 20);
    let more = [resume(out), vec!["--set".into(), end.clone()]].concat();
    must(&on_ranks(ranks, &more).unwrap().output().unwrap());
    let one = out.with_extension("alone");
    alone(&train(config, &one, &[settings, &[&end]].concat()));
    for run in [&one, out] {
        let _ = skipped.map(|folder| fs::remove_dir_all(run.join(folder)).unwrap());
    }
    assert_same(&one, out);
}

/// A rank that is killed, at moments that differ, ends the job; what is resumed, on another number of ranks, has the bytes
/// of a run left alone.
#[test]
fn jobs_that_lose_a_rank_end_and_can_be_resumed() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let (config, out) = (tiny(folder.path()), folder.path().join("out"));
    let kills: usize = std::env::var("ZTRACK_KILLS").map_or(3, |kills| kills.parse().unwrap());
    let settings = [SHARED, ENDLESS, &["checkpoint.every=10"]].concat();
    let mut arguments = train(&config, &out, &settings);
    for kill in 0..kills {
        let Some(command) = on_ranks(2 + kill % 2, &arguments) else { return };
        let (before, child) = (states(&out).into_iter().max(), start(command));
        wait_for("checkpoint", || states(&out).into_iter().max() > before);
        // The moment is another one each time: some evaluations later.
        let rows = metrics_lines(&out) + kill % 5;
        wait_for("rows", || metrics_lines(&out) >= rows);
        let ranks = children(child.id());
        send("-KILL", ranks[kill % ranks.len()]);
        assert!(!end_of(child).status.success());
        arguments = resume(&out);
    }
    assert_resumed(4, &config, &out, &settings, None);
}

/// A signal to the launcher, which hands it on after a second, and one to a single rank.
#[test]
fn signals_end_all_ranks_with_a_checkpoint() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let config = tiny(folder.path());
    let settings = [SHARED, ENDLESS, &["checkpoint.every=1000000"]].concat();
    for to_launcher in [true, false] {
        let out = folder.path().join(format!("out-{to_launcher}"));
        let Some(command) = on_ranks(3, &train(&config, &out, &settings)) else { return };
        let child = start(command);
        wait_for("rows", || metrics_lines(&out) > 4);
        let last = children(child.id()).last().copied();
        send("-TERM", if to_launcher { child.id() } else { last.unwrap() });
        let output = end_of(child);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{stderr}");
        assert!(!states(&out).is_empty(), "no state was kept: {stderr}");
        // The state that was kept at the signal is one that the other run has not.
        assert_resumed(2, &config, &out, &settings, Some("checkpoints"));
    }
}

#[cfg(feature = "mpi-faults")]
#[test]
fn a_rank_that_breaks_ends_the_job_with_its_message() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let config = tiny(folder.path());
    let one = folder.path().join("one");
    let settings = [SHARED, &["training.updates=120", "checkpoint.every=10"]].concat();
    alone(&train(&config, &one, &settings));
    for (fault, expected) in [
        ("panic:1:25", "ZTRACK_FAULT asks for a panic"),
        ("panic:0:25", "ZTRACK_FAULT asks for a panic"),
        ("kill:2:25", ""),
        ("differ:2:100", "ranks 0 and 2 have come to different parameters at update 100"),
    ] {
        let out = folder.path().join(fault.replace(':', "-"));
        let Some(mut command) = on_ranks(3, &train(&config, &out, &settings)) else { return };
        command.env("ZTRACK_FAULT", fault);
        let output = end_of(start(command));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{fault}: {stderr}");
        assert!(stderr.contains(expected), "{fault}: {stderr}");
        let Some(mut command) = on_ranks(2, &resume(&out)) else { return };
        must(&command.output().unwrap());
        assert_same(&one, &out);
    }
}

#[test]
fn data_that_a_rank_cannot_read_end_the_job() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let (config, out) = (tiny(folder.path()), folder.path().join("out"));
    let rows = |first: usize| -> String {
        (0..60).map(|i| format!("{},{},0,1\n", (i + first) % 2, i % 3 / 2)).collect()
    };
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("a/rows.csv"), rows(0)).unwrap();
    let source = "data.source={ name = \"files\", train = \"rows.csv\" }";
    let of = |name: &str| {
        let data = text(&folder.path().join(name));
        let more = ["--read-data".into(), "all".into(), "--data-folder".into(), data];
        [train(&config, &out, &[source]), more.to_vec()].concat()
    };
    // Rank 1 looks elsewhere: in a folder without the file, and in one with another.
    for (expected, here) in [("rows.csv", false), ("rank 1 has read other rows", true)] {
        if here {
            fs::write(folder.path().join("b/rows.csv"), rows(1)).unwrap();
            let _ = fs::remove_dir_all(&out);
        }
        let Some(mut command) = on_ranks(1, &of("a")) else { return };
        command.args([":", "-n", "1", env!("CARGO_BIN_EXE_ztrack")]).args(of("b"));
        let output = end_of(start(command));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    }
}
