//! Axes of charts: a range of values, its place on the paper, and numbers beside it.

/// Approximate number of ticks of an axis, and the room each needs.
const TICKS: f64 = 5.0;
const ROOM: f64 = 30.0;

/// An axis from `low` to `high`, drawn from `from` to `to`.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    /// The axis; `None` if its range is empty.
    pub fn new((low, high): (f64, f64), log: bool, (from, to): (f64, f64)) -> Option<Self> {
        let usable = low.is_finite() && high.is_finite() && low < high && (!log || low > 0.0);
        usable.then_some(Self { low, high, log, from, to })
    }

    /// Position of a value, at most one length of the axis beyond its ends.
    pub fn place(&self, value: f64) -> f64 {
        // A value that is not positive is below the end of a logarithmic axis.
        let value = if self.log && value <= 0.0 { self.low } else { value };
        let scale = |x: f64| if self.log { x.ln() } else { x };
        let share = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low));
        self.from + (self.to - self.from) * share.clamp(-1.0, 2.0)
    }

    /// Whether a value lies between the ends.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Values with a number, and the number.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        if self.log { self.decades() } else { self.steps() }
    }

    fn steps(&self) -> Vec<(f64, String)> {
        let ticks = ((self.to - self.from).abs() / ROOM).clamp(1.0, TICKS);
        let rough = (self.high - self.low) / ticks;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let tick = |i: i64| {
            let value = i as f64 * step;
            (value, number(value, step, decimals))
        };
        (first..=last).take(20).map(tick).collect()
    }

    fn decades(&self) -> Vec<(f64, String)> {
        let (low, high) = (self.low.log10(), self.high.log10());
        let factors: &[f64] = match high - low {
            span if span < 1.2 => &[1.0, 2.0, 5.0],
            span if span < 2.5 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let every = ((high - low) / 6.0).ceil().max(1.0) as i32;
        let powers = (low.floor() as i32..=high.ceil() as i32).filter(|p| p % every == 0);
        powers
            .flat_map(|p| factors.iter().map(move |factor| factor * 10f64.powi(p)))
            .filter(|value| self.holds(*value))
            .map(|value| (value, short(value)))
            .collect()
    }
}

fn number(value: f64, step: f64, decimals: usize) -> String {
    // A zero that is a sum of steps may be minus zero, or nearly so.
    let value = if value.abs() < 1e-9 * step { 0.0 } else { value };
    if decimals > 6 || step >= 1e6 {
        return short(value);
    }
    match (value, step) {
        (v, s) if v.abs() >= 10_000.0 && s >= 1000.0 => format!("{:.0}k", v / 1000.0),
        _ => format!("{value:.decimals$}"),
    }
}

/// A number with few digits.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The smallest range with a little room around all finite values; `None` without any.
pub fn range(values: impl Iterator<Item = f64>, log: bool) -> Option<(f64, f64)> {
    let (low, high) = values
        .filter(|value| value.is_finite() && (!log || *value > 0.0))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return None;
    }
    if log {
        return Some((low / 1.2, high * 1.2));
    }
    let room = if high > low { 0.04 * (high - low) } else { 0.5 * (1.0 + high.abs()) };
    Some((low - room, high + room))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: (f64, f64), log: bool) -> Vec<String> {
        let axis = Axis::new(range, log, (0.0, 400.0)).unwrap();
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        assert_eq!(labels((0.0, 6000.0), false), ["0", "2000", "4000", "6000"]);
        assert_eq!(labels((0.0, 60_000.0), false), ["0", "20k", "40k", "60k"]);
        assert_eq!(labels((-6.93, -6.61), false), ["-6.9", "-6.8", "-6.7"]);
        assert_eq!(labels((-1.0, 1.0), false), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels((1e-3, 1.0), true), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels((0.9, 6.0), true), ["1", "2", "5"]);
    }

    #[test]
    fn places_run_from_end_to_end() {
        let axis = Axis::new((1.0, 100.0), true, (10.0, 20.0)).unwrap();
        assert_eq!([1.0, 10.0, 100.0, 1e9].map(|x| axis.place(x)), [10.0, 15.0, 20.0, 30.0]);
        assert!(Axis::new((0.0, 1.0), true, (0.0, 1.0)).is_none());
        assert!(Axis::new((1.0, 1.0), false, (0.0, 1.0)).is_none());
        assert_eq!(range([f64::NAN, 2.0, 2.0].into_iter(), false), Some((0.5, 3.5)));
        assert_eq!(range(std::iter::empty(), false), None);
    }
}
