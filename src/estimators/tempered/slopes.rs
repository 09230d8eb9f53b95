//! Mean and variance of Delta = d log f_beta/d beta at every temperature, with each chain's contribution to their errors.
//!
//! E_k = E_k[Delta] is d log Z/d beta, V_k = Var_k[Delta] its derivative. The variance of Delta is TOTAL: that of E[Delta|x] plus the mean
//! of Var[Delta|x] over the summed-out units.

/// Weighted sums of E[Delta|x], and of its second moment, for every chain and temperature.
#[derive(Clone, Debug)]
pub struct SlopeSums {
    temperatures: usize,
    /// sum w, sum w E, sum w (V + E^2), each of shape [S, K].
    sums: [Vec<f64>; 3],
}

/// Moments of Delta at one temperature.
#[derive(Clone, Debug)]
pub struct NodeMoments {
    /// E_k.
    pub mean: f64,
    /// V_k.
    pub variance: f64,
    /// Each chain's contribution to the error of E_k, shape `[S]`.
    pub mean_influence: Vec<f64>,
    /// Each chain's contribution to the error of V_k, shape `[S]`.
    pub variance_influence: Vec<f64>,
}

impl SlopeSums {
    /// Empty sums.
    pub fn new(chains: usize, temperatures: usize) -> Self {
        Self { temperatures, sums: std::array::from_fn(|_| vec![0.0; chains * temperatures]) }
    }

    /// Adds a state to entry `i` = s K + k.
    pub fn add(&mut self, i: usize, weight: f64, mean: f64, variance: f64) {
        for (sums, value) in self.sums.iter_mut().zip([1.0, mean, variance + mean * mean]) {
            sums[i] += weight * value;
        }
    }

    /// Whether any state has weight at temperature k.
    pub(crate) fn is_visited(&self, k: usize) -> bool {
        self.sums[0].iter().skip(k).step_by(self.temperatures).any(|&weight| weight > 0.0)
    }

    /// E_k and V_k; NaN at a temperature that is not visited.
    pub fn node(&self, k: usize) -> NodeMoments {
        let column = |i: usize| -> Vec<f64> {
            self.sums[i].iter().skip(k).step_by(self.temperatures).copied().collect()
        };
        let [weights, means, squares] = [column(0), column(1), column(2)];
        let total: f64 = weights.iter().sum();
        let mean = means.iter().sum::<f64>() / total;
        let square = squares.iter().sum::<f64>() / total;
        // The error of a ratio of sums, chain by chain.
        let part = |sums: &[f64], ratio: f64| -> Vec<f64> {
            sums.iter().zip(&weights).map(|(sum, w)| (sum - ratio * w) / total).collect()
        };
        let mean_influence = part(&means, mean);
        let variance_influence = part(&squares, square)
            .iter()
            .zip(&mean_influence)
            .map(|(square, part)| square - 2.0 * mean * part)
            .collect();
        let variance = square - mean * mean;
        NodeMoments { mean, variance, mean_influence, variance_influence }
    }
}
