//! Ladder and chains: movement of new tempered chains at the parameters of the best model, and of the chains in training.

use super::curves::picture;
use super::diagnosis::{Diagnosis, Traces};
use super::metrics::Metrics;
use super::page::{Section, cell, number_cell, table};
use super::pictures::embedded;
use crate::numerics::statistics::{effective_sample_size, rank_normalised, ranks, split_r_hat};
use crate::record::markup::Element;
use crate::record::{Chart, Guide, Image, Look, Series};
use crate::tempering::RoundsEnd;

/// Number of chains that are drawn, and their sweeps.
const SHOWN: usize = 4;
const SHOWN_SWEEPS: usize = 300;
/// Chains and bins of the rank plot.
const RANKED: usize = 8;
const BINS: usize = 10;
/// Size of the chart of one chain.
const WAY: (f64, f64) = (440.0, 110.0);
/// R-hat above which chains differ (Vehtari et al. 2021).
const R_HAT: f64 = 1.01;
/// Effective draws per chain below which chains are too slow for averages.
const FEW: f64 = 4.0;
/// Pixels to which small pictures of matrices are enlarged.
const SIDE: usize = 300;

/// Occupancy, transitions, flow and conductance.
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
                ("a bright band along the whole diagonal, without a gap", transition_words(chains, betas.len())),
            )
            .figure(
                "Flow: share of chains that come from the bottom",
                picture(&flow(betas, chains)),
                ("an even fall, without a cliff between two neighbours inside of the ladder", flow_words(betas, chains)),
            )
            .figure(
                "Conductance of the cut between neighbours",
                picture(&conductance(betas, chains)),
                ("no cut is far below the others", conductance_words(betas, chains)),
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
    Chart {
        x_label: "parameter updates".into(),
        y_label: label.into(),
        series: vec![Series::line("", points)],
        ..Chart::default()
    }
}

fn over_betas(label: &str, series: Vec<Series>) -> Chart {
    Chart {
        x_label: "inverse temperature beta".into(),
        y_label: label.into(),
        series,
        ..Chart::default()
    }
}

fn occupancy(betas: &[f64], log_prior: &[f64], chains: &Traces) -> Chart {
    let along = |values: Vec<f64>| betas.iter().copied().zip(values).collect();
    let prior = Series::line("prior", along(log_prior.iter().map(|r| r.exp()).collect()));
    let found = Series::line("occupancy", along(chains.measurement.occupancy.clone()));
    let largest =
        found.points.iter().chain(&prior.points).map(|p: &(f64, f64)| p.1).fold(0.0, f64::max);
    let series = vec![prior.colour(6), found.look(Look::Marks).colour(1)];
    Chart { y_range: Some((0.0, 1.1 * largest)), ..over_betas("share of the time", series) }
}

fn occupancy_words(betas: &[f64], log_prior: &[f64], chains: &Traces) -> String {
    let ratios =
        chains.measurement.occupancy.iter().zip(log_prior).map(|(c, log_r)| c.ln() - log_r);
    let worst = ratios.zip(betas).max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let rounds = if chains.run.rounds_end == RoundsEnd::Converged {
        ""
    } else {
        ", and the initial rounds did not converge"
    };
    worst.map_or_else(String::new, |(ratio, beta)| {
        format!(
            "the largest deviation is a factor of {:.2} at beta = {beta:.2}{rounds}",
            ratio.exp()
        )
    })
}

fn transitions(chains: &Traces, k: usize) -> Vec<Element> {
    let heat = Image::heat(&chains.transitions.matrix(), k, true);
    let picture = heat.map(|heat| embedded(&heat.scale((SIDE / k).max(1)), "transition matrix"));
    picture.into_iter().flatten().collect()
}

fn transition_words(chains: &Traces, k: usize) -> String {
    let sums = chains.transitions.sums();
    let total: f64 = sums.iter().sum();
    let far = sums.iter().enumerate().map(|(i, sum)| (i / k).abs_diff(i % k) as f64 * sum);
    let stay: f64 = (0..k).map(|i| sums[i * k + i]).sum();
    format!(
        "a chain moves by {:.1} temperatures a sweep on average and stays where it is {:.0} % of the time",
        far.sum::<f64>() / total,
        100.0 * stay / total
    )
}

fn flow(betas: &[f64], chains: &Traces) -> Chart {
    let shares = betas.iter().zip(chains.going_up(betas.len()));
    let points = shares.filter_map(|(beta, share)| Some((*beta, share?))).collect();
    let straight = Series::line("evenly spread", vec![(0.0, 1.0), (1.0, 0.0)]).look(Look::Dashed);
    let found = Series::line("chains", points).look(Look::Marks).colour(1);
    let series = vec![straight.colour(6), found];
    Chart { y_range: Some((-0.03, 1.03)), ..over_betas("share from the bottom", series) }
}

fn flow_words(betas: &[f64], chains: &Traces) -> String {
    let shares = chains.going_up(betas.len());
    let trips =
        chains.run.round_trips as f64 / chains.count() as f64 * 1000.0 / chains.sweeps() as f64;
    let fall = |k: &usize| Some(shares[*k]? - shares[*k + 1]?);
    // The fractions at the ends are 1 and 0 by definition.
    let steepest = (1..betas.len().saturating_sub(2))
        .filter_map(|k| Some((k, fall(&k)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    match steepest {
        Some((k, fall)) if trips > 0.0 => format!(
            "{trips:.1} round trips per chain and 1000 sweeps, and the steepest fall inside is {fall:.2}, between beta = {:.2} and {:.2}",
            betas[k],
            betas[k + 1]
        ),
        None if trips > 0.0 => format!("{trips:.1} round trips per chain and 1000 sweeps"),
        _ => "no chain made a round trip: more temperatures or sweeps are needed".into(),
    }
}

fn conductance(betas: &[f64], chains: &Traces) -> Chart {
    let middle = |k: usize| 0.5 * (betas[k] + betas[k + 1]);
    let points = chains.transitions.conductances().into_iter().enumerate();
    let points = points.map(|(k, phi)| (middle(k), phi)).collect();
    let series = vec![Series::line("", points).colour(2)];
    Chart { log_y: true, ..over_betas("conductance", series) }
}

fn conductance_words(betas: &[f64], chains: &Traces) -> String {
    chains.transitions.knot().map_or_else(String::new, |knot| {
        let place = 0.5 * (betas[knot.index] + betas[knot.index + 1]);
        let narrow = if knot.is_narrow() {
            ": a bottleneck; more temperatures there would help"
        } else {
            ": no bottleneck"
        };
        format!(
            "the narrowest cut, at beta = {place:.2}, has {:.3}, {:.0} % of the median{narrow}",
            knot.conductance,
            100.0 * knot.conductance / knot.median
        )
    })
}

/// Trajectories of chains, ranks, effective samples and R-hat.
pub fn chains_section(diagnosis: Option<&Diagnosis>, metrics: &Metrics) -> Section {
    let mut section = Section::new("Chains");
    if let Some(Diagnosis { ladder, chains, .. }) = diagnosis {
        section = section
            .figure(
                &format!("Ways of {} chains on the ladder", SHOWN.min(chains.count())),
                ways(ladder.betas(), chains),
                ("every chain goes up and down all the time", way_words(chains, ladder.len())),
            )
            .figure(
                "Ranks of log f(v) of single chains among all",
                picture(&rank_plot(chains)),
                ("every chain has every rank alike often: all lines near 1", rank_words(chains)),
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
    let sweeps = chains.sweeps().min(SHOWN_SWEEPS);
    let way = |chain: usize| {
        let trace = chains.of_chain(chain);
        let points = trace[..sweeps].iter().enumerate();
        let points = points.map(|(sweep, k)| (sweep as f64, betas[*k as usize])).collect();
        let chart = Chart {
            x_label: if chain + 1 == SHOWN { "sweeps".into() } else { String::new() },
            y_label: format!("beta of chain {}", chain + 1),
            series: vec![Series::line("", points).colour(chain)],
            y_range: Some((0.0, 1.0)),
            ..Chart::default()
        };
        chart.element(WAY).ok()
    };
    (0..SHOWN.min(chains.count())).filter_map(way).collect()
}

fn way_words(chains: &Traces, k: usize) -> String {
    let visits = |chain: usize, end: u32| chains.temperatures.iter().any(|row| row[chain] == end);
    let both = |chain: &usize| visits(*chain, 0) && visits(*chain, k as u32 - 1);
    let travelled = (0..chains.count()).filter(both).count();
    format!(
        "{travelled} of all {} chains have been at both ends of the ladder in {} sweeps",
        chains.count(),
        chains.sweeps()
    )
}

/// For each chain and bin of ranks, the fraction of its draws there relative to a uniform distribution.
fn rank_shares(chains: &Traces) -> Vec<Vec<f64>> {
    let all = ranks(&chains.log_f.concat());
    let (length, total) = (chains.sweeps(), all.len() as f64);
    let shares = |own: &[f64]| {
        let mut counts = [0.0; BINS];
        for rank in own {
            counts[(((rank - 0.5) / total * BINS as f64) as usize).min(BINS - 1)] += 1.0;
        }
        counts.iter().map(|count| count * BINS as f64 / length as f64).collect()
    };
    all.chunks(length).map(shares).collect()
}

fn rank_plot(chains: &Traces) -> Chart {
    let line = |(chain, shares): (usize, Vec<f64>)| {
        let points = shares.into_iter().enumerate();
        let points = points.map(|(bin, share)| ((bin as f64 + 0.5) / BINS as f64, share));
        Series::line("", points.collect()).colour(chain)
    };
    let shares = rank_shares(chains);
    let largest = shares.iter().take(RANKED).flatten().copied().fold(2.0, f64::max);
    Chart {
        x_label: "rank among all draws of all chains".into(),
        y_label: format!(
            "draws of each of {} chains, over an even share",
            RANKED.min(shares.len())
        ),
        series: shares.into_iter().take(RANKED).enumerate().map(line).collect(),
        x_range: Some((0.0, 1.0)),
        y_range: Some((0.0, 1.05 * largest)),
        guides: vec![Guide::Horizontal(1.0, String::new())],
        ..Chart::default()
    }
}

fn rank_words(chains: &Traces) -> String {
    let shares = rank_shares(chains);
    let (low, high) = shares
        .iter()
        .flatten()
        .fold((f64::INFINITY, 0.0f64), |(low, high), share| (low.min(*share), high.max(*share)));
    format!("of all {} chains, shares lie between {low:.2} and {high:.2}", chains.count())
}

fn convergence(chains: &Traces) -> (Vec<Vec<Element>>, String) {
    let temperatures: Vec<Vec<f64>> = (0..chains.count()).map(|s| chains.of_chain(s)).collect();
    let quantities = [("index of beta", &temperatures), ("log f(v)", &chains.log_f)];
    let mut worst = (f64::INFINITY, 1.0f64);
    let rows = quantities.map(|(name, draws)| {
        let scores = rank_normalised(draws);
        let (effective, r_hat) = (effective_sample_size(&scores), split_r_hat(&scores));
        worst = (worst.0.min(effective), if r_hat.is_nan() { r_hat } else { worst.1.max(r_hat) });
        let draws = (chains.count() * chains.sweeps()).to_string();
        vec![
            cell(name),
            number_cell(draws),
            number_cell(format!("{effective:.0}")),
            number_cell(format!("{r_hat:.3}")),
        ]
    });
    let per_chain = worst.0 / chains.count() as f64;
    let verdict = match worst {
        (_, r) if r.is_nan() || r > R_HAT => {
            "the chains differ: they need more sweeps or temperatures"
        }
        _ if per_chain < FEW => "the chains are slow",
        _ => "the chains mix",
    };
    let words = format!(
        "R-hat is {:.3} and a chain is worth {per_chain:.1} effective samples: {verdict}",
        worst.1
    );
    (rows.into(), words)
}
