//! Mixing diagnostics from the transition matrix of temperatures: conductance and the knot.
//!
//! P_jk = sum 1[v generated at j] q(k|v), rows normalised. Phi_k = sum_{i<=k<j} c_i P_ij / min(c_{<=k}, c_{>k}); a knot
//! sits at its minimum (algorithms.md, section 2).

/// Accumulated transitions between temperatures.
#[derive(Clone, Debug, PartialEq)]
pub struct Transitions {
    temperatures: usize,
    sums: Vec<f64>,
}

/// The cut with the smallest conductance of the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knot {
    /// Index k: the cut lies between temperature k and k + 1.
    pub index: usize,
    /// Phi at the cut.
    pub conductance: f64,
    /// Median Phi over all cuts.
    pub median: f64,
}

impl Knot {
    /// Whether the cut is narrow enough to warn about: min Phi < 0.3 median Phi.
    pub fn is_narrow(&self) -> bool {
        self.conductance < 0.3 * self.median
    }
}

impl Transitions {
    /// No transitions.
    pub fn new(temperatures: usize) -> Self {
        Self { temperatures, sums: vec![0.0; temperatures * temperatures] }
    }

    /// Adds transitions of a block of sweeps, shape [K, K], after multiplying the earlier ones by `keep` (1 keeps all).
    pub fn add(&mut self, transitions: &[f64], keep: f64) {
        self.sums.iter_mut().zip(transitions).for_each(|(sum, t)| *sum = keep * *sum + t);
    }

    /// The sums, for checkpoints.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// Restores saved sums of shape [K, K].
    pub(crate) fn restore(temperatures: usize, sums: Vec<f64>) -> Option<Self> {
        (sums.len() == temperatures * temperatures).then_some(Self { temperatures, sums })
    }

    /// P, rows normalised (rows never visited are zero), shape [K, K].
    pub fn matrix(&self) -> Vec<f64> {
        let mut matrix = self.sums.clone();
        for row in matrix.chunks_exact_mut(self.temperatures) {
            let total: f64 = row.iter().sum();
            if total > 0.0 {
                row.iter_mut().for_each(|p| *p /= total);
            }
        }
        matrix
    }

    /// Phi of the cuts between temperatures k and k + 1, shape [K - 1]; empty before any transition.
    pub(crate) fn conductances(&self) -> Vec<f64> {
        let k = self.temperatures;
        let total: f64 = self.sums.iter().sum();
        if total <= 0.0 {
            return Vec::new();
        }
        let row_mass: Vec<f64> =
            self.sums.chunks_exact(k).map(|row| row.iter().sum::<f64>() / total).collect();
        let mut conductances = Vec::with_capacity(k - 1);
        let mut below = 0.0;
        for (cut, mass) in row_mass.iter().take(k - 1).enumerate() {
            below += mass;
            let flow: f64 = (0..=cut)
                .map(|i| self.sums[i * k + cut + 1..(i + 1) * k].iter().sum::<f64>() / total)
                .sum();
            let side = below.min(1.0 - below);
            conductances.push(if side > 0.0 { flow / side } else { 0.0 });
        }
        conductances
    }

    /// The narrowest cut; `None` before any transition.
    pub fn knot(&self) -> Option<Knot> {
        let conductances = self.conductances();
        let (index, conductance) =
            conductances.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut sorted = conductances;
        sorted.sort_by(f64::total_cmp);
        Some(Knot { index, conductance, median: sorted[sorted.len() / 2] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knot_is_found_where_the_flow_is_cut() {
        let k = 10;
        let mut transitions = Transitions::new(k);
        let mut sums = vec![0.0; k * k];
        for i in 0..k {
            for j in i.saturating_sub(2)..(i + 3).min(k) {
                // Crossing from 0..=3 to 4.. is 100 times rarer than other moves.
                let rare = (i <= 3) != (j <= 3);
                sums[i * k + j] = if rare { 0.01 } else { 1.0 };
            }
        }
        transitions.add(&sums, 1.0);
        let knot = transitions.knot().unwrap();
        assert_eq!(knot.index, 3);
        assert!(knot.is_narrow());
        for row in transitions.matrix().chunks_exact(k) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
