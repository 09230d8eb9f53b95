//! Times of named parts, a list for each.

use std::time::Instant;

/// Milliseconds of every call of every part, in the order parts first came.
#[derive(Default)]
pub struct Clock(Vec<(String, Vec<f64>)>);

impl Clock {
    /// Runs `work` and notes how long it took.
    pub fn time<T>(&mut self, part: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.note(part, start.elapsed().as_secs_f64() * 1e3);
        result
    }

    fn note(&mut self, part: &str, milliseconds: f64) {
        match self.0.iter_mut().find(|(name, _)| name == part) {
            Some((_, times)) => times.push(milliseconds),
            None => self.0.push((part.into(), vec![milliseconds])),
        }
    }

    /// Forgets the calls so far, which warmed things up.
    pub fn restart(&mut self) {
        self.0.clear();
    }

    /// Lower quartile of a part in milliseconds, since neighbours only ever add time; 0 for one that never ran.
    pub fn typical(&self, part: &str) -> f64 {
        let Some((_, times)) = self.0.iter().find(|(name, _)| name == part) else { return 0.0 };
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 4]
    }
}
