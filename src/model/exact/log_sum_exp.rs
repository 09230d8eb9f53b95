//! Streaming log-sum-exp.

/// log(sum of exp) of the values seen so far, as a running maximum and a scaled sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSumExp {
    maximum: f64,
    sum: f64,
}

impl LogSumExp {
    /// Of no values: minus infinity.
    pub(crate) const EMPTY: Self = Self { maximum: f64::NEG_INFINITY, sum: 0.0 };

    /// Adds exp(value).
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        if value <= self.maximum {
            self.sum += (value - self.maximum).exp();
        } else {
            self.sum = self.sum * (self.maximum - value).exp() + 1.0;
            self.maximum = value;
        }
    }

    /// The logarithm of the sum.
    pub(crate) fn value(self) -> f64 {
        self.maximum + self.sum.ln()
    }

    /// Of a whole sequence, in its order.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> f64 {
        let mut total = Self::EMPTY;
        values.into_iter().for_each(|value| total.add(value));
        total.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_and_tiny_values_neither_overflow_nor_vanish() {
        assert_eq!(LogSumExp::of([]), f64::NEG_INFINITY);
        assert!((LogSumExp::of([1000.0, 1000.0]) - (1000.0 + 2f64.ln())).abs() < 1e-12);
        assert!((LogSumExp::of([-2000.0, -1999.0, -2001.0]) + 1998.5923940356).abs() < 1e-9);
    }
}
