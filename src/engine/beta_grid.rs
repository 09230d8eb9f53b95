//! Inverse temperatures prepared for sums over hidden units at all of them.

use std::borrow::Cow;

/// A run of equally spaced inverse temperatures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    /// Index of its first temperature.
    pub first: usize,
    /// Number of temperatures.
    pub length: usize,
    /// First inverse temperature.
    pub start: f32,
    /// Spacing (0 for a single one).
    pub step: f32,
}

/// Inverse temperatures beta_1 .. beta_K, cut into runs of equal spacing.
///
/// Within a run exp(-beta |x|) follows from its neighbour by one multiplication, which makes the collapsed update of
/// beta about as cheap as the Gibbs sweep it belongs to. Runs are short, so that rounding cannot build up: after n
/// steps the relative error is below n x 1.2e-7.
#[derive(Clone, Debug, PartialEq)]
pub struct BetaGrid {
    betas: Vec<f64>,
    segments: Vec<Segment>,
}

const LONGEST_SEGMENT: usize = 50;
/// Inverse temperatures closer than this are the same.
const SAME: f64 = 1e-9;

impl BetaGrid {
    /// Prepares `betas` (any order, each in [0, 1]).
    pub fn new(betas: &[f64]) -> Self {
        let mut segments = Vec::new();
        let (mut first, mut step) = (0, f64::NAN);
        while first < betas.len() {
            let next = betas.get(first + 1).map_or(0.0, |next| next - betas[first]);
            // One step for all runs of a ladder, so that its exponentials are taken once.
            if (next - step).abs() >= SAME || step.is_nan() {
                step = next;
            }
            let mut length = 1;
            while first + length < betas.len()
                && length < LONGEST_SEGMENT
                && (betas[first + length] - betas[first] - step * length as f64).abs() < SAME
            {
                length += 1;
            }
            segments.push(Segment { first, length, start: betas[first] as f32, step: step as f32 });
            first += length;
        }
        Self { betas: betas.to_vec(), segments }
    }

    /// The inverse temperatures.
    pub fn betas(&self) -> &[f64] {
        &self.betas
    }

    /// Those of these indices, which are different and ascending.
    pub fn at(&self, indices: &[usize]) -> Cow<'_, Self> {
        if indices.len() == self.betas.len() {
            return Cow::Borrowed(self);
        }
        let betas: Vec<f64> = indices.iter().map(|&k| self.betas[k]).collect();
        Cow::Owned(Self::new(&betas))
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_any_ladder_once() {
        let linear: Vec<f64> = (0..101).map(|k| f64::from(k) / 100.0).collect();
        let bent: Vec<f64> = linear.iter().map(|b| b * b).collect();
        for (betas, most) in [(&linear, 3), (&bent, 101), (&vec![1.0], 1)] {
            let grid = BetaGrid::new(betas);
            let mut next = 0;
            for segment in grid.segments() {
                assert_eq!(segment.first, next);
                for i in 0..segment.length {
                    let beta = f64::from(segment.start) + f64::from(segment.step) * i as f64;
                    assert!((beta - betas[next + i]).abs() < 1e-6);
                }
                next += segment.length;
            }
            assert_eq!(next, betas.len());
            assert!(grid.segments().len() <= most);
            // A linear ladder has one step, to the bit; a run of one temperature at its end has none.
            if most == 3 {
                let steps = grid.segments().iter().filter(|segment| segment.length > 1);
                assert!(steps.map(|segment| segment.step).eq([0.01, 0.01]));
            }
        }
    }
}
