//! Scores of single runs, summaries over them, and their files.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use ztrack::checkpoint::write_bytes;
use ztrack::estimators::Bias;
use ztrack::record::{Chart, Look, Series};

/// One estimate of one run.
#[derive(Clone, Serialize)]
pub struct Score {
    pub model: String,
    pub seed: u64,
    pub method: &'static str,
    pub bias: Bias,
    pub log_z: f64,
    pub std_error: f64,
    pub exact: f64,
    pub error: f64,
    pub z: f64,
    pub seconds: f64,
    pub sound: bool,
}

/// All runs of one estimator.
#[derive(Serialize)]
pub struct Summary {
    method: &'static str,
    bias: Bias,
    runs: usize,
    mean_z: f64,
    sd_z: f64,
    mean_error: f64,
    rmse: f64,
    mean_std_error: f64,
    doubted: usize,
    /// As close as its bias and error bar promise.
    pub passes: bool,
}

fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (mean, (values.map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

/// One summary a method, in the order of the scores.
pub fn summarise(scores: &[Score]) -> Vec<Summary> {
    let mut methods: Vec<&'static str> = Vec::new();
    for score in scores {
        if !methods.contains(&score.method) {
            methods.push(score.method);
        }
    }
    methods
        .into_iter()
        .map(|method| {
            let of: Vec<&Score> = scores.iter().filter(|score| score.method == method).collect();
            let (mean_z, sd_z) = mean_and_deviation(of.iter().map(|score| score.z));
            let (mean_error, sd_error) = mean_and_deviation(of.iter().map(|score| score.error));
            let n = of.len() as f64;
            let bias = of[0].bias;
            let noise = 3.0 * sd_error / n.sqrt();
            let passes = match bias {
                Bias::Low => mean_error < noise,
                Bias::High => mean_error > -noise,
                Bias::Biased => true,
                Bias::None | Bias::Consistent => mean_z.abs() <= 0.5 && (0.7..=1.4).contains(&sd_z),
            };
            Summary {
                method,
                bias,
                runs: of.len(),
                mean_z,
                sd_z,
                mean_error,
                rmse: (of.iter().map(|score| score.error.powi(2)).sum::<f64>() / n).sqrt(),
                mean_std_error: of.iter().map(|score| score.std_error).sum::<f64>() / n,
                doubted: of.iter().filter(|score| !score.sound).count(),
                passes,
            }
        })
        .collect()
}

/// The table on standard output.
pub fn print(summaries: &[Summary]) {
    println!(
        "{:<14}{:>6}{:>9}{:>8}{:>11}{:>9}{:>10}{:>9}  bias",
        "method", "runs", "mean z", "sd z", "mean error", "RMSE", "claimed", "doubted"
    );
    for s in summaries {
        println!(
            "{:<14}{:>6}{:>9.2}{:>8.2}{:>11.4}{:>9.4}{:>10.4}{:>9}  {:?}{}",
            s.method,
            s.runs,
            s.mean_z,
            s.sd_z,
            s.mean_error,
            s.rmse,
            s.mean_std_error,
            s.doubted,
            s.bias,
            if s.passes { "" } else { "  <- outside" }
        );
    }
}

/// Files of all runs and of the table, and its picture.
pub fn save(out: &Path, scores: &[Score], summaries: &[Summary]) -> Result<()> {
    write_bytes(out.join("runs.csv"), &csv_of(scores)?)?;
    write_bytes(out.join("summary.csv"), &csv_of(summaries)?)?;
    let bar = |(i, s): (usize, &Summary)| Series {
        name: s.method.into(),
        points: vec![(i as f64 + 1.0, s.mean_z)],
        errors: vec![s.sd_z],
        look: Look::Marks,
        ..Series::default()
    };
    let chart = Chart {
        title: "z-scores against enumeration: mean, and one standard deviation".into(),
        x_label: "estimator, in the order of the legend".into(),
        y_label: "(estimate - exact)/claimed standard error".into(),
        series: summaries.iter().enumerate().map(bar).collect(),
        ..Chart::default()
    };
    Ok(chart.save(&out.join("z_scores.svg"))?)
}

/// Rows with the names of their fields as a header.
pub fn csv_of(rows: &[impl Serialize]) -> Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for row in rows {
        csv.serialize(row)?;
    }
    Ok(csv.into_inner().map_err(|error| error.into_error())?)
}
