//! Tables and charts in the form of the paper.

use ztrack::Result;
use ztrack::record::{Chart, Series};
use ztrack::tempering::schedules::{SlopeVariance, decelerate, linear, salakhutdinov_murray};

use crate::Run;
use crate::models::MODELS;
use crate::rivals::{Rival, paper_ess};

/// Figure 1: beta against the share of steps done.
pub fn schedules(name: &str, hidden: usize, variance: &SlopeVariance) -> Result<Chart> {
    let line = |name: &str, betas: Vec<f64>| {
        let last = (betas.len() - 1) as f64;
        let points = betas.into_iter().enumerate().map(|(k, beta)| (k as f64 / last, beta));
        Series::line(name, points.collect())
    };
    Ok(Chart {
        title: format!("Annealing schedules, {name}({hidden})"),
        x_label: "share of the steps".into(),
        y_label: "beta".into(),
        series: vec![
            line("LINEAR", linear(200)?),
            line("SM08", salakhutdinov_murray(200)?),
            line("VAROPT", variance.schedule(200)?),
            line("VAROPT.009", decelerate(&variance.schedule(200)?, 0.009)?),
        ],
        ..Chart::default()
    })
}

/// Tables 1 and 2: log Z and ESS at the largest number of temperatures, beside the paper's ESS.
pub fn table(hidden: usize, models: &[usize], rivals: &[&Rival], runs: &[Run]) -> String {
    let largest = runs.iter().map(|run| run.temperatures).max().unwrap_or(0);
    let mut text = format!(
        "{largest} temperatures. paper: ESS of 1000 chains at 100000, on models of its own.\n\n{:<16}",
        "schedule"
    );
    for &model in models {
        text += &format!("{:>20}", format!("{}({hidden}) log Z", MODELS[model].0));
        text += &format!("{:>8}{:>7}", "ESS", "paper");
    }
    for Rival { name, .. } in rivals {
        text += &format!("\n{name:<16}");
        for &model in models {
            let run = runs
                .iter()
                .find(|run| (run.model, run.schedule, run.temperatures) == (model, *name, largest));
            text += &run.map_or(format!("{:>20}{:>8}", "-", "-"), |run| {
                let value = format!("{:.3} +- {:.3}", run.log_z, run.std_error);
                format!("{value:>20}{:>8.0}", run.ess)
            });
            let paper = paper_ess(hidden, name, model).map_or("-".into(), |ess| ess.to_string());
            text += &format!("{paper:>7}");
        }
    }
    if runs.iter().any(|run| run.exact.is_finite()) {
        text += "\nexact           ";
    }
    for &model in models {
        let run = runs.iter().find(|run| run.model == model && run.exact.is_finite());
        text += &run.map_or(String::new(), |run| format!("{:>20.3}{:>15}", run.exact, ""));
    }
    text + "\n\n"
}

/// Temperatures that a schedule by VAROPT needs for the linear one's ESS (also decelerated to steps of .009, as the paper proposes); by
/// interpolation of ESS against log K.
pub fn needed(models: &[usize], runs: &[Run]) -> String {
    let mut text = String::from("Temperatures for the same ESS as the linear schedule:\n");
    for &model in models {
        let curve = |schedule: &str| -> Vec<(f64, f64)> {
            let of = runs.iter().filter(|run| (run.model, run.schedule) == (model, schedule));
            of.map(|run| (run.temperatures as f64, run.ess)).collect()
        };
        for (k, target) in curve("LINEAR") {
            text += &format!("  {:<5} ESS {target:>5.0}: LINEAR {k:>6}", MODELS[model].0);
            for rival in ["VAROPT", "GMS13", "VAROPT.009"] {
                text += &format!(", {rival} {:>8}", reaches(&curve(rival), target));
            }
            text += "\n";
        }
    }
    text
}

/// The number of temperatures at which a curve of (temperatures, ESS) reaches `target`.
fn reaches(curve: &[(f64, f64)], target: f64) -> String {
    match curve {
        [] => "-".into(),
        [first, ..] if first.1 >= target => format!("< {:.0}", first.0),
        [.., last] => curve.windows(2).find(|pair| pair[1].1 >= target).map_or_else(
            || format!("> {:.0}", last.0),
            |pair| {
                let share = (target - pair[0].1) / (pair[1].1 - pair[0].1);
                format!("{:.0}", pair[0].0 * (pair[1].0 / pair[0].0).powf(share))
            },
        ),
    }
}

/// Every run as a row.
pub fn rows(runs: &[Run]) -> ([&'static str; 8], Vec<Vec<String>>) {
    let header = [
        "model",
        "schedule",
        "temperatures",
        "log_z",
        "std_error",
        "exact_log_z",
        "ess",
        "seconds",
    ];
    let row = |run: &Run| {
        let names = [MODELS[run.model].0.to_string(), format!("\"{}\"", run.schedule)];
        let numbers = [run.log_z, run.std_error, run.exact, run.ess, run.seconds];
        let numbers = numbers.map(|x| x.to_string());
        names.into_iter().chain([run.temperatures.to_string()]).chain(numbers).collect()
    };
    (header, runs.iter().map(row).collect())
}

/// Figures 2 and 5 (log Z against temperatures), 3 and 6 (ESS against temperatures), and 4 (ESS on the way, at the largest number).
pub fn charts(
    hidden: usize,
    model: usize,
    rivals: &[&Rival],
    runs: &[Run],
) -> [(&'static str, Chart); 3] {
    let of = |name: &'static str| {
        runs.iter().filter(move |run| (run.model, run.schedule) == (model, name))
    };
    let name = format!("{}({hidden})", MODELS[model].0);
    let log_z = rivals.iter().map(|rival| {
        let points = of(rival.name).map(|run| (run.temperatures as f64, run.log_z)).collect();
        let errors = of(rival.name).map(|run| run.std_error).collect();
        Series { errors, ..Series::line(rival.name, points) }
    });
    let exact = of("LINEAR").map(|run| (run.temperatures as f64, run.exact));
    let exact = Series::line("exact", exact.filter(|point| point.1.is_finite()).collect());
    let ess = rivals.iter().map(|rival| {
        Series::line(
            rival.name,
            of(rival.name).map(|run| (run.temperatures as f64, run.ess)).collect(),
        )
    });
    let along = rivals.iter().filter_map(|rival| {
        let run = of(rival.name).max_by_key(|run| run.temperatures)?;
        Some(Series::line(rival.name, run.ess_along.clone()))
    });
    let against_temperatures = |title: String, y_label: &str, series: Vec<Series>| Chart {
        title,
        x_label: "temperatures".into(),
        y_label: y_label.into(),
        log_x: true,
        series,
        ..Chart::default()
    };
    let log_z = log_z.chain([exact]).filter(|series| !series.points.is_empty()).collect();
    [
        ("log_z", against_temperatures(format!("log Z of {name} by AIS"), "log Z, nats", log_z)),
        ("ess", against_temperatures(format!("Effective samples, {name}"), "ESS", ess.collect())),
        (
            "ess_along",
            Chart {
                title: format!("Effective samples on the way, {name}"),
                x_label: "beta".into(),
                y_label: "ESS".into(),
                series: along.collect(),
                ..Chart::default()
            },
        ),
    ]
}
