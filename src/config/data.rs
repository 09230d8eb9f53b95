//! From `[data]` to rows.

use std::path::Path;

use super::DataConfig;
use crate::data::{SplitOptions, Splits, find_folder, load};
use crate::error::Result;

impl DataConfig {
    /// The rows in their parts; `folder` of data sets in place of `data.folder`, where one is given.
    ///
    /// # Errors
    /// Data that cannot be read, or parts without rows.
    pub fn load(&self, folder: Option<&Path>) -> Result<Splits> {
        let folder = find_folder(folder.or(self.folder.as_deref()));
        let options = SplitOptions {
            validation_fraction: self.validation_fraction,
            test_fraction: self.test_fraction,
            seed: self.split_seed,
        };
        load(&self.source, &options, &folder)
    }
}
