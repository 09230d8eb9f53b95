//! Differentiable targets on R^d, and their tempered path from a Gaussian base.
//!
//! log f_beta(x) = beta log f(x) + (1 - beta) log p1(x), p1 = N(0, s^2 I) normalised, so that log Z_1 = 0 (RTS eq. 2).

/// An unnormalised log density on R^d that is finite and differentiable everywhere.
pub trait LogDensity: Sync {
    /// d.
    fn dimension(&self) -> usize;

    /// log f(x), x of shape `[d]`.
    fn value(&self, x: &[f64]) -> f64;

    /// log f(x), and its gradient in `gradient` `[d]`, whose previous content is ignored.
    fn value_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64;
}

/// log f and log p1 of one state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Densities {
    pub(super) target: f64,
    pub(super) base: f64,
}

impl Densities {
    pub(super) fn at(&self, beta: f64) -> f64 {
        beta * self.target + (1.0 - beta) * self.base
    }

    /// Delta = d/dbeta log f_beta.
    pub(super) fn slope(&self) -> f64 {
        self.target - self.base
    }
}

/// The path, at any inverse temperature.
#[derive(Clone, Copy)]
pub(super) struct TemperedTarget<'a> {
    pub(super) target: &'a dyn LogDensity,
    /// s.
    pub(super) base_sd: f64,
}

impl TemperedTarget<'_> {
    pub(super) fn densities(&self, x: &[f64]) -> Densities {
        Densities { target: self.target.value(x), base: self.base(x) }
    }

    /// The gradient of log f_beta.
    pub(super) fn gradient(&self, beta: f64, x: &[f64], gradient: &mut [f64]) -> Densities {
        let target = self.target.value_and_gradient(x, gradient);
        let pull = (1.0 - beta) / self.base_sd.powi(2);
        gradient.iter_mut().zip(x).for_each(|(g, x)| *g = beta * *g - pull * x);
        Densities { target, base: self.base(x) }
    }

    fn base(&self, x: &[f64]) -> f64 {
        let variance = self.base_sd.powi(2);
        let square: f64 = x.iter().map(|x| x * x).sum();
        let log_volume = x.len() as f64 * (std::f64::consts::TAU * variance).ln();
        -0.5 * (square / variance + log_volume)
    }
}
