//! Packed binary states: one bit a unit, rows padded to whole 64-bit words.
//!
//! Chains, particles and binary data sets all live in this form: 2000 chains of 784 units are 208 KB, so states
//! stay in cache, and kernels walk over set bits instead of multiplying by zeros and ones.

/// A matrix of zeros and ones, shape [rows, columns], packed row by row.
///
/// Bit `j % 64` of word `j / 64` of a row is column `j`. Padding bits are always zero. States of real variables have further words behind
/// their columns, with the numbers ([`crate::units::Variables::words`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitMatrix {
    rows: usize,
    columns: usize,
    per_row: usize,
    words: Vec<u64>,
}

/// Words needed for one row of `columns` bits.
pub const fn words_per_row(columns: usize) -> usize {
    columns.div_ceil(64)
}

impl BitMatrix {
    /// All zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self::with_words(rows, columns, words_per_row(columns))
    }

    /// All zeros, in rows of at least so many words.
    pub fn with_words(rows: usize, columns: usize, words: usize) -> Self {
        let per_row = words.max(words_per_row(columns));
        Self { rows, columns, per_row, words: vec![0; rows * per_row] }
    }

    /// Entry (row, column) is `value(row, column)`.
    pub fn from_fn(
        rows: usize,
        columns: usize,
        mut value: impl FnMut(usize, usize) -> bool,
    ) -> Self {
        let mut bits = Self::zeros(rows, columns);
        for row in 0..rows {
            for column in 0..columns {
                if value(row, column) {
                    bits.set(row, column, true);
                }
            }
        }
        bits
    }

    /// Takes packed words back; `None` if their number or their padding does not fit the shape. Words beyond those of the columns are
    /// numbers of real variables.
    pub fn from_words(rows: usize, columns: usize, words: Vec<u64>) -> Option<Self> {
        let head = words_per_row(columns);
        let per_row = words.len().checked_div(rows).unwrap_or(head);
        if words.len() != rows.checked_mul(per_row)? || per_row < head {
            return None;
        }
        let used = columns % 64;
        let padding_is_zero =
            used == 0 || words.chunks_exact(per_row.max(1)).all(|row| row[head - 1] >> used == 0);
        padding_is_zero.then_some(Self { rows, columns, per_row, words })
    }

    /// Whether rows have numbers of real variables.
    pub fn has_numbers(&self) -> bool {
        self.per_row > words_per_row(self.columns)
    }

    /// Words of a row.
    pub fn words_per_row(&self) -> usize {
        self.per_row
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns (units).
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All words, row after row.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// All words for writing; padding bits must stay zero.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The words of one row.
    pub fn row(&self, row: usize) -> &[u64] {
        let per_row = self.per_row;
        &self.words[row * per_row..(row + 1) * per_row]
    }

    /// The words of one row that hold its columns.
    pub fn columns_of(&self, row: usize) -> &[u64] {
        &self.row(row)[..words_per_row(self.columns)]
    }

    /// The words of one row for writing; padding bits must stay zero.
    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        let per_row = self.per_row;
        &mut self.words[row * per_row..(row + 1) * per_row]
    }

    /// Entry (row, column).
    pub fn get(&self, row: usize, column: usize) -> bool {
        self.row(row)[column / 64] >> (column % 64) & 1 == 1
    }

    /// Sets entry (row, column).
    pub fn set(&mut self, row: usize, column: usize, value: bool) {
        let word = &mut self.row_mut(row)[column / 64];
        let mask = 1 << (column % 64);
        if value {
            *word |= mask;
        } else {
            *word &= !mask;
        }
    }

    /// A new matrix of the given rows, in the given order.
    pub fn select(&self, rows: impl IntoIterator<Item = usize>) -> Self {
        let mut words = Vec::new();
        let mut count = 0;
        for row in rows {
            words.extend_from_slice(self.row(row));
            count += 1;
        }
        Self { rows: count, words, ..*self }
    }

    /// At most `most` rows, evenly spaced: files are often sorted by class, and their first rows are of one.
    pub fn spread(&self, most: usize) -> Self {
        let count = self.rows.min(most);
        self.select((0..count).map(|i| i * self.rows / count))
    }

    /// These rows, then those of another matrix with as many columns.
    ///
    /// # Panics
    /// The numbers of columns differ.
    pub fn followed_by(&self, other: &Self) -> Self {
        assert_eq!(self.columns, other.columns, "rows of one width");
        let words = [self.words.as_slice(), other.words.as_slice()].concat();
        let rows = self.rows + other.rows;
        Self { rows, columns: self.columns, per_row: self.per_row.max(other.per_row), words }
    }

    /// The transpose, shape [columns, rows].
    pub fn transposed(&self) -> Self {
        let mut out = Self::zeros(self.columns, self.rows);
        let (per_row, out_per_row) = (self.per_row, words_per_row(self.rows));
        let mut block = [0u64; 64];
        for row_block in 0..out_per_row {
            let rows = (self.rows - row_block * 64).min(64);
            for word in 0..words_per_row(self.columns) {
                block.fill(0);
                for (i, slot) in block.iter_mut().enumerate().take(rows) {
                    *slot = self.words[(row_block * 64 + i) * per_row + word];
                }
                transpose_64(&mut block);
                let columns = (self.columns - word * 64).min(64);
                for (j, value) in block.iter().enumerate().take(columns) {
                    out.words[(word * 64 + j) * out_per_row + row_block] = *value;
                }
            }
        }
        out
    }

    /// Number of ones in each column.
    pub fn column_counts(&self) -> Vec<u64> {
        let columns = self.transposed();
        (0..self.columns)
            .map(|column| columns.row(column).iter().map(|word| u64::from(word.count_ones())).sum())
            .collect()
    }

    /// Number of ones in all.
    pub fn count_ones(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Calls `visit` with the index of every set bit, ascending.
#[inline(always)]
pub fn for_each_set_bit(words: &[u64], mut visit: impl FnMut(usize)) {
    for (i, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            visit(i * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// In-place transpose of a 64 x 64 bit block (Hacker's Delight 7-3, least significant bit first).
fn transpose_64(block: &mut [u64; 64]) {
    let mut width = 32;
    let mut mask = 0x0000_0000_FFFF_FFFFu64;
    while width != 0 {
        let mut k = 0;
        while k < 64 {
            let swap = ((block[k] >> width) ^ block[k + width]) & mask;
            block[k] ^= swap << width;
            block[k + width] ^= swap;
            k = (k + width + 1) & !width;
        }
        width >>= 1;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a file sorted by class every class has its share.
    #[test]
    fn rows_are_spread_over_all() {
        let bits = BitMatrix::from_fn(1000, 10, |row, column| row / 100 == column);
        for most in [10, 20, 37] {
            let spread = bits.spread(most);
            assert!(spread.rows() == most && spread.column_counts().iter().all(|&n| n > 0));
        }
        assert_eq!((bits.spread(5000), bits.spread(0).rows()), (bits.clone(), 0));
    }

    #[test]
    fn transposing_moves_every_entry() {
        for (rows, columns) in [(1, 1), (3, 70), (64, 64), (100, 180), (129, 65)] {
            let bits = BitMatrix::from_fn(rows, columns, |i, j| (i * 31 + j * 17 + i * j) % 5 < 2);
            let transposed = bits.transposed();
            let expected = BitMatrix::from_fn(columns, rows, |j, i| bits.get(i, j));
            assert_eq!(transposed, expected, "{rows} x {columns}");
        }
    }

    #[test]
    fn words_with_dirty_padding_are_refused() {
        assert!(BitMatrix::from_words(1, 3, vec![0b111]).is_some());
        assert!(BitMatrix::from_words(1, 3, vec![0b1000]).is_none());
        assert!(BitMatrix::from_words(2, 3, vec![0]).is_none());
    }

    #[test]
    fn column_counts_agree_with_entries() {
        let bits = BitMatrix::from_fn(10, 130, |i, j| (i + j) % 3 == 0);
        let counts = bits.column_counts();
        for (j, count) in counts.iter().enumerate() {
            assert_eq!(*count, (0..10).filter(|&i| bits.get(i, j)).count() as u64);
        }
        assert_eq!(counts.iter().sum::<u64>(), bits.count_ones());
    }
}
