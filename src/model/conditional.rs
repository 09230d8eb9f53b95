//! The model given the values of some visible variables: an RBM of the others.
//!
//! With v_O given, log f(v_O, v_M) = c_O.v_O + log f'(v_M), where f' has the rows M of W, the biases c_M and the hidden biases b + W_O'v_O.
//! So Z' = sum over v_M of f' gives log p(v_O) = c_O.v_O + log Z' - log Z.

use super::Parameters;
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::units::Variables;

/// A model of the variables that a row leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditional {
    /// Of the open columns, in their order.
    pub parameters: Parameters,
    /// c_O.v_O and the constant of units -1 and +1, nats.
    pub log_constant: f64,
    /// The columns of the whole model that are open.
    pub columns: Vec<usize>,
}

impl Parameters {
    /// The model of the columns that are set in `open`, given the values of the others in `visible`; both are packed rows.
    ///
    /// # Errors
    /// No column is open, or a categorical variable is open in part.
    pub fn conditional(&self, visible: &[u64], open: &[u64]) -> Result<Conditional> {
        let set = |row: &[u64], i: usize| row[i / 64] >> (i % 64) & 1 == 1;
        let mut hidden: Vec<f64> = self.hidden_bias.iter().map(|&b| f64::from(b)).collect();
        let (mut columns, mut kept, mut log_constant) = (Vec::new(), Vec::new(), self.log_offset());
        for variable in self.variables.of(self.n_visible) {
            match variable.range().filter(|&i| set(open, i)).count() {
                0 => {}
                all if all == variable.columns => {
                    columns.extend(variable.range());
                    kept.push(variable);
                }
                _ => {
                    return Err(Error::Invalid(format!(
                        "some of the {variable} are missing and some are given, and they are one categorical variable: give all of them or none"
                    )));
                }
            }
        }
        self.variables.statistics(visible, self.n_visible, |i, t| {
            if !set(open, i) {
                log_constant += t * f64::from(self.visible_bias[i]);
                let weights = self.weights_of(i);
                hidden.iter_mut().zip(weights).for_each(|(x, &w)| *x += t * f64::from(w));
            }
        });
        let weights = columns.iter().flat_map(|&i| self.weights_of(i)).copied().collect();
        let visible_bias = columns.iter().map(|&i| self.visible_bias[i]).collect();
        let hidden = hidden.into_iter().map(|x| x as f32).collect();
        let parameters = Self::new(columns.len(), self.n_hidden, weights, visible_bias, hidden)?
            .of(Variables::listed(kept)?)?;
        Ok(Conditional { parameters, log_constant, columns })
    }
}

impl Conditional {
    /// A packed row of the whole model, of these variables, with the open columns as in row `from` of `open`.
    pub fn fill(&self, row: &mut [u64], variables: &Variables, open: &BitMatrix, from: usize) {
        for (first, real) in self.parameters.variables.reals() {
            let of_whole = variables.reals().find(|(i, _)| *i == self.columns[first]);
            if let Some((_, whole)) = of_whole {
                whole.set(row, real.value(open.row(from)));
            }
        }
        for (k, &i) in self.columns.iter().enumerate() {
            let bit = 1 << (i % 64);
            row[i / 64] = row[i / 64] & !bit | if open.get(from, k) { bit } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact::{log_partition, log_weights};
    use crate::model::test_systems::gaussian_parameters;
    use crate::numerics::LogSumExp;

    /// Sums over all states of the open columns, one by one.
    #[test]
    fn the_partition_function_is_the_sum_over_open_states() {
        for (text, open) in [("", 0b1010_0110u64), ("2*3+,2", 0b1100_0111), ("4,1+,3", 0b1_1111)] {
            let variables: Variables = text.parse().unwrap();
            let model = gaussian_parameters(8, 5, 1.2, 7).of(variables.clone()).unwrap();
            let given = (0..1u64 << 8).find(|state| variables.allow(&[*state]) && *state > 40);
            let given = given.unwrap();
            let same = |state: &u64| (state ^ given) & !open == 0 && variables.allow(&[*state]);
            let states: Vec<u64> = (0..1 << 8).filter(same).collect();
            let rows = BitMatrix::from_words(states.len(), 8, states).unwrap();
            let sum = LogSumExp::of(log_weights(&model, &rows).unwrap());
            let found = model.conditional(&[given], &[open]).unwrap();
            let value = found.log_constant + log_partition(&found.parameters).unwrap();
            assert!((value - sum).abs() < 1e-5, "{text}: {value} {sum}");
        }
    }

    #[test]
    fn a_variable_that_is_open_in_part_is_refused() {
        let model = Parameters::zeros(6, 2).of("3+,3".parse().unwrap()).unwrap();
        let message = model.conditional(&[0b100_001], &[0b000_110]).unwrap_err().to_string();
        assert!(message.contains("columns 1 to 3"), "{message}");
        assert!(model.conditional(&[0b100_001], &[0]).is_err());
    }
}
