//! The parameters of an RBM as plain host arrays: what kernels, files and enumeration read.

use faer::Mat;
use rayon::prelude::*;

use crate::engine::random::{Purpose, Streams};
use crate::engine::{AS_A_NUMBER, NUMBERS_PER_TASK, fewest_tasks};
use crate::error::{Error, Result};
use crate::units::{Variables, square_biases};

/// Weights beyond this size saturate every unit.
const LARGEST_WEIGHT: f32 = 1e3;
/// Beyond this size of a bias log f in f32 is no better than a tenth of a nat.
const LARGEST_BIAS: f32 = 1e6;

/// Weights and biases on the host, f32, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Number of visible units, M.
    pub n_visible: usize,
    /// Number of hidden units, J.
    pub n_hidden: usize,
    /// W, shape [M, J], row-major.
    pub weights: Vec<f32>,
    /// c, shape `[M]`.
    pub visible_bias: Vec<f32>,
    /// b, shape `[J]`.
    pub hidden_bias: Vec<f32>,
    /// What the visible columns stand for. Hidden units are bits, or -1 and +1 where the visible ones are: W, c and b are then those of the
    /// same model with units 0 and 1, and [`Parameters::couplings`] are its own.
    pub variables: Variables,
}

impl Parameters {
    /// Checks that shapes agree and every value is finite.
    pub fn new(
        n_visible: usize,
        n_hidden: usize,
        weights: Vec<f32>,
        visible_bias: Vec<f32>,
        hidden_bias: Vec<f32>,
    ) -> Result<Self> {
        if n_visible == 0 || n_hidden == 0 {
            return Err(Error::Invalid(format!(
                "an RBM needs at least one visible and one hidden unit, got {n_visible} and {n_hidden}"
            )));
        }
        let lengths = [
            ("weights", weights.len(), n_visible * n_hidden),
            ("visible_bias", visible_bias.len(), n_visible),
            ("hidden_bias", hidden_bias.len(), n_hidden),
        ];
        for (name, found, expected) in lengths {
            if found != expected {
                return Err(Error::Mismatch(format!(
                    "`{name}` has {found} values, {expected} expected for {n_visible} visible and {n_hidden} hidden units"
                )));
            }
        }
        let variables = Variables::BITS;
        let parameters =
            Self { n_visible, n_hidden, weights, visible_bias, hidden_bias, variables };
        match parameters.not_finite() {
            Some(name) => Err(Error::Invalid(format!("`{name}` contains NaN or more than 3.4e38"))),
            None => Ok(parameters),
        }
    }

    /// From weights that lie the other way round, [J, M], as scikit-learn (`components_`) and torch.nn.Linear keep them;
    /// `transposed().weights` are these again.
    ///
    /// # Errors
    /// As [`Parameters::new`].
    pub fn from_hidden_major(
        n_visible: usize,
        n_hidden: usize,
        weights: Vec<f32>,
        visible_bias: Vec<f32>,
        hidden_bias: Vec<f32>,
    ) -> Result<Self> {
        // Exchanging the layers twice gives the same model.
        Ok(Self::new(n_hidden, n_visible, weights, hidden_bias, visible_bias)?.transposed())
    }

    /// All zeros: log Z = (M + J) log 2.
    pub fn zeros(n_visible: usize, n_hidden: usize) -> Self {
        Self {
            n_visible,
            n_hidden,
            weights: vec![0.0; n_visible * n_hidden],
            visible_bias: vec![0.0; n_visible],
            hidden_bias: vec![0.0; n_hidden],
            variables: Variables::BITS,
        }
    }

    /// Weights drawn from a normal distribution around 0 with standard deviation `weight_scale`, biases 0.
    pub fn random(n_visible: usize, n_hidden: usize, weight_scale: f64, seed: u64) -> Self {
        let mut parameters = Self::zeros(n_visible, n_hidden);
        let streams = Streams::new(seed, Purpose::Weights, 0);
        for (i, row) in parameters.weights.chunks_exact_mut(n_hidden).enumerate() {
            let mut stream = streams.row(i as u32);
            row.iter_mut().for_each(|w| *w = (weight_scale * stream.normal()) as f32);
        }
        parameters
    }

    /// The same model, whose visible columns stand for `variables`.
    ///
    /// # Errors
    /// Variables of another number of columns.
    pub fn of(self, variables: Variables) -> Result<Self> {
        if variables.fit(self.n_visible) {
            let parameters = Self { variables, ..self };
            parameters.check_squares()?;
            return Ok(parameters);
        }
        Err(Error::Mismatch(format!(
            "variables `{variables}` do not have the {} columns of the visible layer",
            self.n_visible
        )))
    }

    /// Squares of real variables have a negative bias and no weights: else f(v) has no integral.
    fn check_squares(&self) -> Result<()> {
        let wrong = |(first, _): &(usize, _)| {
            let weights = self.weights_of(first + 1);
            self.visible_bias[first + 1] >= 0.0 || weights.iter().any(|w| *w != 0.0)
        };
        match self.variables.reals().find(wrong) {
            None => Ok(()),
            Some((first, _)) => Err(Error::Invalid(format!(
                "visible column {} is the square of a real variable: its bias is -1/(2 variance) and its weights are zero",
                first + 2
            ))),
        }
    }

    /// log f(v) of the model minus c.v + sum_j softplus(x_j), nats: of units -1 and +1 their constant, else 0.
    pub fn log_offset(&self) -> f64 {
        let of = |values: &[f32]| self.variables.offset(values);
        of(&self.visible_bias) + of(&self.hidden_bias) + 0.5 * of(&self.weights)
    }

    /// The same model with its layers exchanged: W transposed, biases swapped. Of bits log Z is the same; of a model with categorical
    /// variables the layer that was hidden becomes visible bits.
    pub fn transposed(&self) -> Self {
        let mut weights = Vec::with_capacity(self.weights.len());
        for j in 0..self.n_hidden {
            weights.extend((0..self.n_visible).map(|i| self.weights[i * self.n_hidden + j]));
        }
        Self {
            n_visible: self.n_hidden,
            n_hidden: self.n_visible,
            weights,
            visible_bias: self.hidden_bias.clone(),
            hidden_bias: self.visible_bias.clone(),
            variables: match self.variables.is_plus_minus() {
                true => Variables::PLUS_MINUS,
                false => Variables::BITS,
            },
        }
    }

    /// W in double precision, shape [M, J].
    pub(crate) fn weight_matrix(&self) -> Mat<f64> {
        let weight = |i: usize, j: usize| f64::from(self.weights[i * self.n_hidden + j]);
        Mat::from_fn(self.n_visible, self.n_hidden, weight)
    }

    /// The weights of a visible column, shape `[J]`.
    pub(crate) fn weights_of(&self, column: usize) -> &[f32] {
        &self.weights[column * self.n_hidden..][..self.n_hidden]
    }

    /// W, c and b as flat arrays, in this order.
    pub fn arrays(&self) -> [&[f32]; 3] {
        [&self.weights, &self.visible_bias, &self.hidden_bias]
    }

    /// As [`Parameters::arrays`], for writing.
    pub fn arrays_mut(&mut self) -> [&mut [f32]; 3] {
        [&mut self.weights, &mut self.visible_bias, &mut self.hidden_bias]
    }

    /// Number of units of the smaller layer, or of the hidden one beside real variables: enumeration visits two to this power states.
    pub fn smaller_layer(&self) -> usize {
        if self.enumerates_visible() { self.n_visible } else { self.n_hidden }
    }

    /// Whether enumeration visits the visible layer.
    pub(crate) fn enumerates_visible(&self) -> bool {
        self.n_visible < self.n_hidden && !self.variables.has_reals()
    }

    /// Number of real variables whose variance is at the lower bound.
    pub(crate) fn variances_at_bound(&self) -> usize {
        let least = square_biases()[0];
        let squares = self.variables.reals().map(|(first, _)| self.visible_bias[first + 1]);
        squares.filter(|bias| *bias <= least).count()
    }

    /// Keeps the variances of real variables in their bounds, and the weights of squares at zero.
    pub(crate) fn confine(&mut self) {
        let [least, largest] = square_biases();
        for (first, _) in self.variables.reals() {
            self.weights[(first + 1) * self.n_hidden..][..self.n_hidden].fill(0.0);
            // NaN stays, and is reported as such.
            let square = &mut self.visible_bias[first + 1];
            *square = square.clamp(least, largest);
        }
    }

    /// The name of a parameter that holds NaN or infinity, if there is one.
    pub(crate) fn not_finite(&self) -> Option<&'static str> {
        self.largest().find(|(_, largest)| !largest.is_finite()).map(|(name, _)| name)
    }

    /// The name and the largest |x| of each array.
    fn largest(&self) -> impl Iterator<Item = (&'static str, f32)> {
        let names = ["weights", "visible_bias", "hidden_bias"].into_iter();
        names.zip(self.arrays().map(largest_magnitude))
    }

    /// A value that no training reaches: NaN, infinite, or too large.
    pub fn beyond_measure(&self) -> Option<String> {
        let limits = [LARGEST_WEIGHT, LARGEST_BIAS, LARGEST_BIAS];
        let beyond = |((_, largest), limit): &((_, f32), f32)| largest.is_nan() || largest > limit;
        let ((name, largest), _) = self.largest().zip(limits).find(beyond)?;
        Some(match largest.is_finite() {
            true => format!("a value of `{name}` reached {largest:.0}"),
            false => format!("`{name}` contains NaN or infinity"),
        })
    }
}

/// The largest |x|, infinite or NaN where a value is; 0 of none.
fn largest_magnitude(values: &[f32]) -> f32 {
    let tasks = values.par_chunks(NUMBERS_PER_TASK);
    let tasks = tasks.with_min_len(fewest_tasks(values.len() * AS_A_NUMBER));
    f32::from_bits(tasks.map(largest_bits).max().unwrap_or(0))
}

/// Its bits: without their signs floats are ordered as their bits are, with infinity above all numbers and NaN above infinity.
fn largest_bits(values: &[f32]) -> u32 {
    const LANES: usize = 16;
    // In lanes of floats, so that the compiler vectorises; the largest of integers takes it twice the time.
    let (mut largest, mut unordered) = ([0.0f32; LANES], [0u32; LANES]);
    let mut take = |lane: usize, x: f32| {
        let x = x.abs();
        largest[lane] = if x > largest[lane] { x } else { largest[lane] };
        unordered[lane] |= u32::from(x.is_nan());
    };
    let (whole, rest) = values.as_chunks::<LANES>();
    for values in whole {
        (0..LANES).for_each(|lane| take(lane, values[lane]));
    }
    rest.iter().enumerate().for_each(|(lane, x)| take(lane, *x));
    match unordered.iter().any(|found| *found != 0) {
        true => f32::NAN.to_bits(),
        false => largest.into_iter().fold(0.0, f32::max).to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever it stands, whole vectors or the rest, and whatever its sign.
    #[test]
    fn the_largest_magnitude_is_found_anywhere() {
        for n in [1, 15, 16, 17, 40] {
            for at in 0..n {
                for (value, found) in [(-7.0, 7.0), (f32::NEG_INFINITY, f32::INFINITY)] {
                    let mut values = vec![0.5; n];
                    values[at] = value;
                    assert_eq!(largest_magnitude(&values), found, "{at} of {n}");
                }
                let mut values = vec![f32::INFINITY; n];
                values[at] = -f32::NAN;
                assert!(largest_magnitude(&values).is_nan(), "{at} of {n}");
            }
        }
        assert_eq!(largest_magnitude(&[]), 0.0);
    }

    #[test]
    fn the_parameter_that_is_not_finite_is_named() {
        let mut parameters = Parameters::zeros(3, 2);
        assert_eq!(parameters.not_finite(), None);
        parameters.hidden_bias[1] = f32::INFINITY;
        assert_eq!(parameters.not_finite(), Some("hidden_bias"));
    }
}
