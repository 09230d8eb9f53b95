//! The kinds of doubts about an error bar: what was found, as numbers, and what to do about it in the terms of each interface.

use serde::{Deserialize, Serialize};

/// Where a doubt is shown: a remedy names the settings that are at hand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The command: options, and keys of a configuration, which a [`crate::Trainer`] has too.
    Command,
    /// The library: fields and methods.
    Rust,
    /// The Python package: arguments.
    Python,
}

/// What to do, for the command, for Rust and for Python.
type Remedy = [&'static str; 3];

// Of a tracker.
const SETTLING: &str = "raise the second number of `settling`";
const CHAINS: Remedy = ["raise tempering.chains", "raise `chains`", "raise `chains`"];
const SWEEPS: Remedy = [
    "raise tempering.sweeps or tempering.temperatures",
    "raise `sweeps` or `temperatures`",
    "raise `sweeps` or `temperatures`",
];
const EQUILIBRATION: Remedy = ["raise tempering.settling.most", SETTLING, SETTLING];
const RATE: Remedy = ["lower the learning rate"; 3];
const AUDIT: Remedy = ["raise audit.temperatures"; 3];
// Of an estimate of a fixed model.
const MORE_SWEEPS: Remedy = ["use more sweeps", "use more sweeps", "raise `sweeps`"];
const MORE_TEMPERATURES: Remedy =
    ["use more temperatures", "use more temperatures", "raise `temperatures`"];
const OTHER_START: Remedy = ["use another --start", "use another start", "give `data`"];
const BUDGET: Remedy =
    ["give it a larger --budget", "give it a larger `budget`", "give it a larger `budget`"];
const AUTO: Remedy = [
    "try --method auto with a larger --budget",
    "try the automatic estimate with a larger `budget`",
    "try method=\"auto\" with a larger `budget`",
];
const EXACT: Remedy = ["try --method exact", "enumerate", "try method=\"exact\""];
const CORRECTED: Remedy = ["use ti-corrected"; 3];
const ROWS: Remedy = ["use samples of the model as rows"; 3];
const DAMPING: Remedy = ["use more damping"; 3];
const ITERATIONS: Remedy = ["use more iterations"; 3];

/// Makes the enum from a line for each kind: variant, fields, name in files, finding, remedies.
macro_rules! doubts {
    ($($kind:ident { $($field:ident: $type:ty),* } $name:literal $finding:literal [$($remedy:ident),*];)*) => {
        /// One reason not to trust an error bar.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(into = "Words", from = "Words")]
        #[allow(missing_docs, reason = "the findings name the fields")]
        pub enum Doubt {
            $(#[doc = $finding] $kind { $($field: $type),* },)*
            /// Of the caller, or read from a file: a name and a finding in words.
            Other { name: String, text: String },
        }

        impl Doubt {
            /// Name, finding and remedies.
            fn parts(&self) -> (&str, String, &'static [Remedy]) {
                match self {
                    $(Self::$kind { $($field),* } => ($name, format!($finding), &[$($remedy),*]),)*
                    Self::Other { name, text } => (name, text.clone(), &[]),
                }
            }
        }

        /// Name and remedies of each kind.
        const KINDS: &[(&str, &[Remedy])] = &[$(($name, &[$($remedy),*])),*];
    };
}

doubts! {
    FewChains { lineages: f64, chains: usize } "few-chains" "only {lineages:.0} of {chains} chains are independent and count" [CHAINS];
    FewRoundTrips { per_chain: f64, sweeps: u64 } "round-trips" "{per_chain:.2} round trips per chain in the last {sweeps} sweeps" [SWEEPS];
    FewCrossed { crossed: f64, sweeps: u64, correlation: f64 } "few-crossed" "each chain keeps to its place (correlation {correlation:.2}), {crossed:.0} % of them went from one end of the ladder to the other in {sweeps} sweeps at fixed parameters, and there are no other chains to compare them with" [SWEEPS, EQUILIBRATION];
    Drift { sweeps: u64, in_errors: f64 } "drift" "log Z still drifts after {sweeps} sweeps at fixed parameters ({in_errors:+.1} errors)" [EQUILIBRATION];
    NewChains { correlation: f64 } "new-chains" "the chains were re-initialised from known modes at this evaluation and have not forgotten them (correlation {correlation:.2})" [EQUILIBRATION];
    Lag { movement: f64, correlation: f64, trips: f64 } "lag" "the model changes faster than the chains can follow ({movement:.0} per round trip, correlation {correlation:.2} after {trips:.1} round trips of equilibration)" [EQUILIBRATION, CHAINS, RATE];
    KnownShare { value: f64, std_error: f64, implied: f64, found: f64, samples: f64 } "known-share" "by tracked log Z {value:.3} ± {std_error:.3} reference states have {implied:.2} % of the model's mass, but they are {found:.2} % of {samples:.0} independent samples of the chains" [EQUILIBRATION, CHAINS, RATE];
    Bound { value: f64, std_error: f64, bound: f64 } "bound" "tracked log Z {value:.3} ± {std_error:.3} is below the sum over states of data and particles alone, {bound:.3}: the chains miss a mode" [CHAINS, RATE];
    TrackersDiffer { first: f64, first_error: f64, second: f64, second_error: f64 } "populations-differ" "chains from the marginals of the data say {first:.3} ± {first_error:.3}, chains from a mixture fitted to the rows {second:.3} ± {second_error:.3}: one of them misses a part of the model" [CHAINS, RATE];
    AuditDisagrees { value: f64, std_error: f64, method: String, audited: f64, audited_error: f64, in_errors: f64 } "audit" "tracked log Z {value:.3} ± {std_error:.3} and {method} {audited:.3} ± {audited_error:.3} differ by {in_errors:.1} errors" [SWEEPS, CHAINS, RATE];
    AuditFoundMore { update: u64 } "audit" "the audit at update {update} found a higher log Z; in doubt until a sound audit agrees (audit.every)" [];
    MissedBefore { times: u32, of: u32 } "missed-before" "chains missed a part of the model at {times} of the last {of} evaluations, and may miss it still" [EQUILIBRATION, CHAINS, RATE];
    StartsDiffer {} "starts-differ" "annealing from the marginals of the data and from a mixture fitted to the rows differ by more than their errors: one of them misses a part of the model" [AUDIT];
    AuditsDiffer { value: f64, std_error: f64 } "audits-differ" "{value:.3} ± {std_error:.3} by another audit: one of them misses a part of the model" [AUDIT];
    NotMixed { per_chain: f64, needed: f64 } "not-mixed" "not mixed: {per_chain:.2} round trips per chain, {needed} needed" [MORE_SWEEPS, MORE_TEMPERATURES];
    FewTravelled { crossed: usize, chains: usize } "few-travelled" "only {crossed} of {chains} chains have been at both ends of the ladder" [MORE_SWEEPS, OTHER_START];
    Frozen { correlation: f64 } "frozen" "each chain keeps to its place, the halves of the run correlate by {correlation:.2}: the error does not fall like 1/sqrt(sweeps)" [MORE_SWEEPS, OTHER_START];
    ChainsDiffer { correlation: f64, r_hat: f64 } "chains-differ" "single chains see different parts of the model: their free energies in both halves of the run correlate by {correlation:.2} (R-hat {r_hat:.2})" [MORE_SWEEPS, OTHER_START];
    NotSettled {} "not-settled" "initial rounds did not converge" [MORE_SWEEPS];
    NotFlat { flatness: f64, needed: f64 } "not-flat" "not flat: a temperature got {flatness:.2} of its share of sweeps, {needed} needed" [MORE_SWEEPS];
    GainHalved {} "gain-halved" "the gain was still being halved at the end, its error is not averaged" [MORE_SWEEPS];
    EndNotVisited { beta: f64 } "end-not-visited" "no state was generated at beta = {beta}" [MORE_SWEEPS];
    NodeNotVisited { beta: f64 } "not-solved" "no state was generated at beta = {beta}" [MORE_SWEEPS];
    NotSolved {} "not-solved" "Newton's method did not converge" [MORE_SWEEPS];
    NotConnected {} "not-connected" "the chains' moves do not connect beta = 0 and beta = 1" [MORE_SWEEPS];
    HardlyConnected {} "not-connected" "moves of a few chains alone connect beta = 0 and beta = 1" [MORE_SWEEPS];
    CoarseLadder { plain: f64, corrected: f64 } "coarse-ladder" "the ladder is too coarse: the trapezoid rule differs by {plain:+.3} nats, corrected by {corrected:+.3}" [MORE_TEMPERATURES];
    CoarseForTrapezoid { correction: f64 } "coarse-ladder" "the ladder is too coarse for the trapezoid rule by about {correction:+.3} nats" [CORRECTED, MORE_TEMPERATURES];
    CoarseForCorrected { correction: f64 } "coarse-ladder" "the ladder is too coarse for the trapezoid rule by about {correction:+.3} nats" [MORE_TEMPERATURES];
    FewEffective { effective: f64, chains: usize } "few-effective" "only {effective:.1} of {chains} chains carry the weight" [MORE_TEMPERATURES];
    HeavyTail { tail: f64, most: f64 } "heavy-tail" "the largest weights have a tail of index {tail:.2}, {most} is the most that an error bar can be made of" [MORE_TEMPERATURES, OTHER_START];
    WideWeights { deviation: f64 } "wide-weights" "a bound not to rely on: log w spreads by {deviation:.1} nats from row to row" [MORE_TEMPERATURES, ROWS];
    BoundsApart { gap: f64 } "bounds-apart" "AIS and reverse AIS are {gap:.1} nats apart, log Z may be anywhere between" [MORE_TEMPERATURES, OTHER_START];
    LittleOverlap { effective: f64, chains: usize } "little-overlap" "the two passes hardly overlap, {effective:.1} of {chains} chains decide" [MORE_TEMPERATURES];
    BelowBound { value: f64, std_error: f64, bound: f64 } "below-bound" "{value:.3} ± {std_error:.3} is wrong: log Z is at least {bound:.3} for certain" [AUTO];
    AnnealingAbove { value: f64, std_error: f64, at_least: f64 } "annealing-above" "the weights of annealing say that log Z is at least {at_least:.3}, more than {value:.3} ± {std_error:.3}: a mode is missing" [AUTO];
    Disagreement { in_errors: f64, value: f64, std_error: f64, method: String } "disagreement" "{in_errors:+.1} errors from {value:.3} ± {std_error:.3} by {method}, which is taken" [];
    NotFinite { value: f64, std_error: f64 } "not-finite" "{value} ± {std_error} is no estimate: weights are too large for this method, or its chains did not connect both ends" [EXACT, AUTO];
    RunsDiffer { value: f64, std_error: f64 } "runs-differ" "an earlier run from another start found {value:.3} ± {std_error:.3}, more than this one: a mode is missing" [BUDGET];
    StartsOfRunDiffer { first: f64, first_error: f64, modes: f64, modes_error: f64 } "populations-differ" "chains from the start say {first:.3} ± {first_error:.3}, chains from the modes {modes:.3} ± {modes_error:.3}: they see different parts of the model" [BUDGET];
    Annealed {} "annealed" "the samples were drawn by annealing from the data's marginals instead, whose weights pass their diagnostics; modes that neither method reaches are missing" [];
    Cycles { cycles: usize, starts: usize } "cycles" "{cycles} of {starts} starts ended in a cycle of two" [DAMPING];
    NotConverged { left: usize, starts: usize } "not-converged" "{left} of {starts} starts did not converge" [ITERATIONS];
    SeveralSolutions { low: f64, high: f64 } "several-solutions" "several solutions, from {low:.2} to {high:.2}; the largest is given" [];
}

impl Doubt {
    /// One of the caller's own.
    pub fn other(name: &str, text: impl Into<String>) -> Self {
        Self::Other { name: name.into(), text: text.into() }
    }

    /// Short name for columns and counts, kebab-case, as in `few-travelled`.
    pub fn name(&self) -> &str {
        self.parts().0
    }

    /// What was found.
    pub fn finding(&self) -> String {
        self.parts().1
    }

    /// The finding and what to do about it, if anything is known to help.
    pub fn text(&self, at: Interface) -> String {
        let (_, finding, remedies) = self.parts();
        words(remedies, at).map_or(finding.clone(), |remedy| format!("{finding}: {remedy}"))
    }

    /// What to do about a doubt of this name, if it is known.
    pub fn remedy(name: &str, at: Interface) -> Option<String> {
        KINDS.iter().find(|(kind, _)| *kind == name).and_then(|(_, remedies)| words(remedies, at))
    }
}

fn words(remedies: &[Remedy], at: Interface) -> Option<String> {
    let words: Vec<&str> = remedies.iter().map(|remedy| remedy[at as usize]).collect();
    let (last, others) = words.split_last()?;
    let or = if others.is_empty() { "" } else { " or " };
    Some(format!("{}{or}{last}", others.join(", ")))
}

/// A doubt in files, in the terms of the command.
#[derive(Serialize, Deserialize)]
struct Words {
    name: String,
    text: String,
}

impl From<Doubt> for Words {
    fn from(doubt: Doubt) -> Self {
        Self { name: doubt.name().into(), text: doubt.text(Interface::Command) }
    }
}

impl From<Words> for Doubt {
    fn from(Words { name, text }: Words) -> Self {
        Self::Other { name, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_names_its_own_settings() {
        for (name, remedies) in KINDS {
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
            for [_, rust, python] in *remedies {
                assert!(![rust, python].iter().any(|it| it.contains("--")), "{name}");
                assert!(![rust, python].iter().any(|it| it.contains("tempering.")), "{name}");
            }
        }
    }

    /// A file keeps the name and the words, and not the numbers.
    #[test]
    fn a_doubt_is_kept_in_words() {
        let doubt = Doubt::Lag { movement: 20.0, correlation: f64::NAN, trips: 0.25 };
        let kept = serde_json::to_string(&doubt).unwrap();
        let text = "the model changes faster than the chains can follow (20 per round trip, correlation NaN after 0.2 round trips of equilibration): raise tempering.settling.most, raise tempering.chains or lower the learning rate";
        assert_eq!(kept, format!("{{\"name\":\"lag\",\"text\":\"{text}\"}}"));
        let read: Doubt = serde_json::from_str(&kept).unwrap();
        assert_eq!(read, Doubt::other("lag", text));
        assert_eq!(read.text(Interface::Python), text);
        assert!(doubt.text(Interface::Rust).ends_with(
            ": raise the second number of `settling`, raise `chains` or lower the learning rate"
        ));
    }
}
