//! Likelihoods and log Z against the update, with audits.

use super::metrics::{Audit, Metrics};
use super::page::{SIZE, Section, TRAIN, UPDATES, VALIDATION};
use super::run_files::RunFiles;
use super::stopping;
use crate::numerics::statistics::{mean, rms};
use crate::record::markup::Element;
use crate::record::{Chart, Guide, Look, Series};

/// Standard errors that bands and bars show.
const ERRORS: f64 = 2.0;
/// Fraction of the run before which a steep rise may be cut off.
const BEGINNING: f64 = 0.2;
/// Fewest points for cutting off some.
const FEWEST_POINTS: usize = 15;
/// Fewest audits whose z-scores are drawn.
const FEWEST_SCORES: usize = 4;
/// Colours of audits and of tracked log Z.
const AUDIT: usize = 6;
const LOG_Z: usize = 2;

/// A chart as a picture of a figure; none if there is nothing to draw.
pub fn picture(chart: &Chart) -> Vec<Element> {
    chart.element(SIZE).into_iter().collect()
}

/// The chart of log-likelihoods, also written as curves.svg.
pub fn likelihoods(run: &RunFiles) -> Chart {
    let metrics = &run.metrics;
    let curve = |part: &str, colour| band(metrics, part, &format!("{part}_log_likelihood"), colour);
    let mut series = vec![curve("train", TRAIN), curve("validation", VALIDATION)];
    series.retain(|series| !series.points.is_empty());
    let audits = metrics.audits();
    // If every evaluation is exact, the curve is the audit.
    if audits.iter().any(|audit| !audit.exact) {
        // log-likelihood of the validation rows, else of the training rows.
        let by_audit = |audit: &Audit| {
            let gap = metrics.value("free_energy_gap", audit.row).unwrap_or(0.0);
            metrics.number("train_log_f", audit.row) + gap - audit.value
        };
        series.push(marks("by audit", &audits, by_audit));
    }
    let y_range = late_range(&series);
    Chart {
        y_range,
        guides: best(run).into_iter().collect(),
        ..Chart::of(UPDATES, "mean log-likelihood, nats per row", series)
    }
}

/// A column of metrics.csv in a band of its standard errors.
fn band(metrics: &Metrics, name: &str, column: &str, colour: usize) -> Series {
    let error = format!("{column}_std_error");
    let errors = metrics.rows_with(column).map(|row| ERRORS * metrics.number(&error, row));
    Series::line(name, metrics.points(column))
        .errors(errors.collect())
        .look(Look::Band)
        .colour(colour)
}

/// A value of each audit, with the error of its log Z.
fn marks(name: &str, audits: &[Audit], value: impl Fn(&Audit) -> f64) -> Series {
    Series::line(name, audits.iter().map(|audit| (audit.update, value(audit))).collect())
        .errors(audits.iter().map(|audit| ERRORS * audit.std_error).collect())
        .look(Look::Marks)
        .colour(AUDIT)
}

/// A range that shows the later part of the run well: the first rise of a run is steep and would dominate.
fn late_range(series: &[Series]) -> Option<(f64, f64)> {
    let all = || series.iter().flat_map(|series| series.points.iter());
    let end = all().map(|p| p.0).fold(0.0, f64::max);
    let late = all().filter(|p| p.0 >= BEGINNING * end);
    let low = late.map(|p| p.1).fold(f64::INFINITY, f64::min);
    let high = all().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    let lowest = all().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let span = high - low;
    let low = low - 0.5 * span;
    let enough = series.iter().any(|series| series.points.len() >= FEWEST_POINTS);
    (enough && span > 0.0 && lowest < low).then_some((low, high + 0.1 * span))
}

/// A line at the best model.
fn best(run: &RunFiles) -> Option<Guide> {
    let (update, _) = run.best()?;
    let so_far = if run.summary.is_some() { "" } else { "so far " };
    Some(Guide::Vertical(update as f64, format!("best {so_far}{update}")))
}

/// Log-likelihoods and the stopping decision.
pub fn likelihood_section(run: &RunFiles) -> Section {
    let chart = likelihoods(run);
    let healthy = "both curves rise and flatten, validation close to training, points of audits inside the bands";
    let mut section = Section::new("Log-likelihood").figure(
        "Training and validation rows, with bands of 2 standard errors",
        picture(&chart),
        (healthy, likelihood_words(run)),
    );
    if let Some(stopping) = run.stopping() {
        section = section.figure(
            "Evaluations without improvement",
            picture(&stopping::chart(&stopping)),
            (
                "the count falls back to 0 while the model learns, and the run ends only after it has waited long enough",
                stopping::words(run, &stopping),
            ),
        );
    }
    section
}

fn likelihood_words(run: &RunFiles) -> String {
    let metrics = &run.metrics;
    let name =
        if metrics.last("validation_log_likelihood").is_some() { "validation" } else { "train" };
    let points = metrics.points(&format!("{name}_log_likelihood"));
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return "no evaluation was made yet".into();
    };
    let Some(best) = points.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { return String::new() };
    let mut words = format!(
        "{name} went from {:.2} to {:.2} nats per row, its highest value {:.2} at update {}",
        first.1, last.1, best.1, best.0
    );
    if let (Some(train), true) = (metrics.last("train_log_likelihood"), name == "validation") {
        let (gap, place) =
            if train < last.1 { (last.1 - train, "above") } else { (train - last.1, "below") };
        words += &format!(", and ends {gap:.2} {place} training");
    }
    if last.1 < best.1 - 0.05 * (best.1 - first.1).abs() && best.0 < 0.8 * last.0 {
        words += ": it has been overfitting since then";
    }
    words
}

/// The chart of tracked log Z with its audits.
pub fn log_z(run: &RunFiles) -> Chart {
    let metrics = &run.metrics;
    let tracked = band(metrics, "tracked", "log_z", LOG_Z);
    let (exact, sampled): (Vec<Audit>, Vec<Audit>) =
        metrics.audits().into_iter().partition(|audit| audit.exact);
    let audited = |name, audits: &[Audit]| marks(name, audits, |audit| audit.value);
    let mut series = vec![tracked, audited("exact", &exact), audited("AIS", &sampled)];
    series.retain(|series| !series.points.is_empty());
    Chart { y_range: late_range(&series), ..Chart::of(UPDATES, "log Z, nats", series) }
}

/// log Z and its audits.
pub fn log_z_section(run: &RunFiles) -> Section {
    let metrics = &run.metrics;
    let audits = metrics.audits();
    let section = Section::new("log Z").figure(
        "Tracked log Z, with a band of 2 standard errors",
        picture(&log_z(run)),
        ("the band stays narrow and audits lie inside it", log_z_words(metrics)),
    );
    if audits.is_empty() {
        return section;
    }
    let section = section.figure(
        "Tracked minus audited log Z, with 2 combined standard errors",
        picture(&differences(&audits)),
        ("bars cover 0 nineteen times in twenty, on both sides alike", difference_words(&audits)),
    );
    // Fewer do not show a distribution.
    if finite_scores(&audits).len() < FEWEST_SCORES {
        return section;
    }
    section.figure(
        "The same in combined standard errors",
        picture(&z_scores(&audits)),
        ("columns follow the curve of the normal distribution N(0, 1)", z_words(&audits)),
    )
}

fn log_z_words(metrics: &Metrics) -> String {
    let (Some(log_z), Some(error)) = (metrics.last("log_z"), metrics.last("log_z_std_error"))
    else {
        return "log Z was not tracked yet".into();
    };
    let all = (0..metrics.rows()).filter(|&row| metrics.update(row) > 0.0);
    let sound = all.clone().filter(|&row| metrics.value("sound", row) == Some(1.0)).count();
    let doubts = metrics.doubts();
    let why = match doubts.first() {
        Some((name, 1)) => format!(", once in doubt for `{name}`"),
        Some((name, count)) => format!(", most often in doubt for `{name}` ({count} times)"),
        None => String::new(),
    };
    format!(
        "log Z ends at {log_z:.3} ± {error:.3} nats and was sound at {sound} of {} evaluations{why}",
        all.count()
    )
}

fn differences(audits: &[Audit]) -> Chart {
    let points: Vec<_> = audits.iter().map(|a| (a.update, a.tracked - a.value)).collect();
    let error = |a: &Audit| ERRORS * a.tracked_std_error.hypot(a.std_error);
    let errors: Vec<f64> = audits.iter().map(error).collect();
    // Whole bars, except the few that would hide all others.
    let reach = points.iter().zip(&errors).map(|((_, value), error)| value.abs() + error);
    let mut reach: Vec<f64> = reach.filter(|reach| reach.is_finite()).collect();
    reach.sort_by(f64::total_cmp);
    let most = reach.get((0.95 * reach.len() as f64) as usize).copied().filter(|most| *most > 0.0);
    let series = Series::line("", points).errors(errors).look(Look::Marks).colour(LOG_Z);
    Chart {
        y_range: most.map(|most| (-1.1 * most, 1.1 * most)),
        guides: vec![Guide::Horizontal(0.0, String::new())],
        ..Chart::of(UPDATES, "difference, nats", vec![series])
    }
}

fn difference_words(audits: &[Audit]) -> String {
    let differences: Vec<f64> = audits.iter().map(|a| a.tracked - a.value).collect();
    let covered = finite_scores(audits).iter().filter(|z| z.abs() <= ERRORS).count();
    let largest =
        differences.iter().copied().fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
    format!(
        "{covered} of {} bars cover 0, the mean difference is {:+.3} nats and the largest {largest:+.3}",
        audits.len(),
        mean(&differences)
    )
}

fn finite_scores(audits: &[Audit]) -> Vec<f64> {
    audits.iter().map(|audit| audit.in_errors).filter(|z| z.is_finite()).collect()
}

/// Counts of z-scores in bins, and what a normal distribution would have there.
fn z_scores(audits: &[Audit]) -> Chart {
    let scores = finite_scores(audits);
    let width = if scores.len() > 40 { 0.5 } else { 1.0 };
    // Values beyond the range belong to the outermost bins.
    let bins = (8.0 / width) as i32;
    let place = |z: f64| ((z / width).floor() as i32).clamp(-bins / 2, bins / 2 - 1);
    let count = |bin: i32| scores.iter().filter(|z| place(**z) == bin).count() as f64;
    let columns = (-bins / 2..bins / 2).map(|bin| ((f64::from(bin) + 0.5) * width, count(bin)));
    let density = |i: i32| {
        let z = f64::from(i) / 10.0;
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        (z, scores.len() as f64 * width * density)
    };
    let series = vec![
        Series::line("audits", columns.collect()).look(Look::Columns).colour(5),
        Series::line("N(0, 1)", (-40..=40).map(density).collect()).colour(AUDIT),
    ];
    let chart = Chart::of("(tracked - audited)/standard error", "audits", series);
    Chart { x_range: Some((-4.0, 4.0)), ..chart }
}

fn z_words(audits: &[Audit]) -> String {
    let scores = finite_scores(audits);
    let n = scores.len() as f64;
    let (center, size) = (mean(&scores), rms(&scores));
    // Of n normal numbers, the mean scatters by 1/sqrt(n) and the rms by 1/sqrt(2n); successive audits are not independent.
    let wide = size < 1.0 + 3.0 / (2.0 * n).sqrt();
    let words = match (wide, center.abs() < 3.0 / n.sqrt() + 0.5) {
        (true, true) => "as honest error bars would",
        (true, false) if center > 0.0 => "so tracked values were too high in the mean",
        (true, false) => "so tracked values were too low in the mean",
        (false, _) => "so the error bars were too small",
    };
    format!(
        "{} scores have mean {center:+.2} and root mean square {size:.2}, {words}",
        scores.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(in_errors: f64) -> Audit {
        Audit {
            update: 1.0,
            value: 10.0,
            std_error: 0.0,
            exact: true,
            tracked: 10.0 + 0.1 * in_errors,
            tracked_std_error: 0.1,
            in_errors,
            row: 0,
        }
    }

    #[test]
    fn words_on_scores_follow_the_scores() {
        let honest: Vec<Audit> = [-1.4, -0.3, 0.2, 0.9, 1.6].map(audit).into();
        assert!(z_words(&honest).contains("as honest error bars would"));
        assert!(difference_words(&honest).contains("5 of 5"));
        let wrong: Vec<Audit> = [4.0, 5.0, 3.0, 6.0].map(audit).into();
        assert!(z_words(&wrong).contains("too small"));
        assert!(difference_words(&wrong).starts_with("0 of 4"), "{}", difference_words(&wrong));
    }

    #[test]
    fn a_steep_beginning_does_not_hide_the_rest() {
        let points = (0..100)
            .map(|i| (f64::from(i), if i < 3 { -200.0 } else { -90.0 + 0.01 * f64::from(i) }));
        let (low, high) = late_range(&[Series::line("", points.collect())]).unwrap();
        assert!(low > -92.0 && high < -88.0, "{low} {high}");
        assert_eq!(late_range(&[Series::line("", vec![(0.0, 1.0), (1.0, 1.1)])]), None);
    }
}
