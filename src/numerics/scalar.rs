//! The functions of one number that binary units need.

/// log(1 + exp(x)) without overflow.
#[inline]
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// 1/(1 + exp(-x)): the mean of a binary unit with logit x.
#[inline]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// log(p/(1 - p)): the logit of a binary unit with mean p, infinite at 0 and 1.
#[inline]
pub fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// Entropy of a binary unit of mean p, nats; 0 at the ends.
pub fn entropy(p: f64) -> f64 {
    let part = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
    part(p) + part(1.0 - p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_each_other_and_do_not_overflow() {
        for x in [-700.0, -3.0, -1e-9, 0.0, 0.5, 20.0] {
            assert!((logit(sigmoid(x)) - x).abs() < 1e-7 * (1.0 + x.abs()), "{x}");
            // softplus(x) = -log(1 - sigmoid(x)) = x + softplus(-x).
            assert!((softplus(x) - x - softplus(-x)).abs() < 1e-12 * (1.0 + x.abs()), "{x}");
        }
        assert_eq!((softplus(1e4), softplus(-1e4), sigmoid(-1e4)), (1e4, 0.0, 0.0));
    }
}
