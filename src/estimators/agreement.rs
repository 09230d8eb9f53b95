//! How well several estimates of one model agree, and which one to use.

use serde::Serialize;

use super::{Bias, Estimate, Method};
use crate::numerics::MOST_ERRORS;
use crate::trust::Doubt;

/// Differences below this are those of f32 against f64, relative to log Z.
pub const F32_ROUNDING: f64 = 1e-5;

/// Comparison of the estimates of one model.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Agreement {
    /// One sentence for each contradiction.
    pub disagreements: Vec<String>,
    /// The recommended value, if there is a choice.
    pub advice: Option<String>,
    /// Its method.
    pub use_method: Option<Method>,
    /// Whether it is sound and no other estimate contradicts it.
    pub sound: bool,
}

impl Agreement {
    /// Comparison of all estimates of one model.
    pub fn of(estimates: &[Estimate]) -> Self {
        let consistent: Vec<&Estimate> = estimates
            .iter()
            .filter(|e| matches!(e.bias, Bias::None | Bias::Consistent))
            .filter(|e| e.value.is_finite() && e.std_error.is_finite())
            .collect();
        let mut disagreements: Vec<String> = widest(&consistent).into_iter().collect();
        disagreements.extend(annealing(estimates));
        // Sound ones first, of these the consistent ones. A value with a low bias is recommended only if it is sound, and a value below the
        // bound never.
        let low = estimates.iter().filter(|e| e.bias == Bias::Low && e.std_error.is_finite());
        let low = low.filter(|e| e.value.is_finite() && e.trust.is_sound());
        let usable = consistent.iter().copied().filter(|e| !e.is_below_bound()).chain(low);
        let best = usable.min_by(|a, b| {
            let order = |e: &Estimate| (!e.trust.is_sound(), e.bias == Bias::Low);
            order(a).cmp(&order(b)).then(a.std_error.total_cmp(&b.std_error))
        });
        // An exact value cannot be contradicted.
        let exact = best.is_some_and(|best| best.bias == Bias::None);
        let sound = exact
            || disagreements.is_empty()
                && best.map_or_else(
                    || estimates.iter().all(|e| e.trust.is_sound()),
                    |best| best.trust.is_sound(),
                );
        let advice = best.and_then(|best| {
            // Values that were replaced by the bound are no values of their own.
            let others = consistent.iter().filter(|e| !std::ptr::eq(**e, best) && !e.raised);
            let others: Vec<_> = others.collect();
            let within = others.iter().filter(|e| apart(best, e) <= MOST_ERRORS).count();
            let how = match (best.trust.is_sound(), best.bias) {
                (true, Bias::Low) => "no consistent estimate is sound; use, though low in expectation,",
                (true, _) => "use",
                _ => "none is sound; the narrowest that is not below the bound is",
            };
            (!others.is_empty()).then(|| format!(
                "{how} {}: {:.6} ± {:.6}; {within} of {} other consistent estimates agree within {MOST_ERRORS} errors",
                best.method,
                best.value,
                best.std_error,
                others.len()
            ))
        });
        Self { disagreements, advice, use_method: best.map(|best| best.method), sound }
    }

    /// Puts estimates in doubt that contradict the recommended value; those that are low or high in expectation do not.
    pub fn doubt_others(&self, estimates: &mut [Estimate]) {
        let Some(best) = estimates.iter().find(|e| Some(e.method) == self.use_method).cloned()
        else {
            return;
        };
        for other in estimates {
            let errors = apart(other, &best).copysign(other.value - best.value);
            let one_sided = matches!(other.bias, Bias::Low | Bias::High);
            // Those without an error bar give no number.
            if errors.abs() > MOST_ERRORS && !one_sided {
                other.trust.doubt(Doubt::Disagreement {
                    in_errors: errors,
                    value: best.value,
                    std_error: best.std_error,
                    method: best.method.name().into(),
                });
            }
        }
    }
}

/// Difference in combined errors.
fn apart(a: &Estimate, b: &Estimate) -> f64 {
    let rounding = F32_ROUNDING * (1.0 + a.value.abs());
    (a.value - b.value).abs() / (a.std_error.hypot(b.std_error) + rounding)
}

/// A sentence on the two consistent estimates that are furthest apart, if they contradict each other.
fn widest(consistent: &[&Estimate]) -> Option<String> {
    let pairs = consistent
        .iter()
        .enumerate()
        .flat_map(|(i, a)| consistent[i + 1..].iter().map(move |b| (a, b)));
    let (a, b) = pairs.max_by(|x, y| apart(x.0, x.1).total_cmp(&apart(y.0, y.1)))?;
    let errors = apart(a, b);
    (errors > MOST_ERRORS).then(|| {
        format!(
            "{} and {} are {:.3} nats apart, {errors:.1} combined errors: one of them misses a part of the model or claims too small an error; try --method auto with a larger --budget, or another --start",
            a.method,
            b.method,
            (a.value - b.value).abs()
        )
    })
}

/// A sentence on AIS and reverse AIS, low and high in expectation, if they differ by more than their errors.
fn annealing(estimates: &[Estimate]) -> Option<String> {
    let of = |method| estimates.iter().find(|e| e.method == method);
    let (low, high) = (of(Method::Ais)?, of(Method::ReverseAis)?);
    (apart(low, high) > MOST_ERRORS).then(|| {
        format!(
            "AIS and reverse AIS are {:.3} nats apart, {:.1} combined errors: too few temperatures, or a mode that annealing from the start does not find; try --method auto with a larger --budget, or another --start",
            (high.value - low.value).abs(),
            apart(low, high)
        )
    })
}

/// The highest lower bound from the weights of annealing, nats.
pub fn at_least(estimates: &[Estimate]) -> Option<f64> {
    estimates.iter().filter_map(|estimate| estimate.at_least).reduce(f64::max)
}

impl Estimate {
    /// Raises a value below a lower bound of log Z to the bound, which is never further from log Z, and puts it in doubt if it is below by
    /// more than its errors explain.
    pub(crate) fn refuse_below(&mut self, bound: f64) {
        // A higher lower bound does not contradict a lower bound.
        let is_bound = self.bias == Bias::Low && self.std_error.is_nan();
        if self.bias == Bias::None || is_bound || self.value >= bound || self.value.is_nan() {
            return;
        }
        let error = if self.std_error.is_nan() { 0.0 } else { self.std_error };
        if !self.is_below_bound()
            && self.value + MOST_ERRORS * error + F32_ROUNDING * (1.0 + bound.abs()) < bound
        {
            let Self { value, std_error, .. } = *self;
            self.trust.doubt(Doubt::BelowBound { value, std_error, bound });
        }
        (self.value, self.raised) = (bound, true);
    }

    /// In doubt where a lower bound from the weights of annealing is above it by more than its errors.
    pub(crate) fn doubt_below(&mut self, at_least: f64) {
        if matches!(self.bias, Bias::None | Bias::Low) || self.std_error.is_nan() {
            return;
        }
        let rounding = F32_ROUNDING * (1.0 + at_least.abs());
        // The automatic estimate has been held against its own weights before.
        let known = self.has_doubt("annealing-above");
        if !known && at_least > self.value + MOST_ERRORS * self.std_error + rounding {
            let Self { value, std_error, .. } = *self;
            self.trust.doubt(Doubt::AnnealingAbove { value, std_error, at_least });
        }
    }

    fn is_below_bound(&self) -> bool {
        self.has_doubt("below-bound")
    }

    fn has_doubt(&self, name: &str) -> bool {
        self.trust.doubts().iter().any(|doubt| doubt.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(method: Method, value: f64, std_error: f64, bias: Bias) -> Estimate {
        Estimate { bias, ..Estimate::new(method, value, std_error) }
    }

    #[test]
    fn contradictions_are_told_and_the_narrowest_sound_value_is_advised() {
        let rts = estimate(Method::Rts, 328.27, 0.03, Bias::Consistent);
        let bar = estimate(Method::AisBar, 329.22, 0.13, Bias::Consistent);
        let found = Agreement::of(&[rts.clone(), bar.clone()]);
        assert_eq!(found.disagreements.len(), 1);
        assert!(!found.sound && found.use_method == Some(Method::Rts));
        // The other one is in doubt, and so is none that agrees or is low in expectation.
        let near = estimate(Method::Mbar, 328.2, 0.03, Bias::Consistent);
        let low = estimate(Method::Ais, 327.0, 0.1, Bias::Low);
        let mut rows = [rts.clone(), bar.clone(), near, low];
        found.doubt_others(&mut rows);
        assert_eq!(rows.each_ref().map(|row| row.trust.is_sound()), [true, false, true, true]);
        let told = rows[1].trust.to_string();
        assert!(told.contains("+6.9 errors from 328.270 ± 0.030 by rts"), "{told}");
        let mut doubted = rts;
        doubted.refuse_below(328.9);
        assert!(!doubted.trust.is_sound() && doubted.value == 328.9);
        assert_eq!(Agreement::of(&[doubted, bar.clone()]).use_method, Some(Method::AisBar));
        // A doubt that was found twice is one.
        let mut low = estimate(Method::Auto, 1.0, 0.1, Bias::Consistent);
        [3.0, 4.0].iter().for_each(|bound| low.doubt_below(*bound));
        assert_eq!(low.trust.names(), "annealing-above");
        // Within its errors a value below the bound is the bound.
        let mut near = bar.clone();
        near.refuse_below(329.5);
        assert!(near.trust.is_sound() && near.value == 329.5 && near.raised, "{near:?}");
        // It agrees with nothing any more.
        let advice = |rows: &[Estimate]| Agreement::of(rows).advice.unwrap_or_default();
        let other = estimate(Method::Mbar, 329.4, 0.1, Bias::Consistent);
        assert!(advice(&[other.clone(), bar.clone(), near]).contains("1 of 1 other"));
        assert!(advice(&[other, bar.clone(), bar.clone()]).contains("2 of 2 other"));
        let close = estimate(Method::Mbar, 329.1, 0.1, Bias::Consistent);
        assert!(Agreement::of(&[bar.clone(), close]).sound);
        // Of values in doubt the one with the smallest error, but none that was below the bound.
        let mut refused = estimate(Method::Rts, 300.0, 0.001, Bias::Consistent);
        refused.refuse_below(320.0);
        let mut doubted = bar;
        doubted.trust.doubt(Doubt::other("not-mixed", ""));
        let found = Agreement::of(&[refused.clone(), doubted]);
        assert!(!found.sound && found.use_method == Some(Method::AisBar), "{found:?}");
        let found = Agreement::of(&[refused.clone(), refused]);
        assert!(!found.sound && found.use_method.is_none() && found.advice.is_none());
        let pair = [
            estimate(Method::Ais, 0.0, 0.1, Bias::Low),
            estimate(Method::ReverseAis, 373.0, 0.3, Bias::High),
        ];
        assert_eq!(Agreement::of(&pair).disagreements.len(), 1);
    }

    #[test]
    fn sound_annealing_is_advised_where_no_consistent_estimate_is_sound() {
        let mut rts = estimate(Method::Rts, 229.5, 0.05, Bias::Consistent);
        let mut mbar = estimate(Method::Mbar, 229.6, 0.04, Bias::Consistent);
        let ais = estimate(Method::Ais, 216.06, 0.08, Bias::Low);
        rts.trust.doubt(Doubt::other("not-mixed", ""));
        let found = Agreement::of(&[rts.clone(), ais.clone(), mbar.clone()]);
        // A sound consistent one comes first, however large its error.
        assert_eq!(found.use_method, Some(Method::Mbar));
        mbar.trust.doubt(Doubt::other("not-mixed", ""));
        let found = Agreement::of(&[rts.clone(), ais.clone(), mbar.clone()]);
        assert!(found.sound && found.use_method == Some(Method::Ais), "{found:?}");
        assert!(found.advice.unwrap().contains("use, though low in expectation, ais: 216.06"));
        let mut ais = ais;
        ais.refuse_below(220.0);
        let found = Agreement::of(&[rts, ais, mbar]);
        assert!(!found.sound && found.use_method == Some(Method::Mbar), "{found:?}");
    }
}
