//! The configurations that come with the program, by name.

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// As `ztrack train NAME` takes it.
    pub name: &'static str,
    /// What it is, in a line.
    pub what: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal: $what:literal,)*) => {
        &[$(Shipped {
            name: $name,
            what: $what,
            text: include_str!(concat!("../../configs/", $name, ".toml")),
        }),*]
    };
}

/// All of them: the files of `configs/`.
pub const SHIPPED: &[Shipped] = shipped! {
    "bars-and-stripes": "5 x 5 bars and stripes, generated; 16 hidden units, every audit exact; under a minute",
    "dna-like": "generated sequences, 200 hidden units",
    "dna": "dna (`ztrack data fetch dna`), 128 hidden units",
    "dna-paper": "the run on dna of Carlson et al. 2016, section 4.4, 500 hidden units",
    "mnist-exact": "MNIST (`ztrack data fetch mnist`), 16 hidden units, every audit exact",
    "mnist": "MNIST thresholded, 500 hidden units; 20 minutes",
    "mnist-binarized": "the fixed binarization of MNIST, 500 hidden units; 20 minutes",
    "mnist-stochastic": "MNIST binarized afresh every epoch, 500 hidden units; 20 minutes",
};

/// The one of this name.
pub fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn all_files_of_the_folder_are_built_in_and_can_be_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_string())
            .collect();
        files.sort();
        let mut names: Vec<_> = SHIPPED.iter().map(|shipped| shipped.name.to_string()).collect();
        names.sort();
        assert_eq!(files, names);
        for shipped in SHIPPED {
            let config = Config::parse(shipped.text, &[]);
            let config = config.unwrap_or_else(|e| panic!("{}: {e}", shipped.name));
            let hidden = format!(" {} hidden units", config.model.hidden);
            assert!(shipped.what.contains(&hidden), "{}: {hidden}", shipped.what);
        }
    }
}
