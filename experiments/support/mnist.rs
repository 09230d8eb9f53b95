//! The shared MNIST models and the data their base distribution is fitted to; `None` if they are missing.

use std::path::{Path, PathBuf};

use ztrack::checkpoint::ModelFile;
use ztrack::data::{Binarization, Binarizer, Source, SplitOptions, load};
use ztrack::engine::BitMatrix;
use ztrack::{Parameters, Result};

fn shared() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared")
}

/// A model of ../shared/models.
pub fn shared_model(name: &str) -> Option<Parameters> {
    let file = shared().join("models").join(name).with_extension("npz");
    Some(ModelFile::load(file).ok()?.parameters)
}

/// Training rows of MNIST, binarized at 1/2, from the folder in ZTRACK_DATA or ../shared/datasets.
pub fn training_rows() -> Option<BitMatrix> {
    let rows = || -> Result<BitMatrix> {
        let folder = std::env::var_os("ZTRACK_DATA");
        let folder = folder.map_or(shared().join("datasets"), PathBuf::from);
        let splits = load(&Source::Mnist {}, &SplitOptions::default(), &folder)?;
        Binarizer::new(Binarization::Threshold(0.5))?.binarize(&splits.train, 0, 0)
    };
    rows().ok()
}
