//! Table of estimates as text.

use crate::estimators::{Agreement, Bias, Bound, Candidate, Estimate, Method, Started, at_least};
use crate::trust::Interface;

/// The recommended estimate, else the first.
pub fn chosen<'a>(estimates: &'a [Estimate], agreement: &Agreement) -> Option<&'a Estimate> {
    let used = estimates.iter().find(|it| Some(it.method) == agreement.use_method);
    used.or(estimates.first())
}

/// The answer in a line: value, error, method, whether it is sound; where it is not, why, and what to do. `by` describes the method.
pub fn answer(estimates: &[Estimate], agreement: &Agreement, by: Option<&str>) -> String {
    let Some(Estimate { method, value, std_error, trust, .. }) = chosen(estimates, agreement)
    else {
        return String::new();
    };
    let by = by.map_or_else(|| method.to_string(), String::from);
    if *method == Method::Exact {
        return format!("log Z = {value:.6} nats, {by}\n");
    }
    let error = if std_error.is_nan() { String::new() } else { format!(" ± {std_error:.4}") };
    let mut text = format!("log Z = {value:.4}{error} nats ({by}), ");
    if agreement.sound {
        return text + "sound: its checks passed\n";
    }
    text += "in doubt:\n";
    let doubts = trust.doubts().iter().map(|doubt| doubt.text(Interface::Command));
    let doubts = doubts.chain(agreement.disagreements.iter().cloned());
    doubts.for_each(|doubt| text += &format!("  {doubt}\n"));
    text + "  what helps: more work (--budget 100 with --method auto, else --sweeps), or other methods beside it (--method all)\n"
}

/// Table of estimates, one line each.
pub fn table(estimates: &[Estimate]) -> String {
    let mut text = format!(
        "{:<14} {:>14} {:>10} {:>8} {:<10} {:>10} {:>8}  {}\n",
        "method", "log Z", "std error", "samples", "bias", "sweeps", "seconds", "doubt"
    );
    for estimate in estimates {
        let error = match estimate.std_error {
            error if error > 0.0 => format!("{error:.6}"),
            // Exact, or without random numbers.
            _ => "-".to_string(),
        };
        let samples = estimate.effective_samples.map_or("-".into(), |n| format!("{n:.0}"));
        let bias = match estimate.bias {
            Bias::None => "none",
            Bias::Consistent => "consistent",
            Bias::Low => "low",
            Bias::High => "high",
            Bias::Biased => "either",
        };
        let line = format!(
            "{:<14} {:>14.6} {error:>10} {samples:>8} {bias:<10} {:>10} {:>8.2}  {}",
            estimate.method,
            estimate.value,
            estimate.gibbs_sweeps,
            estimate.seconds,
            estimate.trust.text(Interface::Command)
        );
        text += line.trim_end();
        text += "\n";
    }
    let raised: Vec<&str> =
        estimates.iter().filter(|it| it.raised).map(|it| it.method.name()).collect();
    if !raised.is_empty() {
        let raised = raised.join(", ");
        text += &format!(
            "\n{raised} had a lower value than known states alone: the table has the sum over these, a lower bound.\n"
        );
    }
    let shares = |estimate: &&Estimate| estimate.method.reader().is_some();
    let sharing: Vec<&str> = estimates.iter().filter(shares).map(|e| e.method.name()).collect();
    if sharing.len() > 1 {
        let sharing = sharing.join(", ");
        text += &format!(
            "\n{sharing} read the same chains, run once: their sweeps and seconds are part of each of these lines.\n"
        );
    }
    text
}

/// Results beside single estimates: the bounds, and how well the estimates agree.
pub fn remarks(estimates: &[Estimate], bound: Option<&Bound>, agreement: &Agreement) -> String {
    let mut text = String::new();
    if let Some(bound) = bound {
        text += &format!("\nlog Z >= {:.4} for certain: {}\n", bound.value, bound.source());
    }
    if let Some(value) = at_least(estimates) {
        text += &format!(
            "{}log Z >= {value:.4} with 99.9 % probability: from the weights of annealing\n",
            if bound.is_some() { "" } else { "\n" }
        );
    }
    for sentence in &agreement.disagreements {
        text += &format!("\nin doubt: {sentence}\n");
    }
    if let Some(advice) = &agreement.advice {
        text += &format!("\n{advice}\n");
    }
    text
}

/// How a start was found.
pub fn started(how: &Started) -> String {
    let Started { methods, candidates, runs } = how;
    let what = if *methods == "auto" { "auto" } else { "start of the other methods" };
    let short = |c: &Candidate| format!("{} {:.2} ± {:.2}", c.name, c.log_z, c.std_error);
    let tried: Vec<String> = candidates.iter().map(short).collect();
    let best = candidates.iter().max_by(|a, b| a.log_z.total_cmp(&b.log_z));
    let mut text = format!(
        "{what}: short annealing gives {}; highest, hence nearest to log Z: {}\n",
        tried.join(", "),
        best.map_or("none", |best| &best.name)
    );
    for run in runs {
        text += &format!("  {run}\n");
    }
    text
}
