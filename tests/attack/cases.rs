//! Runs of random configurations.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use ndarray::Array2;
use ndarray_npy::WriteNpyExt;
use rand::{Rng, RngExt};
use tempfile::TempDir;

use super::common::{text, tiny, ztrack};

/// Whether the long form is asked for.
pub fn long() -> bool {
    std::env::var_os("ZTRACK_LONG").is_some()
}

/// Settings that a random configuration draws from, beside those of its kind.
fn settings(kind: usize, grey: &Path, stream: &mut impl Rng) -> Vec<String> {
    let mut pick = |choices: &[&str]| choices[stream.random_range(0..choices.len())].to_string();
    let kinds: [&[&str]; 4] = [
        &[
            "training.gradient={ kind = \"tempered\" }",
            "training.learning_rate={ initial = 0.01 }",
            "tempering.prior={ exponential = 2.0 }",
        ],
        &[
            "data.binarization=stochastic",
            "tempering.every=4",
            "training.gradient={ kind = \"pcd\" }",
        ],
        &[
            "training.update={ rule = \"rmsspectral\" }",
            "training.learning_rate={ initial = 0.0001 }",
            "tempering.smoothing={ alpha = 0.3 }",
        ],
        &[
            "training.pretraining={ updates = 43, learning_rate = 0.05, batch = 10 }",
            "training.update={ rule = \"adam\" }",
            "training.gradient={ kind = \"cd\", sweeps = 2 }",
        ],
    ];
    let mut settings: Vec<String> = kinds[kind].iter().map(ToString::to_string).collect();
    if kind == 1 {
        settings.push(format!("data.source={{ name = \"files\", train = {grey:?} }}"));
    }
    let updates = if long() { "training.updates=500" } else { "training.updates=120" };
    settings.extend([
        updates.into(),
        pick(&["seed=1", "seed=2", "seed=9223372036854775808"]),
        pick(&["checkpoint.every=7", "checkpoint.every=20", "checkpoint.every=50"]),
        pick(&["checkpoint.keep=2", "checkpoint.keep=0"]),
        pick(&["evaluation.every=3", "evaluation.every=5", "evaluation.every=11"]),
        pick(&["evaluation.images_every=0", "evaluation.images_every=4"]),
        pick(&["training.centering=true", "training.centering=false"]),
        pick(&["training.weight_decay=0.0", "training.weight_decay=0.001"]),
        pick(&["tempering.chains=30", "tempering.chains=61"]),
        pick(&["tempering.temperatures=5", "tempering.temperatures=9"]),
        pick(&["tempering.beta_update=collapsed", "tempering.beta_update={ joint = 2 }"]),
        pick(&["training.early_stopping={ patience = 1000 }", "data.split_seed=5"]),
    ]);
    settings
}

/// What a random run needs.
pub struct Case {
    folder: TempDir,
    config: String,
    pub settings: Vec<String>,
}

impl Case {
    pub fn new(kind: usize, stream: &mut impl Rng) -> Self {
        let folder = TempDir::new().unwrap();
        let grey = folder.path().join("grey.npy");
        let levels = Array2::from_shape_fn((150, 9), |_| stream.random_range(0..=255u8));
        let mut bytes = Vec::new();
        levels.write_npy(&mut bytes).unwrap();
        fs::write(&grey, bytes).unwrap();
        let (config, settings) = (tiny(folder.path()), settings(kind, &grey, stream));
        Self { folder, config, settings }
    }

    pub fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the run, or continues it where there is something to continue.
    pub fn arguments(&self, out: &Path) -> Vec<String> {
        let mut arguments = vec!["train".to_string(), "--quiet".into(), "--out".into(), text(out)];
        if out.join("config.toml").exists() {
            arguments.push("--resume".into());
        } else {
            arguments.push(self.config.clone());
            for setting in &self.settings {
                arguments.extend(["--set".into(), setting.clone()]);
            }
        }
        arguments
    }

    pub fn finish(&self, out: &Path) {
        let output = ztrack().args(self.arguments(out)).output().unwrap();
        assert!(output.status.success(), "{:?}: {}", self.settings, stderr(&output));
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
