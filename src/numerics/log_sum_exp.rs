//! log-sum-exp: of values that can be seen twice, and of a stream.

/// log sum exp of finite numbers, without overflow; -infinity for none.
pub fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_finite() {
        largest + values.map(|value| (value - largest).exp()).sum::<f64>().ln()
    } else {
        largest
    }
}

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
        if value == f64::NEG_INFINITY {
            // exp(value) is 0, and -infinity has no distance from itself.
        } else if value <= self.maximum {
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
        let near = |values: &[f64], expected: f64| {
            let found =
                [LogSumExp::of(values.iter().copied()), log_sum_exp(values.iter().copied())];
            found.iter().all(|found| (found - expected).abs() < 1e-9)
        };
        assert!(near(&[1000.0, 1000.0], 1000.0 + 2f64.ln()));
        assert!(near(&[-2000.0, -1999.0, -2001.0], -1998.5923940356));
        assert!(near(&[f64::NEG_INFINITY, 3.0, f64::NEG_INFINITY], 3.0));
        assert_eq!(LogSumExp::of([]), f64::NEG_INFINITY);
        assert_eq!(LogSumExp::of([f64::NEG_INFINITY]), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp([].into_iter()), f64::NEG_INFINITY);
    }
}
