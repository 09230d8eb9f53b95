//! Curves of log Z, energy, heat capacity and entropy in a folder: `curves.csv` and one picture per curve.

use std::path::Path;

use anyhow::{Context, Result};

use crate::checkpoint::write_bytes;
use crate::estimators::tempered::CurvePoint;
use crate::record::{Chart, Series};

/// Writes the curves; the folder is created if missing, files in it are replaced.
pub fn write(folder: &Path, curves: &[CurvePoint]) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("--curves: cannot create {}", folder.display()))?;
    let mut csv = csv::Writer::from_writer(Vec::new());
    for point in curves {
        csv.serialize(point)?;
    }
    write_bytes(folder.join("curves.csv"), &csv.into_inner().map_err(|e| e.into_error())?)?;
    type Curve = fn(&CurvePoint) -> (f64, f64);
    let pictures: [(&str, &str, Curve); 4] = [
        ("log_z", "log Z in nats", |p| (p.log_z, p.log_z_std_error)),
        ("energy", "mean energy in nats", |p| (p.energy, p.energy_std_error)),
        ("heat_capacity", "heat capacity", |p| (p.heat_capacity, p.heat_capacity_std_error)),
        ("entropy", "entropy in nats", |p| (p.entropy, p.entropy_std_error)),
    ];
    for (file, label, curve) in pictures {
        let points = curves.iter().map(|point| (point.beta, curve(point).0)).collect();
        let errors = curves.iter().map(|point| curve(point).1).collect();
        let series = vec![Series::line("", points).errors(errors)];
        let title = format!("{label}, with one standard error");
        let chart = Chart { title, ..Chart::of("inverse temperature beta", label, series) };
        chart.save(&folder.join(format!("{file}.svg")))?;
    }
    Ok(())
}
