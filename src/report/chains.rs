//! Ladder and chains: movement of new tempered chains at the parameters of the best model, and of the chains in training.

use super::curves::picture;
use super::diagnosis::{Diagnosis, Traces};
use super::metrics::Metrics;
use super::page::{Here, Section, UPDATES, cell, number_cell, table};
use super::pictures::embedded;
use crate::numerics::statistics::{effective_sample_size, rank_normalised, split_r_hat};
use crate::record::markup::Element;
use crate::record::{Chart, Image, Look, SMALLEST_SIDE, Series};
use crate::tempering::RoundsEnd;

/// Number of chains that are drawn, and their sweeps.
const SHOWN: usize = 4;
const SHOWN_SWEEPS: usize = 300;
/// Size of the chart of one chain.
const WAY: (f64, f64) = (440.0, 110.0);
/// R-hat above which chains differ (Vehtari et al. 2021), and above which their averages are wrong (Gelman and Rubin 1992).
const R_HAT: f64 = 1.01;
const LARGE_R_HAT: f64 = 1.1;
/// Factor by which the time at a temperature may differ from the prior.
const FACTOR: f64 = 2.0;
/// Share of the chains that should have been at both ends of the ladder.
const MOST: f64 = 0.9;
/// Effective draws per chain below which chains are too slow for averages.
const FEW: f64 = 4.0;

/// Occupancy and transitions.
pub fn ladder_section(diagnosis: Option<&Diagnosis>, metrics: &Metrics) -> Section {
    let mut section = Section::new("Ladder of inverse temperatures");
    if let Some(Diagnosis { ladder, chains, .. }) = diagnosis {
        let betas = ladder.betas();
        section = section
            .paragraph(format!(
                "{} fresh chains on {} inverse temperatures, {} sweeps at the parameters of the best model.",
                chains.count(),
                betas.len(),
                chains.sweeps()
            ))
            .figure(
                "Occupancy against the prior",
                picture(&occupancy(betas, ladder.log_prior(), chains)),
                ("points lie on the line: chains spend the time at every temperature that the prior asks for", occupancy_words(betas, ladder.log_prior(), chains)),
            )
            .figure(
                "Transitions between temperatures: from row to column, yellow is frequent",
                transitions(chains, betas.len()),
                ("a bright band along the whole diagonal, without a gap", transition_words(chains, betas)),
            );
    }
    let trips = metrics.points("round_trips_per_1000_sweeps");
    let words = match (trips.first(), trips.last()) {
        (Some(first), Some(last)) => {
            format!("{:.1} at update {} and {:.1} at update {}", first.1, first.0, last.1, last.0)
        }
        _ => "none was recorded".into(),
    };
    let chart = over_updates("round trips per chain and 1000 sweeps", trips);
    section.figure(
        "Round trips of the tracker's chains in training",
        picture(&chart),
        ("several, and no fall to 0 as the model sharpens", words),
    )
}

fn over_updates(label: &str, points: Vec<(f64, f64)>) -> Chart {
    Chart::of(UPDATES, label, vec![Series::line("", points)])
}

fn occupancy(betas: &[f64], log_prior: &[f64], chains: &Traces) -> Chart {
    let along = |values: Vec<f64>| betas.iter().copied().zip(values).collect();
    let prior = Series::line("prior", along(log_prior.iter().map(|r| r.exp()).collect()));
    let found = Series::line("occupancy", along(chains.run.measurement().occupancy));
    let largest =
        found.points.iter().chain(&prior.points).map(|p: &(f64, f64)| p.1).fold(0.0, f64::max);
    let series = vec![prior.colour(6), found.look(Look::Marks).colour(1)];
    let y_range = Some((0.0, 1.1 * largest));
    Chart { y_range, ..Chart::of("inverse temperature beta", "share of the time", series) }
}

fn occupancy_words(betas: &[f64], log_prior: &[f64], chains: &Traces) -> Here {
    let occupancy = chains.run.measurement().occupancy;
    let ratios = occupancy.iter().zip(log_prior).map(|(c, log_r)| c.ln() - log_r);
    let worst = ratios.zip(betas).max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let converged = chains.run.rounds_end == RoundsEnd::Converged;
    let rounds = if converged { "" } else { ", and the initial rounds did not converge" };
    let Some((ratio, beta)) = worst else { return String::new().into() };
    let words = format!(
        "the largest deviation is a factor of {:.2} at beta = {beta:.2}{rounds}",
        ratio.exp()
    );
    Here::judged(words, converged && ratio.abs() < FACTOR.ln())
}

fn transitions(chains: &Traces, k: usize) -> Vec<Element> {
    let heat = Image::heat(&chains.transitions.matrix(), k, true);
    let picture =
        heat.and_then(|heat| embedded(&heat.scale(SMALLEST_SIDE / k), "transition matrix"));
    picture.into_iter().collect()
}

fn transition_words(chains: &Traces, betas: &[f64]) -> Here {
    let k = betas.len();
    let sums = chains.transitions.sums();
    let total: f64 = sums.iter().sum();
    let far = sums.iter().enumerate().map(|(i, sum)| (i / k).abs_diff(i % k) as f64 * sum);
    let stay: f64 = (0..k).map(|i| sums[i * k + i]).sum();
    let words = format!(
        "a chain moves by {:.1} temperatures a sweep on average and stays where it is {:.0} % of the time{}",
        far.sum::<f64>() / total,
        100.0 * stay / total,
        knot_words(betas, chains)
    );
    Here::judged(words, !chains.transitions.knot().is_some_and(|knot| knot.is_narrow()))
}

fn knot_words(betas: &[f64], chains: &Traces) -> String {
    chains.transitions.knot().map_or_else(String::new, |knot| {
        let place = 0.5 * (betas[knot.index] + betas[knot.index + 1]);
        let narrow = if knot.is_narrow() {
            ": a bottleneck; more temperatures there would help"
        } else {
            ": no bottleneck"
        };
        format!(
            "; the narrowest cut, at beta = {place:.2}, has conductance {:.3}, {:.0} % of the median{narrow}",
            knot.conductance,
            100.0 * knot.conductance / knot.median
        )
    })
}

/// Trajectories of chains, effective samples and R-hat.
pub fn chains_section(diagnosis: Option<&Diagnosis>, metrics: &Metrics) -> Section {
    let mut section = Section::new("Chains");
    if let Some(Diagnosis { ladder, chains, .. }) = diagnosis {
        section = section.figure(
            &format!("Ways of {} chains on the ladder", SHOWN.min(chains.count())),
            ways(ladder.betas(), chains),
            ("every chain goes up and down all the time", way_words(chains, ladder.len())),
        );
        let (rows, words) = convergence(chains);
        section = section.figure(
            "Effective samples and R-hat of all chains",
            vec![table(&["quantity", "draws", "effective", "R-hat"], rows)],
            ("R-hat below 1.01, and several effective samples a chain", words),
        );
    }
    let points = metrics.points("effective_chains");
    let words = points.last().map_or_else(
        || "none was recorded".into(),
        |last| format!("{:.0} independent chains count at the last evaluation", last.1),
    );
    section.figure(
        "Independent chains of the tracker in training",
        picture(&over_updates("chains that count", points)),
        ("most of the chains count at all times", words),
    )
}

fn ways(betas: &[f64], chains: &Traces) -> Vec<Element> {
    let way = |chain: usize| {
        let points = chains.temperatures[chain].iter().take(SHOWN_SWEEPS).enumerate();
        let points = points.map(|(sweep, k)| (sweep as f64, betas[*k as usize])).collect();
        let x_label = if chain + 1 == SHOWN { "sweeps" } else { "" };
        let series = vec![Series::line("", points).colour(chain)];
        let chart = Chart::of(x_label, &format!("beta of chain {}", chain + 1), series);
        Chart { y_range: Some((0.0, 1.0)), ..chart }.element(WAY).ok()
    };
    (0..SHOWN.min(chains.count())).filter_map(way).collect()
}

fn way_words(chains: &Traces, k: usize) -> Here {
    let both = |trace: &&Vec<f64>| trace.contains(&0.0) && trace.contains(&(k as f64 - 1.0));
    let crossed = chains.temperatures.iter().filter(both).count();
    let words = format!(
        "{crossed} of all {} chains have been at both ends of the ladder in {} sweeps",
        chains.count(),
        chains.sweeps()
    );
    Here::judged(words, crossed as f64 >= MOST * chains.count() as f64)
}

fn convergence(chains: &Traces) -> (Vec<Vec<Element>>, Here) {
    let quantities = [("index of beta", &chains.temperatures), ("log f(v)", &chains.log_f)];
    let mut worst = (f64::INFINITY, 1.0f64);
    let rows = quantities.map(|(name, draws)| {
        let scores = rank_normalised(draws);
        let (effective, r_hat) = (effective_sample_size(&scores), split_r_hat(&scores));
        worst = (worst.0.min(effective), if r_hat.is_nan() { r_hat } else { worst.1.max(r_hat) });
        vec![
            cell(name),
            number_cell((chains.count() * chains.sweeps()).to_string()),
            number_cell(format!("{effective:.0}")),
            number_cell(format!("{r_hat:.3}")),
        ]
    });
    let per_chain = worst.0 / chains.count() as f64;
    let (healthy, verdict) = match worst {
        (_, r) if r.is_nan() || r > LARGE_R_HAT => {
            (false, "the chains differ: they need more sweeps or temperatures")
        }
        _ if per_chain < FEW => (false, "the chains are slow"),
        (_, r) if r > R_HAT => (true, "the chains differ a little"),
        _ => (true, "the chains mix"),
    };
    let words = format!(
        "R-hat is {:.3} and a chain is worth {per_chain:.1} effective samples: {verdict}",
        worst.1
    );
    (rows.into(), Here::judged(words, healthy))
}
