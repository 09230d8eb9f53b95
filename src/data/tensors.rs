//! Data sets from Burn tensors.

use burn::tensor::Tensor;

use super::memory::from_cells;
use super::{Dataset, Rows};
use crate::error::Result;
use crate::model::host;

impl Rows for Tensor<2> {
    fn dataset(&self) -> Result<Dataset> {
        let [_, columns] = self.dims();
        from_cells(columns, host(self.clone()).into_iter().map(f64::from))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::data::Values;
    use crate::engine::BitMatrix;
    use burn::tensor::Device;

    #[test]
    fn tensors_are_the_same_data_as_bits() {
        let expected = BitMatrix::from_fn(3, 4, |row, column| (row + column) % 2 == 1);
        let cells: Vec<f32> = (0..12).map(|i| ((i / 4 + i % 4) % 2) as f32).collect();
        let tensor = Tensor::<2>::from_data(TensorData::new(cells, [3, 4]), &Device::default());
        assert_eq!(tensor.dataset().unwrap().values, Values::Binary(expected));
    }
}
