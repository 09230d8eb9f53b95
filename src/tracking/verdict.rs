//! Diagnostics of tracked log Z: whether its error bar can be trusted.
//!
//! Limits were chosen on `experiments/tracking_accuracy` (six data sets, ten gradients and rates, seeds 1 to 3) so that at most 1 in 300
//! sound values is beyond four errors; other seeds, sizes and data are in docs/results.md.

use super::Settled;
use super::settling::CONSISTENT;
use crate::tempering::{NEEDED_PER_CHAIN, RoundTrips};
use crate::trust::{Doubt, Trust};

/// Fewest independent chains whose spread is an error bar: of fewer it is often far too small by chance.
pub(super) const FEWEST: f64 = 10.0;
/// Correlation over chains of the thirds' errors beyond which chains that lag behind the model have not caught up with it.
const FROZEN: f64 = 0.75;
/// Movement of the model during a round trip that chains can follow where reference states have most of the model's mass, so that little
/// depends on the chains' states.
const FOLLOWED_BY_THE_KNOWN: f64 = 40.0;

/// Round trips in which chains that lag behind the model can catch up with it: from beta = 0, where they forget earlier models, to beta = 1.
pub(super) const CROSSING: f64 = 0.5;

/// Movement of the model during a round trip that so many chains can follow: relative weights of variance m have a mean that S independent
/// states find as long as m < 2 log S (Derrida 1981). Beyond, the states that make the mean are not among them, and log Z is too low.
pub(super) fn followed(chains: usize) -> f64 {
    2.0 * (chains as f64).ln()
}

/// Inputs of the diagnostics.
pub(super) struct Evidence<'a> {
    /// Number of chains.
    pub chains: usize,
    /// Effective number of lineages among them.
    pub lineages: f64,
    /// See [`super::ChainTracker::movement_per_round_trip`].
    pub movement: f64,
    /// Whether the chains were re-initialised at this evaluation, from reference states.
    pub new: bool,
    /// Result of the equilibration, if it was run.
    pub settled: Option<&'a Settled>,
    /// Round trips of the chains in the window: without any an equilibrated copy does not show what the chains miss.
    pub round_trips: &'a RoundTrips,
    /// Whether reference states have most of the model's mass, see [`super::KnownShare`].
    pub known: bool,
}

/// The diagnostics.
pub(super) fn verdict(evidence: &Evidence<'_>) -> Trust {
    let mut trust = Trust::sound();
    let Evidence { chains, lineages, movement, new, settled, round_trips, known } = *evidence;
    if lineages < FEWEST {
        trust.doubt(Doubt::FewChains { lineages, chains });
    }
    // Reference states are drawn from these chains: if all are frozen, the share that they find says nothing of other states.
    let known = known && settled.is_some_and(|settled| settled.correlation <= FROZEN);
    // A rate, because chains that were re-initialised have a short window.
    let returning = || round_trips.rate().is_none_or(|rate| rate >= NEEDED_PER_CHAIN);
    // Where chains lag, the states that a model has reached since are not among those that they know.
    let follows = known && movement <= followed(chains);
    let travels = if settled.is_some() { follows || returning() } else { round_trips.mixed() };
    if !travels {
        trust.doubt(Doubt::FewRoundTrips {
            per_chain: round_trips.per_chain(),
            sweeps: round_trips.sweeps(),
        });
    }
    let Some(settled) = settled else { return trust };
    let drift = settled.drift_in_errors;
    if drift.is_nan() || drift.abs() > CONSISTENT {
        trust.doubt(Doubt::Drift { sweeps: settled.sweeps, in_errors: drift });
    }
    let frozen = settled.correlation;
    if new && frozen > FROZEN {
        trust.doubt(Doubt::NewChains { correlation: frozen });
    }
    let limit = if known { FOLLOWED_BY_THE_KNOWN } else { followed(chains) };
    let trips = settled.sweeps as f64 * round_trips.rate().unwrap_or(0.0) / 1000.0;
    // So few sweeps can be independent by chance: reference states make up for that if they were so at the evaluation before too.
    let early = trips < CROSSING && (!known || settled.correlation_before > FROZEN);
    if frozen.is_nan() || (movement > limit && (frozen > FROZEN || early)) {
        trust.doubt(Doubt::Lag { movement, correlation: frozen, trips });
    }
    trust
}

/// In doubt if the chains are frozen and few of them crossed the ladder in the equilibration.
pub(super) fn hardly_crossed(settled: &Settled) -> Trust {
    let Settled { crossed, sweeps, correlation, .. } = *settled;
    let hardly = correlation > FROZEN && crossed < NEEDED_PER_CHAIN;
    let doubt = Doubt::FewCrossed { crossed: 100.0 * crossed, sweeps, correlation };
    Trust::unless(hardly.then_some(doubt))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLED: Settled = Settled {
        sweeps: 60,
        drift_in_errors: 1.0,
        correlation: 0.9,
        correlation_before: 0.1,
        crossed: 1.0,
        innovation_in_errors: 1.0,
        log_z: 10.0,
        std_error: 0.1,
        memory: 0.0,
    };

    #[test]
    fn each_doubt_has_its_cause() {
        let doubts = |lineages, movement, per_chain: u64, settled: Option<&Settled>| {
            let mut round_trips = RoundTrips::new(100);
            round_trips.add(100 * per_chain, 1000);
            let round_trips = &round_trips;
            let new = movement == 0.0;
            let known = false;
            let evidence =
                Evidence { chains: 100, lineages, movement, new, settled, round_trips, known };
            let doubts = verdict(&evidence).names();
            // Reference states make up for chains that lag, unless they are frozen, and for nothing else.
            let lags = movement < FOLLOWED_BY_THE_KNOWN && doubts == "lag"
                || settled.is_some() && doubts == "round-trips";
            let frozen = settled.is_some_and(|settled| settled.correlation > FROZEN);
            let of_known = verdict(&Evidence { known: true, ..evidence }).names();
            assert_eq!(of_known, if lags && !frozen { String::new() } else { doubts.clone() });
            doubts
        };
        assert_eq!(doubts(80.0, 1.0, 1, Some(&SETTLED)), "");
        assert_eq!(doubts(5.0, 1.0, 1, Some(&SETTLED)), "few-chains");
        assert_eq!(doubts(80.0, 20.0, 1, Some(&SETTLED)), "lag");
        assert_eq!(doubts(80.0, 50.0, 1, Some(&SETTLED)), "lag");
        assert_eq!(doubts(80.0, 0.0, 1, Some(&SETTLED)), "new-chains");
        let drifting = Settled { drift_in_errors: f64::NAN, ..SETTLED };
        assert_eq!(doubts(80.0, 1.0, 1, Some(&drifting)), "drift");
        assert_eq!(doubts(80.0, 1.0, 0, Some(&SETTLED)), "round-trips");
        let free = Settled { correlation: 0.1, ..SETTLED };
        assert_eq!(doubts(80.0, 1.0, 0, Some(&free)), "round-trips");
        assert_eq!(doubts(80.0, 20.0, 1, Some(&free)), "lag");
        assert_eq!(doubts(80.0, 1.0, 0, None), "round-trips");
        assert_eq!(doubts(80.0, 1.0, 1, None), "");
    }

    /// Contributions of 60 sweeps to the error can be independent by chance. Chains that lag have caught up only if they had the time to come
    /// from beta = 0, unless little depends on them and they were independent at the evaluation before as well.
    #[test]
    fn chains_that_lag_have_to_cross_the_ladder() {
        let after = |correlation_before, movement, sweeps, known| {
            let mut round_trips = RoundTrips::new(100);
            round_trips.add(200, 1000);
            let settled = Settled { correlation: 0.1, correlation_before, sweeps, ..SETTLED };
            let (settled, round_trips) = (Some(&settled), &round_trips);
            let (chains, lineages, new) = (100, 80.0, false);
            let evidence =
                Evidence { chains, lineages, movement, new, settled, round_trips, known };
            verdict(&evidence).names()
        };
        let doubts = |movement, sweeps, known| after(0.1, movement, sweeps, known);
        assert_eq!([doubts(12.0, 60, false), doubts(12.0, 240, false)], ["lag", "lag"]);
        assert_eq!([doubts(12.0, 260, false), doubts(9.0, 60, false)], ["", ""]);
        assert_eq!([doubts(12.0, 60, true), doubts(50.0, 60, true)], ["", ""]);
        assert_eq!([after(0.9, 12.0, 60, true), after(0.9, 50.0, 60, true)], ["", "lag"]);
        assert_eq!(after(0.9, 50.0, 260, true), "");
    }

    #[test]
    fn reference_states_replace_the_round_trips_of_chains_that_do_not_lag() {
        let free = Settled { correlation: 0.1, ..SETTLED };
        for (movement, expected) in [(9.0, ""), (12.0, "round-trips")] {
            let mut round_trips = RoundTrips::new(100);
            round_trips.add(0, 1000);
            let evidence = Evidence {
                chains: 100,
                lineages: 80.0,
                movement,
                new: false,
                settled: Some(&free),
                round_trips: &round_trips,
                known: true,
            };
            assert_eq!(verdict(&evidence).names(), expected);
        }
    }

    #[test]
    fn frozen_chains_alone_have_to_cross_the_ladder() {
        for (correlation, crossed, expected) in
            [(0.9, 0.29, "few-crossed"), (0.9, 0.31, ""), (0.7, 0.0, "")]
        {
            let settled = Settled { correlation, crossed, ..SETTLED };
            assert_eq!(hardly_crossed(&settled).names(), expected);
        }
    }

    /// Chains that were re-initialised a few sweeps ago have not yet shown that they travel.
    #[test]
    fn a_short_window_without_round_trips_is_a_doubt() {
        for (trips, expected) in [(1, "round-trips"), (10, "")] {
            let mut round_trips = RoundTrips::new(100);
            round_trips.add(trips, 160);
            let evidence = Evidence {
                chains: 100,
                lineages: 80.0,
                movement: 1.0,
                new: false,
                settled: Some(&SETTLED),
                round_trips: &round_trips,
                known: false,
            };
            assert_eq!(verdict(&evidence).names(), expected);
        }
    }

    #[test]
    fn two_chains_are_never_an_error_bar() {
        let mut round_trips = RoundTrips::new(2);
        round_trips.add(18, 1000);
        let evidence = Evidence {
            chains: 2,
            lineages: 2.0,
            movement: 0.0,
            new: false,
            settled: Some(&SETTLED),
            round_trips: &round_trips,
            known: true,
        };
        assert_eq!(verdict(&evidence).names(), "few-chains");
    }
}
