//! The training runs and the trackers.

/// A gradient with a rate; `aggressive`: far above what one would use.
pub struct Setting {
    pub name: &'static str,
    pub aggressive: bool,
    pub gradient: &'static str,
    pub update: &'static str,
    pub rate: f64,
}

const fn setting(
    name: &'static str,
    aggressive: bool,
    gradient: &'static str,
    update: &'static str,
    rate: f64,
) -> Setting {
    Setting { name, aggressive, gradient, update, rate }
}

/// What models are trained by.
pub const SETTINGS: [Setting; 10] = [
    setting("PCD-1 .02", false, "pcd", "sgd", 0.02),
    setting("PCD-1 .2", true, "pcd", "sgd", 0.2),
    setting("CD-1 .05", false, "cd", "sgd", 0.05),
    setting("CD-1 .3", true, "cd", "sgd", 0.3),
    setting("tempered .05", false, "tempered", "sgd", 0.05),
    setting("tempered .3", true, "tempered", "sgd", 0.3),
    setting("Adam .002", false, "pcd", "adam", 0.002),
    setting("Adam .02", true, "pcd", "adam", 0.02),
    setting("RMSspectral 1e-4", false, "pcd", "rmsspectral", 1e-4),
    setting("RMSspectral 1e-3", true, "pcd", "rmsspectral", 1e-3),
];

/// Trackers by name, as overrides of the defaults.
pub const TRACKERS: [(&str, &[&str]); 6] = [
    ("default", &[]),
    (
        "old",
        &[
            "averaging.window=0",
            "tempering.weighted=false",
            "tempering.settling.sweeps=0",
            "tempering.every=1",
            "tempering.sweeps=5",
            "tempering.temperatures=100",
        ],
    ),
    ("averaged", &["averaging.window=0.1", "tempering.weighted=false"]),
    ("weighted", &["averaging.window=0", "tempering.weighted=true"]),
    ("both", &["averaging.window=0.1", "tempering.weighted=true"]),
    (
        "eq. 24",
        &[
            "averaging.window=0",
            "tempering.weighted=false",
            "tempering.settling.sweeps=0",
            "tempering.every=1",
            "tempering.sweeps=5",
            "tempering.temperatures=100",
            "tempering.smoothing={ alpha = 0.2 }",
        ],
    ),
];
