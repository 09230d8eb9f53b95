//! One run on several ranks: the bytes of one process, whatever breaks. Needs `--features mpi-faults` and an installed mpirun;
//! without the feature, what launchers of several processes are told.

#![cfg(unix)]

mod common;
#[cfg(feature = "mpi")]
mod jobs;

use common::{run, text, tiny, ztrack};
use tempfile::TempDir;

#[cfg(not(feature = "mpi"))]
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

#[cfg(feature = "mpi")]
mod ranks {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Output;
    use std::time::Duration;

    use super::common::{assert_same, shared};
    use super::jobs::{children, end_of, on_ranks, send, start, turn, wait_for};
    use super::{TempDir, run, text, tiny, ztrack};

    /// More chains, particles and rows than one task has, so that there is work for every rank.
    const SHARED: &[&str] = &[
        "data.source={ name = \"bars-and-stripes\", side = 4, rows = 900, noise = 0.05 }",
        "model.hidden=22",
        "training.gradient={ kind = \"pcd\", particles = 130 }",
        "training.centering=true",
        "tempering.chains=230",
        "evaluation.exact=false",
        "audit={ every = 2, chains = 120, temperatures = 200 }",
    ];
    /// Chains of the gradient's own beside those of the tracker, which follow the average; their moments are shared too.
    const TEMPERED: &[&str] = &[
        "data.source={ name = \"bars-and-stripes\", side = 4, rows = 900, noise = 0.05 }",
        "model.hidden=22",
        "training.gradient={ kind = \"tempered\" }",
        "tempering.chains=700",
        "tempering.beta_update={ joint = 2 }",
        "evaluation.every=10",
    ];
    /// The filter of the paper, one set of chains, rows that are binarized anew in every epoch.
    const SMOOTHED: &[&str] = &[
        "training.gradient={ kind = \"tempered\" }",
        "averaging.window=0",
        "tempering.chains=120",
        "tempering.smoothing={ alpha = 0.2 }",
        "training.pretraining={ updates = 21, learning_rate = 0.05, batch = 10 }",
    ];

    fn train(config: &str, out: &Path, settings: &[&str]) -> Vec<String> {
        let mut arguments: Vec<String> =
            vec!["train".into(), config.into(), "-q".into(), "--out".into(), text(out)];
        for setting in settings {
            arguments.extend(["--set".into(), setting.to_string()]);
        }
        arguments
    }

    fn resume(out: &Path) -> Vec<String> {
        ["train", "--resume", "-q", "--out", &text(out)].map(String::from).to_vec()
    }

    fn must(output: &Output) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {stderr}", output.status);
    }

    fn alone(arguments: &[String]) {
        must(&ztrack().args(arguments).output().unwrap());
    }

    /// Files from before a run ended by itself.
    fn states(out: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(out.join("checkpoints/state")).into_iter().flatten();
        let mut states: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        states.retain(|path| path.extension().is_some_and(|extension| extension == "state"));
        states.sort();
        states
    }

    /// One rank of a job, two, three of unequal parts, four.
    #[test]
    fn runs_have_the_bytes_of_one_process_on_any_number_of_ranks() {
        let (folder, _turn) = (TempDir::new().unwrap(), turn());
        let config = tiny(folder.path());
        for (name, settings) in [("shared", SHARED), ("tempered", TEMPERED), ("smoothed", SMOOTHED)]
        {
            let one = folder.path().join(name);
            alone(&train(&config, &one, settings));
            for ranks in 1..=4 {
                let out = folder.path().join(format!("{name}-{ranks}"));
                let Some(mut command) = on_ranks(ranks, &train(&config, &out, settings)) else {
                    return;
                };
                must(&command.output().unwrap());
                assert_same(&one, &out);
            }
        }
    }

    /// Runs on real data, shortened: PCD and the tempered gradient, both filters, with averages and weights and without.
    const REAL: &[(&str, &str, &[&str])] = &[
        (
            "dna",
            "averaged",
            &[
                "training.gradient={ kind = \"pcd\" }",
                "training.updates=60",
                "evaluation.every=30",
                "audit={ every = 2, temperatures = 300 }",
                "tempering.beta_update={ joint = 2 }",
            ],
        ),
        (
            "dna",
            "tempered",
            &[
                "training.updates=24",
                "evaluation.every=12",
                "tempering.settling.most=60",
                "audit={ every = 2, temperatures = 300 }",
            ],
        ),
        (
            "dna",
            "smoothed",
            &[
                "training.gradient={ kind = \"pcd\" }",
                "training.updates=60",
                "evaluation.every=30",
                "averaging.window=0",
                "tempering.weighted=false",
                "tempering.smoothing={ alpha = 0.2 }",
            ],
        ),
        (
            "mnist",
            "averaged",
            &[
                "training.updates=12",
                "evaluation.every=6",
                "evaluation.train_rows=1000",
                "tempering.settling.most=60",
                "tempering.initial_rounds.most=2",
                "audit={ every = 2, chains = 100, temperatures = 200 }",
            ],
        ),
        (
            "mnist",
            "tempered",
            &[
                "training.gradient={ kind = \"tempered\" }",
                "training.updates=6",
                "evaluation.every=6",
                "evaluation.train_rows=1000",
                "tempering.settling.most=30",
                "tempering.initial_rounds={ most = 2, sweeps = 10 }",
                "audit={ every = 2, chains = 100, temperatures = 200 }",
            ],
        ),
    ];

    /// dna and MNIST 784 x 500 on two and three ranks, or those `ZTRACK_RANKS` lists (`1,2,3,4`).
    #[test]
    fn real_data_have_the_bytes_of_one_process() {
        let (folder, _turn) = (TempDir::new().unwrap(), turn());
        let Some(data) = shared("datasets") else { return };
        let listed = std::env::var("ZTRACK_RANKS").unwrap_or("2,3".into());
        for (config, name, settings) in REAL {
            let arguments = |out: &Path| {
                let mut arguments = train(config, out, settings);
                arguments.extend(["--data-folder".into(), text(&data)]);
                arguments
            };
            let one = folder.path().join(format!("{config}-{name}"));
            alone(&arguments(&one));
            for ranks in listed.split(',').map(|ranks| ranks.parse().unwrap()) {
                let out = folder.path().join(format!("{config}-{name}-{ranks}"));
                let Some(mut command) = on_ranks(ranks, &arguments(&out)) else { return };
                must(&command.output().unwrap());
                assert_same(&one, &out);
                eprintln!("{config}, {name}: {ranks} ranks have the bytes of one process");
            }
        }
    }

    /// Every rank reads the data by itself; a run that is longer than it was, on other numbers of ranks each time.
    #[test]
    fn runs_go_on_with_other_numbers_of_ranks() {
        let (folder, _turn) = (TempDir::new().unwrap(), turn());
        let config = tiny(folder.path());
        let (one, out) = (folder.path().join("one"), folder.path().join("out"));
        let length =
            |updates: usize| vec!["--set".to_string(), format!("training.updates={updates}")];
        alone(&[train(&config, &one, SHARED), length(9)].concat());
        let first =
            [train(&config, &out, SHARED), length(9), vec!["--read-data".into(), "all".into()]];
        let Some(mut command) = on_ranks(3, &first.concat()) else { return };
        must(&command.output().unwrap());
        for (updates, ranks) in [(13, 2), (17, 0), (20, 4)] {
            alone(&[resume(&one), length(updates)].concat());
            let arguments = [resume(&out), length(updates)].concat();
            match on_ranks(ranks, &arguments) {
                Some(mut command) if ranks > 0 => must(&command.output().unwrap()),
                _ => alone(&arguments),
            }
            assert_same(&one, &out);
        }
    }

    /// A rank that is killed, at moments that differ, ends the job; what is resumed, on another number of ranks, has the bytes
    /// of a run left alone.
    #[test]
    fn jobs_that_lose_a_rank_end_and_can_be_resumed() {
        let (folder, _turn) = (TempDir::new().unwrap(), turn());
        let config = tiny(folder.path());
        let (one, out) = (folder.path().join("one"), folder.path().join("out"));
        let kills: usize = std::env::var("ZTRACK_KILLS").map_or(3, |kills| kills.parse().unwrap());
        let updates = format!("training.updates={}", 100 + 30 * kills);
        let settings = [SHARED, &[&updates, "checkpoint.every=10"]].concat();
        alone(&train(&config, &one, &settings));
        let mut arguments = train(&config, &out, &settings);
        for kill in 0..kills {
            let Some(command) = on_ranks(2 + kill % 2, &arguments) else { return };
            let child = start(command);
            let before = states(&out);
            wait_for("checkpoint", || states(&out) != before || out.join("summary.json").exists());
            // The moment is another one each time: some updates later.
            std::thread::sleep(Duration::from_millis(37 * (kill as u64 % 5)));
            let ranks = children(child.id());
            let lost = ranks.get(kill % ranks.len().max(1)).copied();
            lost.into_iter().for_each(|rank| send("-KILL", rank));
            let output = end_of(child);
            if out.join("summary.json").exists() {
                break;
            }
            assert!(!output.status.success());
            arguments = resume(&out);
        }
        let Some(mut command) = on_ranks(4, &resume(&out)) else { return };
        must(&command.output().unwrap());
        assert_same(&one, &out);
    }

    /// A signal to the launcher, which hands it on, and one to a single rank.
    #[test]
    fn signals_end_all_ranks_with_a_checkpoint() {
        let (folder, _turn) = (TempDir::new().unwrap(), turn());
        let config = tiny(folder.path());
        let one = folder.path().join("one");
        // Open MPI hands a signal on after a second, in which the run must not end by itself.
        let settings = [SHARED, &["training.updates=1500", "checkpoint.every=10000"]].concat();
        alone(&train(&config, &one, &settings));
        for to_launcher in [true, false] {
            let out = folder.path().join(format!("out-{to_launcher}"));
            let Some(command) = on_ranks(3, &train(&config, &out, &settings)) else { return };
            let child = start(command);
            let rows =
                || fs::read_to_string(out.join("metrics.csv")).map_or(0, |t| t.lines().count());
            wait_for("rows", || rows() > 4);
            let last = children(child.id()).last().copied();
            send("-TERM", if to_launcher { child.id() } else { last.unwrap() });
            let output = end_of(child);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{stderr}");
            assert!(!states(&out).is_empty() && !out.join("summary.json").exists(), "{stderr}");
            let Some(mut command) = on_ranks(2, &resume(&out)) else { return };
            must(&command.output().unwrap());
            // The state that was kept at the signal is one that the other run has not.
            for run in [&one, &out] {
                let _ = fs::remove_dir_all(run.join("checkpoints"));
            }
            assert_same(&one, &out);
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

    #[test]
    fn estimates_have_the_bytes_of_one_process() {
        let (folder, _turn) = (TempDir::new().unwrap(), turn());
        let (config, out) = (tiny(folder.path()), folder.path().join("out"));
        alone(&train(&config, &out, &SHARED[..3]));
        let model = text(&out.join("best.safetensors"));
        let arguments: Vec<String> =
            ["estimate", &model, "--no-exact", "--json", "--chains", "120", "--sweeps", "100"]
                .into_iter()
                .chain(["--method", "auto,rts,ais,bar", "--temperatures", "20", "--budget", "1"])
                .map(String::from)
                .collect();
        let numbers = |output: &Output| {
            must(output);
            let stdout = String::from_utf8_lossy(&output.stdout);
            stdout
                .lines()
                .filter(|line| !line.contains("\"seconds\""))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let one = numbers(&ztrack().args(&arguments).output().unwrap());
        for ranks in [2, 3] {
            let Some(mut command) = on_ranks(ranks, &arguments) else { return };
            assert_eq!(numbers(&command.output().unwrap()), one);
        }
    }

    #[test]
    fn what_one_process_does_is_refused_on_several() {
        let _turn = turn();
        assert!(run(&["config", "list"]).status.success());
        let arguments = ["config", "list"].map(String::from);
        let Some(mut command) = on_ranks(2, &arguments) else { return };
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(stderr.contains("`ztrack config` is the work of one process"), "{stderr}");
        assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
    }
}
